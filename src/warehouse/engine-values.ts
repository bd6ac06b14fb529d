/** Values as the engine's client takes them. */

import { engine, type DuckDBValue } from './engine.ts'
import type { SqlParameters, SqlValue } from './rows.ts'

const MICROSECONDS_PER_MILLISECOND = 1_000n

/** Turns values, and lists of them, into the engine's. */
export function toEngine(values: readonly (SqlValue | readonly SqlValue[])[]): DuckDBValue[] {
  const { DuckDBBlobValue, DuckDBTimestampTZValue, listValue } = engine()
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
