/**
 * The words of a title in English, as far as they are known: phrases of other languages, feminine forms and German compounds
 * are translated, English words for the same job become the usual one. Knows nothing of levels or fields.
 */

import { compound } from './compounds.ts'
import { englishWords } from './functions.ts'
import { kept, once, remembered } from './kept.ts'
import { cognateEndings, translations, segmented, type EnglishTitle } from './languages.ts'
import { masculine } from './masculine.ts'
import { BookMaker, EMPTY_BOOK, PhraseBook } from './phrase-book.ts'
import { withUsualNames } from './roles.ts'
import type { Parts } from './words.ts'

// Shorter words ("a", "de", "rh") count only where the title is in their language.
const SHORTEST_FOREIGN = 4

type English = readonly string[]
type Languages = readonly string[]

const make = once(() => {
  const bySingleWord = new Map<string, Set<string>>()
  const byPhrase = new Map<string, Set<string>>()
  const byLanguage = new Map<string, BookMaker<English>>()
  const anyLanguage = new BookMaker<English>()
  for (const translation of translations()) {
    const { language, english } = translation
    const words = translation.words.map(masculine)
    const book = byLanguage.get(language) ?? new BookMaker<English>()
    byLanguage.set(language, book)
    book.add(words, english)
    const [first = ''] = words
    const byWords = words.length === 1 ? bySingleWord : byPhrase
    const phrase = words.join(' ')
    // "vice president" is what "Vizepräsident" is spelled out to.
    if (words.length === 1 || !words.every((word) => englishWords.has(word))) {
      byWords.set(phrase, (byWords.get(phrase) ?? new Set()).add(language))
    }
    const isForeign = first.length >= SHORTEST_FOREIGN && !englishWords.has(first)
    if (words.length > 1 || isForeign) anyLanguage.add(words, english)
  }
  const phrases = new BookMaker<Languages>()
  const listOf = remembered((joined: string): Languages => joined.split(' '))
  for (const [phrase, languages] of byPhrase)
    phrases.add(phrase.split(' '), listOf([...languages].join(' ')))
  return { bySingleWord, byLanguage, anyLanguage, phrases }
})

const made = kept('to-english', () => {
  const { byLanguage, anyLanguage, phrases } = make()
  return {
    languages: [...byLanguage.keys()],
    any: anyLanguage.packed(),
    phrases: phrases.packed(),
  }
})()
const anyLanguage = new PhraseBook<English>(made.any)
const phrases = new PhraseBook<Languages>(made.phrases)

const keptWords = kept('single-words', () =>
  [...make().bySingleWord].map(([word, languages]): [string, Languages] => [word, [...languages]]),
)
const languagesBySingleWord = once(() => new Map(keptWords()))

const bookOf = new Map(
  made.languages.map((language) => {
    const book = kept(`language-${language}`, () => make().byLanguage.get(language)?.packed())
    return [language, once(() => new PhraseBook<English>(book() ?? EMPTY_BOOK))]
  }),
)

/** How many of the words from `at` on are to stay as they are. */
export type Keeps = (words: readonly string[], at: number) => number

/** Brings the words of a title, as `splitTitle` gives them, to English. */
export function toEnglish(parts: Parts, keeps: Keeps = () => 0): EnglishTitle {
  const native = parts.map((words) => words.flatMap(segmented).map(masculine))
  const language = languageOf(native.flat())
  const book = bookOf.get(language)?.()
  const english = native.map((words) => withUsualNames(translated(words, book, keeps)))
  return { language, native, parts: english }
}

/** The language that most words belong to; one word of another among several English ones is a name. */
function languageOf(words: readonly string[]): string {
  const votes = new Map<string, number>()
  let best = 'en'
  for (const { value, at, end } of phrases.scan(words)) {
    for (const language of value ?? languagesOf(words[at] ?? '')) {
      votes.set(language, (votes.get(language) ?? 0) + end - at)
      if ((votes.get(language) ?? 0) > (votes.get(best) ?? 0)) best = language
    }
  }
  const isEnglish = (word: string) => englishWords.has(word) && !languagesBySingleWord().has(word)
  return votes.get(best) === 1 && words.filter(isEnglish).length > 2 ? 'en' : best
}

const languagesOf = remembered((word: string): readonly string[] => {
  if (word.length === 1 || englishWords.has(word)) return []
  const languages = languagesBySingleWord().get(word)
  const language = compound(word)?.language
  return languages ?? (language === undefined ? [] : [language])
})

function translated(
  words: readonly string[],
  book: PhraseBook<English> | undefined,
  keeps: Keeps,
): string[] {
  const english: string[] = []
  for (let at = 0; at < words.length;) {
    const any = anyLanguage.longest(words, at)
    const native = book?.longest(words, at) ?? any
    const isNative = native.value !== null && (any.value === null || native.end >= any.end)
    const found = isNative ? native : any
    const kept = keeps(words, at)
    const isKept = kept > 0 && kept >= found.end - at
    const own = isKept ? words.slice(at, at + kept) : found.value
    english.push(...(own ?? unknownWord(words[at] ?? '')))
    at = isKept ? at + kept : found.end
  }
  return english
}

function unknownWord(word: string): readonly string[] {
  return englishWords.has(word) ? [word] : (compound(word)?.english ?? [cognate(word) ?? word])
}

const SHORTEST_COGNATE = 6

/**
 * The English word that `word` is a spelling of ("implementación", "Onkologie", "géologue"), where a rule of endings leads to
 * one that the lists hold; else null.
 */
const cognate = remembered((word: string): string | null => {
  if (word.length < SHORTEST_COGNATE) return null
  for (const [ending, replacements] of cognateEndings) {
    if (!word.endsWith(ending)) continue
    const stem = word.slice(0, word.length - ending.length)
    const spellings = replacements.flatMap((text) => spellingsOf(stem + text))
    const known = spellings.find((spelling) => englishWords.has(spelling))
    if (known !== undefined) return known
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
