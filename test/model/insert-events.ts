/** Puts events straight into job_change_events, so that models are tested on exactly the rows a test names. */

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
}

const RECEIVED_AT = new Date('2024-12-01T02:15:00Z')

/** Inserts `events` and notes whom they touch, as a load does; organisations are named by their id and detected when they changed unless an event says otherwise. */
export async function insertEvents(
  warehouse: Warehouse,
  events: readonly GivenEvent[],
): Promise<void> {
  const column = (value: (event: GivenEvent) => SqlValue) => events.map(value)
  await warehouse.append('job_change_events', {
    event_key: column((event) => event.event_key ?? naturalKey(event)),
    profile_id: column((event) => event.profile_id),
    organization_id: column((event) => event.organization_id),
    event_type: column((event) => event.event_type),
    changed_at: column((event) => new Date(event.changed_at)),
    detected_at: column((event) => new Date(event.detected_at ?? event.changed_at)),
    detection_lag_days: column((event) => event.detection_lag_days ?? null),
    title_current: column((event) => event.title_current ?? null),
    title_previous: column((event) => event.title_previous ?? null),
    person_full_name: column((event) => event.person_full_name ?? null),
    organization_name: column((event) => event.organization_name ?? event.organization_id),
    attributes_seen_at: column(() => RECEIVED_AT),
    first_seen_at: column((event) => new Date(event.first_seen_at ?? RECEIVED_AT)),
    last_seen_at: column(() => RECEIVED_AT),
    first_run_id: column(() => 'run'),
    last_run_id: column(() => 'run'),
    times_seen: column(() => 1),
  })
  await warehouse.append('ops.changed_people', { profile_id: column((event) => event.profile_id) })
}

/** The natural key of an event as one text. */
export function naturalKey(event: GivenEvent): string {
  const title = event.event_type === 'title_change' ? `|${event.title_current}` : ''
  return `${event.profile_id}|${event.organization_id}|${event.event_type}|${event.changed_at}${title}`
}
