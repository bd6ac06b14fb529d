/**
 * The rows of a table as it is now, for one export: in which partitions they are, which of them are in none of the files of
 * the snapshot before, and which rows of those files are gone. Rows are compared by two hashes of 64 bits, of all columns and of
 * the key. Where builds noted what changed, known-rows.ts does without.
 */

import type { TableDefinition } from '../warehouse/catalog.ts'
import { keyHashSql, rowHashSql, yearSql } from '../warehouse/changed-rows.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { PublishedColumn } from './columns.ts'
import { locatedRowsSql, type RowSource } from './live-rows.ts'
import { hashedRowsSql, partitionsOf, type Partition } from './partitions.ts'

/** Rows of a view: several statements read them, and each would compute it again. */
const COPY = 'temp."copied view"'
const HASHES = 'temp."hashed rows"'
const DIFFERENCES = 'temp."different rows"'
/** The rows that `readFresh` has read, of one table at a time. */
export const WRITTEN = 'temp."rows to write"'

/** The live rows of the files that a partition has in the snapshot before. */
export interface FilesOfPartition {
  /** Of those that stay. */
  readonly kept: RowSource
  /** Of those that do not; null where all stay. */
  readonly others: RowSource | null
}

/** The rows of one table as it is now, and how they differ from its files. */
export interface RowsToExport {
  /** SQL for `from`: `stored_in`, `stored_at` of the rows of compared files that are gone. */
  readonly gone: string
  /** SQL for `from`: all rows of a partition. */
  of(partition: Partition): string
  /**
   * Compares a partition, once, with files that have the same columns.
   * @returns how many rows of the files that stay are `gone`, and how many rows are in none of them
   */
  compare(
    partition: Partition,
    files: FilesOfPartition,
  ): Promise<{ readonly gone: number; readonly fresh: number }>
  /**
   * Ends comparing, and reads what `freshOf` will return of these partitions, if any: all at once, because each time the table
   * is scanned.
   */
  readFresh(partitions: readonly Partition[]): Promise<void>
  /** SQL for `from`: the rows of a compared partition that are in none of the files that stay. */
  freshOf(partition: Partition): string
  /** Drops what was kept. Not where a statement failed: the engine takes no further one then, and the rollback drops it. */
  drop(): Promise<void>
}

/** The rows of one table, found by reading it. Call all of it within the transaction that exports the table. */
export class TableRows implements RowsToExport {
  readonly gone = `(select stored_in, stored_at from ${DIFFERENCES} where stored_in is not null)`
  readonly #warehouse: Warehouse
  /** SQL for `from`: all rows. */
  readonly source: string
  readonly #columns: readonly PublishedColumn[]
  /** SQL: what a row is compared by. */
  readonly #hashes: string

  private constructor(
    warehouse: Warehouse,
    source: string,
    columns: readonly PublishedColumn[],
    key: readonly string[],
  ) {
    this.#warehouse = warehouse
    this.source = source
    this.#columns = columns
    this.#hashes = `${rowHashSql(columns)} as row_hash, ${keyHashSql(key)} as key_hash`
  }

  static async open(
    warehouse: Warehouse,
    { name, kind, key }: TableDefinition,
    columns: readonly PublishedColumn[],
  ): Promise<TableRows> {
    const table = `main.${quoteIdentifier(name)}`
    const isView = kind === 'view'
    if (isView) await warehouse.run(`create temp table ${COPY} as from ${table}`)
    return new TableRows(warehouse, isView ? COPY : table, columns, key)
  }

  /**
   * Reads the table.
   * @param isCompared whether `compare` will be called: then the hashes of each row are kept
   */
  async read(
    { partitionByYearOf: split }: TableDefinition,
    isCompared: boolean,
  ): Promise<Partition[]> {
    const kept = `select ${yearSql(split)} as year, ${this.#hashes}, rowid as place from ${this.source}`
    await this.#warehouse.run(
      `create temp table ${HASHES} as ${kept} ${isCompared ? '' : 'limit 0'};
       create temp table ${DIFFERENCES} (year integer, place bigint, stored_in varchar, stored_at bigint)`,
    )
    const hashed = isCompared
      ? `select year, row_hash from ${HASHES}`
      : hashedRowsSql(split, this.#columns, this.source)
    return partitionsOf(this.#warehouse, split, this.#columns, hashed)
  }

  of(partition: Partition): string {
    return `${this.source} where ${partition.condition}`
  }

  async compare(
    partition: Partition,
    { kept }: FilesOfPartition,
  ): Promise<{ readonly gone: number; readonly fresh: number }> {
    const own = `cast(${partition.year ?? 'null'} as integer)`
    const ofYear = ofYears([partition])
    await this.#warehouse.run(
      `insert into ${DIFFERENCES}
       select ${own}, now.place, stored.stored_in, stored.stored_at
       from (select stored_in, stored_at, ${this.#hashes} from (${locatedRowsSql(kept)})) as stored
       full join (select row_hash, key_hash, place from ${HASHES} where ${ofYear}) as now
           on now.row_hash = stored.row_hash and now.key_hash = stored.key_hash
       where now.row_hash is null or stored.row_hash is null`,
    )
    const [counted] = await this.#warehouse.all<{ gone: bigint; fresh: bigint }>(
      `select count(stored_in) as gone, count(place) as fresh from ${DIFFERENCES} where ${ofYear}`,
    )
    return { gone: Number(counted?.gone ?? 0), fresh: Number(counted?.fresh ?? 0) }
  }

  async readFresh(partitions: readonly Partition[]): Promise<void> {
    await this.#warehouse.run(`drop table ${HASHES}`)
    if (partitions.length === 0) return
    const places = `select place from ${DIFFERENCES} where place is not null and ${ofYears(partitions)}`
    await this.#warehouse.run(
      `create temp table ${WRITTEN} as from ${this.source} where rowid in (${places})`,
    )
  }

  freshOf({ condition }: Partition): string {
    return `${WRITTEN} where ${condition}`
  }

  async drop(): Promise<void> {
    await this.#warehouse.run(
      `drop table ${DIFFERENCES}; drop table if exists ${WRITTEN}; drop table if exists ${COPY}`,
    )
  }
}

/** SQL for `where`: that the column `year` is that of one of these partitions, at least one. */
export function ofYears(partitions: readonly Partition[]): string {
  const conditions = partitions.map(
    ({ year }) => `year is not distinct from cast(${year ?? 'null'} as integer)`,
  )
  return `(${conditions.join(' or ')})`
}
