/** The watch-lists of pipelines in the warehouse, where builds find them. */

import type { Suppression } from '../load/suppression.ts'
import type { WatchList } from '../plan/watch-lists.ts'
import { WATCH_ENTRIES } from '../warehouse/catalog.ts'
import { asObjects, type ResultTable, type SqlValue } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Job } from './job.ts'

/** Replaces the lists of a pipeline, and those of no other. Ids of erased people are left out. */
export async function storeWatchLists(
  warehouse: Warehouse,
  { pipeline, watch }: Pick<Job, 'pipeline' | 'watch'>,
  suppression: Suppression,
): Promise<void> {
  const rows = watch.flatMap((list) => rowsOf(list, suppression))
  const condition = (key: 'changes' | 'levels' | 'functions') =>
    rows.map(({ list }) => list[key] && `,${list[key].join()},`).map((text) => text ?? null)
  await warehouse.transaction(async () => {
    await warehouse.run(`delete from ${WATCH_ENTRIES} where pipeline = $1`, [pipeline])
    await warehouse.append(WATCH_ENTRIES, {
      pipeline: rows.map(() => pipeline),
      watch_list: rows.map(({ list }) => list.name),
      entry: rows.map(({ entry }) => entry),
      kind: rows.map(({ kind }) => kind),
      listed_as: rows.map(({ listedAs }) => listedAs),
      changes: condition('changes'),
      levels: condition('levels'),
      functions: condition('functions'),
    })
  })
}

function rowsOf(list: WatchList, suppression: Suppression) {
  return list.entries
    .filter(({ kind, listedAs }) => kind !== 'profile_id' || !suppression.coversPerson(listedAs))
    .map((entry) => ({ list, ...entry }))
}

/** The lists of all pipelines in a warehouse; null for one of 0.11, which had none. */
export async function watchListsIn(warehouse: Warehouse): Promise<ResultTable | null> {
  const [there] = await warehouse.all(
    "select 1 from duckdb_tables() where schema_name || '.' || table_name = $1",
    [WATCH_ENTRIES],
  )
  return there === undefined ? null : warehouse.table(`from ${WATCH_ENTRIES}`)
}

/** Puts the lists of the warehouse before into the one that replaces it. */
export async function keepWatchLists(
  warehouse: Warehouse,
  table: ResultTable | null,
  suppression: Suppression,
): Promise<void> {
  if (table === null) return
  const rows = asObjects(table).filter(
    ({ kind, listed_as: id }) => kind !== 'profile_id' || !suppression.coversPerson(String(id)),
  )
  const columns = table.columns.map(({ name }) => [name, rows.map((row) => row[name])] as const)
  await warehouse.append(WATCH_ENTRIES, Object.fromEntries(columns) as Record<string, SqlValue[]>)
}
