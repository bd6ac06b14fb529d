/** Remembers what pure functions said: a bounded number of answers, of which those asked for again stay. */

/** Answers by key. Twice `most` at most: what was not asked for while `most` others were new is forgotten. */
export class Memo<T> {
  readonly #most: number
  #young = new Map<string, T>()
  #old = new Map<string, T>()

  /** @param most 1 or more */
  constructor(most: number) {
    this.#most = most
  }

  /** The answer for `key`, or `read()`, which is then remembered. */
  recall(key: string, read: () => T): T {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    const answer = old === undefined ? read() : old
    if (this.#young.size >= this.#most) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, answer)
    return answer
  }
}

// More words than titles usually have.
const MOST_WORDS = 50_000

/** `read`, with its answers remembered, within a bound. */
export function remembered<T>(read: (word: string) => T): (word: string) => T {
  const answers = new Memo<T>(MOST_WORDS)
  return (word) => answers.recall(word, () => read(word))
}
