/** The word lists of config/titles/roles.yaml, as words; checked once, on import. */

import { z } from 'zod'
import { PhraseBook } from './phrase-book.ts'
import { wordList, readTaxonomy } from './taxonomy.ts'
import { wordsOfPhrase } from './words.ts'

const phraseList = wordList.transform((list) => list.map(wordsOfPhrase))
const wordSet = phraseList.transform(
  (list): ReadonlySet<string> => new Set(list.map((words) => words.join(' '))),
)

export const lists = readTaxonomy(
  'roles.yaml',
  z.strictObject({
    synonyms: z.record(z.string().min(1), phraseList),
    units: phraseList,
    leading: phraseList,
    jobs_with_field_apart: wordSet,
    general: wordSet,
    levels: phraseList,
    fillers: phraseList,
    places: phraseList,
    technologies: phraseList,
    software: wordSet,
    side_roles: phraseList,
    deputies: wordSet,
    stand_in_jobs: wordSet,
    steps_of_trades: z.array(wordList),
    grades: z.record(z.string().min(1), z.int().min(-9).max(9)),
  }),
)

const usualNames = new PhraseBook<readonly string[]>()
for (const [usual, names] of Object.entries(lists.synonyms)) {
  for (const name of names) usualNames.add(name, wordsOfPhrase(usual))
}

/** `words` with every English phrase that has a more usual name replaced by it: "programmer" is a software engineer. */
export function withUsualNames(words: readonly string[]): string[] {
  return usualNames.scan(words).flatMap(({ value, at, end }) => value ?? words.slice(at, end))
}

/** What a phrase is for the job that a title names. */
export type Kind = 'unit' | 'leading' | 'level' | 'filler' | 'place' | 'technology'

export const kinds = new PhraseBook<Kind>()
addKind('unit', lists.units)
addKind('leading', lists.leading)
addKind('level', lists.levels)
addKind('place', lists.places)
addKind('technology', lists.technologies)
addKind('filler', [['and'], ...lists.fillers])

function addKind(kind: Kind, phrases: readonly (readonly string[])[]): void {
  for (const words of phrases) kinds.add(withUsualNames(words), kind)
}

export const sideRoles = new PhraseBook<true>()
for (const words of lists.side_roles) sideRoles.add(withUsualNames(words), true)

/** How far a phrase of grade lifts a job above the plain one. */
export const gradeSteps: ReadonlyMap<string, number> = new Map(
  Object.entries(lists.grades).map(([phrase, step]) => [wordsOfPhrase(phrase).join(' '), step]),
)
