/** A warehouse in memory with the shipped schema, and events to put into it. A test names only the fields that matter. */

import { createHash } from 'node:crypto'
import type { SqlValue } from '../../src/warehouse/rows.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'

/** A row of `job_change_events`; times as ISO 8601 text or Date. */
export interface EventRow {
  event_key: string
  profile_id: string
  organization_id: string
  event_type: 'joined' | 'left' | 'title_change'
  changed_at: Date | string
  detected_at: Date | string
  detection_lag_days: number | null
  title_current: string | null
  title_previous: string | null
  person_handle: string | null
  person_full_name: string | null
  person_first_name: string | null
  person_last_name: string | null
  person_headline: string | null
  person_network_url: string | null
  organization_name: string | null
  organization_slug: string | null
  organization_network_url: string | null
  attributes_seen_at: Date | string
  first_seen_at: Date | string
  last_seen_at: Date | string
  first_run_id: string
  last_run_id: string
  times_seen: number
}

const TIMES = new Set(['changed_at', 'detected_at', 'attributes_seen_at', 'first_seen_at'])
TIMES.add('last_seen_at')

/** An empty warehouse in memory. */
export async function memoryWarehouse(options: { threads?: number } = {}): Promise<Warehouse> {
  return openWarehouse({ path: ':memory:', mode: 'write', ...options })
}

/** A whole row from the fields that matter to a test; the key is a hash of the natural key. */
export function anEvent(fields: Partial<EventRow> = {}): EventRow {
  const profileId = fields.profile_id ?? 'person_1'
  const organizationId = fields.organization_id ?? 'org_1'
  const eventType = fields.event_type ?? 'joined'
  const changedAt = fields.changed_at ?? '2025-03-01T00:00:00Z'
  const title = fields.title_current === undefined ? 'Engineer' : fields.title_current
  const naturalKey = [profileId, organizationId, eventType, new Date(changedAt).toISOString()]
  if (eventType === 'title_change') naturalKey.push(title ?? '')
  const detectedAt = fields.detected_at ?? changedAt
  const seenAt = fields.first_seen_at ?? detectedAt
  return {
    event_key: createHash('md5').update(naturalKey.join('\n')).digest('hex'),
    profile_id: profileId,
    organization_id: organizationId,
    event_type: eventType,
    changed_at: changedAt,
    detected_at: detectedAt,
    detection_lag_days: 0,
    title_current: title,
    title_previous: null,
    person_handle: null,
    person_full_name: null,
    person_first_name: null,
    person_last_name: null,
    person_headline: null,
    person_network_url: null,
    organization_name: null,
    organization_slug: null,
    organization_network_url: null,
    attributes_seen_at: seenAt,
    first_seen_at: seenAt,
    last_seen_at: seenAt,
    first_run_id: 'run_1',
    last_run_id: 'run_1',
    times_seen: 1,
    ...fields,
  }
}

/** Adds events to `job_change_events`. */
export async function insertEvents(
  warehouse: Warehouse,
  events: readonly Partial<EventRow>[],
): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(anEvent)
  const columns: Record<string, SqlValue[]> = {}
  for (const name of Object.keys(anEvent()) as (keyof EventRow)[]) {
    columns[name] = rows.map((row) => {
      const value = row[name]
      return TIMES.has(name) && value !== null ? new Date(value) : value
    })
  }
  await warehouse.append('job_change_events', columns)
}
