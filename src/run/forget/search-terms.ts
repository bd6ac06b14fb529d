/**
 * Searches for many texts in one pass, over bytes here and as patterns in the engine. One pass per text would be too slow:
 * more than a thousand texts identify a hundred people.
 */

/** The key of a text: its last bytes, which tell ids apart. None is shorter. */
const KEY_BYTES = 3
const KEYS = 1 << (8 * KEY_BYTES)
// A longer pattern exceeds RE2's memory limit.
const LONGEST_PATTERN = 16_384

export class SearchTerms {
  /** Regular expressions of RE2: where one of them matches, a text is there. */
  readonly patterns: readonly string[]
  #longest = 1
  readonly #byKey = new Map<number, Buffer[]>()
  /** A bit for each key that a text has. */
  readonly #isKey = new Uint8Array(KEYS / 8)

  /** @param texts of 3 bytes and more in UTF-8 */
  constructor(texts: readonly string[]) {
    const all = [...new Set(texts)]
    this.patterns = patternsOf(all)
    for (const text of all) {
      const term = Buffer.from(text)
      if (term.length < KEY_BYTES) throw new RangeError('a text to look for is too short')
      const key = term.readUIntBE(term.length - KEY_BYTES, KEY_BYTES)
      this.#isKey[key >> 3] = (this.#isKey[key >> 3] ?? 0) | (1 << (key & 7))
      const known = this.#byKey.get(key)
      if (known === undefined) this.#byKey.set(key, [term])
      else known.push(term)
      this.#longest = Math.max(this.#longest, term.length)
    }
  }

  /** Bytes of the longest text, 1 or more. */
  get longest(): number {
    return this.#longest
  }

  /** Whether any of the texts is in there. */
  areIn(bytes: Buffer): boolean {
    const isKey = this.#isKey
    let key = 0
    for (let at = 0; at < bytes.length; at += 1) {
      key = ((key << 8) | (bytes[at] ?? 0)) & (KEYS - 1)
      const mayEnd = ((isKey[key >> 3] ?? 0) & (1 << (key & 7))) !== 0
      if (mayEnd && this.#endsAt(bytes, at + 1, key)) return true
    }
    return false
  }

  #endsAt(bytes: Buffer, end: number, key: number): boolean {
    const terms = this.#byKey.get(key) ?? []
    return terms.some((term) => {
      const start = end - term.length
      return start >= 0 && term.compare(bytes, start, end) === 0
    })
  }
}

function patternsOf(texts: readonly string[]): string[] {
  const patterns: string[] = []
  for (const text of texts) {
    const literal = text.replaceAll(/[\\^$.|?*+()[\]{}]/g, (character) => `\\${character}`)
    const last = patterns.at(-1)
    const joined = last === undefined ? literal : `${last}|${literal}`
    if (last === undefined || joined.length > LONGEST_PATTERN) patterns.push(literal)
    else patterns[patterns.length - 1] = joined
  }
  return patterns
}
