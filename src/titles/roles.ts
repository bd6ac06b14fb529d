/** The word lists of config/titles/roles.yaml, as words. */

import { z } from 'zod'
import { kept } from './kept.ts'
import { packBook, PhraseBook } from './phrase-book.ts'
import { each, readTaxonomy, setsOf, wordList } from './taxonomy.ts'
import { wordsOfPhrase } from './words.ts'

const phraseList = wordList.transform((list) => list.map(wordsOfPhrase))
const joined = phraseList.transform((list) => list.map((words) => words.join(' ')))

const made = kept('roles', () => {
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
    ['place', places],
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
export const lists = setsOf(made.sets)
/** The titles of each trade, step by step. */
export const stepsOfTrades = made.trades

function usualNamesOf(book: PhraseBook<readonly string[]>): (words: readonly string[]) => string[] {
  return (words) => book.scan(words).flatMap(({ value, at, end }) => value ?? words.slice(at, end))
}

/** `words` with every English phrase that has a more usual name replaced by it: "programmer" is a software engineer. */
export const withUsualNames = usualNamesOf(new PhraseBook(made.usualNames))

/** The role of a phrase for the job that a title names. */
export type Kind = 'unit' | 'leading' | 'level' | 'filler' | 'place' | 'technology'

export const kinds = new PhraseBook(made.kinds)

/** How far a phrase of grade lifts a job above the plain one. */
export const gradeSteps: ReadonlyMap<string, number> = new Map(made.grades)
