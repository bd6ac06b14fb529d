/**
 * The words of a title in English, as far as they are known: phrases of other languages, feminine forms and German compounds
 * are translated, English words for the same job become the usual one. Knows nothing of levels or fields.
 */

import { compound } from './compounds.ts'
import { englishWords } from './functions.ts'
import { cognateEndings, translations, type EnglishTitle, type Translation } from './languages.ts'
import { masculine } from './masculine.ts'
import { remembered } from './memo.ts'
import { PhraseBook } from './phrase-book.ts'
import { withUsualNames } from './roles.ts'
import { segmented } from './segments.ts'
import type { Parts } from './words.ts'

const languagesBySingleWord = new Map<string, Set<string>>()
const languagesByPhrase = new Map<string, Set<string>>()
const byLanguage = new Map<string, PhraseBook<Translation>>()
const anyLanguage = new PhraseBook<Translation>()

// Shorter words ("a", "de", "rh") count only where the title is in their language.
const SHORTEST_FOREIGN = 4

for (const translation of translations) {
  const { language } = translation
  const words = translation.words.map(masculine)
  const book = byLanguage.get(language) ?? new PhraseBook<Translation>()
  byLanguage.set(language, book)
  book.add(words, translation)
  const [first = ''] = words
  const byWords = words.length === 1 ? languagesBySingleWord : languagesByPhrase
  const phrase = words.join(' ')
  // "vice president" is what "Vizepräsident" is spelled out to.
  if (words.length === 1 || !words.every((word) => englishWords.has(word))) {
    byWords.set(phrase, (byWords.get(phrase) ?? new Set()).add(language))
  }
  const isForeign = first.length >= SHORTEST_FOREIGN && !englishWords.has(first)
  if (words.length > 1 || isForeign) anyLanguage.add(words, translation)
}

const phrases = new PhraseBook<ReadonlySet<string>>()
for (const [phrase, languages] of languagesByPhrase) phrases.add(phrase.split(' '), languages)

/** How many of the words from `at` on are to stay as they are. */
export type Keeps = (words: readonly string[], at: number) => number

/** Brings the words of a title, as `splitTitle` gives them, to English. */
export function toEnglish(parts: Parts, keeps: Keeps = () => 0): EnglishTitle {
  const plain = parts.map((words) => words.flatMap(segmented).map(masculine))
  const language = languageOf(plain.flat())
  const book = byLanguage.get(language)
  return { language, parts: plain.map((words) => withUsualNames(translated(words, book, keeps))) }
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
  const isEnglish = (word: string) => englishWords.has(word) && !languagesBySingleWord.has(word)
  return votes.get(best) === 1 && words.filter(isEnglish).length > 2 ? 'en' : best
}

const languagesOf = remembered((word: string): readonly string[] => {
  if (word.length === 1 || englishWords.has(word)) return []
  const languages = languagesBySingleWord.get(word)
  const language = compound(word)?.language
  return languages ? [...languages] : language === undefined ? [] : [language]
})

function translated(
  words: readonly string[],
  book: PhraseBook<Translation> | undefined,
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
    const own = isKept ? words.slice(at, at + kept) : found.value?.english
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
