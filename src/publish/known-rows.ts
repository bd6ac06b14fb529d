/**
 * The rows of a table for one export, where builds noted which came and went since the snapshot before (ops.changed_rows): the
 * table is not read, and of the files only the key columns. What was noted is counted against what is found; where the two
 * differ, the table is compared by reading (table-rows.ts), with the same outcome.
 */

import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import {
  changedRowsSql,
  keyHashSql,
  rowsAddedSince,
  type ChangesSince,
} from '../warehouse/changed-rows.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { ChangedFiles } from './changed-files.ts'
import { listOfColumns, type PublishedColumn } from './columns.ts'
import { locatedRowsSql } from './live-rows.ts'
import type { ManifestTable } from './manifest.ts'
import { movedPartitions, type Partition } from './partitions.ts'
import { WRITTEN, ofYears, type FilesOfPartition, type RowsToExport } from './table-rows.ts'

const CHANGES = 'temp."changed rows"'
const GONE = 'temp."gone rows"'
const FRESH = 'temp."fresh rows"'

/** What was noted of a table does not fit what is found. */
export class WrongChangesError extends Error {
  override readonly name = 'WrongChangesError'
  readonly table: string

  constructor(table: string, what: string) {
    super(`what was noted of ${table} does not fit: ${what}`)
    this.table = table
  }
}

export class KnownRows implements RowsToExport {
  readonly gone = GONE
  readonly #warehouse: Warehouse
  readonly #definition: TableDefinition
  readonly #columns: readonly PublishedColumn[]
  /** SQL: the columns. */
  readonly #listed: string
  readonly #before: ManifestTable
  readonly #source: string
  readonly #key: string
  readonly #files: ChangedFiles

  constructor(
    warehouse: Warehouse,
    definition: TableDefinition,
    columns: readonly PublishedColumn[],
    before: ManifestTable,
  ) {
    this.#warehouse = warehouse
    this.#definition = definition
    this.#columns = columns
    this.#listed = listOfColumns(columns)
    this.#before = before
    this.#source = `main.${quoteIdentifier(definition.name)}`
    this.#key = keyHashSql(definition.key)
    this.#files = new ChangedFiles(warehouse, columns, GONE)
  }

  /**
   * Reads what changed since the snapshot before.
   * @throws WrongChangesError when the table has another number of rows than that leads to
   */
  async read(changes: ChangesSince): Promise<Partition[]> {
    const { name, partitionByYearOf, kind } = this.#definition
    const split = this.#columns.find((column) => column.name === partitionByYearOf)
    const year = split === undefined ? 'cast(null as integer)' : 'year'
    await this.#warehouse.run(
      `create temp table ${CHANGES} as
       select ${year} as year, key_hash, row_hash, change from (${changedRowsSql(changes, name)});
       create temp table ${GONE} (year integer, stored_in varchar, stored_at bigint)`,
    )
    await this.#findFresh(changes)
    const partitions = await movedPartitions(
      this.#warehouse,
      partitionByYearOf,
      this.#columns,
      this.#before.partitions,
      `from ${CHANGES}`,
    )
    const expected = sum(partitions.map((one) => one.rows))
    // The rows of a table are counted without reading it. Of a view nothing is noted but that any row may be another.
    const rows =
      kind === 'view'
        ? expected
        : await this.#warehouse.number(`select count(*) from ${this.#source}`)
    if (expected !== rows) {
      throw new WrongChangesError(name, `it has ${rows} rows, and by its changes ${expected}`)
    }
    return partitions
  }

  /** Keeps where the rows stand that came: to read whole rows for their keys would take all columns of all rows. */
  async #findFresh(changes: ChangesSince): Promise<void> {
    const warehouse = this.#warehouse
    const source = this.#source
    await warehouse.run(`create temp table ${FRESH} (year integer, place bigint)`)
    const came = await warehouse.number(`select count(*) from ${CHANGES} where change > 0`)
    if (came === 0) return
    const find = (rows: string) =>
      warehouse.number(
        `insert into ${FRESH}
         select changes.year, now.place
         from (select rowid as place, ${this.#key} as key_hash from ${rows}) as now
         inner join ${CHANGES} as changes on changes.key_hash = now.key_hash and changes.change > 0`,
      )
    // A build adds rows at the end: they are among as many of the last ones as were added since.
    const added = await rowsAddedSince(warehouse, changes, this.#definition.name)
    const last = await warehouse.number(`select max(rowid) from ${source}`)
    if ((await find(`${source} where rowid > ${last - added}`)) === came) return
    // A load also changes rows where they stand.
    await warehouse.run(`delete from ${FRESH}`)
    await find(source)
  }

  of(partition: Partition): string {
    return `${this.#source} where ${partition.condition}`
  }

  /** @throws WrongChangesError when the files do not hold the rows that are gone */
  async compare(
    partition: Partition,
    files: FilesOfPartition,
  ): Promise<{ readonly gone: number; readonly fresh: number }> {
    const { year, name } = partition
    const ofYear = ofYears([partition])
    const all = [files.kept, ...(files.others === null ? [] : [files.others])]
      .map(locatedRowsSql)
      .join('\nunion all\n')
    await this.#warehouse.run(
      `insert into ${GONE}
       select cast(${year ?? 'null'} as integer), stored_in, stored_at from (${all})
       where ${this.#key} in (select key_hash from ${CHANGES} where ${ofYear} and change < 0)`,
    )
    const [counted] = await this.#warehouse.all<{ noted: bigint; came: bigint }>(
      `select (select count(*) from ${CHANGES} where ${ofYear} and change < 0) as noted,
         (select count(*) from ${FRESH} where ${ofYear}) as came`,
    )
    const noted = Number(counted?.noted ?? 0)
    const { found, ...changes } = await this.#files.count(
      partition,
      files,
      Number(counted?.came ?? 0),
    )
    if (found === noted) return changes
    const what = `of ${noted} rows that are gone from ${name}, its files hold ${found}`
    throw new WrongChangesError(this.#definition.name, what)
  }

  async readFresh(partitions: readonly Partition[]): Promise<void> {
    if (partitions.length === 0) return
    await this.#warehouse.run(
      `create temp table ${WRITTEN} as select ${this.#listed} from ${this.#source}
       where rowid in (select place from ${FRESH} where ${ofYears(partitions)})`,
    )
  }

  freshOf(partition: Partition): string {
    const came = `select ${this.#listed} from ${WRITTEN} where ${partition.condition}`
    return this.#files.freshOf(partition, came)
  }

  async drop(): Promise<void> {
    await this.#warehouse.run(
      `drop table ${CHANGES}; drop table ${GONE}; drop table ${FRESH}; drop table if exists ${WRITTEN}`,
    )
  }
}
