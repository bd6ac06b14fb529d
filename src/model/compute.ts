/**
 * Brings a filled table up to date: keys that the events mention and the table does not have are understood and added, rows
 * of another taxonomy are made anew. Keys pass through JavaScript in batches, so memory does not grow with the warehouse.
 */

import { taxonomyVersion } from '../titles/taxonomy.ts'
import { quoteIdentifier, type SqlValue, type Warehouse } from '../warehouse/warehouse.ts'
import type { ComputedModel } from './computed-models.ts'

const BATCH_ROWS = 50_000

/** What a fill did to a table. */
export interface RowsWritten {
  readonly inserted: number
  readonly deleted: number
}

/**
 * Makes a filled table what the tables it reads ask for, whatever it held before: rows that nothing mentions any more, and
 * those of another taxonomy, go.
 */
export async function computeAll(warehouse: Warehouse, table: ComputedModel): Promise<RowsWritten> {
  const name = quoteIdentifier(table.name)
  if (table.mentioned === null) {
    const deleted = await countedDelete(warehouse, `delete from ${name}`)
    const rows = await table.rowsFor({})
    await warehouse.append(table.name, rows)
    return { deleted, inserted: rowCount(rows) }
  }
  await warehouse.run(`create or replace temp table mentioned_keys as ${table.mentioned}`)
  const deleted = await countedDelete(
    warehouse,
    `delete from ${name} as known
     where taxonomy_version <> $1
       or not exists (select 1 from mentioned_keys as mentioned where ${sameKey(table)})`,
    [taxonomyVersion],
  )
  return { deleted, inserted: await addMissing(warehouse, table) }
}

/** Adds the rows that the tables it reads, as they are seen now, mention and the table does not have. */
export async function computeMissing(warehouse: Warehouse, table: ComputedModel): Promise<number> {
  if (table.mentioned === null) return 0
  await warehouse.run(`create or replace temp table mentioned_keys as ${table.mentioned}`)
  return addMissing(warehouse, table)
}

async function addMissing(warehouse: Warehouse, table: ComputedModel): Promise<number> {
  const key = table.key.map(quoteIdentifier).join(', ')
  await warehouse.run(
    `create or replace temp table missing_keys as
     select ${key}, row_number() over (order by ${key}) as place from mentioned_keys as mentioned
     where not exists (select 1 from ${quoteIdentifier(table.name)} as known where ${sameKey(table)});
     drop table mentioned_keys`,
  )
  let inserted = 0
  for (;;) {
    const keys = await warehouse.columns<string>(
      `select ${key} from missing_keys where place > $1 and place <= $2`,
      [inserted, inserted + BATCH_ROWS],
    )
    const count = rowCount(keys)
    if (count === 0) break
    await warehouse.append(table.name, await table.rowsFor(keys))
    inserted += count
  }
  await warehouse.run('drop table missing_keys')
  return inserted
}

/** How many rows `columns` hold. */
function rowCount(columns: Readonly<Record<string, readonly SqlValue[]>>): number {
  return Object.values(columns)[0]?.length ?? 0
}

function sameKey(table: ComputedModel): string {
  return table.key
    .map(quoteIdentifier)
    .map((column) => `known.${column} = mentioned.${column}`)
    .join(' and ')
}

async function countedDelete(
  warehouse: Warehouse,
  statement: string,
  parameters: readonly string[] = [],
): Promise<number> {
  const [row] = await warehouse.all<{ Count: bigint }>(statement, parameters)
  return Number(row?.Count ?? 0)
}
