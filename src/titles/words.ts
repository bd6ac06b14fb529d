/**
 * A title as written → plain words: lower case, no accents, no gender marks, abbreviations spelled out, and the parts of it
 * that commas, dashes and brackets set apart. Knows letters only, not what a word means.
 */

import { z } from 'zod'
import { kept } from './kept.ts'
import { each, readTaxonomy, wordList } from './taxonomy.ts'

const lists = kept('words', () =>
  readTaxonomy(
    'words.yaml',
    z.strictObject({
      ...each(wordList, 'one_word', 'to_belongs_to_the_words', 'fillers'),
      ...each(
        wordList,
        'grade_prefixes',
        'no_grade_prefixes',
        'degrees',
        'ambiguous',
        'articles',
        'often_mistyped',
      ),
      ...each(z.record(z.string(), z.string()), 'letters', 'entities'),
      endings: z.record(z.string(), z.array(z.string())),
    }),
  ),
)()

const shortLists = kept('abbreviations', () => {
  const text = z.string().transform((all) => all.split(' ').filter((word) => word !== ''))
  const byNeighbour = z.record(z.string(), z.record(z.string().min(1), wordList))
  return readTaxonomy(
    'abbreviations.yaml',
    z.strictObject({
      always: z.record(z.string().min(1), text),
      field_or_person: z.record(z.string(), wordList),
      after: byNeighbour,
      before: byNeighbour,
      last: z.record(z.string(), text),
      letters: z.record(z.string(), wordList),
    }),
  )
})()

type Words = readonly string[]

/** The meanings of short forms of one word, by the deciding neighbour; a neighbour `*` is any word. */
interface Short {
  readonly always: Words | null
  readonly field: Words | null
  readonly person: Words | null
  readonly after: ReadonlyMap<string, Words>
  readonly before: ReadonlyMap<string, Words>
}

const shortForms = new Map<string, Short>()

const { always, field_or_person: either, after, before, last } = shortLists
for (const short of [always, either, after, before, last].flatMap((list) => Object.keys(list))) {
  const [field = null, person = null] = (either[short] ?? []).map((one) => one.split(' '))
  shortForms.set(short, {
    always: always[short] ?? null,
    field,
    person: person ?? last[short] ?? null,
    after: byNeighbour(after[short]),
    before: byNeighbour(before[short]),
  })
}

function byNeighbour(meanings: Readonly<Record<string, Words>> = {}): ReadonlyMap<string, Words> {
  return new Map(
    Object.entries(meanings).flatMap(([meaning, words]) =>
      words.map((word) => [word, meaning.split(' ')] as const),
    ),
  )
}

// Who holds a post leads a field: "VP, Eng".
const POSTS = new Set(
  'director manager head president officer supervisor superintendent dean leader minister'.split(
    ' ',
  ),
)
const LEADS_TO_A_FIELD = new Set(['of', 'for', 'in'])
// "de fin d'études"
const SHORTEST_NEXT = 4
const STEP = /^(?:i{1,3}|iv|v|[1-7]|[lep]\d|ic\d|senior|junior)$/

/**
 * The words of one part of a title, its short forms spelled out.
 * @param spell what else a word may be: a compound with a grade
 * @param isOfPost whether an earlier part names a post
 */
export function spelledOut(
  words: Words,
  spell: (word: string) => Words,
  isOfPost: boolean,
): string[] {
  const spelled: string[] = []
  for (const [at, word] of words.entries()) {
    const short = shortForms.get(word)
    spelled.push(
      ...(short === undefined
        ? spell(word)
        : (meaningOf(short, words, at, spelled, isOfPost) ?? [word])),
    )
  }
  return spelled
}

function meaningOf(
  short: Short,
  words: Words,
  at: number,
  spelled: Words,
  isOfPost: boolean,
): Words | null {
  const previous = spelled.at(-1) ?? ''
  const byPrevious = short.after.get(previous) ?? short.after.get(words[at - 1] ?? '')
  if (byPrevious !== undefined) return byPrevious
  const rest = words.slice(at + 1)
  const isLast = rest.every((word) => STEP.test(word))
  if (!isLast && short.before.size > 0) {
    const [next = ''] = rest
    const long = shortForms.get(next)?.always?.[0] ?? next
    const isAny = next.length >= SHORTEST_NEXT || shortForms.has(next)
    const byNext =
      short.before.get(next) ??
      short.before.get(long) ??
      (isAny ? short.before.get('*') : undefined)
    if (byNext !== undefined) return byNext
  }
  const isBehindPost = LEADS_TO_A_FIELD.has(previous) || POSTS.has(previous)
  const isOfField = isOfPost || isBehindPost || namesPost(spelled)
  const byAny = at > 0 ? short.after.get('*') : undefined
  const person = short.person ?? byAny ?? null
  if (isLast && !isOfField && person !== null) return person
  // "VP, Fin.", but not "CFO, Acme Corp".
  const isField = isBehindPost || (isOfPost && at === 0)
  return short.field ?? short.always ?? (isField ? short.before.get('*') : undefined) ?? null
}

/** Whether words name a post, so that a short form in a later part is its field. */
function namesPost(words: Words): boolean {
  return words.some((word) => POSTS.has(word))
}

const LETTERS = new Map(
  Object.entries(shortLists.letters).flatMap(([letters, phrases]) =>
    phrases.map((phrase) => [phrase, letters] as const),
  ),
)
const WRITTEN_OUT = new RegExp(
  `\\b(?:${[...LETTERS.keys()].join('|').replaceAll(' and ', ' (?:and|&) ')})\\b`,
  'g',
)

/** "Research and Development", "R and D" as the one word R&D. */
function withLetters(text: string): string {
  return text.replace(WRITTEN_OUT, (phrase) => LETTERS.get(phrase.replace('&', 'and')) ?? phrase)
}

const ENTITY = /&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]+));/gi
// &eacute; &uuml; &Ccedil;
const ACCENT_NAME = /^([a-z])(?:acute|grave|circ|uml|tilde|cedil|ring|slash|caron)$/i
const HIGHEST_SIGN = 0x10_ff_ff

/** A title as it was before it was put into a page: `&amp;` → `&`, `&#39;` → `'`; also what was put into one twice. */
function withoutEntities(title: string): string {
  if (!title.includes('&') || !title.includes(';')) return title
  const once = decoded(title)
  return once === title ? title : decoded(once)
}

function decoded(title: string): string {
  return title.replace(ENTITY, (all, hex?: string, digits?: string, name?: string) => {
    if (name !== undefined)
      return lists.entities[name.toLowerCase()] ?? ACCENT_NAME.exec(name)?.[1] ?? all
    const sign = hex === undefined ? Number(digits) : Number.parseInt(hex, 16)
    return sign > 0 && sign <= HIGHEST_SIGN ? String.fromCodePoint(sign) : all
  })
}

const SPECIAL_LETTERS = new RegExp(`[${Object.keys(lists.letters).join('')}]`, 'g')
const ONLY_ASCII = /^[\0-\x7f]*$/

// Only in these scripts a mark is an accent; in others it is a vowel or makes another letter: デ, कि, ที่.
const ACCENTED = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])(\p{M}+)/gu
// й, ї and ў are letters of their own.
const OWN_LETTER = /^(?:[иу]\u0306|і\u0308)/
// For Hebrew and Arabic, which are rare here.
const VOWEL_POINTS = /[\u0591-\u05bd\u05bf-\u05c7\u064b-\u0652\u0670]/g

/** Lower case, without accents, in the usual width: what two spellings of one word share. */
export function foldLetters(text: string): string {
  if (ONLY_ASCII.test(text)) return text.toLowerCase()
  return (
    text
      .replace(/[™®©]/g, ' ')
      .toLowerCase()
      .normalize('NFKD')
      .toLowerCase()
      .replace(ACCENTED, (all, letter: string) => OWN_LETTER.exec(all)?.[0] ?? letter)
      .replace(VOWEL_POINTS, '')
      .normalize('NFC')
      // A vowel of Thai that NFKD takes apart for good.
      .replaceAll('\u0e4d\u0e32', '\u0e33')
      .replace(SPECIAL_LETTERS, (letter) => lists.letters[letter] ?? letter)
  )
}

// A title longer than this is a text; its first words say what it is.
const LONGEST_TITLE = 300

const GENDER = '(?:m|w|f|h|d|x|i|div|divers|diverse|gn)'
// (m/w/d), (H/F), [f|m|x], (m,w,d), (all genders), also without brackets when between slashes.
const GENDER_LETTERS = new RegExp(
  `[([]\\s*(?:${GENDER}(?:\\s*[/|,*:.+-]\\s*${GENDER})+|gn|all genders?|any gender|mensch|all)\\s*[)\\]]` +
    `|\\b[mwfhd]\\s*[/|]\\s*[mwfhdx](?:\\s*[/|]\\s*${GENDER})*\\b`,
  'g',
)
const PRONOUNS =
  /\(?\b(?:she|he|they)\s*\/\s*(?:her|him|them|hers|his|theirs)\b(?:\s*\/\s*\w+)?\)?/g
// Leiter_in, Leiter:in, Leiter*in, Leiter/in, Kaufmann/-frau, developpeur·euse, charge(e), directeur/trice, ingeniero/a.
const ENDING =
  '(?:in|innen|r|n|e|es|euse|euses|se|rice|trice|ne|nne|ienne|ere|iere|ve|fe|a|as|o|os|ra|ora|oa|frau|mann|ka|inja|ת|ה|ית)'
const GENDER_ENDING = new RegExp(
  `(?<=\\p{L})(?:[_:*·•/]${ENDING}|\\(-?${ENDING}\\)|/-\\p{L}+|\\.(?:e|es|euse|se|rice|trice|ne|ere|iere))(?![\\p{L}\\p{N}])`,
  'gu',
)
const DOTTED = /(?<![\p{L}\p{N}])(?:\p{L}\.){2,}\p{L}?(?![\p{L}\p{N}])/gu
// R&D, FP&A, M & A, P&L stay one word.
const LETTERS_JOINED = /(?<![\p{L}\p{N}])(\p{L}|fp|s|hs|co)\s?&\s?(\p{L}|op|es)(?![\p{L}\p{N}])/gu
const ACCOUNTS = /\ba\s?\/\s?([pr])\b/g
// "Vertriebs- und Marketingleiter": one post, not two.
const SHARED_END = /(?<=\p{L}{2})-\s+(?:und|oder|u|&|och|og|en)\s+(?=\p{L})/gu
// "Health, Safety & Environment" is one field.
const SAFETY_LIST =
  /\b(quality|health|safety|security|environment(?:al)?),\s*(?=(?:health|safety|security|environment(?:al)?)\b)/g
const PART_BORDER = /[,;،、|()[\]{}【】「」–—―•·»«>"“”\n\r\t]|\s[-/~‐‑]+\s|\s[-‐]+(?=\p{L})|:\s/u
const INITIALS = /((?:\p{L}+[ -]){1,5}\p{L}+) ?\(([a-z]{2,6})\)/gu
const WORD_BORDER = /[^\p{L}\p{M}\p{N}&]+/u
// מנכ"ל, סמנכ״לית: the sign of an abbreviation.
const HEBREW_QUOTES = /(?<=\p{sc=Hebrew})["'״׳”](?=\p{sc=Hebrew})/gu
// The assisted person and the place of work say nothing about the post: "Assistant to the CEO", "Engineer at X".
const ABOUT_OTHERS = new Set(['to', 'at', 'chez', 'bei', 'w', 'supporting'])

const ONE_WORD = new Map(
  lists.one_word.map((phrase) => {
    const [first = '', second = ''] = foldLetters(phrase).split(' ')
    return [`${first} ${second}`, `${first}${second}`]
  }),
)
const ONE_WORD_BEGINS = new Set([...ONE_WORD.keys()].map((phrase) => phrase.split(' ')[0]))
const TO_PHRASES = lists.to_belongs_to_the_words.map((phrase) => ` ${phrase} `)
const FILLERS = new Set(lists.fillers.map(foldLetters))
const DEGREES = new Set(lists.degrees)
const AMBIGUOUS = new RegExp(`\\b(?:${lists.ambiguous.join('|')})\\b`, 'gi')

/** The words of a title by the parts that commas, dashes and brackets set apart. */
export type Parts = readonly (readonly string[])[]

export interface EnglishTitle {
  /** Its words before that: of scripts without spaces set apart, masculine. */
  readonly native: readonly (readonly string[])[]
  readonly parts: readonly (readonly string[])[]
  /** The language that most of its words belong to; `en` where nothing speaks for another. */
  readonly language: string
}

/** The parts of a title. `&`, `+` and `/` come as the word `and`; what follows "to", "at" or "@" in a part is left out. */
export function splitTitle(title: string): Parts {
  const text = plain(title)
  // "CRO / Chief Risk Officer" says what it means.
  const own = text.includes('chief ') ? text.replace(AMBIGUOUS, ' ') : text
  const parts: string[][] = []
  let isOfPost = false
  for (const part of own.split(PART_BORDER)) {
    const words = wordsOf(part, isOfPost)
    if (words.length > 0) parts.push(words)
    isOfPost ||= namesPost(words)
  }
  const [first = []] = parts
  const areDegrees = parts.length > 1 ? parts.some(isDegree) : first.length > 1
  return areDegrees ? parts.filter(isNoDegree) : parts
}

/** "Construction Safety Officer (CSO)": the first letters of the words before them only repeat them. */
function withoutInitials(text: string): string {
  return text.replace(INITIALS, (all, words: string, letters: string) => {
    const first = words.split(WORD_BORDER).map((word) => word[0])
    return first.slice(-letters.length).join('') === letters ? words : all
  })
}

/** "PhD", "MBA CFA". */
function isDegree(words: readonly string[]): boolean {
  return words.every((word) => DEGREES.has(word))
}

// With another degree "MD" is a degree, not a managing director.
function isNoDegree(words: readonly string[]): boolean {
  return !words.every((word) => word === 'md' || DEGREES.has(word))
}

/** Whether a title names its office only by an abbreviation that means several. */
export function isAmbiguous(title: string): boolean {
  return title.search(AMBIGUOUS) >= 0 && !/chief /i.test(title)
}

export function isFiller(word: string): boolean {
  return FILLERS.has(word)
}

const ONLY_WORDS = /^[a-z0-9 ]*$/

// Each rule runs only where a sign that it needs is present: most titles have none.
function plain(title: string): string {
  let text = foldLetters(withoutEntities(title)).replace(/ {2,}/g, ' ').trim()
  text = withLetters(text.slice(0, LONGEST_TITLE))
  if (ONLY_WORDS.test(text)) return text
  if (text.includes('.')) text = text.replace(DOTTED, (letters) => letters.replaceAll('.', ''))
  if (/[([/|]/.test(text)) text = text.replace(GENDER_LETTERS, ' ').replace(PRONOUNS, ' ')
  text = text.replace(GENDER_ENDING, '').replace(HEBREW_QUOTES, '').replace(SHARED_END, ' ')
  if (text.includes('&')) text = text.replace(LETTERS_JOINED, '$1&$2')
  // "Int'l", "Sec'y", "S/W"
  text = text.replace(/(?<=\p{L}{2})['’](?=[lgyt]\b)|(?<=\b[sh])\/(?=w\b)/gu, '')
  if (text.includes('/')) text = withoutFeminineDoublets(text.replace(ACCOUNTS, 'a$1'))
  if (/[+#.]/.test(text)) {
    text = text.replace(/\bc\+\+/g, 'cpp').replace(/\b([cf])#/g, '$1sharp')
    text = text.replace(/\.net\b/g, ' dotnet').replace(/(?<=\w)\.(?:com|org|io)\b/g, ' ')
  }
  if (text.includes('(')) text = withoutInitials(text)
  if (text.includes(',')) text = text.replace(SAFETY_LIST, '$1 ')
  return text.replace(/['’`´]s(?![\p{L}\p{N}])/gu, '')
}

const LONGEST_DOUBLET = 3

/** "Acheteur / Acheteuse junior", "Agent administratif / Agente administrative": one job in two genders. */
function withoutFeminineDoublets(text: string): string {
  const [first = '', ...others] = text.split('/')
  return others.reduce((before, after) => {
    const left = before.split(' ').filter((word) => word !== '')
    const right = after.split(' ').filter((word) => word !== '')
    for (let length = LONGEST_DOUBLET; length > 0; length -= 1) {
      const tail = left.slice(-length)
      const isDoublet =
        tail.length === length && tail.every((word, at) => isOtherGender(word, right[at] ?? ''))
      if (isDoublet) return [before.trimEnd(), ...right.slice(length)].join(' ')
    }
    return `${before}/${after}`
  }, first)
}

// "取締役CFO", "执行董事兼CEO"
const CHIEF_BEHIND =
  /([\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}])(c[a-z]{1,3}o)(?![\p{L}\p{N}])/gu
const HAS_AND = /[/+&]/
const AND = /[/+]|(?<![\p{L}\p{N}])&|&(?![\p{L}\p{N}])|(?<=\p{L}{3})&|&(?=\p{L}{3})/gu

function wordsOf(part: string, isOfPost: boolean): string[] {
  const [own = ''] = part.split('@')
  const words = (HAS_AND.test(own) ? own.replace(AND, ' and ') : own)
    .replace(CHIEF_BEHIND, '$1 $2')
    .split(WORD_BORDER)
    .filter((word) => word !== '' && word !== '&')
  while (words[0] === 'and') words.shift()
  while (words.at(-1) === 'and') words.pop()
  return untilOthers(joinWords(spelledOut(joinWords(words), wordsOfCompound, isOfPost)))
}

const GRADE_PREFIXES = lists.grade_prefixes.map(foldLetters)
const NO_GRADE_PREFIXES = lists.no_grade_prefixes.map(foldLetters)
// The rest must be a word: "seniors", "juniorin" and "seniority" are not.
const SHORTEST_LATIN_REST = 5
const LATIN = /^[a-z]/

function wordsOfCompound(word: string): readonly string[] {
  const prefix = GRADE_PREFIXES.find((text) => word.startsWith(text))
  if (prefix === undefined || NO_GRADE_PREFIXES.some((text) => word.startsWith(text))) return [word]
  const rest = word.slice(prefix.length)
  const shortest = LATIN.test(rest) ? SHORTEST_LATIN_REST : 1
  return rest.length < shortest ? [word] : [prefix, rest]
}

function joinWords(words: string[]): string[] {
  if (!words.some((word) => ONE_WORD_BEGINS.has(word))) return words
  const joined: string[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    const whole = ONE_WORD.get(`${word} ${words[at + 1]}`)
    joined.push(whole ?? word)
    if (whole !== undefined) at += 1
  }
  return joined
}

function untilOthers(words: string[]): string[] {
  const end = words.findIndex((word, at) => at > 0 && ABOUT_OTHERS.has(word))
  if (end < 0) return words
  if (words[end] === 'to') {
    const text = ` ${words.join(' ')} `
    if (TO_PHRASES.some((phrase) => text.includes(phrase))) return words
    const second = words.indexOf('and', end)
    if (second > 0 && isStaffOfGovernment(words, end)) return words.slice(second + 1)
  }
  // "PA to the Directors"; elsewhere the letters are the Nordic "på" or a licence.
  return words.slice(0, end).flatMap((word) => (word === 'pa' ? ['personal', 'assistant'] : word))
}

// "Assistant to the President and Press Secretary" is the latter; who assists "the CEO and CFO" is neither.
function isStaffOfGovernment(words: readonly string[], to: number): boolean {
  return words.slice(to - 1, to + 3).join(' ') === 'assistant to the president'
}

/** A phrase of the taxonomy's lists as the words that a title with it would give: folded words, abbreviations spelled out; the `*` of `word*` and `*word` and a leading `^` stay. */
export function wordsOfPhrase(phrase: string): string[] {
  const words = splitTitle(phrase.replace(/^\*|\*$/, '')).flat()
  const [only = ''] = words
  if (phrase.startsWith('^')) return [`^${only}`, ...words.slice(1)]
  if (words.length !== 1) return words
  if (phrase.startsWith('*')) return [`*${only}`]
  return [phrase.endsWith('*') ? `${only}*` : only]
}

const SHORTEST_WORD = 5
const SHORTEST_FORM = 4
const SHORTEST_MISTYPED = 6
const ENDINGS = Object.entries(lists.endings)

/** A word with ae, oe and ue as a, o and u: "Geschaeftsfuehrer", where the lists hold umlauts without their dots. */
export function withoutWrittenUmlauts(word: string): string {
  return word.replaceAll('ae', 'a').replaceAll('oe', 'o').replaceAll('ue', 'u')
}

/**
 * Forms of `word` that the lists may hold instead, the likeliest first: masculine, singular, with umlauts. Whether one is a
 * word is for the lists to say.
 */
export function baseForms(word: string): string[] {
  if (word.length < SHORTEST_WORD) return []
  const article = lists.articles.find((text) => word.startsWith(text))
  if (article !== undefined) {
    const bare = word.slice(article.length)
    return [bare, ...baseForms(bare)]
  }
  const forms = ENDINGS.filter(([ending]) => word.endsWith(ending)).flatMap(
    ([ending, replacements]) => replacements.map((text) => word.slice(0, -ending.length) + text),
  )
  const long = forms.filter((form) => form.length >= SHORTEST_FORM && form !== word)
  const umlauts = withoutWrittenUmlauts(word)
  return umlauts === word ? long : [...long, umlauts, umlauts.replace(/in$/, '')]
}

/** Whether two words are one or differ by an ending of gender or number: "Leiterin", "Leiter". */
export function isOtherGender(word: string, other: string): boolean {
  if (word === other) return true
  if (Math.min(word.length, other.length) < SHORTEST_FORM) return false
  return baseForms(other).includes(word) || baseForms(word).includes(other)
}

/** The one common word that differs from `word` by a wrong letter; undefined if there is none, or several. */
export function meantBy(word: string): string | undefined {
  if (word.length < SHORTEST_MISTYPED) return undefined
  // Another first or last letter is more often another word: "managed", "independen".
  const meant = lists.often_mistyped.filter(
    (other) => other[0] === word[0] && other.at(-1) === word.at(-1) && isWithinOneEdit(word, other),
  )
  return meant.length === 1 ? meant[0] : undefined
}

/** Whether one letter is added, left out or changed, or two neighbours are swapped. */
export function isWithinOneEdit(a: string, b: string): boolean {
  let start = 0
  while (start < a.length && a[start] === b[start]) start += 1
  let end = 0
  const shorter = Math.min(a.length, b.length) - start
  while (end < shorter && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1
  const restOfA = a.slice(start, a.length - end)
  const restOfB = b.slice(start, b.length - end)
  if (restOfA.length <= 1 && restOfB.length <= 1) return true
  return restOfA.length === 2 && restOfB === `${restOfA[1]}${restOfA[0]}`
}
