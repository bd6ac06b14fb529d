/** Suggests the intended word for a typo. Pure. */

/** The one of `words` that is nearest to `typed`, if it is near: at most a third of its letters differ. */
export function nearest(typed: string, words: readonly string[]): string | undefined {
  const near = words
    .map((word) => ({ word, edits: editsBetween(typed.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, edits }) => edits * 3 <= Math.max(word.length, typed.length))
  return near.toSorted((a, b) => a.edits - b.edits)[0]?.word
}

/** `did you mean …? ` within a sentence, where a word is near; else nothing. */
export function meant(typed: string, words: readonly string[]): string {
  return didYouMean(typed, words).replace('D', 'd')
}

/** `Did you mean …? `, where a word is near; else nothing. */
export function didYouMean(typed: string, words: readonly string[]): string {
  const near = nearest(typed, words)
  return near === undefined ? '' : `Did you mean ${near}? `
}

/** Letters to add, remove or replace to turn one word into the other (Levenshtein). */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (const [above, letter] of Array.from(from).entries()) {
    const next = [above + 1]
    for (const [at, other] of Array.from(to).entries()) {
      const exchanged = (row[at] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(exchanged, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
