/** Feminine forms of the words that the lists hold: "ingeniera" → "ingeniero", "Leiterin" → "Leiter". */

import { englishWords } from './functions.ts'
import { kept, once, remembered } from './kept.ts'
import { translations } from './languages.ts'
import { baseForms } from './words.ts'

const made = kept('masculine', () => ({
  known: [...new Set(translations().flatMap(({ words, letters }) => [...words, letters]))],
  meanings: translations()
    .filter(({ words }) => words.length === 1)
    .toReversed()
    .map(({ words: [only = ''], english }): [string, string] => [only, english.join(' ')]),
}))
const known = once(() => new Set(made().known))
const meaningOf = once(() => new Map(made().meanings))

/** Whether the lists hold a word, in English or another language. */
export function isKnownWord(word: string): boolean {
  return englishWords.has(word) || known().has(word)
}

/**
 * The masculine form of a word where the lists hold it, else the word; also finds umlauts written as two letters. An English
 * word stays as it is.
 */
export const masculine = remembered((word: string): string => {
  if (englishWords.has(word)) return word
  const own = meaningOf().get(word)
  // "química" is a science, no woman among chemists.
  const isSame = (form: string) => own === undefined || own === meaningOf().get(form)
  return baseForms(word).find((form) => isKnownWord(form) && isSame(form)) ?? word
})
