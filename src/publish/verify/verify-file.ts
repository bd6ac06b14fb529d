/**
 * One data file against what the manifest says of it: its bytes, its columns, its rows and their order. What has to be
 * known of all files of a table together is put into temporary tables; see verify-table.ts.
 */

import { messageOf } from '../../support/errors.ts'
import { quoteIdentifier, quoteText, type Warehouse } from '../../warehouse/warehouse.ts'
import { fetchObject } from '../fetch-files.ts'
import type { FileCache } from '../file-cache.ts'
import type { ManifestFile, ManifestTable } from '../manifest.ts'
import { rowHashSql } from '../partitions.ts'
import type { FindingKind, Report } from './verify-findings.ts'

/** What the verification of a table works with. */
export interface VerifyWork {
  /** In memory. */
  readonly warehouse: Warehouse
  readonly files: FileCache
  readonly report: Report
  /** Whether it is known which rows are deleted. */
  readonly canCount: boolean
}

/** Temporary tables that the files of one table fill. */
export const PARTS = 'temp.verified_parts'
export const KEYS = 'temp.verified_keys'
export const DELETED = 'temp.verified_deleted'

interface Column {
  readonly name: string
  readonly type: string
  readonly fieldId: number | null
}

/**
 * Verifies one file.
 * @param keyGroup files whose keys must differ from each other's have the same one; null where no other file can hold them
 * @returns false when its rows could not be read; that is reported
 */
export async function verifyFile(
  work: VerifyWork,
  table: ManifestTable,
  file: ManifestFile,
  keyGroup: string | null,
): Promise<boolean> {
  const wrong = (kind: FindingKind, message: string) =>
    work.report({ kind, table: table.name, object: file.key, message })
  const fetched = await fetchObject(work.files, file)
  if (fetched.kind !== 'whole') {
    wrong(fetched.kind, fetched.message)
    return false
  }
  try {
    const columns = await columnsOfFile(work.warehouse, fetched.path)
    const problems = columnProblems(table, columns)
    for (const problem of problems) wrong('columns', problem)
    if (problems.length > 0) return false
    const types = new Map(columns.map(({ name, type }) => [name, type]))
    const scan = new FileScan(work.warehouse, { table, file, path: fetched.path, types })
    await scan.checkRows(wrong)
    await scan.checkOrder(wrong)
    if (work.canCount) await scan.gather(keyGroup, wrong)
    return true
  } catch (error) {
    wrong('unreadable', `it cannot be read: ${messageOf(error).split('\n', 1)[0]}`)
    return false
  }
}

async function columnsOfFile(warehouse: Warehouse, path: string): Promise<Column[]> {
  const schema = await warehouse.all<{
    name: string
    num_children: bigint | null
    field_id: bigint | null
  }>(`select name, num_children, field_id from parquet_schema(${quoteText(path)})`)
  const described = await warehouse.all<{ column_name: string; column_type: string }>(
    `describe select * from read_parquet(${quoteText(path)}, hive_partitioning = false)`,
  )
  // A tree in depth-first order below one root: only the root's own children are columns.
  const ids: (number | null)[] = []
  const open = [Number(schema[0]?.num_children ?? 0)]
  for (const element of schema.slice(1)) {
    while (open.at(-1) === 0) open.pop()
    if (open.length === 1) ids.push(element.field_id === null ? null : Number(element.field_id))
    open.push((open.pop() ?? 1) - 1)
    if (element.num_children !== null) open.push(Number(element.num_children))
  }
  return described.map((column, index) => ({
    name: column.column_name,
    type: column.column_type,
    fieldId: ids[index] ?? null,
  }))
}

function columnProblems({ schema }: ManifestTable, columns: readonly Column[]): string[] {
  const known = schema.map(({ name }) => name).join(', ')
  const found = columns.map(({ name }) => name).join(', ')
  if (known !== found) return [`its columns are ${found} where ${known} belong`]
  return schema.flatMap(({ name, type, field_id: fieldId }, index) => {
    const column = columns[index]
    if (column?.type !== type) return [`${name} is ${column?.type} where ${type} belongs`]
    if (column.fieldId === fieldId) return []
    return [`${name} has the field id ${column.fieldId} where ${fieldId} belongs`]
  })
}

interface ScannedFile {
  readonly table: ManifestTable
  readonly file: ManifestFile
  readonly path: string
  /** The engine's own words for the types; those of a manifest are never put into SQL. */
  readonly types: ReadonlyMap<string, string>
}

type Wrong = (kind: FindingKind, message: string) => void

// Bounds of longer text are cut at 256 bytes: they hold, but are not values of the column.
const LONGEST_EXACT_BYTES = 250

class FileScan {
  readonly #warehouse: Warehouse
  readonly #scanned: ScannedFile
  readonly #key: readonly string[]

  constructor(warehouse: Warehouse, scanned: ScannedFile) {
    this.#warehouse = warehouse
    this.#scanned = scanned
    this.#key = scanned.table.key.map(quoteIdentifier)
  }

  /** Counts rows and nulls, and compares bounds. */
  async checkRows(wrong: Wrong): Promise<void> {
    const { table, file } = this.#scanned
    const names = table.schema.map(({ name }) => name)
    const bounds = [...this.#bounds('min'), ...this.#bounds('max')]
    const [facts] = await this.#all<Record<string, bigint | boolean | null>>(
      `select count(*) as row_count${names.map((name, at) => `, count(${quoteIdentifier(name)}) as values_${at}`).join('')}${bounds.map(({ sql }, at) => `, ${sql} as bound_${at}`).join('')} from ${this.#rows}`,
    )
    const rows = Number(facts?.['row_count'])
    if (rows !== file.rows) wrong('rows', `it has ${rows} rows where ${file.rows} belong`)
    for (const [at, name] of names.entries()) {
      const nulls = rows - Number(facts?.[`values_${at}`])
      const said = file.nulls[name] ?? 0
      if (nulls !== said) wrong('statistics', `${name} has ${nulls} nulls where ${said} belong`)
    }
    for (const [at, { message }] of bounds.entries()) {
      if (facts?.[`bound_${at}`] !== true) wrong('statistics', message)
    }
    for (const name of [file.min, file.max, file.nulls].flatMap((of) => Object.keys(of))) {
      if (!names.includes(name)) wrong('statistics', `the manifest bounds ${name}, no column of it`)
    }
  }

  #bounds(which: 'min' | 'max'): { sql: string; message: string }[] {
    const { file, types } = this.#scanned
    return Object.entries(file[which]).flatMap(([name, text]) => {
      const type = types.get(name)
      if (type === undefined) return []
      const column = quoteIdentifier(name)
      // The bounds of Parquet leave out what is not a number.
      const only = /^(?:DOUBLE|FLOAT)$/.test(type) ? ` filter (where not isnan(${column}))` : ''
      const actual = `${which}(${column})${only}`
      const said = `try_cast(${quoteText(text)} as ${type})`
      const holds = which === 'min' ? `${said} <= ${actual}` : `${said} >= ${actual}`
      const sql =
        type === 'VARCHAR'
          ? `coalesce(${said} = ${actual} or (${holds} and strlen(${actual}) > ${LONGEST_EXACT_BYTES}), false)`
          : `${said} is not distinct from ${actual}`
      const word = which === 'min' ? 'smallest' : 'largest'
      return [{ sql, message: `the ${word} ${name} is not the one of the manifest` }]
    })
  }

  /** Looks for neighbours in the wrong order, and for keys that stand twice. */
  async checkOrder(wrong: Wrong): Promise<void> {
    const before = this.#key.map((_, at) => `before_${at}`)
    const lags = this.#key.map((column, at) => `lag(${column}) over () as before_${at}`)
    const key = `row(${this.#key.join(', ')})`
    const [facts] = await this.#all<{ unsorted: bigint; twice: bigint }>(
      `select
         count(*) filter (where before_0 is not null and row(${before.join(', ')}) > ${key}) as unsorted,
         count(*) filter (where row(${before.join(', ')}) = ${key}) as twice
       from (select ${this.#key.join(', ')}, ${lags.join(', ')} from ${this.#rows})`,
    )
    const unsorted = Number(facts?.unsorted)
    if (unsorted > 0) wrong('order', `${unsorted} rows come after a row with a larger key`)
    const twice = Number(facts?.twice)
    if (twice > 0) wrong('key', `${twice} rows have the key of the row before them`)
  }

  /** Notes what the rows that count add up to, and their keys. */
  async gather(keyGroup: string | null, wrong: Wrong): Promise<void> {
    const { table, file } = this.#scanned
    const nullKey = this.#key.map((column) => `${column} is null`).join(' or ')
    const [facts] = await this.#all<{ stray: bigint; null_keys: bigint; live: bigint }>(
      `select count(*) as live, count(*) filter (where ${nullKey}) as null_keys, count(*) filter (where ${this.#isStray()}) as stray
       from (${this.#liveRows()})`,
    )
    const live = Number(facts?.live)
    const said = file.rows - file.deletes
    if (live !== said) wrong('rows', `${live} of its rows count where ${said} should`)
    const nullKeys = Number(facts?.null_keys)
    if (nullKeys > 0) wrong('key', `${nullKeys} rows have no whole key`)
    const stray = Number(facts?.stray)
    if (stray > 0) wrong('partition', `${stray} rows do not belong to ${file.partition}`)
    const hash = rowHashSql(table.schema)
    await this.#warehouse.run(
      `insert into ${PARTS} select ${quoteText(file.partition)}, count(*), bit_xor(${hash}), sum(${hash}) from (${this.#liveRows()})`,
    )
    if (keyGroup === null) return
    const hashes = [this.#key, this.#key.toReversed()].map(
      (key) => `hash(${key.join(', ')}, 'key')`,
    )
    await this.#warehouse.run(
      `insert into ${KEYS} select ${quoteText(keyGroup)}, ${hashes.join(', ')} from (${this.#liveRows()})`,
    )
  }

  #isStray(): string {
    const { table, file } = this.#scanned
    if (table.partition_by === null) return 'false'
    const year = /_year=(-?\d+)$/.exec(file.partition)?.[1] ?? 'null'
    return `year(${quoteIdentifier(table.partition_by.column)}) is distinct from ${year}`
  }

  get #rows(): string {
    return `read_parquet(${quoteText(this.#scanned.path)}, hive_partitioning = false)`
  }

  #liveRows(): string {
    const { file, path } = this.#scanned
    if (file.deletes === 0) return `select * from ${this.#rows}`
    return `select * from read_parquet(${quoteText(path)}, hive_partitioning = false, file_row_number = true)
      where file_row_number not in (select position from ${DELETED} where file = ${quoteText(file.sha256)})`
  }

  async #all<Row extends object>(sql: string): Promise<Row[]> {
    return this.#warehouse.all<Row>(sql)
  }
}
