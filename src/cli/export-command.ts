/** `export`: tables of the warehouse as CSV, for PostgreSQL, or as a DuckDB file. */

import { resolve } from 'node:path'
import { LOAD_SCRIPT, exportTables } from '../warehouse/export-tables.ts'
import { ownEntryAt } from '../run/data-directory.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { isWithin } from '../support/file-modes.ts'
import { countText, sum } from '../support/numbers.ts'
import type { Context } from './context.ts'
import { whileReading } from './reading.ts'
import { table } from './report.ts'

export interface ExportOptions {
  readonly to: string
  /** Names, separated by commas; absent: all tables for analysts. */
  readonly tables?: string
}

const COPY = 'What was exported names people: `jobtide forget` does not reach this copy.'

/** Replaces what an earlier export wrote there, whole. @throws ConfigError for a server's address, or a place of Jobtide's own */
export async function exportCommand(
  context: Context,
  { to, tables: wanted }: ExportOptions,
): Promise<ExitCode> {
  if (/^[a-z]\w+:\/\//i.test(to)) {
    throw new ConfigError('export writes a folder or a .duckdb file, and connects to no server', {
      hint: `For PostgreSQL: jobtide export --to export && (cd export && psql -f ${LOAD_SCRIPT}). Nothing was sent.`,
    })
  }
  const names = wanted?.split(',').map((name) => name.trim()) ?? null
  const destination = resolve(to)
  const { root } = context.directory
  const own = isWithin(destination, root) ? root : ownEntryAt(root, destination)
  if (own !== null) {
    throw new ConfigError(
      `an export cannot go to ${destination}: Jobtide keeps its own files in ${own}`,
      { hint: 'Name another place, such as export or people.duckdb. Nothing was changed.' },
    )
  }
  const tables = await whileReading(context, (warehouse) =>
    exportTables(warehouse, destination, names),
  )
  const rows = sum(tables.map((one) => one.rows))
  const psql = `into PostgreSQL, in one transaction: cd ${to} && psql -f ${LOAD_SCRIPT}`
  context.output.report({
    title: `${countText(tables.length, 'table')}, ${countText(rows, 'row')}: ${destination}`,
    sections: [
      table('tables', tables, [
        ['table', 'name'],
        ['rows', 'rows', 'number'],
      ]),
    ],
    notes: [...(to.endsWith('.duckdb') ? [] : ['', psql]), COPY],
    values: { destination, rows },
  })
  return EXIT.done
}
