/** The word lists of config/titles/roles.yaml, as words; checked once, on import. */

import { PhraseBook } from './phrase-book.ts'
import { wordsOfPhrase } from './words.ts'
import { z } from 'zod'
import { wordList, readTaxonomy } from './taxonomy.ts'

const lists = readTaxonomy(
  'roles.yaml',
  z.strictObject({
    synonyms: z.record(z.string().min(1), wordList),
    units: wordList,
    leading: wordList,
    jobs_with_field_apart: wordList,
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
    grades: z.record(z.string().min(1), z.int().min(-9).max(9)),
  }),
)

const usualNames = new PhraseBook<readonly string[]>()
for (const [usual, names] of Object.entries(lists.synonyms)) {
  for (const name of names) usualNames.add(wordsOfPhrase(name), wordsOfPhrase(usual))
}

/** `words` with every English phrase that has a more usual name replaced by it: "programmer" is a software engineer. */
export function withUsualNames(words: readonly string[]): string[] {
  const named: string[] = []
  for (let at = 0; at < words.length;) {
    const found = usualNames.longestAt(words, at)
    named.push(...(found === null ? [words[at] ?? ''] : found.value))
    at += found?.length ?? 1
  }
  return named
}

/** Jobs of several words that are one thing: the "manager" of a product manager leads nobody. */
export const unitPhrases = phrases(lists.units)
export const leadingPhrases = phrases(lists.leading)
export const jobsWithFieldApart = wordSet(lists.jobs_with_field_apart)
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
