/** German compounds of words that the lists hold: "Vertriebsleiter" → sales, head. */

import { englishWords } from './function-words.ts'
import { translations } from './languages.ts'
import { masculine } from './masculine.ts'
import { remembered } from './memo.ts'
import { generalJobs } from './roles.ts'

const germanParts = new Map<string, readonly string[]>()
for (const { language, letters, english } of translations) {
  if (language !== 'de' || letters.length < 3 || letters.includes(' ')) continue
  if (!germanParts.has(letters)) germanParts.set(letters, english)
}

const LINKS = ['', 's', 'n', 'en', 'es', 'e', 'er']
const SHORTEST_COMPOUND = 8
// No title's word is longer; a longer one could be cut in too many ways.
const LONGEST_COMPOUND = 45

/** The English of a German compound ("Vertriebsleiter" → sales, head), or null; an unknown first part is kept as it is. */
export const compound = remembered((word: string): readonly string[] | null =>
  word.length < SHORTEST_COMPOUND || word.length > LONGEST_COMPOUND
    ? null
    : (germanCompound(word) ?? endOfCompound(word)),
)

// "newspaper" is no German compound of "news" and "paper".
function germanCompound(word: string): readonly string[] | null {
  const parts = wholeCompound(word)
  return parts !== null && parts.join('') === word ? null : parts
}

function wholeCompound(word: string): readonly string[] | null {
  for (let length = word.length - 3; length >= 3; length -= 1) {
    const first = word.slice(0, length)
    const head = germanPart(first)
    if (head === null) continue
    for (const link of LINKS) {
      if (!word.startsWith(link, length)) continue
      const rest = word.slice(length + link.length)
      if (rest.length < 3) continue
      const tail = endPart(masculine(rest)) ?? wholeCompound(rest)
      if (tail !== null) return [...head, ...tail]
    }
  }
  return null
}

/** The last part: German, or an English word for a job or a field ("Produktdesigner"). */
function endPart(part: string): readonly string[] | null {
  const own = germanParts.get(part)
  if (own !== undefined) return own
  return part.length >= SHORTEST_KNOWN_END && englishWords.has(part) ? [part] : null
}

function germanPart(part: string): readonly string[] | null {
  const own = germanParts.get(part)
  if (own !== undefined) return own
  return part.length >= 4 && englishWords.has(part) ? [part] : null
}

const SHORTEST_KNOWN_END = 5

function endOfCompound(word: string): readonly string[] | null {
  for (let from = 3; from <= word.length - SHORTEST_KNOWN_END; from += 1) {
    const end = masculine(word.slice(from))
    const tail = germanParts.get(end)
    const isJob = generalJobs.has(end) || end === 'manager'
    if (tail !== undefined && (isJob || !englishWords.has(end)))
      return [word.slice(0, from), ...tail]
    if (isJob) return [word.slice(0, from), end]
  }
  return null
}
