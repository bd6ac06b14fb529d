/** Remembers what a pure function said of each word. */

// More words than titles usually have; then remembering begins anew.
const MOST_WORDS = 50_000

/** `read`, with its answers remembered, within a bound. */
export function remembered<T>(read: (word: string) => T): (word: string) => T {
  const answers = new Map<string, T>()
  return (word) => {
    const known = answers.get(word)
    if (known !== undefined) return known
    const answer = read(word)
    if (answers.size >= MOST_WORDS) answers.clear()
    answers.set(word, answer)
    return answer
  }
}
