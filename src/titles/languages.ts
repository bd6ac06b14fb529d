/** The word lists of config/titles/languages.yaml and more-languages.yaml, as words. */

import { z } from 'zod'
import { kept, once, remembered } from './kept.ts'
import { wordList, readTaxonomy } from './taxonomy.ts'
import { wordsOfPhrase, foldLetters } from './words.ts'

const byLanguage = z.record(z.string().regex(/^[a-z]{2}$/), z.record(z.string().min(1), wordList))
const more = once(() => readTaxonomy('more-languages.yaml', byLanguage))
const lists = once(() =>
  readTaxonomy(
    'languages.yaml',
    z.strictObject({
      translations: byLanguage,
      cognates: z.record(z.string().min(1), z.array(z.string())),
    }),
  ),
)

export interface Translation {
  /** Two letters: `de`. */
  readonly language: string
  readonly words: readonly string[]
  /** The phrase in the form that it takes inside a compound: folded, nothing spelled out. */
  readonly letters: string
  readonly english: readonly string[]
}

const englishOf = remembered(wordsOfPhrase)

/** All of them, from the lists; what titles are read by is made of it, and kept. */
export const translations = once((): readonly Translation[] =>
  [...Object.entries(lists().translations), ...Object.entries(more())].flatMap(
    ([language, entries]) =>
      Object.entries(entries).flatMap(([english, phrases]) =>
        phrases.map((phrase) => ({
          language,
          words: wordsOfPhrase(phrase),
          letters: foldLetters(phrase),
          english: englishOf(english),
        })),
      ),
  ),
)

const made = kept('languages', () => ({
  readInEnglish: Object.keys(more()),
  cognates: Object.entries(lists().cognates).toSorted(([a], [b]) => b.length - a.length),
}))()

/** Languages with no other known words: their levels are also read from the English. */
export const readInEnglish: ReadonlySet<string> = new Set(made.readInEnglish)

/** Endings of other languages, longest first, and those of English words of the same origin. */
export const cognateEndings: readonly (readonly [string, readonly string[]])[] = made.cognates

export interface EnglishTitle {
  /** Its words before that: of scripts without spaces set apart, masculine. */
  readonly native: readonly (readonly string[])[]
  readonly parts: readonly (readonly string[])[]
  /** The language that most of its words belong to; `en` where nothing speaks for another. */
  readonly language: string
}

const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/u

const unspacedWords = kept('segments', () =>
  translations().flatMap(({ words: [only = '', ...others] }) =>
    others.length === 0 && UNSPACED.test(only) ? [only] : [],
  ),
)
const known = once(() => new Set(unspacedWords()))
const longestKnown = once(() => Math.max(...unspacedWords().map(({ length }) => length)))

/** The known words that `word` is written of, the longest first, and what stands between them. */
export const segmented = remembered((word: string): readonly string[] => {
  if (!UNSPACED.test(word) || known().has(word)) return [word]
  const segments: string[] = []
  let unknown = ''
  for (let at = 0; at < word.length;) {
    const found = knownAt(word, at)
    if (found === null) {
      unknown += word[at] ?? ''
      at += 1
      continue
    }
    if (unknown !== '') segments.push(unknown)
    unknown = ''
    segments.push(found)
    at += found.length
  }
  return unknown === '' ? segments : [...segments, unknown]
})

function knownAt(word: string, at: number): string | null {
  for (let length = Math.min(longestKnown(), word.length - at); length > 0; length -= 1) {
    const part = word.slice(at, at + length)
    if (known().has(part)) return part
  }
  return null
}
