/** Feminine forms of the words that the lists hold: "ingeniera" → "ingeniero", "Leiterin" → "Leiter". */

import { englishWords } from './function-words.ts'
import { translations } from './languages.ts'
import { remembered } from './memo.ts'
import { withoutWrittenUmlauts } from './word-forms.ts'

const knownWords = new Set([
  ...englishWords,
  ...translations.flatMap(({ words, letters }) => [...words, letters]),
])
/** Whether a list holds the word as it is. */
export function isKnownWord(word: string): boolean {
  return knownWords.has(word)
}

const meaningOf = new Map(
  translations
    .filter(({ words }) => words.length === 1)
    .toReversed()
    .map(({ words, english }) => [words[0], english.join(' ')]),
)

const FEMININE: readonly (readonly [RegExp, readonly string[]])[] = [
  [/innen$|in$/, ['']],
  [/euses?$/, ['eur']],
  [/trices?$/, ['teur', 'tore', 'tor']],
  [/(?<=[iy])enne$/, ['en']],
  [/iere?s?$/, ['ier']],
  [/ive$/, ['if']],
  [/ees?$/, ['e']],
  [/es?$/, ['', 'o']],
  [/niczka$/, ['nik']],
  [/(?<=[rt])ka$/, ['']],
  [/essa?$/, ['', 'e']],
  [/as?$/, ['o', '', 'e']],
  [/(?<=[oe])s$/, ['']],
]

/**
 * The masculine form of a word where the lists hold it, else the word; also finds umlauts written as two letters. An English
 * word stays as it is.
 */
export const masculine = remembered((word: string): string => {
  if (word.length < 5 || englishWords.has(word)) return word
  const own = meaningOf.get(word)
  for (const [ending, replacements] of FEMININE) {
    if (!ending.test(word)) continue
    for (const replacement of replacements) {
      const base = word.replace(ending, replacement)
      if (base.length < 4 || !knownWords.has(base)) continue
      // "química" is a science, no woman among chemists.
      if (own === undefined || own === meaningOf.get(base)) return base
    }
  }
  if (knownWords.has(word)) return word
  const umlauts = withoutWrittenUmlauts(word)
  return umlauts !== word && knownWords.has(umlauts) ? umlauts : word
})
