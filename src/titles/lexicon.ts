/**
 * The words that say how senior a title is (config/titles/levels.yaml, trades.yaml, professions.yaml), read and checked once, on
 * import, and put into one set of phrases. What a found word does to a title is said in levels.ts.
 */

import { z } from 'zod'
import { LevelPhrases } from './level-phrases.ts'
import { wordList, LEVELS, readTaxonomy, type KnownLevel } from './taxonomy.ts'
import { foldLetters } from './words.ts'

const byLanguage = z.record(z.string().min(1), wordList)
const rank = z.int().min(0).max(99)
const level = z.enum(LEVELS)

const postSchema = z.strictObject({
  level,
  rank: rank.optional(),
  management: z.boolean().optional(),
  /** Gives way to a head that follows after other words: "CEO Office Manager". */
  attributive: z.boolean().default(false),
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

const levelsSchema = z.strictObject({
  levels: z.record(
    level,
    z.strictObject({ lowest: rank, usual: rank, highest: rank, management: z.boolean() }),
  ),
  links: wordList,
  ands: wordList,
  silent: wordList,
  tense: z.strictObject({
    before: wordList,
    before_a_role: wordList,
    after: wordList,
    ends: wordList,
  }),
  serving: wordList,
  teams: wordList,
  grades: z.record(z.string().regex(/^[a-z]+$/), gradeSchema),
  posts: z.array(postSchema),
  learners: z.array(
    z.strictObject({
      level: z.enum(['intern', 'entry']),
      rank: rank.optional(),
      gives_way: z.boolean().default(false),
      words: byLanguage,
    }),
  ),
})

const tradesSchema = z.record(
  z.string().regex(/^[a-z_]+$/),
  z.array(
    z.strictObject({
      level,
      rank: rank.optional(),
      management: z.boolean().optional(),
      with: wordList.optional(),
      words: byLanguage,
    }),
  ),
)

const professionsSchema = z.strictObject({
  staff_ladder: wordList,
  professions: byLanguage,
  fields: wordList,
  endings: z.strictObject({
    anywhere: wordList,
    last_word: wordList,
    first_word: wordList,
    not_professions: wordList,
  }),
})

/** Where a title stands. */
export interface Standing {
  readonly level: KnownLevel
  readonly rank: number
  readonly management: boolean
}

/** What a grade such as "senior" does to a role. */
export interface Grade {
  readonly name: string
  readonly contributor: Standing | null
  /** What it adds to the rank of a post, by the post's level. */
  readonly shift: (level: KnownLevel) => number
  readonly makesEntryOfPosts: boolean
}

/** A word that can be the head of a role. */
export interface Head {
  readonly kind: 'head'
  readonly standing: Standing
  readonly rule: string
  /** Gives way to a head that follows after other words. */
  readonly isAttributive: boolean
  /** As the last word it decides over any post before it: "Director Assistant". */
  readonly isDependent: boolean
  /** Somebody who learns: decides over professions, and over posts unless it gives way to them. */
  readonly learner: 'gives_way' | 'decides' | null
  /** A field of work rather than a person: "Marketing". */
  readonly isField: boolean
  /** An English word: there what stands before another word describes it. */
  readonly isEnglish: boolean
  /** Counts only where one of these phrases stands in the title. */
  readonly with: readonly string[] | null
}

/** A grade; `alone` is the head that it is where no other follows. */
export interface GradeWord {
  readonly kind: 'grade'
  readonly grade: Grade
  readonly alone: Head | null
}

/** What a phrase does in a title. */
export type Meaning = Head | GradeWord | { readonly kind: 'link' | 'and' | 'silent' }

const { levels, links, ands, silent, tense, serving, teams, grades, posts, learners } =
  readTaxonomy('levels.yaml', levelsSchema)
const trades = readTaxonomy('trades.yaml', tradesSchema)
const { staff_ladder, professions, fields, endings } = readTaxonomy(
  'professions.yaml',
  professionsSchema,
)

/** Lowest, usual and highest rank of each level. */
export const rankRanges = levels

/** The standing of a level, with its usual rank and management unless said otherwise. */
export function standingOf(
  of: KnownLevel,
  ownRank?: number,
  management = levels[of].management,
): Standing {
  return { level: of, rank: ownRank ?? levels[of].usual, management }
}

function head(standing: Standing, rule: string, more: Partial<Head> = {}): Head {
  return {
    kind: 'head',
    standing,
    rule,
    isAttributive: false,
    isDependent: false,
    learner: null,
    isField: false,
    isEnglish: true,
    with: null,
    ...more,
  }
}

/** A plain professional title. */
export const plainProfession = head(standingOf('mid'), 'profession')
/** A profession told by its ending only. */
export const professionByEnding = head(standingOf('mid'), 'profession_ending')

const gradesByName = new Map(
  Object.entries(grades).map(([name, spec]): [string, Grade] => [
    name,
    {
      name,
      contributor:
        spec.contributor === undefined
          ? null
          : standingOf(spec.contributor.level, spec.contributor.rank, spec.contributor.management),
      shift: (of) => spec.post_of[of] ?? spec.post,
      makesEntryOfPosts: spec.makes_entry_of_posts,
    },
  ]),
)

/** The grade of that name in levels.yaml. */
export function gradeNamed(name: string): Grade {
  const grade = gradesByName.get(name)
  if (grade === undefined) throw new Error(`levels.yaml has no grade ${name}`)
  return grade
}

/** Every word and phrase that says something about the level. */
export const phrases: LevelPhrases<Meaning> = new LevelPhrases()

// What is added first counts where two lists hold the same phrase: what a trade knows goes before what words usually mean.
for (const phrase of silent) phrases.add(phrase, { kind: 'silent' })
const entriesOfTrades = Object.entries(trades).flatMap(([trade, entries]) =>
  entries.map((entry) => ({ ...entry, trade })),
)
// An entry that asks for another word in the title is the more special one.
for (const entry of entriesOfTrades.toSorted((a, b) => Number(!a.with) - Number(!b.with))) {
  addAll(
    entry.words,
    head(standingOf(entry.level, entry.rank, entry.management), `trade:${entry.trade}`, {
      with: entry.with?.map((phrase) => ` ${foldLetters(phrase)} `) ?? null,
      isDependent: entry.level === 'entry',
    }),
  )
}
for (const { words, level: of, rank: at, gives_way: givesWay } of learners) {
  addAll(
    words,
    head(standingOf(of, at), 'learner', {
      learner: givesWay ? 'gives_way' : 'decides',
      isDependent: true,
    }),
  )
}
for (const post of posts) {
  addAll(
    post.words,
    head(standingOf(post.level, post.rank, post.management), 'post', {
      isAttributive: post.attributive,
    }),
  )
}
for (const [name, { words, alone }] of Object.entries(grades)) {
  const own =
    alone === undefined
      ? null
      : head(standingOf(alone.level, alone.rank), 'grade_alone', {
          isDependent: alone.dependent,
        })
  addAll(words, { kind: 'grade', grade: gradeNamed(name), alone: own })
}
const fieldWords = new Set(fields.map(foldLetters))
for (const [language, words] of Object.entries(professions)) {
  for (const phrase of words) {
    const isField = fieldWords.has(foldLetters(phrase))
    phrases.add(phrase, inLanguage(language, { ...plainProfession, isField }))
  }
}
for (const phrase of ands) phrases.add(phrase, { kind: 'and' })
for (const phrase of links) phrases.add(phrase, { kind: 'link' })

function addAll(words: Readonly<Record<string, readonly string[]>>, meaning: Meaning): void {
  for (const [language, list] of Object.entries(words)) {
    const own = meaning.kind === 'head' ? inLanguage(language, meaning) : meaning
    for (const phrase of list) phrases.add(phrase, own)
  }
}

function inLanguage(language: string, meaning: Head): Head {
  return { ...meaning, isEnglish: language === 'en' }
}

/** Words that say that a role is not of today, by where they stand. */
export const tenseWords = {
  before: foldedSet(tense.before),
  before_a_role: foldedSet(tense.before_a_role),
  after: foldedSet(tense.after),
  ends: foldedSet(tense.ends),
}

/** Words for a group of people: "CEO Office" is where somebody works. */
export const teamWords: ReadonlySet<string> = foldedSet(teams)

function foldedSet(list: readonly string[]): ReadonlySet<string> {
  return new Set(list.map(foldLetters))
}

/** Who serves somebody: phrases as words. */
export const servingPhrases: readonly (readonly string[])[] = serving.map((phrase) =>
  foldLetters(phrase).split(' '),
)

/** Professions for which "staff" is a grade. */
export const staffLadder: LevelPhrases<true> = new LevelPhrases()
for (const phrase of staff_ladder) staffLadder.add(phrase, true)

const notProfessions = new Set(endings.not_professions.map(foldLetters))
const SHORTEST_WORD = 5

function endsLike(list: readonly string[]): (word: string) => boolean {
  const known = new Set(list.map(foldLetters))
  const lengths = [...new Set(list.map(({ length }) => length))]
  return (word) =>
    word.length >= SHORTEST_WORD &&
    !notProfessions.has(word) &&
    lengths.some((length) => word.length > length + 1 && known.has(word.slice(-length)))
}

/** Whether a word ends like a profession in any place, as the last or as the first word of a noun phrase. */
export const endsLikeProfession = {
  anywhere: endsLike(endings.anywhere),
  asLastWord: endsLike(endings.last_word),
  asFirstWord: endsLike(endings.first_word),
}
