/**
 * The client of the engine, loaded when a database is opened for the first time: a command that opens none does not wait for
 * it. Nothing else in Jobtide imports it.
 */

import { createRequire } from 'node:module'
import type * as Client from '@duckdb/node-api'
import type Accessors from '@duckdb/node-api/lib/vectors/dataAccessors.js'

export type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBExtractedStatements,
  DuckDBInstance,
  DuckDBResult,
  DuckDBResultReader,
  DuckDBValue,
} from '@duckdb/node-api'

// `import` would read all 181 files of this CommonJS package once more, for the names that they export: 0.2 s of each command.
const require = createRequire(import.meta.url)

let loaded: typeof Client | undefined

/** The client. */
export function engine(): typeof Client {
  loaded ??= load()
  return loaded
}

function load(): typeof Client {
  const client = require('@duckdb/node-api') as typeof Client
  const accessors = require('@duckdb/node-api/lib/vectors/dataAccessors.js') as typeof Accessors
  // The client would print instants in the time zone of this process, although SQL counts in UTC.
  client.DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0
  // The client's own reader would strip U+FEFF from the beginning of each text: the id would differ from the stored
  // one.
  Object.assign(accessors, { textDecoder: new TextDecoder('utf-8', { ignoreBOM: true }) })
  return client
}
