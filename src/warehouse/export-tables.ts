/**
 * Exports tables of the warehouse as a folder of CSV or Parquet files, with a script that loads them. It is written next to its
 * place and then replaces it: readers see all of the previous export or all of this one.
 */

import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolders, isFile } from '../support/atomic-file.ts'
import { ConfigError, onDisk } from '../support/errors.ts'
import { didYouMean } from '../support/nearest.ts'
import { IN_TIERS } from './catalog.ts'
import { unaskedTable } from './endpoint-tables.ts'
import { quoteIdentifier, quoteText } from './sql-text.ts'
import type { Warehouse } from './warehouse.ts'

export interface ExportTable {
  readonly name: string
  readonly comment: string | null
  readonly columns: readonly ExportColumn[]
}

type Commented = Pick<ExportColumn, 'name' | 'comment'>

export interface ExportColumn {
  readonly name: string
  readonly comment: string | null
  /** Its type in PostgreSQL, as that writes it. */
  readonly postgresType: string
  /** The value in PostgreSQL's form; SQL. */
  readonly cell: string
}

const TABLES = `select c.table_name as name, any_value(coalesce(t.comment, v.comment)) as comment,
    list({name: c.column_name, type: c.data_type, comment: c.comment} order by c.column_index) as columns
  from duckdb_columns() as c
  left join duckdb_tables() as t using (database_name, schema_name, table_name)
  left join duckdb_views() as v on v.database_name = c.database_name
    and v.schema_name = c.schema_name and v.view_name = c.table_name
  where c.database_name = current_database() and c.schema_name in ${IN_TIERS} and not c.internal
  group by c.table_name order by c.table_name`

/** @param names of those that are wanted; null: all @throws ConfigError for one that is not there */
export async function tablesToExport(warehouse: Warehouse, names: readonly string[] | null) {
  const all = await warehouse.all<Omit<ExportTable, 'columns'> & { columns: Column[] }>(TABLES)
  const known = all.map(({ name }) => name)
  const unknown = names?.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const hint = `${didYouMean(unknown, known)}Tables: ${known.join(', ') || 'none yet; run a pipeline first'}`
    const missing = `there is no table ${JSON.stringify(unknown)} to export`
    throw unaskedTable(unknown) ?? new ConfigError(missing, { hint })
  }
  return all
    .filter(({ name }) => names?.includes(name) ?? true)
    .map((table): ExportTable => ({ ...table, columns: table.columns.map(inPostgres) }))
}

export function definitionOf({ name, postgresType }: ExportColumn): string {
  return `${quoteIdentifier(name)} ${postgresType}`
}

// PostgreSQL's names of types; a type that is not listed becomes text.
const POSTGRES_TYPES: Readonly<Record<string, string>> = {
  BOOLEAN: 'boolean',
  TINYINT: 'smallint',
  SMALLINT: 'smallint',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  UTINYINT: 'smallint',
  USMALLINT: 'integer',
  UINTEGER: 'bigint',
  UBIGINT: 'numeric',
  HUGEINT: 'numeric',
  UHUGEINT: 'numeric',
  FLOAT: 'real',
  DOUBLE: 'double precision',
  DATE: 'date',
  TIME: 'time without time zone',
  TIMESTAMP: 'timestamp without time zone',
  'TIMESTAMP WITH TIME ZONE': 'timestamp with time zone',
  UUID: 'uuid',
}

type Column = Commented & { readonly type: string }

/** A column in PostgreSQL's form. PostgreSQL accepts no NUL in text or JSON, so NULs are removed. */
function inPostgres({ name, comment, type }: Column): ExportColumn {
  const column = quoteIdentifier(name)
  const [, size] = /^DECIMAL(\(.+\))$/.exec(type) ?? []
  let postgresType = size === undefined ? POSTGRES_TYPES[type] : `numeric${size}`
  let cell = column
  if (type === 'JSON' || /\]$|^(?:STRUCT|MAP|UNION)/.test(type)) {
    postgresType = 'jsonb'
    // An escaped backslash before `u0000` does not belong to a NUL: it is taken whole, and stays.
    cell = String.raw`regexp_replace(to_json(${column})::varchar, '(\\\\)|\\u0000', '\1', 'g')`
  } else if (type === 'BLOB') {
    postgresType = 'bytea'
    cell = String.raw`'\x' || hex(${column})`
  } else if (postgresType === undefined) {
    postgresType = 'text'
    cell = `replace(${column}::varchar, chr(0), '')`
  }
  return { name, comment, postgresType, cell }
}

/** Writes rows of a table as PostgreSQL reads them with `format csv, header`; returns how many. @param order SQL after the table */
export async function writeCsv(
  warehouse: Warehouse,
  { name, columns }: ExportTable,
  path: string,
  order = '',
): Promise<number> {
  const cells = columns.map((column) => `${column.cell} as ${quoteIdentifier(column.name)}`)
  const rows = `select ${cells.join(', ')} from ${quoteIdentifier(name)} ${order}`
  return warehouse.number(`copy (${rows}) to ${quoteText(path)} (format csv, header, null '')`)
}

/** SQL of DuckDB and PostgreSQL. @param place the table, quoted */
export function commentsOn(
  place: string,
  about: { kind?: string; comment: string | null; columns: readonly Commented[] },
): string {
  const { kind = 'table', comment, columns } = about
  const ofColumns = columns.map(
    ({ name, comment: text }) =>
      `comment on column ${place}.${quoteIdentifier(name)} is ${text === null ? 'null' : quoteText(text)};`,
  )
  const ofTable = comment === null ? [] : [`comment on ${kind} ${place} is ${quoteText(comment)};`]
  return [...ofTable, ...ofColumns].join('\n')
}

export type Format = 'csv' | 'parquet'

/** The script of a folder, whose first line marks the folder as an export. */
export const LOAD_SCRIPT = 'load.sql'
const BEGINNINGS: Readonly<Record<Format, readonly [firstLine: string, ...more: string[]]>> = {
  csv: [
    `-- cd into this folder, then: psql -v ON_ERROR_STOP=1 -f ${LOAD_SCRIPT}`,
    '-- Who and where: PGHOST, PGDATABASE, PGUSER, PGPASSFILE, as psql reads them.',
    '\\set ON_ERROR_STOP on',
    'begin;',
    'set local client_min_messages = warning;',
  ],
  parquet: [`-- cd into this folder, then: duckdb people.duckdb -f ${LOAD_SCRIPT}`, 'begin;'],
}
/**
 * @param names of tables for analysts; null: all
 * @throws ConfigError for a missing table, or if no export made all of `to`; StorageError when the disk refuses
 */
export async function exportTables(
  warehouse: Warehouse,
  to: string,
  names: readonly string[] | null,
  format: Format = 'csv',
) {
  const chosen = await tablesToExport(warehouse, names)
  if (existsSync(to) && !isExportedFolder(to)) {
    throw new ConfigError(`${to} exists, but not all of it comes from an export`, {
      hint: 'Name another place, or move the existing one away. Nothing was changed.',
    })
  }
  const made = `${to}.jobtide-export`
  onDisk(made, () => rmSync(made, { recursive: true, force: true }))
  onDisk(made, () => makeFolders(made))
  const write = format === 'csv' ? writeCsv : writeParquet
  const tables: { name: string; rows: number }[] = []
  for (const table of chosen) {
    const rows = await write(warehouse, table, join(made, `${table.name}.${format}`))
    tables.push({ name: table.name, rows })
  }
  onDisk(made, () => writeFileSync(join(made, LOAD_SCRIPT), loadScript(chosen, format)))
  onDisk(to, () => {
    rmSync(to, { recursive: true, force: true })
    renameSync(made, to)
  })
  return tables
}

// Only if it holds nothing else, because the folder is replaced as a whole and other files belong to the user.
function isExportedFolder(folder: string): boolean {
  const script = join(folder, LOAD_SCRIPT)
  if (!existsSync(script) || !isFile(script)) return false
  const text = readFileSync(script, 'utf8')
  const isLoaded = (name: string) => text.includes(` from ${quoteText(name)}`)
  const isOurs = Object.values(BEGINNINGS).some(([line]) => text.startsWith(`${line}\n`))
  return isOurs && readdirSync(folder).every((name) => name === LOAD_SCRIPT || isLoaded(name))
}

// Parquet has no integer of 128 bits: the engine would write a rounded number.
function writeParquet(warehouse: Warehouse, { name, columns }: ExportTable, path: string) {
  const cells = columns.map((one) => {
    const column = quoteIdentifier(one.name)
    return one.postgresType === 'numeric' ? `${column}::varchar as ${column}` : column
  })
  const rows = `select ${cells.join(', ')} from ${quoteIdentifier(name)}`
  return warehouse.number(`copy (${rows}) to ${quoteText(path)} (format parquet, compression zstd)`)
}

/** Loads its own folder, in one transaction: readers of the database see the tables before, or all of these. */
function loadScript(tables: readonly ExportTable[], format: Format): string {
  const lines = tables.flatMap((table) => {
    const place = quoteIdentifier(table.name)
    const file = quoteText(`${table.name}.${format}`)
    const columns = table.columns.map((column) => `  ${definitionOf(column)}`)
    const filled =
      format === 'parquet'
        ? [`create or replace table ${place} as from ${file};`]
        : [
            `drop table if exists ${place};`,
            `create table ${place} (\n${columns.join(',\n')}\n);`,
            `\\copy ${place} from ${file} (format csv, header)`,
          ]
    return [...filled, commentsOn(place, table)]
  })
  return [...BEGINNINGS[format], ...lines, 'commit;', ''].join('\n')
}
