/** Finds the steps of trades (config/titles/trade-steps.yaml) that two titles share, where one ladder holds both. */

import { z } from 'zod'
import { kept } from './kept.ts'
import { masculine } from './to-english.ts'
import { packBook, PhraseBook } from './phrase-book.ts'
import { FUNCTIONS, readTaxonomy, wordList } from './taxonomy.ts'
import { wordsOfPhrase } from './words.ts'

/** A step of a ladder that a title names. */
export interface Place {
  readonly ladder: string
  readonly step: number
  /** How many words of the title said so. */
  readonly length: number
}

const made = kept('trade-steps', () => {
  const functions = wordList.pipe(z.array(z.enum(FUNCTIONS)))
  const read = readTaxonomy(
    'trade-steps.yaml',
    z.record(
      z.string(),
      z.strictObject({
        functions,
        whole: z.boolean().default(false),
        words: wordList.optional(),
        steps: z.array(wordList),
      }),
    ),
  )
  const placesOf = new Map<string, Omit<Place, 'length'>[]>()
  for (const [ladder, { steps }] of Object.entries(read)) {
    for (const [step, titles] of steps.entries()) {
      for (const title of titles) {
        const words = wordsOfPhrase(title).map(masculine).join(' ')
        placesOf.set(words, [...(placesOf.get(words) ?? []), { ladder, step }])
      }
    }
  }
  const about = Object.entries(read).map(([ladder, { functions: of, whole, words }]) => {
    const phrases = words?.map((phrase) => ` ${wordsOfPhrase(phrase).join(' ')} `) ?? null
    return [ladder, { functions: of, whole, words: phrases }] as const
  })
  const book = packBook([...placesOf].map(([words, of]) => [words.split(' '), of] as const))
  return { book, about }
})()

const book = new PhraseBook(made.book)
const about = new Map(made.about)

/** The parts of a title that are examined. */
interface OnLadders {
  readonly steps: readonly Place[]
  readonly firstPart: readonly string[]
  readonly inOrder: readonly string[]
  readonly understood: { readonly function: string }
}

export interface Step {
  readonly rise: number
  /** Whether everyone of the trade has this ladder, or only some firms. */
  readonly isOfEvery: boolean
  /** Whether the titles say that the firm is one of those. */
  readonly isSure: boolean
}

/** The distance of two titles on one ladder of a trade; null where none holds both, or on one step. */
export function stepOfLadders(before: OnLadders, after: OnLadders): Step | null {
  for (const from of before.steps) {
    const to = after.steps.find(({ ladder }) => ladder === from.ladder)
    const known = about.get(from.ladder)
    if (to === undefined || known === undefined || to.step === from.step) continue
    const isOfTrade = [before, after].some(({ understood }) =>
      known.functions.some((name) => name === understood.function),
    )
    const isSure = known.words?.some((phrase) => holds(before, phrase) || holds(after, phrase))
    const isWhole = [before, after].every(({ firstPart }) => isPlace(firstPart))
    if (!isOfTrade || (known.whole && isSure !== true && !isWhole)) continue
    return { rise: to.step - from.step, isOfEvery: !known.whole, isSure: isSure === true }
  }
  return null
}

function holds({ inOrder }: OnLadders, phrase: string): boolean {
  return ` ${inOrder.join(' ')} `.includes(phrase)
}

function isPlace(words: readonly string[]): boolean {
  const { value, end } = book.longest(words.map(masculine), 0)
  return value !== null && end === words.length
}

const NOWHERE: readonly Place[] = []

/** The position of a title with these words on each ladder, by its longest phrase. */
export function placesOf(words: readonly string[]): readonly Place[] {
  if (!words.some((word) => book.knows(word))) return NOWHERE
  const best = new Map<string, Place>()
  for (const { value, at, end } of book.scan(words)) {
    for (const place of value ?? []) {
      const known = best.get(place.ladder)
      const length = end - at
      const isBetter =
        known === undefined ||
        length > known.length ||
        (length === known.length && place.step > known.step)
      if (isBetter) best.set(place.ladder, { ...place, length })
    }
  }
  return [...best.values()]
}
