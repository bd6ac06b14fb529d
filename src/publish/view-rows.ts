/**
 * The rows of a view for one export, over files of the snapshot before that are all there. The view is computed once, and only
 * rows that no file has are kept of it: a copy of it would take much more memory, and two more scans. All other rows are in the
 * files. Rows are compared by two hashes of 64 bits, of the key and of all columns. Two equal rows would be taken for one: a
 * view has none, because its key follows from the keys of what it reads, which are checked.
 */

import type { TableDefinition } from '../warehouse/catalog.ts'
import { keyHashSql, rowHashSql, yearSql } from '../warehouse/changed-rows.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { ChangedFiles } from './changed-files.ts'
import { listOfColumns, type PublishedColumn } from './columns.ts'
import type { FilesBefore } from './files-before.ts'
import { locatedRowsSql, type RowSource } from './live-rows.ts'
import { differences, movedPartitions, partitionsOf, type Partition } from './partitions.ts'
import type { FilesOfPartition, RowsToExport } from './table-rows.ts'

const STORED = 'temp."stored rows"'
const MOVED = 'temp."new and gone rows"'
// No column of a model has such a name.
const [YEAR, KEY_HASH, ROW_HASH] = ['"row year"', '"key hash"', '"row hash"'] as const
const GONE = `(select ${YEAR} as year, stored_in, stored_at from ${MOVED} where stored_in is not null)`

export class ViewRows implements RowsToExport {
  readonly gone = GONE
  readonly #warehouse: Warehouse
  readonly #columns: readonly PublishedColumn[]
  readonly #listed: string
  readonly #stored: RowSource
  readonly #before: FilesBefore
  readonly #files: ChangedFiles

  /** @param stored all rows of the snapshot before */
  constructor(
    warehouse: Warehouse,
    columns: readonly PublishedColumn[],
    before: FilesBefore,
    stored: RowSource,
  ) {
    this.#warehouse = warehouse
    this.#columns = columns
    this.#listed = listOfColumns(columns)
    this.#stored = stored
    this.#before = before
    this.#files = new ChangedFiles(warehouse, columns, GONE)
  }

  /**
   * Computes the view, and compares it with the files.
   * @throws UnusableFilesError when these cannot be read, or have other rows than were written
   */
  async read({ name, key, partitionByYearOf: split }: TableDefinition): Promise<Partition[]> {
    const warehouse = this.#warehouse
    const told = `${yearSql(split)} as ${YEAR}, ${keyHashSql(key)} as ${KEY_HASH}, ${rowHashSql(this.#columns)} as ${ROW_HASH}`
    const kept = `select ${told}, stored_in, stored_at from (${locatedRowsSql(this.#stored)})`
    await warehouse.run(`create temp table ${STORED} as ${kept}`).catch((error: unknown) => {
      throw this.#before.unusable(error)
    })
    const hashed = `select ${YEAR} as year, ${ROW_HASH} as row_hash from ${STORED}`
    const had = await partitionsOf(warehouse, split, this.#columns, hashed)
    const [wrong] = differences(had, this.#before.table.partitions, this.#before.isSameEngine)
    if (wrong !== undefined) throw this.#before.unusable(wrong.message)
    const view = `main.${quoteIdentifier(name)}`
    // Of a row that is gone the year and the hash are those of the file: the fingerprints lose what they had of it.
    await warehouse.run(
      `create temp table ${MOVED} as
       select
           now.* replace (coalesce(now.${YEAR}, stored.${YEAR}) as ${YEAR}, coalesce(now.${ROW_HASH}, stored.${ROW_HASH}) as ${ROW_HASH}),
           stored_in, stored_at
       from (select ${this.#listed}, ${told} from ${view}) as now
       full join ${STORED} as stored
           on now.${KEY_HASH} = stored.${KEY_HASH} and now.${ROW_HASH} = stored.${ROW_HASH}
       where now.${ROW_HASH} is null or stored.${ROW_HASH} is null`,
    )
    await warehouse.run(`drop table ${STORED}`)
    const moves = `select ${YEAR} as year, ${ROW_HASH} as row_hash, case when stored_in is null then 1 else -1 end as change
      from ${MOVED}`
    return movedPartitions(warehouse, split, this.#columns, had, moves)
  }

  of(partition: Partition): string {
    const files = this.#stored.files?.filter((file) => file.partition === partition.name) ?? []
    const came = this.#cameTo(partition)
    if (files.length === 0) return `(${came})`
    return `(${came} union all ${this.#files.liveOf({ ...this.#stored, files })})`
  }

  async compare(
    partition: Partition,
    files: FilesOfPartition,
  ): Promise<{ readonly gone: number; readonly fresh: number }> {
    const came = await this.#warehouse.number(`select count(*) from (${this.#cameTo(partition)})`)
    return this.#files.count(partition, files, came)
  }

  readFresh(): Promise<void> {
    return Promise.resolve()
  }

  freshOf(partition: Partition): string {
    return this.#files.freshOf(partition, this.#cameTo(partition))
  }

  async drop(): Promise<void> {
    await this.#warehouse.run(`drop table ${MOVED}`)
  }

  /** SQL, a select: the rows of a partition that no file has. */
  #cameTo({ condition }: Partition): string {
    return `select ${this.#listed} from ${MOVED} where stored_in is null and ${condition}`
  }
}
