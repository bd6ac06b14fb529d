/** JSON text whose bytes depend only on the value: keys sorted at every depth. Used for hashes and manifests. */

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
