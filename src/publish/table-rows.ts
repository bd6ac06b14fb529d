/**
 * The rows of a table as it is now, for one export: in which partitions they are, and which of them differ from those in files.
 * Rows are compared by two 64-bit hashes over all columns.
 */

import type { TableDefinition } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { PublishedColumn } from './columns.ts'
import { locatedRowsSql, type RowSource } from './live-rows.ts'
import { partitionsOf, rowHashSql, yearSql, type Partition } from './partitions.ts'

// Temporary tables; one table is exported at a time.
const HASHES = 'temp."hashed rows"'
const DIFFERENCES = 'temp."different rows"'
const FRESH = 'temp."fresh rows"'

/** What became of the rows of a partition since some files were written. */
export interface RowDifferences {
  /** SQL for `from`: `stored_in`, `stored_at` of the rows that are gone. */
  readonly gone: string
  readonly goneRows: number
  /** How many rows are in none of the files. */
  readonly freshRows: number
}

/** The rows of one table. Call all of it within the transaction that exports the table. */
export class TableRows {
  readonly #warehouse: Warehouse
  readonly #source: string
  readonly #columns: readonly PublishedColumn[]
  /** SQL by which a row is found again: where it stands; in a view all that it says. */
  #place = 'rowid'

  constructor(warehouse: Warehouse, name: string, columns: readonly PublishedColumn[]) {
    this.#warehouse = warehouse
    this.#source = `main.${quoteIdentifier(name)}`
    this.#columns = columns
  }

  /**
   * Reads the table.
   * @param isCompared whether `compare` will be called: then the hashes of each row are kept
   * @returns its partitions, sorted by name; never none
   */
  async read(definition: TableDefinition, isCompared: boolean): Promise<Partition[]> {
    const [warehouse, source, columns] = [this.#warehouse, this.#source, this.#columns]
    if (!isCompared) return partitionsOf(warehouse, definition, columns, source)
    if (await isView(warehouse, definition.name)) this.#place = wideHashSql(columns)
    await warehouse.run(
      `create temp table ${HASHES} as
       select ${yearSql(definition.partitionByYearOf)} as year, ${hashesSql(columns)}, ${this.#place} as place from ${source};
       create temp table ${DIFFERENCES} as
       select year, cast(null as varchar) as stored_in, cast(null as bigint) as stored_at, place from ${HASHES} limit 0`,
    )
    const hashed = `select year, hash_a as row_hash from ${HASHES}`
    return partitionsOf(warehouse, definition, columns, source, hashed)
  }

  /** SQL for `from`: all rows of a partition. */
  of(partition: Partition): string {
    return `${this.#source} where ${partition.condition}`
  }

  /**
   * Compares a partition, once, with files that have the same columns. What it returns can be read until `keepFresh`.
   * @throws DuckDB's error where a file cannot be read
   */
  async compare(partition: Partition, stored: RowSource): Promise<RowDifferences> {
    const ofYear = ofYearSql(partition)
    await this.#warehouse.run(
      `insert into ${DIFFERENCES}
       select ${yearOf(partition)}, stored.stored_in, stored.stored_at, now.place
       from (select stored_in, stored_at, ${hashesSql(this.#columns)} from (${locatedRowsSql(stored)})) as stored
       full join (select hash_a, hash_b, place from ${HASHES} where ${ofYear}) as now
           on now.hash_a = stored.hash_a and now.hash_b = stored.hash_b
       where now.place is null or stored.stored_in is null`,
    )
    const [count] = await this.#warehouse.all<{ gone: bigint; fresh: bigint }>(
      `select count(stored_in) as gone, count(place) as fresh from ${DIFFERENCES} where ${ofYear}`,
    )
    return {
      gone: `(select stored_in, stored_at from ${DIFFERENCES} where ${ofYear} and place is null)`,
      goneRows: Number(count?.gone ?? 0),
      freshRows: Number(count?.fresh ?? 0),
    }
  }

  /**
   * Keeps the rows of compared partitions that are in none of the files: they stand all over the table, so it is read once.
   * Nothing else is kept then, and nothing can be compared any more: what is written takes the memory.
   */
  async keepFresh(partitions: readonly Partition[]): Promise<void> {
    await this.#forget(HASHES)
    if (partitions.length > 0) {
      const isWanted = partitions.map(ofYearSql).join(' or ')
      await this.#warehouse.run(
        `create temp table ${FRESH} as
         select * from ${this.#source}
         where ${this.#place} in (select place from ${DIFFERENCES} where place is not null and (${isWanted}))`,
      )
    }
    await this.#forget(DIFFERENCES)
  }

  /** SQL for `from`: what `keepFresh` kept of a partition. */
  freshOf(partition: Partition): string {
    return `${FRESH} where ${partition.condition}`
  }

  /** Drops what was kept. Not where a statement failed: the engine takes no further one then, and the rollback drops it. */
  async drop(): Promise<void> {
    for (const kept of [HASHES, DIFFERENCES, FRESH]) await this.#forget(kept)
  }

  async #forget(kept: string): Promise<void> {
    await this.#warehouse.run(`drop table if exists ${kept}`)
  }
}

// One of them is the hash that partitions are fingerprinted by.
function hashesSql(columns: readonly PublishedColumn[]): string {
  return `${rowHashSql(columns)} as hash_a, ${rowHashSql(columns.toReversed())} as hash_b`
}

function wideHashSql(columns: readonly PublishedColumn[]): string {
  const half = (of: readonly PublishedColumn[]) => `cast(${rowHashSql(of)} as uhugeint)`
  return `(${half(columns)} * 18446744073709551616 + ${half(columns.toReversed())})`
}

function yearOf({ year }: Partition): string {
  return `cast(${year ?? 'null'} as integer)`
}

function ofYearSql(partition: Partition): string {
  return `year is not distinct from ${yearOf(partition)}`
}

async function isView(warehouse: Warehouse, name: string): Promise<boolean> {
  const views = await warehouse.all(
    `select view_name from duckdb_views()
     where database_name = current_database() and schema_name = 'main' and view_name = $1`,
    [name],
  )
  return views.length > 0
}
