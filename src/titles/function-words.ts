/** The word lists of config/titles/functions.yaml, as one book of phrases; checked once, on import. */

import { withUsualNames } from './roles.ts'
import { wordsOfPhrase } from './words.ts'
import { z } from 'zod'
import { PhraseBook } from './phrase-book.ts'
import { wordList, FUNCTIONS, readTaxonomy, type JobFunction } from './taxonomy.ts'

const listsSchema = z.strictObject({
  jobs: wordList,
  fields: wordList,
  hints: wordList.default([]),
  default: wordList.default([]),
  native: wordList.default([]),
})

const lists = readTaxonomy('functions.yaml', z.record(z.enum(FUNCTIONS), listsSchema))

/** How strongly a phrase says in which field somebody works, strongest first. */
export type Strength = 'job' | 'field' | 'hint' | 'default'

/** What a phrase says. */
export interface FunctionWord {
  readonly function: JobFunction
  readonly strength: Strength
}

const ENGLISH_GRAMMAR = ['of', 'the', 'for', 'at', 'to', 'with', 'from', 'by', 'on', 'in', 'and']

/** Every phrase that says in which field somebody works. */
export const functionWords = new PhraseBook<FunctionWord>()
/** Every English word of the lists: such a word of a title is not taken for one of another language without a reason. */
export const englishWords: ReadonlySet<string> = addAll()

function addAll(): Set<string> {
  const words = new Set<string>(ENGLISH_GRAMMAR)
  for (const name of FUNCTIONS) {
    const { jobs, fields, hints, default: defaults, native } = lists[name]
    const english = [
      ['job', jobs],
      ['field', fields],
      ['hint', hints],
      ['default', defaults],
    ] as const
    for (const [strength, phrases] of english) {
      for (const phrase of phrases) {
        const own = wordsOfPhrase(phrase)
        functionWords.add(withUsualNames(own), { function: name, strength })
        for (const word of own) words.add(word)
      }
    }
    for (const phrase of native)
      functionWords.add(wordsOfPhrase(phrase), { function: name, strength: 'field' })
  }
  return words
}
