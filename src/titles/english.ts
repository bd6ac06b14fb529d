/**
 * The words of a title in English, as far as they are known: phrases of other languages, feminine forms and German compounds
 * are translated, English words for the same job become the usual one. Knows nothing of levels or fields.
 */

import { withUsualNames } from './roles.ts'
import { cognate } from './cognates.ts'
import { compound } from './compounds.ts'
import { englishWords } from './function-words.ts'
import { translations, type Translation } from './languages.ts'
import { masculine } from './masculine.ts'
import { remembered } from './memo.ts'
import { PhraseBook } from './phrase-book.ts'

/** A title's words in English. */
export interface EnglishTitle {
  /** The parts between commas, dashes and brackets. */
  readonly parts: readonly (readonly string[])[]
  /** The language that most of its words belong to; `en` where nothing speaks for another. */
  readonly language: string
}

const singleWords = new Map<string, Translation[]>()
const byLanguage = new Map<string, PhraseBook<Translation>>()
const anyLanguage = new PhraseBook<Translation>()

// Shorter words ("a", "de", "rh") count only where the title is in their language.
const SHORTEST_FOREIGN = 4

for (const translation of translations) {
  const words = translation.words.map(masculine)
  const book = byLanguage.get(translation.language) ?? new PhraseBook<Translation>()
  byLanguage.set(translation.language, book)
  book.add(words, translation)
  const [first = ''] = words
  if (words.length > 1) anyLanguage.add(words, translation)
  else {
    singleWords.set(first, [...(singleWords.get(first) ?? []), translation])
    if (!englishWords.has(first) && first.length >= SHORTEST_FOREIGN)
      anyLanguage.add(words, translation)
  }
}

/** Brings the words of a title, as `splitTitle` gives them, to English. */
export function toEnglish(parts: readonly (readonly string[])[]): EnglishTitle {
  const plain = parts.map((words) => words.map(masculine))
  const language = languageOf(plain)
  const book = byLanguage.get(language)
  return {
    language,
    parts: plain.map((words) => withUsualNames(translated(words, book))),
  }
}

/** The language that most words belong to; one word of another among several English ones is a name. */
function languageOf(parts: readonly (readonly string[])[]): string {
  let votes: Map<string, number> | null = null
  let ownEnglish = 0
  let best = 'en'
  let most = 0
  for (const words of parts) {
    for (const word of words) {
      if (englishWords.has(word)) {
        if (!singleWords.has(word)) ownEnglish += 1
        continue
      }
      for (const language of languagesOf(word)) {
        votes ??= new Map()
        const count = (votes.get(language) ?? 0) + 1
        votes.set(language, count)
        if (count > most) {
          best = language
          most = count
        }
      }
    }
  }
  return most === 1 && ownEnglish > 2 ? 'en' : best
}

const languagesOf = remembered((word: string): readonly string[] => {
  if (word.length === 1) return []
  const found = singleWords.get(word)
  if (found !== undefined) return [...new Set(found.map(({ language }) => language))]
  return compound(word) === null ? [] : ['de']
})

function unknownWord(word: string): readonly string[] {
  if (englishWords.has(word)) return [word]
  const shared = cognate(word)
  return compound(word) ?? [shared ?? word]
}

function translated(words: readonly string[], book: PhraseBook<Translation> | undefined): string[] {
  const english: string[] = []
  for (let at = 0; at < words.length;) {
    const own = book?.longestAt(words, at) ?? null
    const any = anyLanguage.longestAt(words, at)
    const found = own !== null && own.length >= (any?.length ?? 0) ? own : any
    if (found !== null) {
      english.push(...found.value.english)
      at += found.length
    } else {
      const word = words[at] ?? ''
      english.push(...unknownWord(word))
      at += 1
    }
  }
  return english
}
