/** Feminine forms of the words that the lists hold: "ingeniera" → "ingeniero", "Leiterin" → "Leiter". */

import { englishWords } from './functions.ts'
import { translations } from './languages.ts'
import { remembered } from './memo.ts'
import { baseForms } from './words.ts'

export const knownWords: ReadonlySet<string> = new Set([
  ...englishWords,
  ...translations.flatMap(({ words, letters }) => [...words, letters]),
])

const meaningOf = new Map(
  translations
    .filter(({ words }) => words.length === 1)
    .toReversed()
    .map(({ words, english }) => [words[0], english.join(' ')]),
)

/**
 * The masculine form of a word where the lists hold it, else the word; also finds umlauts written as two letters. An English
 * word stays as it is.
 */
export const masculine = remembered((word: string): string => {
  if (englishWords.has(word)) return word
  const own = meaningOf.get(word)
  // "química" is a science, no woman among chemists.
  const isSame = (form: string) => own === undefined || own === meaningOf.get(form)
  return baseForms(word).find((form) => knownWords.has(form) && isSame(form)) ?? word
})
