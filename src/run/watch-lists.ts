/** The watch-lists of pipelines in the warehouse, where builds find them. */

import type { Suppression } from '../load/suppression.ts'
import { WATCH_ENTRIES } from '../warehouse/catalog.ts'
import { appendRows, type Row } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Job } from './job.ts'

/** Replaces the lists of a pipeline, and those of no other. Ids of erased people are left out. */
export async function storeWatchLists(
  warehouse: Warehouse,
  { pipeline, watch }: Pick<Job, 'pipeline' | 'watch'>,
  suppression: Suppression,
): Promise<void> {
  const condition = (values?: readonly string[]) => (values ? `,${values.join()},` : null)
  const rows = watch.flatMap(({ name, changes, levels, functions, entries }) =>
    entries.map(({ entry, kind, listedAs }) => ({
      pipeline,
      watch_list: name,
      entry,
      kind,
      listed_as: listedAs,
      changes: condition(changes),
      levels: condition(levels),
      functions: condition(functions),
    })),
  )
  await warehouse.transaction(async () => {
    await warehouse.run(`delete from ${WATCH_ENTRIES} where pipeline = $1`, [pipeline])
    await appendRows(warehouse, WATCH_ENTRIES, keptOf(rows, suppression))
  })
}

function keptOf(rows: readonly Row[], suppression: Suppression): Row[] {
  return rows.filter(
    ({ kind, listed_as: id }) => kind !== 'profile_id' || !suppression.coversPerson(String(id)),
  )
}

/** The lists of all pipelines in a warehouse; one of 0.11 has none. */
export async function watchListsIn(warehouse: Warehouse): Promise<Row[]> {
  const [there] = await warehouse.all(
    "select 1 from duckdb_tables() where schema_name || '.' || table_name = $1",
    [WATCH_ENTRIES],
  )
  return there === undefined ? [] : warehouse.all<Row>(`from ${WATCH_ENTRIES}`)
}

/** Puts the lists of the warehouse before into the one that replaces it. */
export async function keepWatchLists(
  warehouse: Warehouse,
  lists: readonly Row[],
  suppression: Suppression,
): Promise<void> {
  await appendRows(warehouse, WATCH_ENTRIES, keptOf(lists, suppression))
}
