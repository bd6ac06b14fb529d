/**
 * What became of the rows of a partition since its files were written: which rows of the files are no longer so, and which
 * rows are in none of them. Rows are compared by hashes over all columns, of at least 64 bits: that a changed row should pass
 * for an unchanged one is less likely than a fault of the disk.
 */

import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import type { PublishedColumn } from './columns.ts'
import { locatedRowsSql, type RowSource } from './live-rows.ts'
import { rowHashSql, type Partition } from './partitions.ts'

/** A partition now, and the files that its rows are compared with. */
export interface Comparison {
  readonly table: string
  readonly columns: readonly PublishedColumn[]
  readonly partition: Partition
  /** Files with the same columns. */
  readonly stored: RowSource
}

/** The outcome; both are SQL for `from`. */
export interface PartitionRows {
  /** `stored_in`, `stored_at` of the rows that are gone. */
  readonly gone: string
  readonly goneRows: number
  /** The rows that are new, with all columns. */
  readonly fresh: string
  readonly freshRows: number
  /** Drops what was kept for the two. */
  drop(): Promise<void>
}

let compared = 0

/** Compares; both outcomes can be read until `drop`. Call it within the transaction that reads the table. */
export async function compareRows(
  warehouse: Warehouse,
  comparison: Comparison,
): Promise<PartitionRows> {
  compared += 1
  const gone = `temp.${quoteIdentifier(`gone rows ${compared}`)}`
  const fresh = `temp.${quoteIdentifier(`fresh rows ${compared}`)}`
  const { stored, partition, columns, table } = comparison
  const hashes = `${rowHashSql(columns)} as hash_a, ${rowHashSql(columns.toReversed())} as hash_b`
  const storedRows = locatedRowsSql(stored)
  const rowsNow = `select * from main.${quoteIdentifier(table)} where ${partition.condition}`
  await warehouse.run(`
    create temp table ${gone} as
    select stored_in, stored_at
    from (select stored_in, stored_at, ${hashes} from (${storedRows})) as stored
    anti join (select ${hashes} from (${rowsNow})) as now using (hash_a, hash_b)`)
  await warehouse.run(`
    create temp table ${fresh} as
    select now.* exclude (hash_a, hash_b)
    from (select *, ${hashes} from (${rowsNow})) as now
    anti join (select ${hashes} from (${storedRows})) as stored using (hash_a, hash_b)`)
  return {
    gone,
    goneRows: await countOf(warehouse, gone),
    fresh,
    freshRows: await countOf(warehouse, fresh),
    async drop() {
      await warehouse.run(`drop table ${gone}; drop table ${fresh}`)
    },
  }
}

async function countOf(warehouse: Warehouse, table: string): Promise<number> {
  const [row] = await warehouse.all<{ row_count: bigint }>(
    `select count(*) as row_count from ${table}`,
  )
  return Number(row?.row_count ?? 0)
}
