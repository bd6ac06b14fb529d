/** The word lists of config/titles/roles.yaml, as words; checked once, on import. */

import { z } from 'zod'
import { readTaxonomy } from './taxonomy.ts'
import { wordList } from './word-list.ts'
import { wordsOfPhrase } from './words-of-phrase.ts'

const lists = readTaxonomy(
  'roles.yaml',
  z.strictObject({
    synonyms: z.record(z.string().min(1), wordList),
    units: wordList,
    leading: wordList,
    jobs_with_field_apart: wordList,
    lasting_roles: wordList,
    general: wordList,
    levels: wordList,
    fillers: wordList,
    places: wordList,
    technologies: wordList,
    software: wordList,
    sports: wordList,
    side_roles: wordList,
    deputies: wordList,
    stand_in_jobs: wordList,
    steps_of_trades: z.array(wordList),
    steps_of_some_firms: z.array(wordList),
    grades: z.record(z.string().min(1), z.int().min(-9).max(9)),
  }),
)

/** English phrases and the usual name of the same. */
export const synonyms: readonly { words: readonly string[]; usual: readonly string[] }[] =
  Object.entries(lists.synonyms).flatMap(([usual, phrases]) =>
    phrases.map((phrase) => ({ words: wordsOfPhrase(phrase), usual: wordsOfPhrase(usual) })),
  )

/** Jobs of several words that are one thing: the "manager" of a product manager leads nobody. */
export const unitPhrases = phrases(lists.units)
export const leadingPhrases = phrases(lists.leading)
export const jobsWithFieldApart = wordSet(lists.jobs_with_field_apart)
export const lastingRoles = wordSet(lists.lasting_roles)
export const generalJobs = wordSet(lists.general)
export const levelPhrases = phrases(lists.levels)
export const fillerPhrases = phrases(lists.fillers)
export const placePhrases = phrases(lists.places)
export const technologyPhrases = phrases(lists.technologies)
/** Words that put a post below the plain one. */
export const deputyWords = wordSet(lists.deputies)
/** Words of grade that are a job where no other word is one. */
export const standInJobs = wordSet(lists.stand_in_jobs)
export const softwareWords = wordSet(lists.software)
export const sportsWords = wordSet(lists.sports)
export const sideRolePhrases = phrases(lists.side_roles)

/** Jobs of one trade, each list from the lowest up. */
export const stepsOfTrades: readonly (readonly string[])[] = lists.steps_of_trades

/** Jobs that are a step up from each other in some trades only, the lower one first. */
export const stepsOfSomeFirms: readonly (readonly string[])[] = lists.steps_of_some_firms

/** How far a phrase of grade lifts a job above the plain one. */
export const gradeSteps: ReadonlyMap<string, number> = new Map(
  Object.entries(lists.grades).map(([phrase, step]) => [wordsOfPhrase(phrase).join(' '), step]),
)

function phrases(list: readonly string[]): string[][] {
  return list.map(wordsOfPhrase)
}

function wordSet(list: readonly string[]): ReadonlySet<string> {
  return new Set(list.map((phrase) => wordsOfPhrase(phrase).join(' ')))
}
