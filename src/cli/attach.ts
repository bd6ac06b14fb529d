/** `query --attach`: files of the user as tables beside those of the warehouse, read before the engine is locked. */

import { basename, extname, resolve } from 'node:path'
import { existsSync } from 'node:fs'
import { ConfigError } from '../support/errors.ts'
import { SqlError } from '../warehouse/errors.ts'
import { quoteIdentifier, quotePath, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

const READERS: Readonly<Record<string, (path: string, name: string) => string>> = {
  '.csv': (path, name) => `create temp table ${name} as from read_csv(${quotePath(path)})`,
  '.parquet': (path, name) => `create temp table ${name} as from read_parquet(${quotePath(path)})`,
  '.duckdb': (path, name) => `attach ${quoteText(path)} as ${name} (read_only)`,
}
const HINT = `Give a file that ends in ${Object.keys(READERS).join(', ')}, or name=file. Nothing was changed.`

/**
 * Makes each file a table for this connection, and a database file a schema of its tables. The warehouse stays as it is.
 * @param given paths, each named after its file, or `name=path`
 * @throws ConfigError for a file that is not there or cannot be read as what its name says, and for a name that is taken
 */
export async function attachFiles(warehouse: Warehouse, given: readonly string[]): Promise<void> {
  for (const one of given) {
    const [, alias, path = one] = /^([A-Za-z_]\w*)=(.+)$/s.exec(one) ?? []
    const reader = READERS[extname(path).toLowerCase()]
    if (reader === undefined || !existsSync(path)) {
      const why = reader === undefined ? 'is no CSV, Parquet or DuckDB file' : 'is not there'
      throw new ConfigError(`--attach: ${path} ${why}`, { hint: HINT })
    }
    const name = alias ?? basename(path, extname(path)).replaceAll(/\W/g, '_')
    const taken = await warehouse.all(
      `select table_name from information_schema.tables where lower(table_name) = lower($1)
       union all select database_name from duckdb_databases() where lower(database_name) = lower($1)`,
      [name],
    )
    if (taken.length > 0) {
      throw new ConfigError(`--attach: there is a table ${name} already`, {
        hint: `Give it another name: --attach mine=${path}`,
      })
    }
    await warehouse.run(reader(resolve(path), quoteIdentifier(name))).catch((error: unknown) => {
      if (!(error instanceof SqlError)) throw error
      throw new ConfigError(`--attach ${path}: ${error.message}`, { hint: HINT, cause: error })
    })
  }
}
