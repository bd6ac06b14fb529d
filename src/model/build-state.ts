/**
 * Decides between an incremental build and a full refresh: by what the last good build was made from (`ops.build_state`) and
 * by the people with new or changed events since (`ops.changed_people`). Written in the build's transaction.
 */

import { MIB } from '../support/units.ts'
import { columnsOfAll } from '../warehouse/columns.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Project } from './project.ts'

const FINGERPRINT = 'fingerprint'

// Of 2,048 rows that stand together, the engine holds 16 KiB as soon as one was deleted, and puts nothing of that on the disk. A
// night deletes a row of nearly all such groups, because people stand in no order of their changes.
const ROWS_OF_GROUP = 2_048
const BYTES_OF_GROUP = 16 * 1_024
// Where that is 975 MiB, a night of 50,000 events on 10 million was built in 1,152 MiB, and ran out of 960.
const MOST_FOR_DELETED_ROWS = 0.8

/**
 * Why the next build has to be a full refresh; null when it can be incremental.
 * @param mostChanged the largest share of all events, 0 to 1, that changed people may have
 * @param memory what the engine may take, in bytes
 */
export async function fullRefreshReasonOf(
  warehouse: Warehouse,
  project: Project,
  mostChanged: number,
  memory: number,
): Promise<string | null> {
  const fingerprint = await lastFingerprint(warehouse)
  if (fingerprint === undefined) return 'there is no earlier build to go on from'
  if (fingerprint !== project.fingerprint)
    return 'models, checks, titles or the version are not those of the last build'
  const there = await columnsOfAll(warehouse)
  for (const { name, columns: described } of project.nodes) {
    const columns = there.get(name)?.map((column) => column.name)
    if (columns === undefined) return `the table ${name} is not there`
    if (columns.toSorted().join() !== [...described.keys()].toSorted().join()) {
      return `the table ${name} has other columns than it was made with`
    }
  }
  const [changed] = await warehouse.all<{ events: bigint; all_events: bigint }>(
    `select
        (select count(*) from job_change_events where profile_id in (select profile_id from ops.changed_people))
            as events,
        (select count(*) from job_change_events) as all_events`,
  )
  const share = Number(changed?.events ?? 0) / Math.max(1, Number(changed?.all_events ?? 0))
  if (share > mostChanged) {
    return `people with new or changed events have ${Math.round(100 * share)} % of all events`
  }
  const needed = await bytesOfDeletedRows(warehouse, share)
  const most = memory * MOST_FOR_DELETED_ROWS
  if (needed <= most) return null
  const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`
  return `rows that it deletes could take ${mib(needed)} of memory, and get ${mib(most)}`
}

/** The most memory that the rows take that an incremental build deletes. @param share of all rows, 0 to 1, that it may replace */
async function bytesOfDeletedRows(warehouse: Warehouse, share: number): Promise<number> {
  const rows = await warehouse.number(
    `select sum(estimated_size) from duckdb_tables()
     where database_name = current_database() and schema_name in ('main', 'core')`,
  )
  return rows * Math.min(share, 1 / ROWS_OF_GROUP) * BYTES_OF_GROUP
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
