/** Remembers what pure functions said. */

const MOST_WORDS = 50_000

/** `read`, with its answers remembered: those asked for again stay, of the others twice `most` at most. */
export function remembered<T>(read: (text: string) => T, most = MOST_WORDS): (text: string) => T {
  let young = new Map<string, T>()
  let old = new Map<string, T>()
  return (text) => {
    const known = young.get(text)
    if (known !== undefined) return known
    const answer = old.get(text) ?? read(text)
    if (young.size >= most) {
      old = young
      young = new Map()
    }
    young.set(text, answer)
    return answer
  }
}

/** What `make` returns, made when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
