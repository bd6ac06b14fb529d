/** Words that several languages share in their own spelling: "implementación", "Onkologie", "géologue" → English. */

import { englishWords } from './function-words.ts'
import { cognateEndings } from './languages.ts'
import { remembered } from './memo.ts'

const SHORTEST_COGNATE = 6

/** The English word that `word` is a spelling of, where a rule of endings leads to one that the lists hold; else null. */
export const cognate = remembered((word: string): string | null => {
  if (word.length < SHORTEST_COGNATE) return null
  for (const [ending, replacements] of cognateEndings) {
    if (!word.endsWith(ending)) continue
    const stem = word.slice(0, word.length - ending.length)
    for (const replacement of replacements) {
      for (const spelling of spellingsOf(stem + replacement)) {
        if (englishWords.has(spelling)) return spelling
      }
    }
  }
  return null
})

// "k" and "z" of German, "f" and single letters of Spanish: "Produktion", "farmaceutico", "comercial".
function spellingsOf(word: string): string[] {
  const latin = word.replace(/k/g, 'c').replace(/z(?=i)/g, 'c')
  const greek = latin.replace(/^f|f(?=[aeio])/g, 'ph').replace(/^qu/, 'ch')
  const doubled = latin
    .replace(/(?<=^[aeio])([cdlmnprst])(?!\1)/, '$1$1')
    .replace(/(?<=^co)m(?=e)/, 'mm')
  return [word, latin, greek, doubled]
}
