/**
 * Decides between an incremental build and a full refresh: by what the last good build was made from (`ops.build_state`) and
 * by the people with new or changed events since (`ops.changed_people`). Written in the build's transaction.
 */

import { areChangesNoted } from '../warehouse/changed-tables.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Project } from './project.ts'

const FINGERPRINT = 'fingerprint'

/**
 * Why the next build has to be a full refresh; null when it can be incremental.
 * @param mostChanged the largest share of all events, 0 to 1, that changed people may have
 */
export async function fullRefreshReasonOf(
  warehouse: Warehouse,
  project: Project,
  mostChanged: number,
): Promise<string | null> {
  const fingerprint = await lastFingerprint(warehouse)
  if (fingerprint === undefined || !(await areChangesNoted(warehouse))) {
    return 'there is no earlier build to go on from'
  }
  if (fingerprint !== project.fingerprint)
    return 'models, checks, titles or the version are not those of the last build'
  const there = await columnCounts(warehouse)
  for (const { schema, name, columns, endpoints = [] } of project.nodes) {
    const count = there.get(`${schema}.${name}`)
    // One of endpoints is made when it is first needed.
    if (count === undefined && endpoints.length > 0) continue
    if (count === undefined) return `the table ${name} is not there`
    if (count !== columns.size) return `the table ${name} has other columns than it was made with`
  }
  const [changed] = await warehouse.all<{ events: bigint; all_events: bigint }>(
    `select
        (select count(*) from job_change_events where profile_id in (select profile_id from ops.changed_people))
            as events,
        (select count(*) from job_change_events) as all_events`,
  )
  const share = Number(changed?.events ?? 0) / Math.max(1, Number(changed?.all_events ?? 0))
  return share > mostChanged
    ? `people with new or changed events have ${Math.round(100 * share)} % of all events`
    : null
}

/** How many columns each table and view has. To list the columns takes the engine ten times as long. */
async function columnCounts(warehouse: Warehouse): Promise<ReadonlyMap<string, number>> {
  const rows = await warehouse.all<{ name: string; columns: number }>(
    `select schema_name || '.' || table_name as name, column_count::int as columns from duckdb_tables()
     where database_name = current_database()
     union all
     select schema_name || '.' || view_name, column_count::int from duckdb_views()
     where database_name = current_database() and not internal`,
  )
  return new Map(rows.map(({ name, columns }) => [name, columns]))
}

/** What the last good build was made from; undefined where there was none. */
export async function lastFingerprint(warehouse: Warehouse): Promise<string | undefined> {
  const [row] = await warehouse.all<{ value: string }>(
    'select value from ops.build_state where key = $1',
    [FINGERPRINT],
  )
  return row?.value
}

/** Notes what the tables are made from, and that nobody has changed since. */
export async function writeState(warehouse: Warehouse, project: Project): Promise<void> {
  await warehouse.run('delete from ops.changed_people; delete from ops.build_state')
  await warehouse.append('ops.build_state', { key: [FINGERPRINT], value: [project.fingerprint] })
}
