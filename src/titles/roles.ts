/** The word lists of config/titles/roles.yaml, as words. */

import { z } from 'zod'
import { kept } from './kept.ts'
import { BookMaker, PhraseBook } from './phrase-book.ts'
import { wordList, readTaxonomy } from './taxonomy.ts'
import { wordsOfPhrase } from './words.ts'

const phraseList = wordList.transform((list) => list.map(wordsOfPhrase))
const joined = phraseList.transform((list) => list.map((words) => words.join(' ')))

const made = kept('roles', () => {
  const { synonyms, ...read } = readTaxonomy(
    'roles.yaml',
    z.strictObject({
      synonyms: z.record(z.string().min(1), phraseList),
      units: phraseList,
      leading: phraseList,
      jobs_with_field_apart: joined,
      general: joined,
      levels: phraseList,
      fillers: phraseList,
      places: phraseList,
      technologies: phraseList,
      software: joined,
      deputies: joined,
      stand_in_jobs: joined,
      steps_of_trades: z.array(wordList),
      grades: z.record(z.string().min(1), z.int().min(-9).max(9)),
    }),
  )
  const usualNames = new BookMaker<readonly string[]>()
  for (const [usual, names] of Object.entries(synonyms)) {
    const words = wordsOfPhrase(usual)
    for (const name of names) usualNames.add(name, words)
  }
  const usual = usualNamesOf(new PhraseBook(usualNames.packed()))
  const kinds = new BookMaker<Kind>()
  const addKind = (kind: Kind, phrases: readonly (readonly string[])[]) => {
    for (const words of phrases) kinds.add(usual(words), kind)
  }
  addKind('unit', read.units)
  addKind('leading', read.leading)
  addKind('level', read.levels)
  addKind('place', read.places)
  addKind('technology', read.technologies)
  addKind('filler', [['and'], ...read.fillers])
  return {
    usualNames: usualNames.packed(),
    kinds: kinds.packed(),
    grades: Object.entries(read.grades).map(([phrase, step]): [string, number] => [
      wordsOfPhrase(phrase).join(' '),
      step,
    ]),
    jobs_with_field_apart: read.jobs_with_field_apart,
    general: read.general,
    software: read.software,
    deputies: read.deputies,
    stand_in_jobs: read.stand_in_jobs,
    steps_of_trades: read.steps_of_trades,
  }
})()

/** Words and phrases by what is said of them. */
export const lists = {
  jobs_with_field_apart: new Set(made.jobs_with_field_apart),
  general: new Set(made.general),
  software: new Set(made.software),
  deputies: new Set(made.deputies),
  stand_in_jobs: new Set(made.stand_in_jobs),
  steps_of_trades: made.steps_of_trades,
}

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
