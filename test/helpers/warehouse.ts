/** A warehouse in memory with the shipped schema, and events to put straight into it. */

import { ENDPOINTS } from '../../src/api/endpoints/endpoints.ts'
import { IN_BUILT, SIGNAL_DELIVERY } from '../../src/warehouse/catalog.ts'
import type { SqlValue } from '../../src/warehouse/rows.ts'
import type { WarehouseOptions } from '../../src/warehouse/engine-settings.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'

/** An empty warehouse in memory. */
export async function memoryWarehouse(
  options: Pick<WarehouseOptions, 'threads' | 'memoryLimit'> = {},
): Promise<Warehouse> {
  return openWarehouse({ path: ':memory:', mode: 'write', ...options })
}

/** Inserts an empty answer of every endpoint, so that a build makes every table. */
export async function askEveryEndpoint(warehouse: Warehouse): Promise<void> {
  const endpoints = [...ENDPOINTS.keys(), SIGNAL_DELIVERY]
  await warehouse.append('answers', {
    request_id: endpoints.map((endpoint) => `nothing of ${endpoint}`),
    endpoint: endpoints,
    lookup_key: endpoints,
    subject: endpoints,
    page: endpoints.map(() => 1),
    outcome: endpoints.map(() => 'later'),
    received_at: endpoints.map(() => new Date(RECEIVED_AT)),
    body: endpoints.map(() => '{}'),
  })
}

/** The columns a test may set; the others have defaults. Times are ISO 8601, UTC. */
export interface GivenEvent {
  readonly profile_id: string
  readonly organization_id: string
  readonly event_type: string
  readonly changed_at: string
  readonly event_key?: string
  readonly detected_at?: string
  readonly detection_lag_days?: number | null
  readonly title_current?: string | null
  readonly title_previous?: string | null
  readonly person_handle?: string | null
  readonly person_full_name?: string | null
  readonly person_headline?: string | null
  readonly person_network_url?: string | null
  readonly organization_name?: string | null
  readonly organization_slug?: string | null
  readonly organization_network_url?: string | null
  readonly first_seen_at?: string
  readonly last_seen_at?: string
}

const SOME_EVENT: GivenEvent = {
  profile_id: 'person_1',
  organization_id: 'org_1',
  event_type: 'joined',
  changed_at: '2025-03-01T00:00:00Z',
}
const RECEIVED_AT = '2024-12-01T02:15:00Z'

/** Inserts events and records their people, as a load does. By default an event is detected when it took effect. */
export async function insertEvents(
  warehouse: Warehouse,
  given: readonly Partial<GivenEvent>[],
): Promise<void> {
  if (given.length === 0) return
  const events = given.map((one) => ({ ...SOME_EVENT, ...one }))
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

/**
 * The columns of events and of their versions.
 * @param seenAt the default time of receipt
 */
export function columnsOf(
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
    person_handle: column((event) => event.person_handle ?? null),
    person_full_name: column((event) => event.person_full_name ?? null),
    person_headline: column((event) => event.person_headline ?? null),
    person_network_url: column((event) => event.person_network_url ?? null),
    organization_name: column((event) => event.organization_name ?? event.organization_id),
    organization_slug: column((event) => event.organization_slug ?? null),
    organization_network_url: column((event) => event.organization_network_url ?? null),
    first_seen_at: column((event) => new Date(event.first_seen_at ?? seenAt(event))),
    last_seen_at: column(
      (event) => new Date(event.last_seen_at ?? event.first_seen_at ?? seenAt(event)),
    ),
    first_run_id: column(() => 'run'),
  }
}

/** When the service detected an event: by default when it took effect. */
export function detectedAt({ detected_at: detected, changed_at: changed }: GivenEvent): string {
  return detected ?? changed
}

/** The natural key of an event as one text. */
export function naturalKey(event: GivenEvent): string {
  const title = event.event_type === 'title_change' ? `|${event.title_current}` : ''
  return `${event.profile_id}|${event.organization_id}|${event.event_type}|${event.changed_at}${title}`
}

/** Every row of the tables and views that a build makes as JSON, by name. */
export async function contentsOf(warehouse: Warehouse): Promise<Map<string, string[]>> {
  const names = await warehouse.all<{ name: string }>(
    `select concat(nullif(table_schema, 'main') || '.', table_name) as name from information_schema.tables
     where table_schema in ${IN_BUILT} order by all`,
  )
  const contents = new Map<string, string[]>()
  for (const { name } of names) {
    const { rows } = await warehouse.table(`select * from ${name} order by all`)
    contents.set(
      name,
      rows.map((row) => JSON.stringify(row)),
    )
  }
  return contents
}

/** Temporary tables and views: a build leaves none. */
export async function temporariesOf(warehouse: Warehouse): Promise<unknown[]> {
  return warehouse.all(
    `select table_name from duckdb_tables() where temporary
     union all select view_name from duckdb_views() where temporary and not internal`,
  )
}
