/**
 * Finds the field of work from the English words of a title. Which words mean which field, and what else they are for the
 * job, is data (config/titles/functions.yaml, roles.yaml); this file only decides which of several counts.
 */

import { z } from 'zod'
import { kept } from './kept.ts'
import { isNumeral } from './lexicon.ts'
import { packBook, PhraseBook, type Entry } from './phrase-book.ts'
import { each, FUNCTIONS, readTaxonomy, setsOf, wordList, type JobFunction } from './taxonomy.ts'
import { wordsOfPhrase, type EnglishTitle, type Parts } from './words.ts'

const phraseList = wordList.transform((list) => list.map(wordsOfPhrase))
const joined = phraseList.transform((list) => list.map((words) => words.join(' ')))

const madeRoles = kept('roles', () => {
  const {
    synonyms,
    steps_of_trades: trades,
    ...read
  } = readTaxonomy(
    'roles.yaml',
    z.strictObject({
      synonyms: z.record(z.string().min(1), phraseList),
      ...each(phraseList, 'units', 'leading', 'levels', 'fillers', 'places', 'technologies'),
      ...each(joined, 'jobs_with_field_apart', 'general', 'software', 'deputies', 'stand_in_jobs'),
      regions: joined,
      ...each(joined, 'of_an_area', 'of_a_region', 'of_a_nation', 'of_the_world'),
      steps_of_trades: z.array(wordList),
      grades: z.record(z.string().min(1), z.int().min(-9).max(9)),
    }),
  )
  const usualNames = packBook(
    Object.entries(synonyms).flatMap(([usual, names]) => {
      const words = wordsOfPhrase(usual)
      return names.map((name) => [name, words] as const)
    }),
  )
  const usual = usualNamesOf(new PhraseBook(usualNames))
  const { units, leading, levels, places, technologies, fillers, grades, ...sets } = read
  const byKind: readonly (readonly [Kind, readonly (readonly string[])[]])[] = [
    ['unit', units],
    ['leading', leading],
    ['level', levels],
    ['place', [...places, ...[...read.regions].map((region) => region.split(' '))]],
    ['technology', technologies],
    ['filler', [['and'], ...fillers]],
  ]
  return {
    usualNames,
    kinds: packBook(
      byKind.flatMap(([kind, phrases]) => phrases.map((words) => [usual(words), kind] as const)),
    ),
    grades: Object.entries(grades).map(([phrase, step]): [string, number] => [
      wordsOfPhrase(phrase).join(' '),
      step,
    ]),
    sets,
    trades,
  }
})()

/** Words and phrases by what is said of them. */
export const roles = setsOf(madeRoles.sets)
/** The titles of each trade, step by step. */
export const stepsOfTrades = madeRoles.trades

function usualNamesOf(book: PhraseBook<readonly string[]>): (words: readonly string[]) => string[] {
  return (words) => book.scan(words).flatMap(({ value, at, end }) => value ?? words.slice(at, end))
}

/** `words` with every English phrase that has a more usual name replaced by it: "programmer" is a software engineer. */
export const withUsualNames = usualNamesOf(new PhraseBook(madeRoles.usualNames))

/** The role of a phrase for the job that a title names. */
export type Kind = 'unit' | 'leading' | 'level' | 'filler' | 'place' | 'technology'

export const kinds = new PhraseBook(madeRoles.kinds)

/** How far a phrase of grade lifts a job above the plain one. */
export const gradeSteps: ReadonlyMap<string, number> = new Map(madeRoles.grades)

/** How strongly a phrase indicates a field of work, weakest first. */
const STRENGTHS = ['default', 'hint', 'field', 'job'] as const
type Strength = (typeof STRENGTHS)[number]

export interface FunctionWord {
  readonly function: JobFunction
  readonly strength: Strength
}

const ENGLISH_GRAMMAR = ['of', 'the', 'for', 'at', 'to', 'with', 'from', 'by', 'on', 'in', 'and']

const made = kept('functions', () => {
  const lists = readTaxonomy(
    'functions.yaml',
    z.record(
      z.enum(FUNCTIONS),
      z.strictObject({
        jobs: wordList,
        fields: wordList,
        hints: wordList.default([]),
        default: wordList.default([]),
        native: wordList.default([]),
      }),
    ),
  )
  const entries: Entry<FunctionWord>[] = []
  const english = new Set<string>(ENGLISH_GRAMMAR)
  for (const name of FUNCTIONS) {
    const { jobs, fields, hints, default: defaults, native } = lists[name]
    const phrases = { job: jobs, field: fields, hint: hints, default: defaults }
    for (const strength of STRENGTHS.toReversed()) {
      const value = { function: name, strength }
      for (const words of phrases[strength].map(wordsOfPhrase)) {
        entries.push([withUsualNames(words), value])
        for (const word of words) english.add(word)
      }
    }
    const field = { function: name, strength: 'field' } as const
    for (const phrase of native) entries.push([wordsOfPhrase(phrase), field])
  }
  return { book: packBook(entries), english: [...english] }
})()

export const functionWords = new PhraseBook(made.book)
/** Every English word of the lists: such a word of a title is not taken for one of another language without a reason. */
export const englishWords: ReadonlySet<string> = new Set(made.english)

interface Mention {
  readonly word: FunctionWord
  /** How many words such as "and" or "for" stand before it in its part. */
  readonly conjunct: number
  readonly isGeneralJob: boolean
  /** Whether it is a trade that stands alone behind fields of it: "teacher" in "electronics and physics teacher". */
  readonly isOfFieldsBefore: boolean
}

/** The part of a title that names the field of work, or null. */
export function readFunction({ parts, language }: EnglishTitle): FunctionWord | null {
  let hint: FunctionWord | null = null
  let general: FunctionWord | null = null
  for (const words of inUsualOrder(parts, language)) {
    const mentions = mentionsOf(words, language)
    const named = firstNamed(mentions, language)
    // A field that a later part names goes before a hint, and a hint before what a general job alone says.
    if (named !== null && mentions.some(({ word }) => isAtLeastField(word))) return named
    hint ??= named
    general ??= mentions[0]?.word ?? null
  }
  return hint ?? general
}

/** "Technician, Avionics" is an avionics technician. */
function inUsualOrder(parts: Parts, language: string): Parts {
  const [first = [], second, ...others] = parts
  const isOneJob = first.length === 1 && roles.general.has(first[0] ?? '')
  if (language !== 'en' || !isOneJob || second === undefined) return parts
  const namesField = mentionsOf(second, language).some(({ word }) => word.strength !== 'default')
  return namesField ? [[...second, ...first], ...others] : parts
}

function isAtLeastField({ strength }: FunctionWord): boolean {
  return strength === 'field' || strength === 'job'
}

// "Sales Director for Insurance" sells: what follows such a word is where, not what.
const BEGINS_WHERE = new Set(['in', 'for', 'at', 'on', 'with', 'within'])

function mentionsOf(words: readonly string[], language: string): Mention[] {
  let conjunct = 0
  let namesField = false
  let namesOther = language !== 'en'
  return functionWords.scan(words).flatMap(({ value, at, end }) => {
    const word = words[at] ?? ''
    const isOne = end === at + 1
    const isGeneralJob = isOne && roles.general.has(word)
    const own = conjunct
    const last = words[end - 1] ?? ''
    const endsInPost = roles.general.has(last) || kinds.find([last]) === 'leading'
    const isOfFieldsBefore = !namesOther && value?.strength === 'job' && !endsInPost
    namesOther ||= endsInPost || BEGINS_WHERE.has(word) || isOfPerson(value)
    // "Design Director Healthcare" designs: in English too, the field of a job stands before it.
    if (namesField && language === 'en' && namesJobAlone(word, isGeneralJob)) conjunct += 1
    if (value === null || (isOne && isGrade(words, at, language))) {
      if (word === 'and' || (at > 0 && BEGINS_WHERE.has(word))) conjunct += 1
      return []
    }
    namesField ||= isAtLeastField(value)
    return [{ word: value, conjunct: own, isGeneralJob, isOfFieldsBefore }]
  })
}

function isOfPerson(value: FunctionWord | null): boolean {
  return value?.strength === 'job' || value?.strength === 'default'
}

function namesJobAlone(word: string, isGeneralJob: boolean): boolean {
  const isGeneral = isGeneralJob && !roles.stand_in_jobs.has(word)
  return isGeneral || kinds.find([word]) === 'leading'
}

const GRADE_OR_JOB = 'assistant'

/** "Assistant Director" is a director's grade; alone, as the last word or before a numeral it is a job. */
function isGrade(words: readonly string[], at: number, language: string): boolean {
  const next = words[at + 1]
  if (words[at] !== GRADE_OR_JOB || next === undefined) return false
  if (kinds.find([next]) === 'leading') return true
  return language === 'en' && next !== 'and' && !isNumeral(next)
}

/**
 * Of what a part names, what is named first. Within one noun phrase a job goes before a field and a field before a hint; of two
 * fields English means the last ("software sales"), other languages the first.
 */
function firstNamed(mentions: readonly Mention[], language: string): FunctionWord | null {
  const named = mentions.filter(({ word }) => word.strength !== 'default')
  const phrase = named.filter(({ conjunct }) => conjunct === named[0]?.conjunct)
  if (phrase.length === 0) return null
  const trade = named.slice(phrase.length).find(({ isOfFieldsBefore }) => isOfFieldsBefore)
  return (trade ?? phrase.reduce((best, each) => (isBetter(each, best, language) ? each : best)))
    .word
}

function isBetter(later: Mention, best: Mention, language: string): boolean {
  const more = STRENGTHS.indexOf(later.word.strength) - STRENGTHS.indexOf(best.word.strength)
  if (more !== 0) return more > 0
  // "Nurse Recruiter" recruits, but in "IT Support Engineer" the words before the general one decide.
  if (later.word.strength === 'job')
    return best.isGeneralJob || (language === 'en' && !later.isGeneralJob)
  return language === 'en'
}
