/**
 * The only importer of the engine's client. It is loaded when a database is first opened, so that a command without one
 * does not wait for it.
 */

import { createRequire } from 'node:module'
import type * as Client from '@duckdb/node-api'
import type { DuckDBValue } from '@duckdb/node-api'
import type Accessors from '@duckdb/node-api/lib/vectors/dataAccessors.js'
import { once } from '../support/once.ts'
import type { SqlList, SqlParameters } from './rows.ts'

export type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBExtractedStatements,
  DuckDBInstance,
  DuckDBPreparedStatement,
  DuckDBResult,
  DuckDBResultReader,
} from '@duckdb/node-api'

// `import` would read all 181 files of this CommonJS package again for the names of their exports, which costs each
// command 0.2 s.
const require = createRequire(import.meta.url)

export const engine = once((): typeof Client => {
  const client = require('@duckdb/node-api') as typeof Client
  const accessors = require('@duckdb/node-api/lib/vectors/dataAccessors.js') as typeof Accessors
  // The client would print instants in the time zone of this process, although SQL works in UTC.
  client.DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0
  // The client's own reader would strip U+FEFF from the beginning of each text, so an id would differ from the stored
  // one.
  Object.assign(accessors, { textDecoder: new TextDecoder('utf-8', { ignoreBOM: true }) })
  return client
})

export function toEngine(values: SqlList): DuckDBValue[] {
  const { DuckDBBlobValue, DuckDBTimestampTZValue, listValue } = engine()
  return values.map((value) => {
    if (value instanceof Uint8Array) return new DuckDBBlobValue(value)
    if (value instanceof Date) return new DuckDBTimestampTZValue(BigInt(value.getTime()) * 1_000n)
    return typeof value === 'object' && value !== null ? listValue(toEngine(value)) : value
  })
}

export function toBindings(parameters: SqlParameters): DuckDBValue[] | Record<string, DuckDBValue> {
  const values = toEngine(Object.values(parameters))
  if (Array.isArray(parameters)) return values
  return Object.fromEntries(Object.keys(parameters).map((name, at) => [name, values[at] ?? null]))
}
