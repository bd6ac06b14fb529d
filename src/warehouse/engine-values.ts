/** Values as the engine's client takes them. */

import {
  DuckDBBlobValue,
  DuckDBTimestampTZValue,
  listValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import accessors from '@duckdb/node-api/lib/vectors/dataAccessors.js'
import type { SqlParameters, SqlValue } from './rows.ts'

// The client would print instants in the time zone of this process, beside SQL that counts in UTC.
DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0

// The client's own would take U+FEFF from the beginning of each text: another id than the one that is stored.
Object.assign(accessors, { textDecoder: new TextDecoder('utf-8', { ignoreBOM: true }) })

const MICROSECONDS_PER_MILLISECOND = 1_000n

/** Turns values, and lists of them, into the engine's. */
export function toEngine(values: readonly (SqlValue | readonly SqlValue[])[]): DuckDBValue[] {
  return values.map((value) => {
    if (value instanceof Uint8Array) return new DuckDBBlobValue(value)
    if (value instanceof Date) {
      return new DuckDBTimestampTZValue(BigInt(value.getTime()) * MICROSECONDS_PER_MILLISECOND)
    }
    return isList(value) ? listValue(toEngine(value)) : value
  })
}

/** Turns the parameters of a statement into the engine's. */
export function toBindings(parameters: SqlParameters): DuckDBValue[] | Record<string, DuckDBValue> {
  const values = toEngine(Object.values(parameters))
  if (Array.isArray(parameters)) return values
  return Object.fromEntries(Object.keys(parameters).map((name, at) => [name, values[at] ?? null]))
}

function isList(value: SqlValue | readonly SqlValue[]): value is readonly SqlValue[] {
  return Array.isArray(value)
}
