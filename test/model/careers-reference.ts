/**
 * Stints and moves computed a second time, without SQL: a walk through the events of each person and organisation, one
 * after the other, as the rules in sql/models/core/ambiguous_events.sql say it in words.
 */

import { understandTitle } from '../../src/titles/understand.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { naturalKey, type GivenEvent } from '../helpers/warehouse.ts'

/** One expected stint. */
export interface ExpectedStint {
  readonly person: string
  readonly organization: string
  readonly number: number
  readonly arrival: GivenEvent | null
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

/** The stints of all events. */
export function expectedStints(events: readonly GivenEvent[]): ExpectedStint[] {
  const pairs = groupBy(events, (event) => `${event.profile_id} ${event.organization_id}`)
  return [...pairs.values()].flatMap(stintsOfPair)
}

/** The moves between stints, each departure and each arrival in one at most. */
export function expectedMoves(stints: readonly ExpectedStint[]): ExpectedMove[] {
  return [...groupBy(stints, (stint) => stint.person).values()].flatMap(movesOfPerson)
}

/** Whether any known title of the stint is more than a side role. */
export function isPrimary({ events }: ExpectedStint): boolean {
  const known = events.map(titleOf).filter((title) => title !== null)
  return known.length === 0 || known.some((title) => !understandTitle(title).isSideRole)
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

/** Something that happened once, however often it was said: the event that counts, and since when it was said. */
interface Fact {
  readonly event: GivenEvent
  readonly said: readonly GivenEvent[]
}

function stintsOfPair(events: readonly GivenEvent[]): ExpectedStint[] {
  const [one] = events
  if (one === undefined) return []
  const facts = factsOf(inOrder(events.filter((event) => event.event_type !== 'title_change')))
  const stints: ExpectedStint[] = []
  const begun: { stint: ExpectedStint; from: GivenEvent }[] = []
  const begin = (fact: Fact) => {
    const stint: ExpectedStint = {
      person: one.profile_id,
      organization: one.organization_id,
      number: stints.length + 1,
      arrival: fact.event.event_type === 'joined' ? fact.event : null,
      departure: null,
      interruptions: 0,
      events: [],
    }
    stints.push(stint)
    begun.push({ stint, from: fact.said[0] ?? fact.event })
    return stint
  }

  let endedOverlap = false
  for (let index = 0; index < facts.length; index += 1) {
    const fact = facts[index]
    const before = facts[index - 1]
    if (fact === undefined) continue
    let stint = stints.at(-1) ?? begin(fact)
    if (fact.event.event_type === 'left') {
      stint.departure = fact.event
    } else if (before?.event.event_type === 'left' && !endedOverlap) {
      if (daysFrom(before.event, fact.event) <= INTERNAL_DAYS) {
        stint.departure = null
        stint.interruptions += 1
      } else {
        stint = begin(fact)
      }
    } else if (
      before?.event.event_type === 'joined' &&
      endsOverlap(before, fact, facts[index + 1])
    ) {
      stint.interruptions += 1
      stint.events.push(...fact.said)
      index += 1
      endedOverlap = true
      stint.events.push(...(facts[index]?.said ?? []))
      continue
    }
    endedOverlap = false
    stint.events.push(...fact.said)
  }
  addTitleChanges(events, stints, begun)
  return stints
}

/** Whether `next` is the end of the role before `joined`, which began before that one ended. */
function endsOverlap(before: Fact, joined: Fact, next: Fact | undefined): boolean {
  if (next?.event.event_type !== 'left') return false
  if (daysFrom(joined.event, next.event) > INTERNAL_DAYS) return false
  const [old, young, left] = [before, joined, next].map(({ event }) => titleOf(event))
  const leavesTheNewRole = left !== null && left === young && old !== null && old !== young
  return !leavesTheNewRole
}

function addTitleChanges(
  events: readonly GivenEvent[],
  stints: ExpectedStint[],
  begun: readonly { stint: ExpectedStint; from: GivenEvent }[],
): void {
  for (const event of events.filter((one) => one.event_type === 'title_change')) {
    const stint = begun.findLast(({ from }) => at(from) <= at(event))?.stint ?? stints[0]
    if (stint !== undefined) {
      stint.events.push(event)
      continue
    }
    stints.push({
      person: event.profile_id,
      organization: event.organization_id,
      number: 1,
      arrival: null,
      departure: null,
      interruptions: 0,
      events: [event],
    })
  }
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
