/**
 * The parts of a title that tell of today. "Former CEO", "President-elect" and "Aspiring Engineer" name roles that somebody no
 * longer has or does not have yet; of those nothing is read.
 */

import { phrases, tenseWords } from './lexicon.ts'
import { ANYWHERE } from './level-phrases.ts'

/** The words of each part without those of another time; parts of which nothing is left are left out. */
export function presentParts(
  parts: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  if (!parts.some((words) => words.some(isOfTense))) return parts
  const present: (readonly string[])[] = []
  let isNextPast = false
  for (const words of parts) {
    if (isRemark(words)) {
      // "(ex) CEO" speaks of what follows, "CEO (retired)" and "CEO (until 2020)" of what stands before.
      isNextPast = present.length === 0
      present.length = 0
      continue
    }
    const own = isNextPast ? [] : presentWords(words)
    isNextPast = false
    if (own.length > 0) present.push(own)
  }
  return present
}

/** Whether a title tells of a role of another time. */
export function tellsOfAnotherTime(parts: readonly (readonly string[])[]): boolean {
  return presentParts(parts) !== parts
}

const allTenseWords = new Set(Object.values(tenseWords).flatMap((words) => [...words]))

function isOfTense(word: string): boolean {
  return allTenseWords.has(word)
}

function isRemark(words: readonly string[]): boolean {
  const [first = ''] = words
  if (tenseWords.ends.has(first)) return true
  return words.every((word) => tenseWords.before.has(word) || tenseWords.after.has(word))
}

function presentWords(words: readonly string[]): readonly string[] {
  if (words.some((word, at) => at > 0 && tenseWords.ends.has(word))) return []
  const afterAt = words.findLastIndex((word, at) => at > 0 && endsRole(words, at, word))
  const rest = words.slice(afterAt + 1)
  const at = rest.findIndex((word, index) => beginsAnotherTime(rest, index, word))
  return at < 0 ? rest : rest.slice(0, at)
}

/** "President Emeritus", but a "Professor Emeritus" stays a professor. */
function endsRole(words: readonly string[], at: number, word: string): boolean {
  if (!tenseWords.after.has(word)) return false
  return !words.slice(0, at).includes('professor')
}

/** "Past President", but not "Future Mobility". */
function beginsAnotherTime(words: readonly string[], at: number, word: string): boolean {
  if (tenseWords.before.has(word)) return true
  return tenseWords.before_a_role.has(word) && namesRoleAt(words, at + 1)
}

/** Whether a person's role, with or without a grade, begins at `at`. */
function namesRoleAt(words: readonly string[], at: number): boolean {
  const meaning = phrases.find(words, at, ANYWHERE)?.value
  if (meaning?.kind === 'grade') return at + 1 < words.length
  return meaning?.kind === 'head' && !meaning.isField
}
