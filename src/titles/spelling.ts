/** Common words of titles with one letter wrong, missing, doubled or swapped: "Dirctor", "Enginere". */

import { remembered } from './memo.ts'
import { oftenMisspelled } from './words.ts'

const SHORTEST_WORD = 6
// Forms of a word that stand one letter from another word: "managed", "directory", "designed".
const OTHER_WORD = /(?:ed|es|ing|y|ment|ion|al|ly)$/

const wordsByDeletion = new Map<string, string>()
for (const word of oftenMisspelled) {
  for (const shorter of [word, ...deletions(word)]) {
    if (!wordsByDeletion.has(shorter)) wordsByDeletion.set(shorter, word)
  }
}

/** The word that `word` is meant to be; null where it is none of the common ones, or spelled right. */
export const correctSpelling: (word: string) => string | null = remembered((word) => {
  if (word.length < SHORTEST_WORD || OTHER_WORD.test(word)) return null
  for (const form of [word, ...deletions(word)]) {
    const right = wordsByDeletion.get(form)
    // "Manage": a verb, which only lacks the ending.
    if (right === `${word}r`) return null
    if (
      right !== undefined &&
      right !== word &&
      right[0] === word[0] &&
      Math.abs(right.length - word.length) <= 1
    ) {
      return right
    }
  }
  return null
})

function deletions(word: string): string[] {
  return Array.from(word, (_, at) => word.slice(0, at) + word.slice(at + 1))
}
