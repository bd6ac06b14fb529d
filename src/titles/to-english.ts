/**
 * The words of a title in English, as far as they are known: phrases of other languages, feminine forms and German compounds
 * are translated, English words for the same job become the usual one. Knows nothing of levels or fields.
 */

import { z } from 'zod'
import { once } from '../support/once.ts'
import { englishWords, roles, withUsualNames } from './functions.ts'
import { kept, remembered } from './kept.ts'
import { packBook, PhraseBook, type Entry } from './phrase-book.ts'
import { readTaxonomy, wordList } from './taxonomy.ts'
import { baseForms, foldLetters, wordsOfPhrase, type EnglishTitle, type Parts } from './words.ts'

const byLanguage = z.record(z.string().regex(/^[a-z]{2}$/), z.record(z.string().min(1), wordList))
const more = once(() => readTaxonomy('more-languages.yaml', byLanguage))
const wordLists = once(() =>
  readTaxonomy(
    'languages.yaml',
    z.strictObject({
      translations: byLanguage,
      cognates: z.record(z.string().min(1), z.array(z.string())),
    }),
  ),
)

interface Translation {
  /** Two letters: `de`. */
  readonly language: string
  readonly words: readonly string[]
  /** The phrase in the form that it takes inside a compound: folded, nothing spelled out. */
  readonly letters: string
  readonly english: readonly string[]
}

const englishOf = remembered(wordsOfPhrase)

/** All of them, from the lists; what titles are read by is made of it, and kept. */
const translations = once((): readonly Translation[] =>
  [...Object.entries(wordLists().translations), ...Object.entries(more())].flatMap(
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

const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/u

const knownUnspaced = kept(
  'segments',
  () =>
    translations().flatMap(({ words: [only = '', ...others] }) =>
      others.length === 0 && UNSPACED.test(only) ? [only] : [],
    ),
  (words) => new Set(words),
)
const anyUnspaced = once(() => {
  const longestFirst = [...knownUnspaced()].toSorted((a, b) => b.length - a.length)
  return new RegExp(`(${longestFirst.join('|')})`)
})

/** The known words that `word` is written of, the longest first, and what stands between them. */
export const segmented = remembered((word: string): readonly string[] => {
  if (!UNSPACED.test(word) || knownUnspaced().has(word)) return [word]
  return word.split(anyUnspaced()).filter((part) => part !== '')
})

// Feminine forms: "ingeniera" → "ingeniero", "Leiterin" → "Leiter".

/** The English of single words, and the other words of the lists. */
const forms = kept(
  'masculine',
  () => {
    const meanings = new Map(
      translations()
        .filter(({ words }) => words.length === 1)
        .toReversed()
        .map(({ words: [only = ''], english }) => [only, english.join(' ')]),
    )
    const words = translations().flatMap(({ words, letters }) => [...words, letters])
    const others = words.filter((word) => !meanings.has(word) && !word.includes(' '))
    return { meanings: Object.fromEntries(meanings), others: [...new Set(others)].join(' ') }
  },
  ({ meanings, others }) => ({
    meanings: new Map(Object.entries(meanings)),
    others: new Set(others.split(' ')),
  }),
)

/** Whether the lists hold a word, in English or another language. */
export function isKnownWord(word: string): boolean {
  return englishWords.has(word) || forms().meanings.has(word) || forms().others.has(word)
}

/**
 * The masculine form of a word where the lists hold it, else the word; also finds umlauts written as two letters. An English
 * word stays as it is.
 */
export const masculine = remembered((word: string): string => {
  if (englishWords.has(word)) return word
  const { meanings } = forms()
  const own = meanings.get(word)
  // "química" is a science, no woman among chemists.
  const isSame = (form: string) => own === undefined || own === meanings.get(form)
  return baseForms(word).find((form) => isKnownWord(form) && isSame(form)) ?? word
})

// Compounds of words that the lists hold, which may begin with a word that no list holds: "Vertriebsleiter" → sales, head;
// "inköpschef", "hankintapäällikkö".

type PartsOfCompounds = ReadonlyMap<string, readonly string[]>

// Of two translations of one word the first counts.
const parts = kept(
  'compounds',
  () =>
    ['de', 'nl', 'sv', 'fi'].map((wanted) => {
      const entries = translations()
        .filter(({ language, letters }) => language === wanted && /^[^ ]{3,}$/.test(letters))
        .toReversed()
        .map(({ letters, english }) => [letters, english] as const)
      return { language: wanted, entries }
    }),
  (all) =>
    all.map(({ language, entries }) => {
      return { language, words: new Map(entries) as PartsOfCompounds }
    }),
)

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
const compound = remembered((word: string): Compound | null => {
  if (word.length < SHORTEST_COMPOUND || word.length > LONGEST_COMPOUND) return null
  for (const { language, words } of parts()) {
    const english = wholeCompound(word, words)
    // "newspaper" is not a German compound of "news" and "paper".
    if (english !== null && english.join('') !== word) return { language, english }
  }
  return endOfCompound(word)
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

function endOfCompound(word: string): Compound | null {
  for (let from = SHORTEST_PART; from <= word.length - SHORTEST_KNOWN_END; from += 1) {
    const end = masculine(word.slice(from))
    const isJob = roles.general.has(end) || end === 'manager'
    const isOf = ({ words }: { readonly words: PartsOfCompounds }) =>
      isJob || (words.has(end) && !englishWords.has(end))
    const known = parts().find(isOf)
    if (known !== undefined) {
      const { language, words } = known
      return { language, english: [word.slice(0, from), ...(words.get(end) ?? [end])] }
    }
  }
  return null
}

// Shorter words ("a", "de", "rh") count only where the title is in their language.
const SHORTEST_FOREIGN = 4

type English = readonly string[]
type Languages = readonly string[]

const make = once(() => {
  const byPhrase = new Map<string, Set<string>>()
  const byLanguage = new Map<string, Entry<English>[]>()
  const any: Entry<English>[] = []
  for (const translation of translations()) {
    const { language, english } = translation
    const words = translation.words.map(masculine)
    byLanguage.set(language, byLanguage.get(language) ?? [])
    byLanguage.get(language)?.push([words, english])
    const [first = ''] = words
    const phrase = words.join(' ')
    // "vice president" is what "Vizepräsident" is spelled out to.
    if (words.length === 1 || !words.every((word) => englishWords.has(word))) {
      byPhrase.set(phrase, (byPhrase.get(phrase) ?? new Set()).add(language))
    }
    const isForeign = first.length >= SHORTEST_FOREIGN && !englishWords.has(first)
    if (words.length > 1 || isForeign) any.push([words, english])
  }
  const listOf = remembered((joined: string): Languages => (joined === '' ? [] : joined.split(' ')))
  const phrases = [...byPhrase].map(([phrase, languages]): Entry<Languages> => {
    // A letter, an English word, or one that is a job only where it begins ("^guru") speaks for no language.
    const isOfNone = phrase.length === 1 || englishWords.has(phrase) || phrase.startsWith('^')
    return [phrase.split(' '), listOf(isOfNone ? '' : [...languages].join(' '))]
  })
  return { byLanguage, any, phrases }
})

const made = kept('to-english', () => {
  const { byLanguage, any, phrases } = make()
  return {
    languages: [...byLanguage.keys()],
    readInEnglish: Object.keys(more()),
    cognates: Object.entries(wordLists().cognates).toSorted(([a], [b]) => b.length - a.length),
    any: packBook(any),
    phrases: packBook(phrases),
  }
})()
/** Languages with no other known words: their levels are also read from the English. */
export const readInEnglish: ReadonlySet<string> = new Set(made.readInEnglish)
const anyLanguage = new PhraseBook<English>(made.any)
const phrases = new PhraseBook<Languages>(made.phrases)

const bookOf = new Map(
  made.languages.map((language) => [
    language,
    kept(
      `language-${language}`,
      () => packBook(make().byLanguage.get(language) ?? []),
      (book) => new PhraseBook<English>(book),
    ),
  ]),
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
    for (const language of value ?? languagesOfCompound(words[at] ?? '')) {
      votes.set(language, (votes.get(language) ?? 0) + end - at)
      if ((votes.get(language) ?? 0) > (votes.get(best) ?? 0)) best = language
    }
  }
  const isEnglish = (word: string) => englishWords.has(word) && phrases.find([word]) === null
  return votes.get(best) === 1 && words.filter(isEnglish).length > 2 ? 'en' : best
}

function languagesOfCompound(word: string): Languages {
  const language = englishWords.has(word) ? undefined : compound(word)?.language
  return language === undefined ? [] : [language]
}

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
  return englishWords.has(word) ? [word] : (compound(word)?.english ?? [cognateOf(word) ?? word])
}

/** Also of a feminine form, whose masculine no list holds: "biostatisticienne". */
function cognateOf(word: string): string | undefined {
  return (
    [word, ...baseForms(word)].map((form) => cognate(form)).find((found) => found !== null) ??
    undefined
  )
}

const SHORTEST_COGNATE = 6

/**
 * The English word that `word` is a spelling of ("implementación", "Onkologie", "géologue"), where a rule of endings leads to
 * one that the lists hold; else null.
 */
const cognate = remembered((word: string): string | null => {
  if (word.length < SHORTEST_COGNATE) return null
  for (const [ending, replacements] of made.cognates) {
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
