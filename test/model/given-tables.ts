/** Fills the loaded tables with exactly the rows that the files of a case name: given.<table>.json. */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SqlValue } from '../../src/warehouse/rows.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, naturalKey, type GivenEvent } from './insert-events.ts'

interface GivenVersion extends GivenEvent {
  readonly last_seen_at?: string
}

interface GivenCoverage {
  readonly organization_id: string
  readonly event_types?: string
  readonly covered_from_at?: string | null
  readonly covered_to_at: string
}

const fillers: Record<string, (warehouse: Warehouse, rows: never[]) => Promise<void>> = {
  job_change_events: insertEvents,
  job_change_event_versions: insertVersions,
  organization_coverage: insertCoverage,
}

/**
 * Inserts the rows given in `folder`.
 * @param mark put before the ids of people, organisations and events, so that several cases can share a warehouse
 */
export async function insertGiven(
  warehouse: Warehouse,
  folder: string,
  mark: string,
): Promise<void> {
  for (const file of readdirSync(folder)) {
    const table = /^given\.(.+)\.json$/.exec(file)?.[1]
    if (table === undefined) continue
    const fill = fillers[table]
    if (fill === undefined) throw new TypeError(`${folder}: ${table} is no loaded table`)
    const rows = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, unknown>[]
    await fill(warehouse, rows.map((row) => marked(row, mark)) as never[])
  }
}

function marked(row: Record<string, unknown>, mark: string): Record<string, unknown> {
  const isId = (column: string) => /^(?:profile_id|organization_id|event_key)$/.test(column)
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      isId(column) ? `${mark}${String(value)}` : value,
    ]),
  )
}

/** Versions of corrected events; each is detected when it changed and received at its detection unless it says otherwise. */
export async function insertVersions(
  warehouse: Warehouse,
  versions: readonly GivenVersion[],
): Promise<void> {
  const column = (value: (version: GivenVersion, index: number) => SqlValue) => versions.map(value)
  const detectedAt = (version: GivenVersion) => version.detected_at ?? version.changed_at
  const seenAt = (version: GivenVersion) => version.first_seen_at ?? detectedAt(version)
  await warehouse.append('job_change_event_versions', {
    event_key: column((version) => version.event_key ?? naturalKey(version)),
    profile_id: column((version) => version.profile_id),
    organization_id: column((version) => version.organization_id),
    event_type: column((version) => version.event_type),
    changed_at: column((version) => new Date(version.changed_at)),
    detected_at: column((version) => new Date(detectedAt(version))),
    detection_lag_days: column((version) => version.detection_lag_days ?? null),
    title_current: column((version) => version.title_current ?? null),
    title_previous: column((version) => version.title_previous ?? null),
    person_full_name: column((version) => version.person_full_name ?? null),
    organization_name: column((version) => version.organization_name ?? version.organization_id),
    version_key: column((_, index) => String(index)),
    first_seen_at: column((version) => new Date(seenAt(version))),
    last_seen_at: column((version) => new Date(version.last_seen_at ?? seenAt(version))),
    first_run_id: column(() => 'run'),
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
