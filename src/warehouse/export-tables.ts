/**
 * Tables of the warehouse in other forms: a folder of CSV files with a script by which `psql` loads them, or a DuckDB file.
 * Both are written beside their place and then take it: readers see the export before, or all of this one.
 */

import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolders, isFile } from '../support/atomic-file.ts'
import { ConfigError, onDisk } from '../support/errors.ts'
import { didYouMean } from '../support/nearest.ts'
import { IN_TIERS } from './catalog.ts'
import { unaskedTable } from './endpoint-tables.ts'
import { SqlError, WarehouseDamagedError } from './errors.ts'
import { quoteIdentifier, quoteText } from './sql-text.ts'
import { withWarehouse, type Warehouse } from './warehouse.ts'

export interface ExportedTable {
  readonly name: string
  readonly rows: number
}

interface Column {
  readonly table_name: string
  readonly column_name: string
  readonly data_type: string
  readonly comment: string | null
  readonly table_comment: string | null
}

const COLUMNS = `select c.table_name, c.column_name, c.data_type, c.comment,
    coalesce(t.comment, v.comment) as table_comment
  from duckdb_columns() as c
  left join duckdb_tables() as t using (database_name, schema_name, table_name)
  left join duckdb_views() as v on v.database_name = c.database_name
    and v.schema_name = c.schema_name and v.view_name = c.table_name
  where c.database_name = current_database() and c.schema_name in ${IN_TIERS} and not c.internal
  order by c.table_name, c.column_index`
/** The script of a folder; by its first line a folder is known to be an export. */
export const LOAD_SCRIPT = 'load.sql'
const FIRST_LINE = `-- cd into this folder, then: psql -v ON_ERROR_STOP=1 -f ${LOAD_SCRIPT}\n`
// The file of a table, in the script.
const COPIED = /^\\copy .* from '(.+)' \(format csv, header\)$/gm
/** A schema with a list of what was exported, by which a file is known to be an export. */
const MARK = 'made_by_jobtide_export'

/**
 * Writes tables to `to`: a file that ends in `.duckdb`, else a folder.
 * @param names of tables for analysts; null: all
 * @throws ConfigError for a table that is not there, or when `to` is something that no export made
 * @throws StorageError when the disk refuses
 */
export async function exportTables(
  warehouse: Warehouse,
  to: string,
  names: readonly string[] | null,
): Promise<readonly ExportedTable[]> {
  const columns = await warehouse.all<Column>(COLUMNS)
  const all = new Map<string, Column[]>()
  for (const one of columns) all.set(one.table_name, [...(all.get(one.table_name) ?? []), one])
  const unknown = names?.find((name) => !all.has(name))
  if (unknown !== undefined) {
    const hint = `${didYouMean(unknown, [...all.keys()])}Tables: ${[...all.keys()].join(', ') || 'none yet; run a pipeline first'}`
    const missing = `there is no table ${JSON.stringify(unknown)} to export`
    throw unaskedTable(unknown) ?? new ConfigError(missing, { hint })
  }
  const chosen = [...all].filter(([name]) => names === null || names.includes(name))
  const isDatabase = to.endsWith('.duckdb')
  if (existsSync(to) && !(await (isDatabase ? isExportedFile(to) : isExportedFolder(to)))) {
    throw new ConfigError(`${to} is there, and no export made all of it`, {
      hint: 'Name another place, or move what is there away. Nothing was changed.',
    })
  }
  const made = `${to}.jobtide-export`
  onDisk(made, () => rmSync(made, { recursive: true, force: true }))
  await (isDatabase ? writeDatabase(warehouse, made, chosen) : writeFolder(warehouse, made, chosen))
  onDisk(to, () => {
    if (!isDatabase) rmSync(to, { recursive: true, force: true })
    renameSync(made, to)
  })
  const tables: ExportedTable[] = []
  for (const [name] of chosen) {
    const [found] = await warehouse.all<{ rows: number }>(
      `select count(*)::double as rows from ${quoteIdentifier(name)}`,
    )
    tables.push({ name, rows: found?.rows ?? 0 })
  }
  return tables
}

// Only with nothing beside it: what else lies there is somebody's, and the folder is replaced as a whole.
function isExportedFolder(folder: string): boolean {
  const script = join(folder, LOAD_SCRIPT)
  if (!existsSync(script) || !isFile(script)) return false
  const text = readFileSync(script, 'utf8')
  const tables = [...text.matchAll(COPIED)].map(([, file = '']) => file.replaceAll("''", "'"))
  const own = new Set([LOAD_SCRIPT, ...tables])
  return text.startsWith(FIRST_LINE) && readdirSync(folder).every((name) => own.has(name))
}

async function isExportedFile(path: string): Promise<boolean> {
  if (!isFile(path)) return false
  try {
    return await withWarehouse({ path, mode: 'read' }, async (found) => {
      // Not where somebody's own tables lie beside those of the export: the file is replaced as a whole.
      const others = `select count(*) from (
          select schema_name, table_name from duckdb_tables() where database_name = current_database()
          union all
          select schema_name, view_name from duckdb_views() where database_name = current_database() and not internal)
        where (schema_name, table_name) not in (select ('main', name) from ${MARK}.tables)
          and (schema_name, table_name) <> ('${MARK}', 'tables')`
      return (await found.number(others)) === 0
    })
  } catch (error) {
    // No database, or one of another version or program.
    if (error instanceof SqlError || error instanceof WarehouseDamagedError) return false
    throw error
  }
}

type Tables = readonly (readonly [name: string, columns: readonly Column[]])[]

async function writeDatabase(warehouse: Warehouse, path: string, tables: Tables): Promise<void> {
  await warehouse.run(`attach ${quoteText(path)} as exported (read_write)`)
  try {
    const names = tables.map(([name]) => `(${quoteText(name)})`).join(', ')
    await warehouse.run(
      `create schema exported.${MARK};
       create table exported.${MARK}.tables as select name from (values ${names}) as listed (name)`,
    )
    for (const [name, columns] of tables) {
      const table = `exported.main.${quoteIdentifier(name)}`
      await warehouse.run(`create table ${table} as from ${quoteIdentifier(name)}`)
      await warehouse.run(commentsOn(table, columns))
    }
  } finally {
    await warehouse.run('detach exported')
  }
}

async function writeFolder(warehouse: Warehouse, folder: string, tables: Tables): Promise<void> {
  onDisk(folder, () => makeFolders(folder))
  for (const [name, columns] of tables) {
    const cells = columns.map(cellOf).join(', ')
    const file = quoteText(join(folder, `${name}.csv`))
    const rows = `select ${cells} from ${quoteIdentifier(name)}`
    await warehouse.run(`copy (${rows}) to ${file} (format csv, header, null '')`)
  }
  onDisk(folder, () => writeFileSync(join(folder, LOAD_SCRIPT), loadScript(tables)))
}

// PostgreSQL takes no NUL in a text; a list or struct goes as JSON.
function cellOf({ column_name: name, data_type: type }: Column): string {
  const column = quoteIdentifier(name)
  if (type === 'VARCHAR') return `replace(${column}, chr(0), '') as ${column}`
  return isNested(type) ? `to_json(${column}) as ${column}` : column
}

function isNested(type: string): boolean {
  return /\]$|^(?:STRUCT|MAP|UNION)/.test(type)
}

const POSTGRES_TYPES: Readonly<Record<string, string>> = {
  VARCHAR: 'text',
  DOUBLE: 'double precision',
  FLOAT: 'real',
  TINYINT: 'smallint',
  UTINYINT: 'smallint',
  USMALLINT: 'integer',
  UINTEGER: 'bigint',
  UBIGINT: 'numeric',
  HUGEINT: 'numeric',
  UHUGEINT: 'numeric',
  BLOB: 'text',
}

/** Loads the folder it stands in, in one transaction: readers of the database see the tables before, or all of these. */
function loadScript(tables: Tables): string {
  const lines = tables.flatMap(([name, columns]) => {
    const table = quoteIdentifier(name)
    const types = columns.map(({ column_name: column, data_type: type }) => {
      const to = isNested(type) ? 'jsonb' : (POSTGRES_TYPES[type] ?? type.toLowerCase())
      return `  ${quoteIdentifier(column)} ${to}`
    })
    return [
      `drop table if exists ${table};`,
      `create table ${table} (\n${types.join(',\n')}\n);`,
      `\\copy ${table} from ${quoteText(`${name}.csv`)} (format csv, header)`,
      commentsOn(table, columns),
    ]
  })
  return [
    FIRST_LINE.trimEnd(),
    '-- Who and where: PGHOST, PGDATABASE, PGUSER, PGPASSFILE, as psql reads them.',
    '\\set ON_ERROR_STOP on',
    'begin;',
    'set local client_min_messages = warning;',
    ...lines,
    'commit;',
    '',
  ].join('\n')
}

function commentsOn(table: string, columns: readonly Column[]): string {
  const ofTable = columns[0]?.table_comment ?? null
  const ofColumns = columns.flatMap(({ column_name: column, comment }) =>
    comment === null
      ? []
      : [`comment on column ${table}.${quoteIdentifier(column)} is ${quoteText(comment)};`],
  )
  return [
    ...(ofTable === null ? [] : [`comment on table ${table} is ${quoteText(ofTable)};`]),
    ...ofColumns,
  ].join('\n')
}
