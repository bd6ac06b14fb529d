/**
 * Compounds of words that the lists hold: "Vertriebsleiter" → sales, head. German ones may begin with a word that no list holds;
 * Dutch, Scandinavian and Finnish ones are known as a whole: "inköpschef", "hankintapäällikkö".
 */

import { englishWords } from './functions.ts'
import { kept, once, remembered } from './kept.ts'
import { translations } from './languages.ts'
import { masculine } from './masculine.ts'
import { lists as roles } from './roles.ts'

type PartsOfCompounds = ReadonlyMap<string, readonly string[]>

const LANGUAGES = ['de', 'nl', 'sv', 'fi']

// Of two translations of one word the first counts.
const made = kept('compounds', () =>
  LANGUAGES.map((wanted) =>
    translations()
      .filter(({ language, letters }) => language === wanted && /^[^ ]{3,}$/.test(letters))
      .toReversed()
      .map(({ letters, english }) => [letters, english] as const),
  ),
)
const parts = once(() => made().map((entries): PartsOfCompounds => new Map(entries)))

const LINKS = ['', 's', 'n', 'en', 'es', 'e', 'er']
const SHORTEST_COMPOUND = 8
// No title's word is longer; a longer one could be cut in too many ways.
const LONGEST_COMPOUND = 45
const SHORTEST_PART = 3
const SHORTEST_KNOWN_BEGINNING = 4
const SHORTEST_KNOWN_END = 5

interface Compound {
  readonly language: string
  readonly english: readonly string[]
}

/** The English of a compound ("Vertriebsleiter" → sales, head), or null; an unknown first part is kept as it is. */
export const compound = remembered((word: string): Compound | null => {
  if (word.length < SHORTEST_COMPOUND || word.length > LONGEST_COMPOUND) return null
  const [german = new Map<string, never>(), ...others] = parts()
  const whole = wholeCompound(word, german)
  // "newspaper" is not a German compound of "news" and "paper".
  if (whole !== null && whole.join('') !== word) return { language: 'de', english: whole }
  for (const [index, other] of others.entries()) {
    const english = wholeCompound(word, other)
    const language = LANGUAGES[index + 1] ?? ''
    if (english !== null && english.join('') !== word) return { language, english }
  }
  const end = endOfCompound(word, german)
  return end === null ? null : { language: 'de', english: end }
})

function wholeCompound(word: string, parts: PartsOfCompounds): readonly string[] | null {
  for (let length = word.length - SHORTEST_PART; length >= SHORTEST_PART; length -= 1) {
    const head = partOf(word.slice(0, length), SHORTEST_KNOWN_BEGINNING, parts)
    if (head === null) continue
    for (const link of LINKS) {
      if (!word.startsWith(link, length)) continue
      const rest = word.slice(length + link.length)
      if (rest.length < SHORTEST_PART) continue
      const tail = partOf(masculine(rest), SHORTEST_KNOWN_END, parts) ?? wholeCompound(rest, parts)
      if (tail !== null) return [...head, ...tail]
    }
  }
  return null
}

/** A word of the language, or an English one for a job or a field ("Produktdesigner") that is not too short. */
function partOf(part: string, shortest: number, parts: PartsOfCompounds): readonly string[] | null {
  const isEnglish = part.length >= shortest && englishWords.has(part)
  return parts.get(part) ?? (isEnglish ? [part] : null)
}

function endOfCompound(word: string, german: PartsOfCompounds): readonly string[] | null {
  for (let from = SHORTEST_PART; from <= word.length - SHORTEST_KNOWN_END; from += 1) {
    const end = masculine(word.slice(from))
    const tail = german.get(end)
    const isJob = roles.general.has(end) || end === 'manager'
    if (isJob || (tail !== undefined && !englishWords.has(end))) {
      return [word.slice(0, from), ...(tail ?? [end])]
    }
  }
  return null
}
