/**
 * A second implementation of stints and moves without SQL: a walk through the events of each person and organisation by
 * the rules in sql/models/core/ambiguous_events.sql. careers-order.ts sets the order.
 */

import { pseudoEmployers } from '../../src/model/config-lists.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import type { GivenEvent } from '../helpers/warehouse.ts'
import {
  dayOf,
  keyOf,
  kindOf,
  latestDay,
  time,
  timelinesOf,
  titleOf,
  type Act,
  type Fact,
  type Timeline,
} from './careers-order.ts'

export { keyOf } from './careers-order.ts'

/** One expected stint. */
export interface ExpectedStint {
  readonly person: string
  readonly organization: string
  readonly isMain: boolean
  number: number
  arrival: Act | null
  departure: Act | null
  interruptions: number
  readonly acts: Act[]
}

/** One expected move. */
export interface ExpectedMove {
  readonly departed: ExpectedStint
  readonly arrived: ExpectedStint
  readonly gapDays: number
}

const INTERNAL_DAYS = 31
const SAID_AGAIN_DAYS = 62
const OTHER_JOB_DAYS = 180
const TOLD_LATE_DAYS = 365

/** The stints of all events. */
export function expectedStints(events: readonly GivenEvent[]): ExpectedStint[] {
  return [...groupBy(events, ({ profile_id: id }) => id).values()].flatMap((career) =>
    [...groupBy(career, ({ organization_id: id }) => id).values()].flatMap((pair) =>
      inOrderOfTheirBeginning(
        timelinesOf(pair).map((timeline) => stintsOfTrack(timeline, new Elsewhere(career, pair))),
      ),
    ),
  )
}

/** The moves between stints, each departure and each arrival in at most one. */
export function expectedMoves(stints: readonly ExpectedStint[]): ExpectedMove[] {
  return [...groupBy(stints, (stint) => stint.person).values()].flatMap(movesOfPerson)
}

/** Whether it is a job with more than titles that say that one is over; Career Break is not an employer. */
export function isPrimary(stint: ExpectedStint): boolean {
  const saysNothing = stint.acts.every((act) => act.type === 'nothing' || isRepeat(stint, act))
  const newest = stint.acts.toSorted((a, b) => a.at - b.at).at(-1)
  return stint.isMain && !saysNothing && employerKind(newest?.event) !== 'none'
}

function isRepeat({ arrival, departure, acts }: ExpectedStint, act: Act): boolean {
  return arrival === null && departure === null && acts.length === 1 && act.type === 'nothing'
}

/**
 * The possible last titles of an open stint whose joinings all name a title: those of its newest joining or change of
 * title, several at one instant. Leavings in it are internal moves and name the earlier title. Null for other stints.
 */
export function newestTitles({ departure, acts }: ExpectedStint): string[] | null {
  const saysTitle = acts.filter(({ type }) => type === 'joined' || type === 'title_change')
  const isUntitled = (act: Act) => act.type === 'joined' && act.title === null
  if (departure !== null || saysTitle.some(isUntitled)) return null
  const titled = saysTitle.filter(({ title }) => title !== null)
  const newest = Math.max(...titled.map(({ at }) => at))
  const titles = titled.filter(({ at }) => at === newest).map(({ title }) => title)
  return titles.length === 0 ? null : titles.filter((title) => title !== null)
}

function inOrderOfTheirBeginning(tracks: readonly ExpectedStint[][]): ExpectedStint[] {
  const begun = ({ acts }: ExpectedStint) => Math.min(...acts.map(({ at }) => at))
  const stints = tracks.flat().toSorted((a, b) => begun(a) - begun(b))
  for (const [index, stint] of stints.entries()) stint.number = index + 1
  return stints
}

interface Job {
  readonly title: string | null
  readonly joined: number
  readonly left: number | null
}

/** Main jobs of the person at other employers. */
class Elsewhere {
  readonly #ends: readonly GivenEvent[]

  constructor(career: readonly GivenEvent[], [here]: readonly GivenEvent[]) {
    this.#ends = career
      .filter((event) => event.organization_id !== here?.organization_id && isOfJob(event))
      .toSorted((a, b) => time(a) - time(b) || (a.event_type < b.event_type ? -1 : 1))
  }

  get jobs(): Job[] {
    return this.#ends.flatMap((event, place) => {
      if (event.event_type !== 'joined') return []
      const left = this.#ends
        .slice(place)
        .find((one) => one.event_type === 'left' && isSameEmployer(one, event))
      return [
        {
          title: titleOf(event),
          joined: time(event),
          left: left === undefined ? null : time(left),
        },
      ]
    })
  }

  /** Jobs as near to a leaving as a move requires. */
  provesOf(left: Act): Job[] {
    if (left.track !== 'main') return []
    return this.jobs.filter(({ joined }) => {
      const days = dayOf(joined) - dayOf(left.at)
      return days >= -INTERNAL_DAYS && days <= 180
    })
  }

  /** Jobs joined and left, or certainly joined, between a leaving and a joining here. */
  workedBriefly(left: Act, again: Act): boolean {
    return this.jobs.some(
      (job) =>
        (dayOf(job.joined) >= latestDay(left.at) &&
          latestDay(job.joined) < dayOf(again.at) &&
          !isHeldBeside(job.title)) ||
        (job.left !== null &&
          dayOf(job.joined) - dayOf(left.at) >= -INTERNAL_DAYS &&
          dayOf(job.joined) <= latestDay(again.at) &&
          latestDay(job.left) >= dayOf(left.at) &&
          dayOf(job.left) <= latestDay(again.at)),
    )
  }

  /** Jobs joined and left at least half a year apart, between the last event here and joining here again. */
  workedLong(last: Act, again: Act): boolean {
    return this.#ends.some(
      (joined) =>
        joined.event_type === 'joined' &&
        time(joined) > last.at &&
        this.#ends.some((left) => {
          if (left.event_type !== 'left' || !isSameEmployer(left, joined)) return false
          const days = dayOf(again.at) - dayOf(time(left))
          const between = dayOf(time(left)) - dayOf(time(joined))
          return between >= OTHER_JOB_DAYS && days >= -31 && days <= 180
        }),
    )
  }
}

/** Not alongside another job: by the hour, as a guest, on loan. Only the words that the tests use. */
function isHeldBeside(title: string | null): boolean {
  return title !== null && /part[- ]time|adjunct|visiting|secondment/i.test(title)
}

function isSameEmployer(a: GivenEvent, b: GivenEvent): boolean {
  return a.organization_id === b.organization_id
}

function isOfJob(event: GivenEvent): boolean {
  if (event.event_type === 'title_change' || employerKind(event) !== null) return false
  const kind = kindOf(titleOf(event))
  return kind !== 'side' && kind !== 'seat' && kind !== 'end'
}

const kindOfEmployer = new Map(pseudoEmployers.map(({ name, kind }) => [name, kind]))

/** The kind of the name in config/pseudo-employers.yaml; null if it names an employer. */
export function employerKind(event: GivenEvent | undefined): string | null {
  const written = event?.organization_name ?? ''
  // In scripts other than Latin, marks make other letters.
  const isLatin = /\p{Script=Latin}/u.test(written)
  const letters = isLatin ? written.normalize('NFD').replaceAll(/\p{M}/gu, '') : written
  const name = letters
    .toLowerCase()
    .replaceAll(/[\s\p{P}\p{S}]+/gu, ' ')
    .trim()
  return kindOfEmployer.get(name) ?? null
}

function stintsOfTrack(timeline: Timeline, elsewhere: Elsewhere): ExpectedStint[] {
  const { facts } = timeline
  const outlasting = new Set(facts.filter((fact) => outlasts(fact, facts, elsewhere)))
  const last = facts.at(-1)
  const movedAway = last !== undefined && isMovingAway(last, elsewhere) ? last : null
  const named = facts.filter((fact) => !isNamedRoleEnd(fact, facts, outlasting, movedAway))
  const once = withoutOverlaps(named)
  const leftAgain = new Set(once.filter((fact, at) => isLeftAgain(fact, once[at + 1], outlasting)))
  const leftBefore = new Set(
    once.filter(
      (fact, at) =>
        isLeftBefore(fact, once[at - 1], outlasting, elsewhere) ||
        isSaidAgain(fact, once.slice(0, at), facts, outlasting, elsewhere),
    ),
  )
  const counted = once.filter((fact) => !leftAgain.has(fact) && !leftBefore.has(fact))
  const inTime = counted.filter((fact) => !isToldLate(fact, counted, elsewhere))
  const steps = inTime.filter((fact, at) => !isTakenBack(fact, inTime[at + 1]))
  const begins = begin(timeline, steps, elsewhere)
  const outlasted = once.filter((_, at) => outlasting.has(once[at + 1] ?? _) && isLeaving(_))
  const isNoEnd = (fact: Fact) =>
    leftBefore.has(fact) || (leftAgain.has(fact) && !outlasted.includes(fact))
  return filled(timeline, begins, isNoEnd)
}

/** An act that begins a stint, and the stint. */
function begin(
  { track }: Timeline,
  steps: readonly Fact[],
  elsewhere: Elsewhere,
): ReadonlyMap<Fact, ExpectedStint> {
  const begins = new Map<Fact, ExpectedStint>()
  let stint: ExpectedStint | undefined
  for (const [index, fact] of steps.entries()) {
    const before = steps[index - 1]
    if (stint === undefined || before === undefined || isBeginning(before, fact, elsewhere)) {
      stint = emptyStint(fact, track === 'main')
      begins.set(fact, stint)
    }
    if (isLeaving(fact)) stint.departure = fact
    if (!isJoining(fact)) continue
    stint.departure = null
    const isShownBefore =
      before !== undefined &&
      begins.has(before) &&
      isChange(before) &&
      days(before, fact) <= INTERNAL_DAYS
    if (begins.has(fact) || isShownBefore) stint.arrival = fact
  }
  return begins
}

/** Puts every act into the stint that had begun by then, and counts the leavings that do not count. */
function filled(
  { track, acts, facts }: Timeline,
  begins: ReadonlyMap<Fact, ExpectedStint>,
  isNoEnd: (fact: Fact) => boolean,
): ExpectedStint[] {
  const beginsAt = new Map([...begins].map(([fact, stint]) => [fact.said[0], stint]))
  const [first] = acts
  let [stint] = begins.values()
  if (stint === undefined && first !== undefined) stint = emptyStint(first, track === 'main')
  const stints = begins.size === 0 ? [stint] : [...begins.values()]
  const stintOf = new Map<Act, ExpectedStint>()
  for (const act of acts) {
    stint = beginsAt.get(act) ?? stint
    stint?.acts.push(act)
    if (stint !== undefined) stintOf.set(act, stint)
  }
  for (const fact of facts.filter(isLeaving)) {
    const own = stintOf.get(fact)
    if (own === undefined || own.departure === fact || isNoEnd(fact)) continue
    own.interruptions += 1
  }
  return stints.filter((one) => one !== undefined)
}

function emptyStint({ event }: Act, isMain: boolean): ExpectedStint {
  return {
    person: event.profile_id,
    organization: event.organization_id,
    isMain,
    number: 0,
    arrival: null,
    departure: null,
    interruptions: 0,
    acts: [],
  }
}

/** Whether the person was away between the last act and this one. */
function isBeginning(before: Fact, fact: Fact, elsewhere: Elsewhere): boolean {
  const isMain = fact.track === 'main'
  if (isLeaving(before)) {
    if (!isJoining(fact) || days(before, fact) > INTERNAL_DAYS) return true
    return isMain && elsewhere.workedBriefly(before, fact)
  }
  return isJoining(fact) && isMain && elsewhere.workedLong(before, fact)
}

/** The reports about a role before a leaving names it. */
function saidBefore(fact: Fact, facts: readonly Fact[]) {
  const before = facts.slice(0, facts.indexOf(fact))
  const names = (one: Fact) => one.title === fact.title
  const isSaid = (one: Fact) => !isLeaving(one)
  return {
    joining: before.findLast(isJoining),
    joined: before.findLastIndex(isJoining),
    first: before.findIndex((one) => isSaid(one) && (names(one) || one.previous === fact.title)),
    last: before.findLastIndex((one) => isSaid(one) && names(one)),
    left: before.findLastIndex((one) => isLeaving(one) && names(one)),
    leavings: before.filter((one) => isLeaving(one) && names(one)),
    newest: before.findLastIndex(isSaid),
    before,
  }
}

/** Whether it names a role from before the last joining, which named another one, and which was not seen since. */
function namesOlderRole(fact: Fact, said: ReturnType<typeof saidBefore>): boolean {
  const { joining, joined, first, last } = said
  if (joining?.title === undefined || joining.title === null) return false
  return joining.title !== fact.title && first >= 0 && first < joined && last < joined
}

/** The role that a person came with, left by name after one joined later. */
function outlasts(fact: Fact, facts: readonly Fact[], elsewhere: Elsewhere): boolean {
  if (!isLeaving(fact) || fact.title === null) return false
  const said = saidBefore(fact, facts)
  if (!namesOlderRole(fact, said) || said.left >= 0) return false
  const names = [said.joining?.title ?? null, said.before[said.newest]?.title ?? null]
  return said.before.slice(said.newest + 1).some((earlier) => {
    const isOther = earlier.title !== null && !names.includes(earlier.title)
    if (!isLeaving(earlier) || (isOther && !names.includes(null))) return false
    return elsewhere
      .provesOf(earlier)
      .every(({ joined }) => joined > fact.at || !isNearer(joined, earlier, fact))
  })
}

/** A leaving with a joining elsewhere in the month before or after. */
function isMovingAway(fact: Fact, elsewhere: Elsewhere): boolean {
  if (!isLeaving(fact)) return false
  return elsewhere
    .provesOf(fact)
    .some(({ joined }) => dayOf(joined) - latestDay(fact.at) <= INTERNAL_DAYS)
}

/** A leaving that names a role that another one followed. */
function isNamedRoleEnd(
  fact: Fact,
  facts: readonly Fact[],
  outlasting: ReadonlySet<Fact>,
  movedAway: Fact | null,
): boolean {
  const { title } = fact
  if (!isLeaving(fact) || title === null) return false
  const said = saidBefore(fact, facts)
  const newest = said.before[said.newest]
  if (newest === undefined) return false
  if (namesOlderRole(fact, said) && !outlasting.has(fact)) {
    const left = Math.max(...said.leavings.map(({ at }) => at))
    const wasLeft =
      said.left > said.last &&
      said.joining !== undefined &&
      dayOf(said.joining.at) - dayOf(left) > INTERNAL_DAYS
    if (!wasLeft) return true
  }
  return (
    fact !== movedAway &&
    isChange(newest) &&
    newest.previous === title &&
    newest.title !== null &&
    newest.title !== title &&
    days(newest, fact) <= INTERNAL_DAYS
  )
}

/** Drops leavings that end the role before one joined in the previous month. */
function withoutOverlaps(timeline: readonly Fact[]): Fact[] {
  return timeline.filter((fact, index) => {
    const [earlier, before] = [timeline[index - 2], timeline[index - 1]]
    if (earlier === undefined || before === undefined) return true
    if (!isLeaving(fact) || !isJoining(before) || isLeaving(earlier)) return true
    if (days(before, fact) > INTERNAL_DAYS) return true
    const [old, young, left] = [earlier, before, fact].map(({ title }) => title)
    return left !== null && left === young && old !== null && old !== young
  })
}

function isLeftAgain(fact: Fact, next: Fact | undefined, outlasting: ReadonlySet<Fact>): boolean {
  if (next === undefined || !isLeaving(fact) || !isLeaving(next)) return false
  if (outlasting.has(next)) return true
  return days(fact, next) <= SAID_AGAIN_DAYS && !isNoticedLater(fact, next)
}

/** A change of title that shows that the job is over, after a leaving that gave its day. */
function isNoticedLater(left: Fact, change: Fact): boolean {
  return change.isTurn && !left.isTurn
}

/**
 * A leaving reported long after another one, of a person with a job elsewhere, or whose job a change of title ended.
 */
function isLeftBefore(
  fact: Fact,
  before: Fact | undefined,
  outlasting: ReadonlySet<Fact>,
  elsewhere: Elsewhere,
): boolean {
  if (before === undefined || !isLeaving(fact) || !isLeaving(before)) return false
  if (outlasting.has(fact)) return false
  if (isNoticedLater(before, fact)) return days(before, fact) <= TOLD_LATE_DAYS
  if (days(before, fact) <= SAID_AGAIN_DAYS) return false
  if (before.isTurn) return true
  const isOther = before.title !== null && fact.title !== null && before.title !== fact.title
  if (fact.track !== 'main' || isOther || days(before, fact) > TOLD_LATE_DAYS) return false
  return elsewhere
    .provesOf(before)
    .some(
      ({ left, joined }) => (left === null || left >= fact.at) && isNearer(joined, before, fact),
    )
}

/** A leaving reported again under a title that became known only after the first leaving. */
function isSaidAgain(
  fact: Fact,
  before: readonly Fact[],
  facts: readonly Fact[],
  outlasting: ReadonlySet<Fact>,
  elsewhere: Elsewhere,
): boolean {
  const left = before.findLast((one) => !isChange(one))
  const last = before.at(-1)
  if (left === undefined || last === undefined || !isLeaving(fact) || !isLeaving(left)) return false
  const isSpecial = [fact, left].some((one) => one.isTurn || outlasting.has(one))
  if (isSpecial || days(left, fact) > TOLD_LATE_DAYS) return false
  if (isChange(last)) {
    const names = [last.title, left.title]
    const isOther = fact.title !== null && !names.includes(fact.title) && !names.includes(null)
    if (fact.track !== 'main' || isOther) return false
    return elsewhere
      .provesOf(left)
      .some((job) => (job.left === null || job.left >= fact.at) && isNearer(job.joined, left, fact))
  }
  if (days(left, fact) <= SAID_AGAIN_DAYS || fact.title === null || left.title === null)
    return false
  return facts
    .slice(0, facts.indexOf(left))
    .some(
      (change) =>
        isChange(change) &&
        change.title === fact.title &&
        change.previous === left.title &&
        detectedOf(change) > detectedOf(left) &&
        days(change, left) <= TOLD_LATE_DAYS,
    )
}

function detectedOf({ event }: Fact): number {
  return Date.parse(event.detected_at ?? event.changed_at)
}

/** A change to a title that the previous leaving names, or of a person who has had a job elsewhere since. */
function isToldLate(fact: Fact, facts: readonly Fact[], elsewhere: Elsewhere): boolean {
  const place = facts.indexOf(fact)
  const left = facts.slice(0, place).findLast((one) => !isChange(one))
  if (left === undefined || !isChange(fact) || !isLeaving(left)) return false
  const isNamed = left.title !== null && left.title === fact.title
  if (isNamed && days(left, fact) <= INTERNAL_DAYS) return true
  if (fact.track !== 'main' || days(left, fact) > TOLD_LATE_DAYS) return false
  const next = facts.slice(place + 1).find((one) => !isChange(one))
  if (next !== undefined && (isLeaving(next) || days(fact, next) <= INTERNAL_DAYS)) return false
  return elsewhere
    .provesOf(left)
    .some((job) => job.left === null || job.left >= fact.at || job.joined > fact.at)
}

/** Whether a joining elsewhere is nearer to the first of two leavings. */
function isNearer(joined: number, first: Act, second: Act): boolean {
  const from = (act: Act) => Math.abs(dayOf(joined) - dayOf(act.at))
  return from(first) < from(second)
}

function isTakenBack(fact: Fact, next: Fact | undefined): boolean {
  if (next === undefined || !isLeaving(fact) || !isChange(next)) return false
  return days(fact, next) <= INTERNAL_DAYS
}

const isJoining = ({ type }: Act) => type === 'joined'
const isLeaving = ({ type }: Act) => type === 'left'
const isChange = ({ type }: Act) => type === 'title_change'

/** Calendar days in UTC from one to the other. */
function days(from: Act, to: Act): number {
  return dayOf(to.at) - dayOf(from.at)
}

interface Pair extends ExpectedMove {
  readonly order: readonly (number | string)[]
}

/** A pair is a move if no earlier pair shares its leaving or its joining, and it does not lead back. */
function movesOfPerson(stints: readonly ExpectedStint[]): ExpectedMove[] {
  const primary = stints.filter(isPrimary)
  const pairs = primary.flatMap((departed) =>
    primary.map((arrived) => pairOf(departed, arrived)).filter((pair) => pair !== null),
  )
  return pairs.filter(
    (pair) =>
      pair.departed.organization !== pair.arrived.organization &&
      !pairs.some(
        (other) =>
          (other.departed === pair.departed || other.arrived === pair.arrived) &&
          isBefore(other.order, pair.order),
      ),
  )
}

function pairOf(departed: ExpectedStint, arrived: ExpectedStint): Pair | null {
  const { departure } = departed
  const { arrival } = arrived
  if (departure === null || arrival === null) return null
  const isSameOrganization = departed.organization === arrived.organization
  if (isSameOrganization && arrived.number <= departed.number) return null
  const gapDays = days(departure, arrival)
  if (gapDays < -31 || gapDays > 180) return null
  const order = [
    Math.abs(gapDays),
    -gapDays,
    Number(isSameOrganization),
    departure.at,
    arrival.at,
    keyOf(departure.event),
    keyOf(arrival.event),
  ]
  return { departed, arrived, gapDays, order }
}

/** Groups values by key, in their order. */
export function groupBy<T>(
  values: readonly T[],
  keyOfValue: (value: T) => string,
): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const key = keyOfValue(value)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}

function isBefore(a: readonly (number | string)[], b: readonly (number | string)[]): boolean {
  const index = a.findIndex((value, place) => value !== b[place])
  return index >= 0 && (a[index] ?? 0) < (b[index] ?? 0)
}

// ——— as lines of text, from the definition and from the warehouse ———

/** Every stint and move of the reference as one line of text, sorted. */
export function careersOf(events: readonly GivenEvent[]): { stints: string[]; moves: string[] } {
  const stints = expectedStints(events)
  const line = (...values: readonly unknown[]) => values.map(String).join(' | ')
  const key = (act: Act | null) => (act === null ? null : keyOf(act.event))
  return {
    stints: stints
      .map((stint) =>
        line(
          stint.person,
          stint.organization,
          stint.number,
          key(stint.arrival),
          key(stint.departure),
          stint.acts.filter(({ isSecond }) => !isSecond).length,
          stint.interruptions,
          isPrimary(stint),
        ),
      )
      .toSorted(),
    moves: expectedMoves(stints)
      .map(({ departed, arrived, gapDays }) =>
        line(
          key(departed.departure),
          key(arrived.arrival),
          departed.organization,
          departed.number,
          arrived.organization,
          arrived.number,
          gapDays,
          gapDays <= 31,
        ),
      )
      .toSorted(),
  }
}

/** The same from the warehouse. */
export async function careersIn(warehouse: Warehouse): Promise<ReturnType<typeof careersOf>> {
  const lines = async (table: string, columns: readonly string[]) => {
    const rows = await warehouse.all<Record<string, unknown>>(
      `select ${columns.join(', ')} from ${table}`,
    )
    return rows.map((row) => columns.map((column) => String(row[column])).join(' | ')).toSorted()
  }
  return {
    stints: await lines('stints', [
      'profile_id',
      'organization_id',
      'stint_number',
      'joined_event_key',
      'left_event_key',
      'events',
      'interruptions',
      'is_primary',
    ]),
    moves: await lines('moves', [
      'left_event_key',
      'joined_event_key',
      'from_organization_id',
      'from_stint_number',
      'to_organization_id',
      'to_stint_number',
      'gap_days',
      'is_direct',
    ]),
  }
}
