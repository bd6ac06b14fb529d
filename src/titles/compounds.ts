/** German compounds of words that the lists hold: "Vertriebsleiter" → sales, head. */

import { englishWords } from './functions.ts'
import { translations } from './languages.ts'
import { masculine } from './masculine.ts'
import { remembered } from './memo.ts'
import { lists as roles } from './roles.ts'

// Of two translations of one word the first counts.
const germanParts = new Map(
  translations
    .filter(({ language, letters }) => language === 'de' && /^[^ ]{3,}$/.test(letters))
    .toReversed()
    .map(({ letters, english }) => [letters, english]),
)

const LINKS = ['', 's', 'n', 'en', 'es', 'e', 'er']
const SHORTEST_COMPOUND = 8
// No title's word is longer; a longer one could be cut in too many ways.
const LONGEST_COMPOUND = 45
const SHORTEST_PART = 3
const SHORTEST_KNOWN_BEGINNING = 4
const SHORTEST_KNOWN_END = 5

/** The English of a German compound ("Vertriebsleiter" → sales, head), or null; an unknown first part is kept as it is. */
export const compound = remembered((word: string): readonly string[] | null => {
  if (word.length < SHORTEST_COMPOUND || word.length > LONGEST_COMPOUND) return null
  const parts = wholeCompound(word)
  // "newspaper" is no German compound of "news" and "paper".
  return parts !== null && parts.join('') !== word ? parts : endOfCompound(word)
})

function wholeCompound(word: string): readonly string[] | null {
  for (let length = word.length - SHORTEST_PART; length >= SHORTEST_PART; length -= 1) {
    const head = partOf(word.slice(0, length), SHORTEST_KNOWN_BEGINNING)
    if (head === null) continue
    for (const link of LINKS) {
      if (!word.startsWith(link, length)) continue
      const rest = word.slice(length + link.length)
      if (rest.length < SHORTEST_PART) continue
      const tail = partOf(masculine(rest), SHORTEST_KNOWN_END) ?? wholeCompound(rest)
      if (tail !== null) return [...head, ...tail]
    }
  }
  return null
}

/** A German word, or an English one for a job or a field ("Produktdesigner") that is not too short. */
function partOf(part: string, shortest: number): readonly string[] | null {
  const isEnglish = part.length >= shortest && englishWords.has(part)
  return germanParts.get(part) ?? (isEnglish ? [part] : null)
}

function endOfCompound(word: string): readonly string[] | null {
  for (let from = SHORTEST_PART; from <= word.length - SHORTEST_KNOWN_END; from += 1) {
    const end = masculine(word.slice(from))
    const tail = germanParts.get(end)
    const isJob = roles.general.has(end) || end === 'manager'
    if (isJob || (tail !== undefined && !englishWords.has(end))) {
      return [word.slice(0, from), ...(tail ?? [end])]
    }
  }
  return null
}
