/** JSON as text: with bytes that depend only on the value, for hashes and manifests, and from received values. */

import { ConfigError } from './errors.ts'

/** Serialises `value` with sorted object keys; `indent` as for JSON.stringify. */
export function stableJson(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_key, inner: unknown) =>
      inner !== null && typeof inner === 'object' && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    indent,
  )
}

export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** A document without a format is damaged, which the caller reports. @throws ConfigError for an unknown format */
export function refuseOtherFormat(path: string, value: unknown, read: readonly number[]): void {
  const { format_version: format } = Object(value) as Record<string, unknown>
  if (typeof format !== 'number' || read.includes(format)) return
  const age = format > Math.max(...read) ? 'a newer' : 'an older'
  throw new ConfigError(
    `${path} was written by ${age} Jobtide: its format is ${format}, and this one reads ${read.join(' and ')}`,
    { hint: 'Use the version that wrote it for this data directory. Nothing was changed.' },
  )
}

const PAIR_LENGTH = String.raw`\ud83d\ude00`.length
const ESCAPES =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[dD][89a-fA-F][\da-fA-F]{2}|\\[^]/g

/**
 * JSON text in which half of a surrogate pair becomes U+FFFD. Text that was cut may end with such a half: it is valid
 * JSON but not valid Unicode, and DuckDB cannot read a document with it.
 */
export function withoutLoneSurrogates(json: string): string {
  // Most texts have none, and replacing would make a second copy.
  if (!/\\u[dD]/.test(json)) return json
  return json.replaceAll(ESCAPES, (escape) =>
    /^\\u[dD]/.test(escape) && escape.length < PAIR_LENGTH ? String.raw`\ufffd` : escape,
  )
}

/**
 * Writes received JSON as text again. JSON is read at any depth but written by recursion, so a received value may be
 * impossible to write: then a fixed text replaces it, and the journal has the original.
 */
export function receivedJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return 'nested too deeply to be written'
    throw error
  }
}

/** A value with the keys of all its objects in snake_case; dates stay unchanged, an error becomes its message. */
export function toSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSnakeCase)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return value.message
  if (value instanceof Date) return value
  const entries = Object.entries(value).map(([name, inner]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    toSnakeCase(inner),
  ])
  return Object.fromEntries(entries)
}
