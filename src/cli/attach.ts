/** `query --attach`: makes the user's files tables next to the warehouse's, read before the engine is locked. */

import { basename, extname, resolve } from 'node:path'
import { existsSync } from 'node:fs'
import { readNamedFile } from '../support/atomic-file.ts'
import { ConfigError } from '../support/errors.ts'
import { SqlError } from '../warehouse/errors.ts'
import { quoteIdentifier, quotePath, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

type Reader = (warehouse: Warehouse, path: string, name: string) => Promise<void>

const READERS: Readonly<Record<string, Reader>> = {
  '.csv': attachCsv,
  '.parquet': (warehouse, path, name) =>
    warehouse.run(`create temp table ${name} as from read_parquet(${quotePath(path)})`),
  '.duckdb': (warehouse, path, name) =>
    warehouse.run(`attach ${quoteText(path)} as ${name} (read_only)`),
}
const HINT = `Give a file that ends in ${Object.keys(READERS).join(', ')}, or name=file. Nothing was changed.`

/**
 * Makes each file a table for this connection, and a database file a schema of its tables. The warehouse does not change.
 * @param given paths, each named after its file, or `name=path`
 * @throws ConfigError for a file that does not exist or does not match its extension, and for a name that is taken
 */
export async function attachFiles(warehouse: Warehouse, given: readonly string[]): Promise<void> {
  for (const one of given) {
    const [, alias, path = one] = /^([A-Za-z_]\w*)=(.+)$/s.exec(one) ?? []
    const reader = READERS[extname(path).toLowerCase()]
    if (reader === undefined || !existsSync(path)) {
      const why = reader === undefined ? 'is not a CSV, Parquet or DuckDB file' : 'is not there'
      throw new ConfigError(`--attach: ${path} ${why}`, { hint: HINT })
    }
    const name = alias ?? basename(path, extname(path)).replaceAll(/\W/g, '_')
    const taken = await warehouse.all(
      `select table_name from information_schema.tables where lower(table_name) = lower($1)
       union all select database_name from duckdb_databases() where lower(database_name) = lower($1)`,
      [name],
    )
    if (taken.length > 0) {
      throw new ConfigError(`--attach: table ${name} already exists`, {
        hint: `Give it another name: --attach mine=${path}`,
      })
    }
    await reader(warehouse, resolve(path), quoteIdentifier(name)).catch((error: unknown) => {
      if (!(error instanceof SqlError)) throw error
      throw new ConfigError(`--attach ${path}: ${error.message}`, { hint: HINT, cause: error })
    })
  }
}

/**
 * Reads a CSV file the way lists are read: any of their encodings, cells trimmed, ids unchanged. A column is a number
 * or a date only where each of its cells is written as one: `73928e05` and `007` are text.
 */
async function attachCsv(warehouse: Warehouse, path: string, name: string): Promise<void> {
  const { readTable } = await import('../plan/organizations.ts')
  const bytes = readNamedFile('file', path, HINT)
  const [header, ...rows] = readTable(bytes, basename(path), HINT)
  const heads = uniqueHeads(header?.cells ?? [])
  if (heads.length === 0) throw new ConfigError(`--attach: ${path} is empty`, { hint: HINT })
  const columns = heads.map((head, at) => {
    const cells = rows.map(({ cells: row }) => (row[at] ?? '') || null)
    return { head, cells, type: typeOf(cells) }
  })
  const text = columns.map(({ head }) => `${quoteIdentifier(head)} varchar`)
  await warehouse.run(`create temp table attached (${text.join(', ')})`)
  await warehouse.append(
    'temp.main.attached',
    Object.fromEntries(columns.map(({ head, cells }) => [head, cells])),
  )
  const typed = columns.map(
    ({ head, type }) => `${quoteIdentifier(head)}::${type} as ${quoteIdentifier(head)}`,
  )
  await warehouse.run(`create temp table ${name} as select ${typed.join(', ')} from attached`)
  await warehouse.run('drop table attached')
}

const matches = (pattern: RegExp) => (cell: string) => pattern.test(cell)
const isDay = (cell: string) =>
  /^\d{4}-\d{2}-\d{2}$/.test(cell) &&
  !Number.isNaN(Date.parse(cell)) &&
  new Date(cell).toISOString().startsWith(cell)

const WRITTEN_AS: readonly (readonly [string, (cell: string) => boolean])[] = [
  ['bigint', matches(/^(?:0|-?[1-9]\d{0,17})$/)],
  ['double', matches(/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/)],
  ['date', isDay],
  ['boolean', matches(/^(?:true|false)$/i)],
]

function typeOf(cells: readonly (string | null)[]): string {
  const written = cells.filter((cell) => cell !== null)
  if (written.length === 0) return 'varchar'
  return WRITTEN_AS.find(([, isWritten]) => written.every(isWritten))?.[0] ?? 'varchar'
}

/** Gives each column a unique, non-empty name; case does not count. */
function uniqueHeads(cells: readonly string[]): string[] {
  const taken = new Set<string>()
  return cells.map((cell, index) => {
    const wanted = cell === '' ? `column${index + 1}` : cell
    let head = wanted
    for (let n = 2; taken.has(head.toLowerCase()); n++) head = `${wanted}_${n}`
    taken.add(head.toLowerCase())
    return head
  })
}
