/** JSON as text: with bytes that depend only on the value, for hashes and manifests, and of what others sent. */

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

/**
 * What was received as JSON, as text again. JSON is read at any depth but written by recursion, so a value can come in
 * that cannot be written: then a fixed text stands for it, and the journal has it as sent.
 */
export function receivedJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return 'nested too deeply to be written'
    throw error
  }
}
