/**
 * The events a simulator serves, held as columns and ready-made JSON bytes: an answer is a copy of bytes, never a
 * serialisation. Events are numbered in the order the service sends them, freshest first, so any answer is a list of
 * ascending numbers. This file knows no HTTP and no time: what is visible when is the reader's question.
 */

/** The three kinds of event, as the service spells them. */
export const EVENT_TYPES = ['joined', 'left', 'title_change'] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** One job-change event as the service sends it: every key is there, what is not known is null. */
export interface JobChangeEvent {
  event_type: EventType
  /** ISO 8601: when the service saw the change. */
  detected_at: string
  /** ISO 8601: when the change took effect. */
  changed_at: string
  /** Whole days from the change to its detection. */
  detection_lag_days: number
  title: { current: string | null; previous: string | null }
  person: {
    profile_id: string
    handle: string | null
    full_name: string | null
    first_name: string | null
    last_name: string | null
    headline: string | null
    network_url: string | null
  }
  organization: {
    organization_id: string
    name: string | null
    slug: string | null
    network_url: string | null
  }
}

/** An organisation that the service tracks. */
export type TrackedOrganization = JobChangeEvent['organization']

/** Something a simulator can serve: a made-up world, or a file of events. */
export interface EventSource {
  /** Every organisation that may be asked for; its position is its number. */
  readonly organizations: readonly TrackedOrganization[]
  /** How many events there are, detected or not yet. They are numbered from 0 in the order of freshness. */
  readonly count: number
  /** Number of each event's organisation. */
  readonly organizationOf: Uint32Array
  /** When each event is detected, in milliseconds since 1970 UTC: before that, nobody can see it. */
  readonly detectedAt: Float64Array
  /** Each event's type, as a position in EVENT_TYPES. */
  readonly typeOf: Uint8Array
  /** The events of an organisation, in ascending number: freshest first. */
  eventsOf(organization: number): Uint32Array
  /** Length in bytes of an event's JSON. */
  byteLength(event: number): number
  /** Copies an event's JSON into `target` at `offset` and returns the offset after it. */
  copyJson(event: number, target: Buffer, offset: number): number
  /** The event as an object of its own. */
  eventAt(event: number): JobChangeEvent
}

/** Collects events in any order and turns them into an EventSource. */
export interface EventCollector {
  /** Adds an organisation, also one without events, and returns its number. A known id is not added again. */
  addOrganization(organization: TrackedOrganization): number
  /** Adds an event and its organisation. */
  add(event: JobChangeEvent): void
  /** The source. The collector must not be used any more. */
  finish(): EventSource
}

// Chunks, because one buffer that grows by doubling would need three times the memory while it moves.
const CHUNK_BYTES = 4 * 1_024 * 1_024
const MOST_BYTES_PER_CHARACTER = 3

/** The longest JSON text of one event, in characters. */
export const LONGEST_EVENT = Math.floor(CHUNK_BYTES / MOST_BYTES_PER_CHARACTER)

/** A collector without events. */
export function createEventCollector(): EventCollector {
  const organizations: TrackedOrganization[] = []
  const organizationNumbers = new Map<string, number>()
  const bytes = createByteStore()
  const column = {
    lagDays: [] as number[],
    detectedAt: [] as number[],
    organizationOf: [] as number[],
    typeOf: [] as number[],
    position: [] as number[],
    length: [] as number[],
  }

  function addOrganization(organization: TrackedOrganization): number {
    const known = organizationNumbers.get(organization.organization_id)
    if (known !== undefined) return known
    organizationNumbers.set(organization.organization_id, organizations.length)
    organizations.push({ ...organization })
    return organizations.length - 1
  }

  return {
    addOrganization,
    add(event) {
      const { position, length } = bytes.append(JSON.stringify(event))
      column.position.push(position)
      column.length.push(length)
      column.lagDays.push(event.detection_lag_days)
      column.detectedAt.push(Date.parse(event.detected_at))
      column.organizationOf.push(addOrganization(event.organization))
      column.typeOf.push(EVENT_TYPES.indexOf(event.event_type))
    },
    finish() {
      const order = freshnessOrder(column.lagDays, column.detectedAt)
      const sorted = (values: number[]) => (_: unknown, event: number) =>
        values[order[event] ?? 0] ?? 0
      const size = { length: order.length }
      const organizationOf = Uint32Array.from(size, sorted(column.organizationOf))
      const position = Uint32Array.from(size, sorted(column.position))
      const length = Uint32Array.from(size, sorted(column.length))
      const eventsOf = groupByOrganization(organizationOf, organizations.length)
      return {
        organizations,
        count: order.length,
        organizationOf,
        detectedAt: Float64Array.from(size, sorted(column.detectedAt)),
        typeOf: Uint8Array.from(size, sorted(column.typeOf)),
        eventsOf,
        byteLength: (event) => length[event] ?? 0,
        copyJson: (event, target, offset) =>
          bytes.copy(position[event] ?? 0, length[event] ?? 0, target, offset),
        eventAt: (event) =>
          JSON.parse(bytes.text(position[event] ?? 0, length[event] ?? 0)) as JobChangeEvent,
      }
    },
  }
}

/**
 * The order of the service: fewest days from change to detection first, then the latest detection, then the order in
 * which the events were added, so that equal events never change places between two pages.
 */
function freshnessOrder(lagDays: readonly number[], detectedAt: readonly number[]): Uint32Array {
  const order = Uint32Array.from(lagDays, (_, event) => event)
  return order.sort(
    (a, b) =>
      (lagDays[a] ?? 0) - (lagDays[b] ?? 0) || (detectedAt[b] ?? 0) - (detectedAt[a] ?? 0) || a - b,
  )
}

function groupByOrganization(
  organizationOf: Uint32Array,
  organizations: number,
): (organization: number) => Uint32Array {
  const start = new Uint32Array(organizations + 1)
  for (const organization of organizationOf)
    start[organization + 1] = (start[organization + 1] ?? 0) + 1
  for (let i = 0; i < organizations; i += 1) start[i + 1] = (start[i + 1] ?? 0) + (start[i] ?? 0)
  const next = start.slice()
  const events = new Uint32Array(organizationOf.length)
  for (const [event, organization] of organizationOf.entries()) {
    const at = next[organization] ?? 0
    events[at] = event
    next[organization] = at + 1
  }
  return (organization) => events.subarray(start[organization], start[organization + 1])
}

/** Texts one after another in chunks; none crosses a border, so one position finds chunk and offset. */
function createByteStore() {
  const chunks: Buffer[] = []
  let used = CHUNK_BYTES
  const chunkAt = (position: number) => chunks[Math.floor(position / CHUNK_BYTES)]
  return {
    append(text: string): { position: number; length: number } {
      if (text.length > LONGEST_EVENT) throw new RangeError(`event of ${text.length} characters`)
      let chunk = chunks.at(-1)
      if (chunk === undefined || used + text.length * MOST_BYTES_PER_CHARACTER > CHUNK_BYTES) {
        chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
        chunks.push(chunk)
        used = 0
      }
      const length = chunk.write(text, used)
      const position = (chunks.length - 1) * CHUNK_BYTES + used
      used += length
      return { position, length }
    },
    copy(position: number, length: number, target: Buffer, offset: number): number {
      const from = position % CHUNK_BYTES
      chunkAt(position)?.copy(target, offset, from, from + length)
      return offset + length
    },
    text(position: number, length: number): string {
      const from = position % CHUNK_BYTES
      return chunkAt(position)?.toString('utf8', from, from + length) ?? ''
    },
  }
}
