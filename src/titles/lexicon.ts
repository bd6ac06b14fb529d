/**
 * The words that say how senior a title is (config/titles/levels.yaml, trades.yaml, professions.yaml), in one set of
 * phrases. levels.ts applies a found word to a title.
 */

import { z } from 'zod'
import { kept, remembered } from './kept.ts'
import { packBook, PhraseBook, type Entry } from './phrase-book.ts'
import { each, LEVELS, readTaxonomy, setsOf, wordList, type KnownLevel } from './taxonomy.ts'
import { baseForms, spelledOut, foldLetters } from './words.ts'

const foldedList = wordList.transform((list) => list.map(foldLetters))
const byLanguage = z.record(z.string().min(1), foldedList)
const rank = z.int().min(0).max(99)
const level = z.enum(LEVELS)

const headSchema = z.strictObject({
  level,
  rank: rank.optional(),
  management: z.boolean().optional(),
  /** A word for a learner that loses this meaning next to a post. */
  gives_way: z.boolean().default(false),
  with: foldedList.optional(),
  /** As the last word it decides over any post before it. */
  dependent: z.boolean().optional(),
  words: byLanguage,
})

const gradeSchema = z.strictObject({
  contributor: z.strictObject({ level, rank, management: z.boolean().optional() }).optional(),
  post: z.int().min(-20).max(20).default(0),
  post_of: z.partialRecord(level, z.int().min(-20).max(20)).default({}),
  makes_entry_of_posts: z.boolean().default(false),
  alone: z.strictObject({ level, rank, dependent: z.boolean().default(false) }).optional(),
  words: byLanguage.default({}),
})

function readLists() {
  const levels = readTaxonomy(
    'levels.yaml',
    z.strictObject({
      levels: z.record(
        level,
        z.strictObject({ lowest: rank, usual: rank, highest: rank, management: z.boolean() }),
      ),
      ...each(foldedList, 'links', 'ands', 'silent', 'serving'),
      tense: z.strictObject(
        each(foldedList, 'before', 'before_a_role', 'after', 'ends', 'ahead', 'no_roles'),
      ),
      grades: z.record(z.string().regex(/^[a-z]+$/), gradeSchema),
      posts: z.array(headSchema),
      learners: z.array(headSchema),
      numerals: z.strictObject({
        ...each(wordList, 'roman', 'steps', 'letters_without_steps', 'ladders'),
        ...each(wordList, 'words', 'words_without_steps'),
        letters: z.record(z.string().regex(/^[a-z]+$/), wordList),
      }),
      confidence: z.record(z.string(), z.number().min(0).max(1)),
    }),
  )
  const trades = readTaxonomy(
    'trades.yaml',
    z.record(z.string().regex(/^[a-z_]+$/), z.array(headSchema)),
  )
  const professions = readTaxonomy(
    'professions.yaml',
    z.strictObject({
      ...each(foldedList, 'staff_ladder', 'fields'),
      professions: byLanguage,
      endings: z.strictObject(
        each(foldedList, 'anywhere', 'last_word', 'first_word', 'not_professions'),
      ),
    }),
  )
  return { levels, trades, professions }
}

export interface Standing {
  readonly level: KnownLevel
  readonly rank: number
  readonly management: boolean
}

/** The effect of a grade such as "senior" on a role. */
export interface Grade {
  readonly name: string
  readonly contributor: Standing | null
  /** The addition to the rank of a post, and where it differs by the level of the post. */
  readonly post: number
  readonly postOf: Readonly<Partial<Record<KnownLevel, number>>>
  readonly makesEntryOfPosts: boolean
}

/** A word that can be the head of a role. */
export interface Head {
  readonly kind: 'head'
  readonly standing: Standing
  readonly rule: string
  /** As the last word it decides over any post before it: "Director Assistant". */
  readonly isDependent: boolean
  /** A learner: decides over professions, and over posts unless it yields to them. */
  readonly learner: 'gives_way' | 'decides' | null
  /** A field of work rather than a person: "Marketing". */
  readonly isField: boolean
  /** Counts only where one of these phrases is in the title. */
  readonly with: readonly string[] | null
}

/** A grade; `alone` is the head that it is where no other follows. */
export interface GradeWord {
  readonly kind: 'grade'
  readonly grade: Grade
  readonly alone: Head | null
}

/** The role of a phrase in a title. */
export type Meaning = Head | GradeWord | { readonly kind: 'link' | 'and' | 'silent' }

const made = kept('lexicon', () => {
  const { levels, trades, professions } = readLists()
  const standing = standingIn(levels.levels)
  const entries: Entry<Meaning>[] = []
  const addAll = (list: readonly string[], meaning: Meaning) => {
    for (const words of list.map((phrase) => phrase.split(' '))) {
      entries.push([words, meaning])
      const spelled = spelledOut(words, (word) => [word], false)
      if (spelled.join(' ') !== words.join(' ')) entries.push([spelled, meaning])
    }
  }
  const addHead = (entry: z.infer<typeof headSchema>, rule: string, more: Partial<Head> = {}) => {
    const { level: of, rank: at, management, with: wanted, words } = entry
    const asked = { with: wanted?.map((phrase) => ` ${phrase} `) ?? null }
    addAll(
      Object.values(words).flat(),
      head(standing(of, at, management), rule, { ...more, ...asked }),
    )
  }
  // The first entry counts where two lists hold the same phrase: the meaning in a trade precedes the usual meaning.
  addAll(levels.silent, { kind: 'silent' })
  const entriesOfTrades = Object.entries(trades).flatMap(([trade, entries]) =>
    entries.map((entry) => ({ ...entry, rule: `trade:${trade}` })),
  )
  // An entry that asks for another word in the title is the more special one.
  for (const entry of entriesOfTrades.toSorted((a, b) => Number(!a.with) - Number(!b.with))) {
    addHead(entry, entry.rule, { isDependent: entry.dependent ?? entry.level === 'entry' })
  }
  for (const entry of levels.learners) {
    const learner = entry.gives_way ? 'gives_way' : 'decides'
    addHead(entry, 'learner', { learner, isDependent: true })
  }
  for (const entry of levels.posts) addHead(entry, 'post')
  const grades: Grade[] = []
  for (const [name, spec] of Object.entries(levels.grades)) {
    const { words, alone, contributor: of, post, post_of: postOf } = spec
    const contributor = of ? standing(of.level, of.rank, of.management) : null
    const grade = { name, contributor, post, postOf, makesEntryOfPosts: spec.makes_entry_of_posts }
    grades.push(grade)
    const own = alone && head(standing(alone.level, alone.rank), 'grade_alone')
    const single = own ? { ...own, isDependent: alone.dependent } : null
    addAll(Object.values(words).flat(), { kind: 'grade', grade, alone: single })
  }
  const plain = head(standing('mid'), 'profession')
  const field = { ...plain, isField: true }
  const fields = new Set(professions.fields)
  for (const phrase of Object.values(professions.professions).flat())
    addAll([phrase], fields.has(phrase) ? field : plain)
  addAll(levels.ands, { kind: 'and' })
  addAll(levels.links, { kind: 'link' })
  return {
    ranks: levels.levels,
    tense: levels.tense,
    steps: levels.numerals,
    confidence: levels.confidence,
    serving: levels.serving,
    endings: professions.endings,
    grades,
    phrases: packBook(entries),
    staff: packBook(professions.staff_ladder.map((phrase) => [phrase.split(' '), true] as const)),
  }
})()

/** Lowest, usual and highest rank of each level. */
export const rankRanges = made.ranks
/** Words that say that a role is not of today, by where they stand. */
export const tenseWords = setsOf(made.tense)
/** Steps of ladders written as numerals. */
const numerals = made.steps
/** How likely the level is right, by the rule that decided it. */
export const confidences: Readonly<Record<string, number>> = made.confidence
export const servingPhrases = made.serving.map((phrase) => phrase.split(' '))

/** The standing of a level, with its usual rank and management unless said otherwise. */
export const standingOf = standingIn(rankRanges)

function standingIn(ranges: Ranges) {
  return (of: KnownLevel, ownRank?: number, management = ranges[of].management): Standing => ({
    level: of,
    rank: ownRank ?? ranges[of].usual,
    management,
  })
}

type Ranges = Readonly<Record<KnownLevel, { readonly usual: number; readonly management: boolean }>>

function head(standing: Standing, rule: string, more: Partial<Head> = {}): Head {
  const plain = { isDependent: false, learner: null, isField: false, with: null }
  return { kind: 'head', standing, rule, ...plain, ...more }
}

export const plainProfession = head(standingOf('mid'), 'profession')
export const professionByEnding = head(standingOf('mid'), 'profession_ending')

const gradesByName = new Map(made.grades.map((grade) => [grade.name, grade]))

function gradeNamed(name: string): Grade {
  const grade = gradesByName.get(name)
  if (grade === undefined) throw new Error(`levels.yaml has no grade ${name}`)
  return grade
}

export const phrases = new PhraseBook(made.phrases)

/** Professions for which "staff" is a grade. */
export const staffLadder = new PhraseBook(made.staff)

const endings = setsOf(made.endings)
const SHORTEST_WORD = 5
// 용접원, 配管工: a syllable or a sign is more than a letter.
const SHORTEST_UNSPACED = 3
const UNSPACED = /[\p{sc=Han}\p{sc=Hangul}]$/u

function endsLike(known: ReadonlySet<string>): (word: string) => boolean {
  const lengths = [...new Set([...known].map(({ length }) => length))]
  return (word) =>
    word.length >= (UNSPACED.test(word) ? SHORTEST_UNSPACED : SHORTEST_WORD) &&
    !endings.not_professions.has(word) &&
    lengths.some((length) => word.length > length + 1 && known.has(word.slice(-length)))
}

const [anywhere, asLastWord, asFirstWord] = [
  endsLike(endings.anywhere),
  endsLike(endings.last_word),
  endsLike(endings.first_word),
]

/** Whether a word, or a base form of it, ends like a profession in any place, as the last or as the first word of a noun phrase. */
export const endsLikeProfession = remembered((word) => {
  const forms = [word, ...baseForms(word)]
  return {
    anywhere: forms.some(anywhere),
    asLastWord: forms.some(asLastWord),
    asFirstWord: forms.some(asFirstWord),
  }
})

const { roman, steps, letters } = numerals
const DIGIT = /^[1-7]$/
const names = [...Object.keys(letters), ...numerals.letters_without_steps]
const LETTERS_AND_DIGITS = new RegExp(`^(${names.join('|')})(\\d{1,2})$`)
const wordsWithoutSteps = new Set(numerals.words_without_steps)
const plain = new Set([...roman, ...numerals.words, ...wordsWithoutSteps])

export function isNumeral(word: string): boolean {
  return plain.has(word) || DIGIT.test(word) || LETTERS_AND_DIGITS.test(word)
}

/** "II" as "2"; any other word as it is. */
export function asDigit(word: string): string {
  const value = roman.indexOf(word) + 1
  return value > 0 ? String(value) : word
}

/** Whether a grade is a step from the third on. */
export function isHighStep(grade: string): boolean {
  return grade.startsWith('numeral') && grade !== 'numeralone' && grade !== 'numeraltwo'
}

/** The grade of the numeral at `at`; null where it is not a grade. */
export function gradeOfNumeral(words: readonly string[], at: number): Grade | null {
  const word = words[at] ?? ''
  if (!isNumeral(word) || wordsWithoutSteps.has(words[at - 1] ?? '')) return null
  const [, letter = '', digits] = LETTERS_AND_DIGITS.exec(word) ?? []
  // A part that begins with a plain numeral is a step only if it is nothing else: ", 2", but not "3 Month Contract".
  if (digits === undefined && at === 0 && !words.every(isNumeral)) return null
  if (digits !== undefined) return gradeOfStep(letters[letter]?.[Number(digits) - 1])
  const value = DIGIT.test(word) ? Number(word) : roman.indexOf(word) + 1
  // "I" is "and" or "in" in other languages, and "V" may be any letter: they count only as the last word.
  const isLast = words.slice(at + 1).every(isNumeral)
  const isClear = roman.includes(word) && word.length > 1
  return value > 0 && (isLast || isClear) ? gradeOfStep(steps[value - 1]) : null
}

/** The position on a ladder that a title states: 5 of `ic`, 6 of `band`. */
export interface Step {
  readonly ladder: string
  readonly value: number
}

/** The step in the words of a title, even without a level; null where they have none. */
export function stepNamed(words: readonly string[]): Step | null {
  for (const [at, word] of words.entries()) {
    const [, letter, digits = word] = LETTERS_AND_DIGITS.exec(word) ?? []
    const ladder = letter ?? words[at - 1] ?? ''
    const isStep = letter !== undefined || numerals.ladders.includes(ladder)
    if (isStep && /^\d{1,2}$/.test(digits)) return { ladder, value: Number(digits) }
  }
  return null
}

function gradeOfStep(step: string | undefined): Grade | null {
  return step === undefined ? null : gradeNamed(`numeral${step}`)
}
