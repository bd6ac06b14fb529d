/** Whether two titles of about the same level name one job: the general rules, apart from any list of titles. */

import { isKnownWord } from './masculine.ts'
import type { ReadTitle } from './understand.ts'

/**
 * One job where the words are the same, and where words were only added or only removed. Another job where words were
 * replaced, or where the field of work is another.
 */
export function isSameJob(before: ReadTitle, after: ReadTitle): boolean {
  if (before.job.leads !== after.job.leads) return false
  const a = before.job
  const b = after.job
  if (difference(a.words, b.words) === 'none') {
    return (
      a.field.length === 0 || b.field.length === 0 || difference(a.field, b.field) !== 'replaced'
    )
  }
  // A word that the other title has anywhere, as a team say, was not replaced.
  const onlyBefore = [...a.words, ...a.field].flatMap(wordsOf).filter(isMissingIn(after))
  const onlyAfter = [...b.words, ...b.field].flatMap(wordsOf).filter(isMissingIn(before))
  if (onlyBefore.length === 0 && onlyAfter.length === 0) return true
  return (onlyBefore.length === 0 || onlyAfter.length === 0) && isOneFunction(before, after)
}

function isMissingIn({ english, job }: ReadTitle): (word: string) => boolean {
  return (word) =>
    !english.includes(word) && !job.words.some((each) => wordsOf(each).includes(word))
}

/** How two lists of words differ, whatever their order: not at all, by words that only one has, or by words replaced. */
function difference(a: readonly string[], b: readonly string[]): 'none' | 'added' | 'replaced' {
  const aHasMore = a.some((word) => !b.includes(word))
  const bHasMore = b.some((word) => !a.includes(word))
  if (aHasMore && bHasMore) return 'replaced'
  return aHasMore || bHasMore ? 'added' : 'none'
}

function wordsOf(text: string): string[] {
  return text.split(' ')
}

/** "Designer" → "Product Designer" is one function, "Product Manager" → "Product Marketing Manager" are two. */
function isOneFunction(before: ReadTitle, after: ReadTitle): boolean {
  const a = before.function
  const b = after.function
  // A general job ("consultant") is in no field yet that another could replace.
  if (a === null || b === null || a.strength === 'default' || b.strength === 'default') return true
  return a.function === b.function || a.function === 'other' || b.function === 'other'
}

const SHORTEST_MISTYPED = 5

/** Whether two lists of words differ in one word, and that by a letter or two. */
export function isTypingError(a: readonly string[], b: readonly string[]): boolean {
  const onlyA = a.filter((word) => !b.includes(word))
  const onlyB = b.filter((word) => !a.includes(word))
  const [wrong, right] = [onlyA[0], onlyB[0]]
  if (onlyA.length !== 1 || onlyB.length !== 1 || wrong === undefined || right === undefined)
    return false
  if (Math.min(wrong.length, right.length) < SHORTEST_MISTYPED) return false
  // "Trainer" is no way to write "trainee".
  if (isKnownWord(wrong) && isKnownWord(right)) return false
  return isWithinOneEdit(wrong, right)
}

/** One letter added, left out, changed, or two neighbours swapped. */
function isWithinOneEdit(a: string, b: string): boolean {
  let start = 0
  while (start < a.length && a[start] === b[start]) start += 1
  let end = 0
  const shorter = Math.min(a.length, b.length) - start
  while (end < shorter && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1
  const restOfA = a.slice(start, a.length - end)
  const restOfB = b.slice(start, b.length - end)
  if (restOfA.length <= 1 && restOfB.length <= 1) return true
  return (
    restOfA.length === 2 &&
    restOfB.length === 2 &&
    restOfA[0] === restOfB[1] &&
    restOfA[1] === restOfB[0]
  )
}

/** Whether two lists hold the same words, as `isSame` has it, in the same order. */
export function isEqual(
  a: readonly string[],
  b: readonly string[],
  isSame: (one: string, other: string) => boolean = (one, other) => one === other,
): boolean {
  return a.length === b.length && a.every((word, at) => isSame(word, b[at] ?? ''))
}
