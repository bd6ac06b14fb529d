/** Names of the code as names of data: JSON documents and files say `run_id` where the code says `runId`. */

/** A value with the keys of all its objects in snake_case; dates stay as they are, an error is its message. */
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
