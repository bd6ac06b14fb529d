/** Values that are made when they are first needed. */

/** The result of `make`, made when it is first requested. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
