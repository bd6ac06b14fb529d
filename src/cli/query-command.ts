/** `query`: read-only SQL on the warehouse, as a table, CSV or JSON. */

import { rmSync } from 'node:fs'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { csvLine } from '../support/text.ts'
import { SqlError } from '../warehouse/errors.ts'
import { quoteText, type ResultTable } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import type { QueryFormat } from './options.ts'
import { passingFolder } from './passing-folder.ts'
import { countText, tableText } from './text.ts'
import { openForReading } from './warehouse-reader.ts'

const WHOLE_NUMBERS: ReadonlySet<string> = new Set(['BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT'])
const NUMBERS = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|UINTEGER|DOUBLE|FLOAT|DECIMAL.*)$/
const INSTANT = 'TIMESTAMP WITH TIME ZONE'
const ROWS_SHOWN = 200

/**
 * Runs one statement, on the warehouse or on the copy for analysts: read-only, and without access to files or network.
 */
export async function queryCommand(
  context: Context,
  sql: string,
  format: QueryFormat,
): Promise<ExitCode> {
  const { output } = context
  if (sql.trim() === '') {
    throw new ConfigError('there is no SQL to run', {
      hint: 'Try: jobtide query "select * from talent_flows limit 5"',
    })
  }
  // For what does not fit into memory. By itself the engine takes one folder beside the file for all processes that read
  // it, and two at a time then read each other's temporary files as their own.
  const spillFolder = passingFolder('query')
  try {
    const result = readable(await answer(context, sql, spillFolder))
    if (output.json || format === 'json') output.raw(`${JSON.stringify(asObjects(result))}\n`)
    else if (format === 'csv') output.raw(asCsv(result))
    else output.text(asTable(result, output))
    return EXIT.done
  } finally {
    rmSync(spillFolder, { recursive: true, force: true })
  }
}

async function answer(context: Context, sql: string, spillFolder: string): Promise<ResultTable> {
  const warehouse = await openForReading(context)
  try {
    await warehouse.run(
      `set temp_directory = ${quoteText(spillFolder)};
       set enable_external_access = false; set lock_configuration = true`,
    )
    return await warehouse.table(sql)
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    throw new ConfigError(error.message, {
      hint: 'Tables for analysts are in `main`, for operators in `ops`: show them with "show all tables". The warehouse is read-only here.',
      cause: error,
    })
  } finally {
    warehouse.close()
  }
}

// Instants in ISO 8601, and 64-bit integers as numbers where a JSON number holds them exactly.
function readable({ columns, rows }: ResultTable): ResultTable {
  return {
    columns,
    rows: rows.map((row) =>
      row.map((value, index) => {
        const type = columns[index]?.type ?? ''
        if (typeof value !== 'string') return value
        if (type === INSTANT) return value.replace(' ', 'T').replace(/\+00(?::00)?$/, 'Z')
        const number = WHOLE_NUMBERS.has(type) ? Number(value) : Number.NaN
        return Number.isSafeInteger(number) ? number : value
      }),
    ),
  }
}

function asObjects({ columns, rows }: ResultTable): Record<string, unknown>[] {
  return rows.map((row) =>
    Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null])),
  )
}

function asCsv({ columns, rows }: ResultTable): string {
  const lines = [columns.map(({ name }) => name), ...rows.map((row) => row.map(cellText))]
  return lines.map(csvLine).join('')
}

function asTable({ columns, rows }: ResultTable, output: Context['output']): string {
  const shown = rows.slice(0, ROWS_SHOWN)
  const table = tableText(
    columns.map(({ name }) => name),
    shown.map((row) => row.map(cellText)),
    {
      width: process.stdout.isTTY ? output.columns : Number.POSITIVE_INFINITY,
      numeric: columns.map(({ type }) => NUMBERS.test(type)),
    },
  )
  const count =
    rows.length > shown.length
      ? `${countText(rows.length, 'row')}, the first ${shown.length} shown; all with --format csv`
      : countText(rows.length, 'row')
  return `${table}\n(${count})`
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number)
}
