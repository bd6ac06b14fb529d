/** The events a simulator serves, made up or from a file, each with its JSON text made once: an answer joins texts. */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'
import { refuseForeignFile, writeFileAtomic } from '../support/atomic-file.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { plainly } from '../support/schema-words.ts'
import { csvLine } from '../support/text.ts'

export const EVENT_TYPES = ['joined', 'left', 'title_change'] as const
export type EventType = (typeof EVENT_TYPES)[number]

const text = z.string().nullable().default(null)
const instant = z.string().refine((value) => !Number.isNaN(Date.parse(value)), {
  error: 'expected an ISO 8601 timestamp',
})

/** One job-change event as the service sends it. Missing values become null; unknown fields are served unchanged. */
const eventSchema = z.looseObject({
  event_type: z.enum(EVENT_TYPES),
  /** When the service saw the change. */
  detected_at: instant,
  /** When the change took effect. */
  changed_at: instant,
  /** Whole days from the change to its detection. */
  detection_lag_days: z.int(),
  title: z.looseObject({ current: text, previous: text }),
  person: z.looseObject({
    profile_id: z.string().min(1),
    handle: text,
    full_name: text,
    first_name: text,
    last_name: text,
    headline: text,
    network_url: text,
  }),
  organization: z.looseObject({
    organization_id: z.string().min(1),
    name: text,
    slug: text,
    network_url: text,
  }),
})

export type JobChangeEvent = z.output<typeof eventSchema>

export type TrackedOrganization = JobChangeEvent['organization']

export interface ServedEvent {
  readonly json: string
  readonly type: EventType
  /** Milliseconds since 1970 UTC: the event is invisible before that. */
  readonly detectedAt: number
  /** The position of its organisation in EventSource.organizations. */
  readonly organization: number
}

/** Something a simulator can serve: a made-up world, or a file of events. */
export interface EventSource {
  readonly organizations: readonly TrackedOrganization[]
  /** All events, detected or not yet, in the order of the service: freshest first. */
  readonly events: readonly ServedEvent[]
}

/**
 * Events, given in any order, as something to serve: fewest days from change to detection first, then the latest detection,
 * then as given, so that equal events never change places between two pages.
 * @param organizations in their order, also those without events; others follow as events name them
 */
export function sourceOf(
  events: Iterable<JobChangeEvent>,
  organizations: Iterable<TrackedOrganization> = [],
): EventSource {
  const numbers = new Map<string, number>()
  const known: TrackedOrganization[] = []
  const numberOf = (organization: TrackedOrganization) => {
    const number = numbers.get(organization.organization_id) ?? known.length
    if (number === known.length) known.push(organization)
    numbers.set(organization.organization_id, number)
    return number
  }
  for (const organization of organizations) numberOf(organization)
  const served = Array.from(events, (event) => ({
    json: JSON.stringify(event),
    type: event.event_type,
    detectedAt: Date.parse(event.detected_at),
    organization: numberOf(event.organization),
    lagDays: event.detection_lag_days,
  }))
  served.sort((a, b) => a.lagDays - b.lagDays || b.detectedAt - a.detectedAt)
  return { organizations: known, events: served }
}

/**
 * Writes the list of organisations that Jobtide reads, as CSV.
 * @param mayReplace what else than the same list a file there may hold; absent: anything
 * @throws ConfigError if it holds something else
 */
export function writeOrganizationsFile(
  path: string,
  organizations: readonly Pick<TrackedOrganization, 'organization_id' | 'name'>[],
  mayReplace?: (text: string) => boolean,
): void {
  const lines = organizations.map(({ organization_id: id, name }) => csvLine([id, name]))
  const list = ['organization_id,name\n', ...lines].join('')
  if (mayReplace !== undefined) {
    refuseForeignFile(path, 'list of this world', (text) => text === list || mayReplace(text))
  }
  writeFileAtomic(path, list)
}

/**
 * Reads the events of an `.ndjson` or `.ndjson.gz` file; exact duplicates are kept. Blank lines are skipped.
 * @throws ConfigError when the file cannot be read, or naming the first line that is not an event
 */
export function readEventsFile(path: string): EventSource {
  return sourceOf(eventsOf(path))
}

function* eventsOf(path: string): Generator<JobChangeEvent> {
  const bytes = bytesOf(path)
  // Not one text: it could be longer than a text can be.
  for (let at = 0, number = 1; at < bytes.length; number += 1) {
    const found = bytes.indexOf('\n', at)
    const end = found < 0 ? bytes.length : found
    const line = bytes.toString('utf8', at, end)
    if (line.trim() !== '') yield parseLine(line, `${path}, line ${number}`)
    at = end + 1
  }
}

function bytesOf(path: string): Buffer {
  try {
    const bytes = readFileSync(path)
    return path.endsWith('.gz') ? gunzipSync(bytes) : bytes
  } catch (error) {
    throw new ConfigError(`${path}: cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

function parseLine(line: string, subject: string): JobChangeEvent {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new ConfigError(`${subject}: not JSON: ${messageOf(error)}`, { cause: error })
  }
  const parsed = eventSchema.safeParse(value, { error: plainly })
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new ConfigError(`${subject}: ${issue?.path.join('.')}: ${issue?.message}`)
}
