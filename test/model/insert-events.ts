/** Puts rows straight into the loaded tables, so that models are tested on exactly the rows a test names. */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SqlValue } from '../../src/warehouse/rows.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'

/** The columns a test may name; what it leaves out has a default. Times are ISO 8601, UTC. */
export interface GivenEvent {
  readonly profile_id: string
  readonly organization_id: string
  readonly event_type: string
  readonly changed_at: string
  readonly event_key?: string
  readonly detected_at?: string
  readonly detection_lag_days?: number
  readonly title_current?: string | null
  readonly title_previous?: string | null
  readonly person_full_name?: string | null
  readonly organization_name?: string | null
  readonly first_seen_at?: string
  readonly last_seen_at?: string
}

interface GivenCoverage {
  readonly organization_id: string
  readonly event_types?: string
  readonly covered_from_at?: string | null
  readonly covered_to_at: string
}

const RECEIVED_AT = '2024-12-01T02:15:00Z'

/** Inserts events and notes whom they touch, as a load does; each is detected when it changed unless it says otherwise. */
export async function insertEvents(
  warehouse: Warehouse,
  events: readonly GivenEvent[],
): Promise<void> {
  const received = events.map(() => new Date(RECEIVED_AT))
  await warehouse.append('job_change_events', {
    ...columnsOf(events, () => RECEIVED_AT),
    last_seen_at: received,
    attributes_seen_at: received,
    last_run_id: events.map(() => 'run'),
    times_seen: events.map(() => 1),
  })
  await warehouse.append('ops.changed_people', { profile_id: events.map((one) => one.profile_id) })
}

/** Versions of corrected events; each is received at its detection unless it says otherwise. */
async function insertVersions(
  warehouse: Warehouse,
  versions: readonly GivenEvent[],
): Promise<void> {
  await warehouse.append('job_change_event_versions', {
    ...columnsOf(versions, detectedAt),
    version_key: versions.map((_, index) => String(index)),
  })
}

async function insertCoverage(
  warehouse: Warehouse,
  intervals: readonly GivenCoverage[],
): Promise<void> {
  await warehouse.append('ops.coverage', {
    organization_id: intervals.map((interval) => interval.organization_id),
    event_types: intervals.map((interval) => interval.event_types ?? 'joined,left,title_change'),
    covered_from: intervals.map(({ covered_from_at: from }) => (from ? new Date(from) : null)),
    covered_to: intervals.map((interval) => new Date(interval.covered_to_at)),
  })
}

function columnsOf(
  events: readonly GivenEvent[],
  seenAt: (event: GivenEvent) => string,
): Record<string, SqlValue[]> {
  const column = (value: (event: GivenEvent) => SqlValue) => events.map(value)
  return {
    event_key: column((event) => event.event_key ?? naturalKey(event)),
    profile_id: column((event) => event.profile_id),
    organization_id: column((event) => event.organization_id),
    event_type: column((event) => event.event_type),
    changed_at: column((event) => new Date(event.changed_at)),
    detected_at: column((event) => new Date(detectedAt(event))),
    detection_lag_days: column((event) => event.detection_lag_days ?? null),
    title_current: column((event) => event.title_current ?? null),
    title_previous: column((event) => event.title_previous ?? null),
    person_full_name: column((event) => event.person_full_name ?? null),
    organization_name: column((event) => event.organization_name ?? event.organization_id),
    first_seen_at: column((event) => new Date(event.first_seen_at ?? seenAt(event))),
    last_seen_at: column(
      (event) => new Date(event.last_seen_at ?? event.first_seen_at ?? seenAt(event)),
    ),
    first_run_id: column(() => 'run'),
  }
}

function detectedAt({ detected_at: detected, changed_at: changed }: GivenEvent): string {
  return detected ?? changed
}

/** The natural key of an event as one text. */
export function naturalKey(event: GivenEvent): string {
  const title = event.event_type === 'title_change' ? `|${event.title_current}` : ''
  return `${event.profile_id}|${event.organization_id}|${event.event_type}|${event.changed_at}${title}`
}

type InsertRows = (warehouse: Warehouse, rows: never[]) => Promise<void>
const GIVEN: Readonly<Record<string, InsertRows>> = {
  'given.job_change_events.json': insertEvents,
  'given.job_change_event_versions.json': insertVersions,
  'given.organization_coverage.json': insertCoverage,
}

/**
 * Inserts the rows that the given.<table>.json of all cases name.
 * @param cases a folder, and a mark put before the ids of people, organisations and events: cases share a warehouse
 */
export async function insertGiven(
  warehouse: Warehouse,
  cases: readonly { readonly folder: string; readonly mark: string }[],
): Promise<void> {
  const files = cases.flatMap(({ folder, mark }) =>
    readdirSync(folder).map((name) => ({ name, mark, path: join(folder, name) })),
  )
  const unknown = files.find(({ name }) => name.startsWith('given.') && !(name in GIVEN))
  if (unknown !== undefined) throw new TypeError(`${unknown.path} is for no loaded table`)
  for (const [given, insert] of Object.entries(GIVEN)) {
    const rows = files
      .filter(({ name }) => name === given)
      .flatMap(({ path, mark }) =>
        (JSON.parse(readFileSync(path, 'utf8')) as Row[]).map((row) => marked(row, mark)),
      )
    await insert(warehouse, rows as never[])
  }
}

type Row = Record<string, unknown>

function marked(row: Row, mark: string): Row {
  const isId = (column: string) => /^(?:profile_id|organization_id|event_key)$/.test(column)
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, isId(name) ? mark + String(value) : value]),
  )
}
