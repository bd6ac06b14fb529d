/** `export`: writes tables of the warehouse to PostgreSQL, or to files. */

import { resolve } from 'node:path'
import { LOAD_SCRIPT, exportTables } from '../warehouse/export-tables.ts'
import { ownEntryAt, refuseFileName } from '../run/data-directory.ts'
import { ConfigError } from '../support/errors.ts'
import { isWithin } from '../support/file-modes.ts'
import { countText, sum } from '../support/numbers.ts'
import { isPostgresAddress } from '../support/postgres-address.ts'
import { shellWord, withoutCredentials } from '../support/text.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { whileReading } from './reading.ts'
import { table, type Column, type Report } from './report.ts'

const ONE_FILE =
  'Name a folder, such as export. For one file: jobtide query --format csv "from joiners" > joiners.csv, or --format spreadsheet for Excel.'
const COPY = 'The export names people, and `jobtide forget` does not reach this copy.'

const COLUMNS: readonly Column<{ readonly name: string; readonly rows: number }>[] = [
  ['table', 'name'],
  ['rows', 'rows', 'number'],
]

/**
 * Replaces an earlier export there as a whole.
 * @param given the tables; none: all tables for analysts
 * @throws ConfigError for an address of another kind, an option that does not fit it, or a place of Jobtide's own
 */
export async function exportCommand(
  context: Context,
  given: readonly string[],
  options: OptionsOf<'export'>,
): Promise<Report> {
  const { to, tables: listed } = options
  const wanted = [...given, ...(listed?.split(',').map((name) => name.trim()) ?? [])]
  const exporting = isPostgresAddress(to) ? exportToDatabase : exportToFiles
  return exporting(context, wanted.length === 0 ? null : wanted, options)
}

function refuseMisfit(option: unknown, message: string): void {
  if (option === undefined) return
  throw new ConfigError(message, { hint: 'Leave it out. Nothing was changed.' })
}

async function exportToDatabase(
  context: Context,
  names: readonly string[] | null,
  { to, format, schema }: OptionsOf<'export'>,
): Promise<Report> {
  refuseMisfit(format, '--format is for a folder')
  const { DEFAULT_SCHEMA, loadDatabase } = await import('../run/databases.ts')
  const target = { to, schema: schema ?? DEFAULT_SCHEMA }
  const loaded = await whileReading(context, (warehouse) =>
    loadDatabase(warehouse, target, names, context),
  )
  const { database, tables } = loaded
  const rows = sum(tables.map((one) => one.rows))
  const changed = tables.filter(({ rowsChanged }) => rowsChanged !== null).length
  return {
    title: `${countText(tables.length, 'table')}, ${countText(rows, 'row')}, ${countText(changed, 'table')} changed: ${database} (schema ${loaded.schema})`,
    sections: [table('tables', tables, [...COLUMNS, ['changed', 'rowsChanged', 'number']])],
    values: { destination: database, schema: loaded.schema, rows },
  }
}

async function exportToFiles(
  context: Context,
  names: readonly string[] | null,
  { to, format = 'csv', schema }: OptionsOf<'export'>,
): Promise<Report> {
  if (/^[a-z]\w+:\/\/|\.duckdb$/i.test(to)) {
    throw new ConfigError(`export cannot write to ${withoutCredentials(to)}`, {
      hint: 'Name postgres://user@host/database, or a folder. A DuckDB file is there already: analyst.duckdb in the data directory. Nothing was sent.',
    })
  }
  refuseFileName('--to', to, ONE_FILE)
  refuseMisfit(schema, '--schema is for postgres://…')
  const destination = resolve(to)
  const { root } = context.directory
  const own = isWithin(destination, root) ? root : ownEntryAt(root, destination)
  if (own !== null) {
    throw new ConfigError(
      `an export cannot go to ${destination}: Jobtide keeps its own files in ${own}`,
      { hint: 'Name another place, such as export. Nothing was changed.' },
    )
  }
  const tables = await whileReading(context, (warehouse) =>
    exportTables(warehouse, destination, names, format),
  )
  const rows = sum(tables.map((one) => one.rows))
  const loader =
    format === 'csv'
      ? `into PostgreSQL, in one transaction: cd ${shellWord(to)} && psql -f ${LOAD_SCRIPT}`
      : `into a DuckDB file: cd ${shellWord(to)} && duckdb people.duckdb -f ${LOAD_SCRIPT}`
  return {
    title: `${countText(tables.length, 'table')}, ${countText(rows, 'row')}: ${destination}`,
    sections: [table('tables', tables, COLUMNS)],
    notes: ['', loader, COPY],
    values: { destination, rows },
  }
}
