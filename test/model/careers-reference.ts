/**
 * Stints and moves computed a second time, without SQL: a walk through the events of each person and organisation, one after
 * the other, as the rules in sql/models/core/ambiguous_facts.sql and ambiguous_events.sql say it in words.
 */

import { understandTitle } from '../../src/titles/understand.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { naturalKey, type GivenEvent } from '../helpers/warehouse.ts'

/** One expected stint. */
export interface ExpectedStint {
  readonly person: string
  readonly organization: string
  number: number
  arrival: GivenEvent | null
  departure: GivenEvent | null
  interruptions: number
  readonly events: GivenEvent[]
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

/** The stints of all events. */
export function expectedStints(events: readonly GivenEvent[]): ExpectedStint[] {
  return [...groupBy(events, ({ profile_id: id }) => id).values()].flatMap((career) =>
    [...groupBy(career, ({ organization_id: id }) => id).values()].flatMap((pair) =>
      inOrderOfTheirBeginning(
        tracksOf(pair).map(({ track, isMain }) => stintsOfTrack(track, isMain ? career : [])),
      ),
    ),
  )
}

/** The moves between stints, each departure and each arrival in one at most. */
export function expectedMoves(stints: readonly ExpectedStint[]): ExpectedMove[] {
  return [...groupBy(stints, (stint) => stint.person).values()].flatMap(movesOfPerson)
}

/** Whether any known title of the stint, also one before a change of title, is more than a side role. */
export function isPrimary({ events }: ExpectedStint): boolean {
  const known = events.map(titleOf).filter((title) => title !== null)
  const before = events
    .filter((event) => event.event_type === 'title_change')
    .flatMap(({ title_previous: title }) => title ?? [])
  return known.length === 0 || [...known, ...before].some((title) => !isSideTitle(title))
}

/**
 * What the last title of a stint can be that is still open and whose every joining names a title: that of its newest joining or
 * change of title, one of several at one instant. Leavings in it are internal moves, and name what was before. Null for
 * other stints.
 */
export function newestTitles({ departure, events }: ExpectedStint): string[] | null {
  const saysTitle = events.filter((event) => event.event_type !== 'left')
  const isUntitled = (event: GivenEvent) => event.event_type === 'joined' && titleOf(event) === null
  if (departure !== null || saysTitle.some(isUntitled)) return null
  const titled = saysTitle.filter((event) => titleOf(event) !== null)
  const newest = Math.max(...titled.map(at))
  const titles = titled.filter((event) => at(event) === newest).map(titleOf)
  return titles.length === 0 ? null : titles.filter((title) => title !== null)
}

/** Something that happened once, however often it was said: the event that counts, and the events that say it. */
interface Fact {
  readonly event: GivenEvent
  readonly said: readonly GivenEvent[]
}

/** The events of main jobs and those of side roles, where there are any; the main track first. */
function tracksOf(pair: readonly GivenEvent[]): { track: GivenEvent[]; isMain: boolean }[] {
  const titles = pair.map(titleOf).filter((title) => title !== null)
  const leads = pair.filter(
    ({ event_type: type, title_previous: previous = null, title_current: title = null }) => {
      if (type !== 'title_change' || previous === null || title === null) return false
      return isSideTitle(title) && !isSideTitle(previous)
    },
  )
  const isSideOnly = titles.length > 0 && titles.every(isSideTitle) && leads.length === 0
  const firstLead = Math.min(...leads.map(at))
  const ledTo = pair.filter(
    (event) =>
      event.event_type === 'title_change' &&
      (event.title_previous ?? null) !== null &&
      at(event) >= firstLead,
  )
  const isLedTo = (event: GivenEvent) =>
    ledTo.some((change) => titleOf(change) === titleOf(event) && at(change) <= at(event))
  const isSide = (event: GivenEvent) => {
    const title = titleOf(event)
    return title === null ? isSideOnly : isSideTitle(title) && !isLedTo(event)
  }
  return [
    { track: pair.filter((event) => !isSide(event)), isMain: true },
    { track: pair.filter(isSide), isMain: false },
  ].filter(({ track }) => track.length > 0)
}

function inOrderOfTheirBeginning(tracks: readonly ExpectedStint[][]): ExpectedStint[] {
  const begun = ({ events }: ExpectedStint) => Math.min(...events.map(at))
  const stints = tracks.flat().toSorted((a, b) => begun(a) - begun(b))
  for (const [index, stint] of stints.entries()) stint.number = index + 1
  return stints
}

/** @param career what else is known of the person, where another job can end the time here */
function stintsOfTrack(
  track: readonly GivenEvent[],
  career: readonly GivenEvent[],
): ExpectedStint[] {
  const facts = factsOf(inOrder(track.filter((event) => event.event_type !== 'title_change')))
  const all = timelineOf(track, facts)
  const seen = withoutToldLate(withoutLeftAgain(withoutOverlaps(withoutNamedRoles(all))))
  const steps = seen.filter((fact, index) => !isTakenBack(fact, seen[index + 1]))
  const begins = new Map<Fact, ExpectedStint>()
  let stint: ExpectedStint | undefined
  for (const [index, fact] of steps.entries()) {
    const before = steps[index - 1]
    if (stint === undefined || before === undefined || isBeginning(before, fact, career)) {
      stint = emptyStint(fact.event)
      begins.set(fact, stint)
    }
    const { event } = fact
    if (isLeaving(fact)) stint.departure = event
    if (!isJoining(fact)) continue
    stint.departure = null
    const isShownBefore =
      before !== undefined &&
      begins.has(before) &&
      isChange(before) &&
      daysFrom(before.event, event) <= INTERNAL_DAYS
    if (begins.has(fact) || isShownBefore) stint.arrival = event
  }
  return filled(track, facts, all, begins)
}

/** Puts every event into the stint that had begun by then, and counts the leavings that were none. */
function filled(
  track: readonly GivenEvent[],
  facts: readonly Fact[],
  timeline: readonly Fact[],
  begins: ReadonlyMap<Fact, ExpectedStint>,
): ExpectedStint[] {
  const order = eventsInOrder(track, facts)
  const beginsAt = new Map([...begins].map(([fact, stint]) => [fact.said[0] ?? fact.event, stint]))
  let [stint] = begins.values()
  const stintOf = new Map<GivenEvent, ExpectedStint>()
  for (const event of order) {
    stint = beginsAt.get(event) ?? stint
    stint?.events.push(event)
    if (stint !== undefined) stintOf.set(event, stint)
  }
  const once = withoutOverlaps(withoutNamedRoles(timeline))
  const leftAgain = once.filter((fact) => !withoutLeftAgain(once).includes(fact))
  for (const fact of timeline.filter(isLeaving)) {
    const own = stintOf.get(fact.event)
    if (own === undefined || own.departure === fact.event || leftAgain.includes(fact)) continue
    own.interruptions += 1
  }
  return [...begins.values()]
}

function emptyStint({ profile_id, organization_id }: GivenEvent): ExpectedStint {
  return {
    person: profile_id,
    organization: organization_id,
    number: 0,
    arrival: null,
    departure: null,
    interruptions: 0,
    events: [],
  }
}

/** Whether the person was away between what was seen last and this. */
function isBeginning(before: Fact, fact: Fact, career: readonly GivenEvent[]): boolean {
  if (isLeaving(before)) {
    return !isJoining(fact) || daysFrom(before.event, fact.event) > INTERNAL_DAYS
  }
  return isJoining(fact) && workedElsewhere(before.event, fact.event, career)
}

function workedElsewhere(
  last: GivenEvent,
  again: GivenEvent,
  career: readonly GivenEvent[],
): boolean {
  const others = career.filter(({ organization_id: id }) => id !== again.organization_id)
  return others.some(
    (joined) =>
      joined.event_type === 'joined' &&
      at(joined) > at(last) &&
      others.some(
        (left) =>
          left.event_type === 'left' &&
          left.organization_id === joined.organization_id &&
          !isSideTitle(titleOf(left) ?? '') &&
          daysFrom(joined, left) >= OTHER_JOB_DAYS &&
          daysFrom(left, again) >= -31 &&
          daysFrom(left, again) <= 180,
      ),
  )
}

/** Without leavings that name a role which another one has followed. */
function withoutNamedRoles(timeline: readonly Fact[]): Fact[] {
  return timeline.filter((fact, index) => {
    const title = titleOf(fact.event)
    if (!isLeaving(fact) || title === null) return true
    const said = timeline.slice(0, index).filter((one) => !isLeaving(one))
    const newest = said.at(-1)
    const joined = said.findLastIndex(isJoining)
    const joinedAs = joined < 0 ? null : titleOf((said[joined] ?? fact).event)
    const names = (one: Fact) => titleOf(one.event) === title
    const wasNamed = (one: Fact) =>
      names(one) || (isChange(one) && one.event.title_previous === title)
    if (joinedAs !== null && joinedAs !== title) {
      const named = timeline.slice(0, index).filter(names)
      const last = named.at(-1)
      const joining = said[joined]?.event ?? fact.event
      const wasLeft =
        last !== undefined && isLeaving(last) && daysFrom(last.event, joining) > INTERNAL_DAYS
      const isSaidSince = said.slice(joined).some(names)
      if (said.slice(0, joined).some(wasNamed) && !isSaidSince && !wasLeft) return false
    }
    const isChanged =
      newest !== undefined &&
      isChange(newest) &&
      newest.event.title_previous === title &&
      titleOf(newest.event) !== null &&
      titleOf(newest.event) !== title &&
      daysFrom(newest.event, fact.event) <= INTERNAL_DAYS
    return !isChanged
  })
}

/** Without leavings that are the end of the role before the one that was joined in the month before. */
function withoutOverlaps(timeline: readonly Fact[]): Fact[] {
  return timeline.filter((fact, index) => {
    const [earlier, before] = [timeline[index - 2], timeline[index - 1]]
    if (earlier === undefined || before === undefined) return true
    if (!isLeaving(fact) || !isJoining(before) || isLeaving(earlier)) return true
    if (daysFrom(before.event, fact.event) > INTERNAL_DAYS) return true
    const [old, young, left] = [earlier, before, fact].map(({ event }) => titleOf(event))
    return left !== null && left === young && old !== null && old !== young
  })
}

function withoutLeftAgain(timeline: readonly Fact[]): Fact[] {
  return timeline.filter((fact, index) => {
    const next = timeline[index + 1]
    if (next === undefined || !isLeaving(fact) || !isLeaving(next)) return true
    return daysFrom(fact.event, next.event) > SAID_AGAIN_DAYS
  })
}

/** Without changes to a title that the leaving before them names. */
function withoutToldLate(timeline: readonly Fact[]): Fact[] {
  return timeline.filter((fact, index) => {
    const ends = timeline.slice(0, index).filter((one) => !isChange(one))
    const left = ends.at(-1)
    if (left === undefined || !isChange(fact) || !isLeaving(left)) return true
    const isNamed = titleOf(left.event) !== null && titleOf(left.event) === titleOf(fact.event)
    return !isNamed || daysFrom(left.event, fact.event) > INTERNAL_DAYS
  })
}

function isTakenBack(fact: Fact, next: Fact | undefined): boolean {
  if (next === undefined || !isLeaving(fact) || !isChange(next)) return false
  return daysFrom(fact.event, next.event) <= INTERNAL_DAYS
}

const isJoining = ({ event }: Fact) => event.event_type === 'joined'
const isLeaving = ({ event }: Fact) => event.event_type === 'left'
const isChange = ({ event }: Fact) => event.event_type === 'title_change'

const sideTitles = new Map<string, boolean>()

function isSideTitle(title: string): boolean {
  const known = sideTitles.get(title)
  if (known !== undefined) return known
  const { isSideRole } = understandTitle(title)
  sideTitles.set(title, isSideRole)
  return isSideRole
}

/** What counts, and the changes of title, in order. */
function timelineOf(track: readonly GivenEvent[], facts: readonly Fact[]): Fact[] {
  const order = eventsInOrder(track, facts)
  const changes = track
    .filter((event) => event.event_type === 'title_change')
    .map((event) => ({ event, said: [event] }))
  return [...facts, ...changes].toSorted((a, b) => order.indexOf(a.event) - order.indexOf(b.event))
}

/** All events: a change of title after a joining of its instant and before a leaving; after both, where there are both. */
function eventsInOrder(track: readonly GivenEvent[], facts: readonly Fact[]): GivenEvent[] {
  const ends = facts.flatMap(({ said }) => said)
  const instants = groupBy(track, (event) => String(at(event)))
  return [...instants.keys()]
    .toSorted((a, b) => Number(a) - Number(b))
    .flatMap((instant) => {
      const own = instants.get(instant) ?? []
      const changes = own
        .filter((event) => event.event_type === 'title_change')
        .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
      const boundaries = ends.filter((event) => own.includes(event))
      return boundaries.length === 1 && boundaries[0]?.event_type === 'left'
        ? [...changes, ...boundaries]
        : [...boundaries, ...changes]
    })
}

/** Joined and left events by time; of two at one instant, what the surroundings say comes first. */
function inOrder(boundaries: readonly GivenEvent[]): GivenEvent[] {
  const instants = [...groupBy(boundaries, (event) => String(at(event))).values()].toSorted(
    ([a], [b]) => (a && b ? at(a) - at(b) : 0),
  )
  const isCertain = (instant: readonly GivenEvent[]) => instant.length === 1
  return instants.flatMap((instant, index) => {
    if (isCertain(instant)) return instant
    const before = instants.slice(0, index).findLast(isCertain)?.[0]?.event_type
    const after = instants.slice(index + 1).find(isCertain)?.[0]?.event_type
    const wasThere = before === undefined ? (after === 'left' ? true : null) : before === 'joined'
    return instant.toSorted((a, b) => {
      if (wasThere !== null) return (a.event_type === 'left') === wasThere ? -1 : 1
      const [detectedA, detectedB] = [detectedAt(a), detectedAt(b)]
      if (detectedA !== detectedB) return detectedA - detectedB
      return a.event_type === 'joined' ? -1 : 1
    })
  })
}

function factsOf(ordered: readonly GivenEvent[]): Fact[] {
  const runs: GivenEvent[][] = []
  for (const event of ordered) {
    const run = runs.at(-1)
    const last = run?.at(-1)
    const isSaidAgain =
      last !== undefined &&
      last.event_type === event.event_type &&
      titleOf(last) === titleOf(event) &&
      daysFrom(last, event) <= SAID_AGAIN_DAYS
    if (isSaidAgain) run?.push(event)
    else runs.push([event])
  }
  return runs.map((said) => {
    const [event] = said.toSorted(
      (a, b) => detectedAt(b) - detectedAt(a) || at(b) - at(a) || (keyOf(a) < keyOf(b) ? 1 : -1),
    )
    if (event === undefined) throw new Error('a run has at least one event')
    return { event, said }
  })
}

interface Pair extends ExpectedMove {
  readonly order: readonly (number | string)[]
}

/** A pair is a move when no pair that shares its leaving or its joining comes before it, and it does not lead back. */
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
  const gapDays = daysFrom(departure, arrival)
  if (gapDays < -31 || gapDays > 180) return null
  const order = [
    Math.abs(gapDays),
    -gapDays,
    at(departure),
    at(arrival),
    keyOf(departure),
    keyOf(arrival),
  ]
  return { departed, arrived, gapDays, order }
}

/** event_key of an event. */
export function keyOf(event: GivenEvent): string {
  return event.event_key ?? naturalKey(event)
}

/** Calendar days in UTC from one event to another. */
export function daysFrom(from: GivenEvent, to: GivenEvent): number {
  return Math.floor(at(to) / DAY) - Math.floor(at(from) / DAY)
}

/** Puts values with the same key together, in the order in which they come. */
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

function titleOf(event: GivenEvent): string | null {
  const previous = event.event_type === 'left' ? event.title_previous : null
  return event.title_current ?? previous ?? null
}

function at(event: GivenEvent): number {
  return Date.parse(event.changed_at)
}

function detectedAt(event: GivenEvent): number {
  return Date.parse(event.detected_at ?? event.changed_at)
}

function isBefore(a: readonly (number | string)[], b: readonly (number | string)[]): boolean {
  const index = a.findIndex((value, place) => value !== b[place])
  return index >= 0 && (a[index] ?? 0) < (b[index] ?? 0)
}

// ——— as lines of text, from the definition and from the warehouse ———

/** Every stint and move as one line of text, sorted, as the definition has them. */
export function careersOf(events: readonly GivenEvent[]): { stints: string[]; moves: string[] } {
  const stints = expectedStints(events)
  const line = (...values: readonly unknown[]) => values.map(String).join(' | ')
  const key = (event: GivenEvent | null) => (event === null ? null : keyOf(event))
  return {
    stints: stints
      .map((stint) =>
        line(
          stint.person,
          stint.organization,
          stint.number,
          key(stint.arrival),
          key(stint.departure),
          stint.events.length,
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
