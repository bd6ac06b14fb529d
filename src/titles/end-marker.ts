/**
 * Whether a title says that the job or the career is over, or that there is none: "Retired", "Former CFO", "Open to work". What it
 * says beside a job that the person has is none: "CTO (ex-Google)".
 */

import { z } from 'zod'
import { kept } from './kept.ts'
import { phrases, tenseWords } from './lexicon.ts'
import { remembered } from './memo.ts'
import { isNumeral } from './numerals.ts'
import { beginsAnotherTime, namesRoleAt, presentParts } from './own-parts.ts'
import { BookMaker, PhraseBook } from './phrase-book.ts'
import { segmented } from './segments.ts'
import { readTaxonomy, wordList } from './taxonomy.ts'
import { wordsOfPhrase, type Parts } from './words.ts'

type Marker = 'person' | 'time' | 'seeking'

const made = kept('no-job', () => {
  const list = wordList.transform((all) => all.map(wordsOfPhrase))
  const { adverbs, jobs, ...markers } = readTaxonomy(
    'no-job.yaml',
    z.strictObject({ persons: list, times: list, seeking: list, adverbs: list, jobs: list }),
  )
  const book = new BookMaker<Marker | null>()
  for (const words of jobs) book.add(words, null)
  const { persons: person, times: time, seeking } = markers
  for (const [kind, all] of Object.entries({ person, time, seeking }) as [Marker, string[][]][])
    for (const words of all) book.add(words, kind)
  const begins = [
    ...new Set(
      Object.values(markers)
        .flat()
        .map(([first = '']) => first),
    ),
  ]
  return { book: book.packed(), begins, adverbs: adverbs.flat() }
})()

const book = new PhraseBook<Marker | null>(made.book)
const begins = new Set(made.begins)
const adverbs = new Set(made.adverbs)
const past = new Set(
  [
    ...tenseWords.before,
    ...tenseWords.before_a_role,
    ...tenseWords.after,
    ...tenseWords.ends,
  ].filter((word) => !tenseWords.ahead.has(word)),
)
const mayEnd = remembered((word) => segmented(word).some((one) => begins.has(one) || past.has(one)))
// Soldiers and officials: "Oberst a. D.", "Richter i. R.". In other letters they are an art director or a human resource.
const GERMAN_LETTERS = /(?<![\p{L}.])(?:a\.\s?D|i\.\s?R|f\.\s?d)\.(?!\p{L})/u
// "ex-Google Engineer @ Acme" has a job.
const WHERE = /@|\bat\b/i

/** A job that is over, or a title that says that there is none, whatever job it names: "Teacher, unemployed". */
export type End = 'over' | 'none'

/** @param namesJob whether parts name a job that is no side role */
export function endOf(
  title: string,
  parts: Parts,
  namesJob: (parts: Parts) => boolean,
): End | null {
  if (GERMAN_LETTERS.test(title)) return 'over'
  if (!parts.some((part) => part.some(mayEnd))) return null
  const words = parts.map((part) => part.flatMap(segmented))
  let isMarked = false
  let own: (readonly string[])[] = []
  for (const part of words) {
    const marker = markerOf(part)
    if (marker === null) own.push(part)
    else isMarked = true
    // "Teacher, unemployed": what stands before is over, too.
    if (marker === 'all') own = []
  }
  const stillOwn = own.filter((part) => !isOver(part) && !isOfExEmployer(part, title))
  const present = presentParts(stillOwn)
  const isPast = stillOwn.length < own.length || isAllPast(stillOwn, present)
  if ((!isMarked && !isPast) || namesJob(present)) return null
  return isMarked ? 'none' : 'over'
}

/** "Ex-Google Engineer" names the employer that was. */
function isOfExEmployer(part: readonly string[], title: string): boolean {
  return part.length > 1 && part[0] === 'ex' && beginsAnotherTime(part, 0) && !WHERE.test(title)
}

/** "Professor Emeritus", "Emeritus Professor", but not "Emeritus Partnerships Manager". */
function isOver(part: readonly string[]): boolean {
  return part.some((word, at) => {
    if (!tenseWords.after.has(word) || tenseWords.ahead.has(word)) return false
    if (at > 0) return isEnd(part, at + 1)
    return !tenseWords.before.has(word) && namesRoleAt([...part.slice(1, 2), ''], 0)
  })
}

function isAllPast(own: Parts, present: Parts): boolean {
  return present !== own && own.some((part) => part.some((word) => past.has(word)))
}

/** Whether a part says that there is no job: of the parts before it as well, or only in its own words. */
function markerOf(part: readonly string[]): 'all' | 'own' | null {
  const from = part.findIndex((word) => !adverbs.has(word))
  for (let at = 0; at < part.length; at += 1) {
    if (!begins.has(part[at] ?? '')) continue
    const { value, end } = book.longest(part, at)
    if (value === null) continue
    if (value === 'seeking') {
      if (at <= from && !endsAsJob(part, at, end)) return 'own'
      continue
    }
    if (isEnd(part, end)) return at <= from ? 'all' : 'own'
    if (value === 'person' && at <= from && namesRoleAt(part, end)) return 'own'
  }
  return null
}

// What may follow without a job in it: "Career break for family", "Retired since 2020".
function isEnd(part: readonly string[], end: number): boolean {
  const next = part[end]
  if (next === undefined || isNumeral(next) || /^\d+$/.test(next)) return true
  const meaning = phrases.find(part, end)
  return meaning?.kind === 'link' || meaning?.kind === 'and' || next === 'since' || next === 'seit'
}

/** "Job Search Coach": where the words are a noun, a role behind them is what the title names. */
function endsAsJob(part: readonly string[], at: number, end: number): boolean {
  return (
    part[at]?.startsWith('job') === true && end < part.length && namesRoleAt(part, part.length - 1)
  )
}
