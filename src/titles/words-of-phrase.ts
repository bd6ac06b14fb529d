/** A phrase of the taxonomy's lists as the words that a title with it would give. */

import { splitTitle } from './words.ts'

/** Folded words, abbreviations spelled out; the `*` of `word*` and `*word` stays. */
export function wordsOfPhrase(phrase: string): string[] {
  const words = splitTitle(phrase.replace(/^\*|\*$/, '')).flat()
  const [only = ''] = words
  if (words.length !== 1) return words
  if (phrase.startsWith('*')) return [`*${only}`]
  return [phrase.endsWith('*') ? `${only}*` : only]
}
