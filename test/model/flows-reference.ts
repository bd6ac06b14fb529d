/** Talent flows computed a second time, straight from the definition and without SQL, to compare the models with. */

import { DAY } from '../../src/support/units.ts'
import { naturalKey, type GivenEvent } from './insert-events.ts'

/** One expected row of talent_flows. */
export interface ExpectedFlow {
  readonly from: string
  readonly to: string
  readonly people: number
  readonly moves: number
  readonly firstMovedAt: string
  readonly lastMovedAt: string
  readonly medianGapDays: number
}

interface Stint {
  readonly person: string
  readonly organization: string
  readonly number: number
  arrival: GivenEvent | null
  departure: GivenEvent | null
}

interface Pair {
  readonly departed: Stint
  readonly arrived: Stint
  readonly gapDays: number
  readonly order: readonly (number | string)[]
}

/** The flows of all events, sorted by their two organisations. */
export function expectedFlows(events: readonly GivenEvent[]): ExpectedFlow[] {
  const moves = [...groupBy(events, (event) => event.profile_id).values()].flatMap(movesOfPerson)
  const flows = groupBy(
    moves,
    ({ departed, arrived }) => `${departed.organization} ${arrived.organization}`,
  )
  return [...flows.keys()].toSorted().map((key) => {
    const pairs = flows.get(key) ?? []
    const [from = '', to = ''] = key.split(' ')
    const movedAt = pairs
      .map(({ arrived }) => new Date(arrived.arrival?.changed_at ?? Number.NaN).toISOString())
      .toSorted()
    return {
      from,
      to,
      people: new Set(pairs.map(({ departed }) => departed.person)).size,
      moves: pairs.length,
      firstMovedAt: movedAt[0] ?? '',
      lastMovedAt: movedAt.at(-1) ?? '',
      medianGapDays: median(pairs.map(({ gapDays }) => gapDays)),
    }
  })
}

/** A pair is a move when no pair that shares its leaving or its joining comes before it, and it does not lead back. */
function movesOfPerson(events: readonly GivenEvent[]): Pair[] {
  const stints = [...groupBy(events, (event) => event.organization_id).values()].flatMap(stintsOf)
  const pairs = stints.flatMap((departed) =>
    stints.map((arrived) => pairOf(departed, arrived)).filter((pair) => pair !== null),
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

function pairOf(departed: Stint, arrived: Stint): Pair | null {
  const { departure } = departed
  const { arrival } = arrived
  if (departure === null || arrival === null) return null
  const isSameOrganization = departed.organization === arrived.organization
  if (isSameOrganization && arrived.number <= departed.number) return null
  const gapDays = dayNumber(arrival.changed_at) - dayNumber(departure.changed_at)
  if (gapDays < -31 || gapDays > 180) return null
  const order = [
    Math.abs(gapDays),
    -gapDays,
    Date.parse(departure.changed_at),
    Date.parse(arrival.changed_at),
    keyOf(departure),
    keyOf(arrival),
  ]
  return { departed, arrived, gapDays, order }
}

function stintsOf(events: readonly GivenEvent[]): Stint[] {
  const stints: Stint[] = []
  const ordered = events
    .filter((event) => event.event_type !== 'title_change')
    .toSorted((a, b) => (isBefore(boundaryOrder(a), boundaryOrder(b)) ? -1 : 1))
  let wasHere: boolean | null = null
  for (const event of ordered) {
    const joins = event.event_type === 'joined'
    let stint = stints.at(-1)
    if (stint === undefined || (joins && wasHere === false)) {
      stint = {
        person: event.profile_id,
        organization: event.organization_id,
        number: stints.length + 1,
        arrival: joins ? event : null,
        departure: null,
      }
      stints.push(stint)
    }
    if (!joins) stint.departure = event
    wasHere = joins
  }
  return stints
}

function boundaryOrder(event: GivenEvent): (number | string)[] {
  return [
    Date.parse(event.changed_at),
    Date.parse(event.detected_at ?? event.changed_at),
    event.event_type,
    keyOf(event),
  ]
}

function keyOf(event: GivenEvent): string {
  return event.event_key ?? naturalKey(event)
}

function isBefore(a: readonly (number | string)[], b: readonly (number | string)[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index])
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0)
}

function dayNumber(instant: string): number {
  return Math.floor(Date.parse(instant) / DAY)
}

function median(values: readonly number[]): number {
  const ordered = values.toSorted((a, b) => a - b)
  const middle = (ordered.length - 1) / 2
  return ((ordered[Math.floor(middle)] ?? 0) + (ordered[Math.ceil(middle)] ?? 0)) / 2
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group === undefined) groups.set(keyOf(value), [value])
    else group.push(value)
  }
  return groups
}
