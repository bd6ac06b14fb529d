/** English words for the same job, brought to the usual one: "developer, software" and "programmer" are software engineers. */

import { PhraseBook } from './phrase-book.ts'
import { synonyms } from './roles.ts'

const usualNames = new PhraseBook<readonly string[]>()
for (const { words, usual } of synonyms) usualNames.add(words, usual)

/** `words` with every phrase that has a more usual name replaced by it. */
export function withUsualNames(words: readonly string[]): string[] {
  const named: string[] = []
  for (let at = 0; at < words.length;) {
    const found = usualNames.longestAt(words, at)
    named.push(...(found === null ? [words[at] ?? ''] : found.value))
    at += found?.length ?? 1
  }
  return named
}
