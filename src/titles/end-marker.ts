/**
 * Whether a title says that the job or the career is over, or that there is none: "Retired", "Former CFO", "Open to
 * work". Such words next to a current job do not count: "CTO (ex-Google)".
 */

import { z } from 'zod'
import { kept, remembered } from './kept.ts'
import { segmented } from './to-english.ts'
import {
  phrases,
  tenseWords,
  isNumeral,
  rankRanges,
  servingPhrases,
  type Meaning,
} from './lexicon.ts'
import { packBook, PhraseBook, type Entry, type Place } from './phrase-book.ts'
import { each, readTaxonomy, wordList } from './taxonomy.ts'
import { wordsOfPhrase, type Parts } from './words.ts'

/** The parts of a title without those that only name the person whom the first one serves. */
export function withoutServed(parts: Parts): Parts {
  const [first = [], ...others] = parts
  if (others.length === 0 || !isServing(first)) return parts
  return [first, ...others.filter((words) => !namesServed(words))]
}

/**
 * Whether a part names a person who serves another: "Senior Executive Assistant", "Chief of Staff". A single word such
 * as "secretary" must be the whole part except for a grade: a corporate secretary does not serve another person.
 */
function isServing(words: readonly string[]): boolean {
  return servingPhrases.some((phrase) => {
    const from = words.length - phrase.length
    if (from < 0 || phrase.some((word, index) => words[from + index] !== word)) return false
    return phrase.length > 1 || from === 0 || (from === 1 && isSeniority(words))
  })
}

function isSeniority([word = '']: readonly string[]): boolean {
  const meaning = phrases.find([word], 0, PLAIN)
  return meaning?.kind === 'grade' && !meaning.alone?.isDependent
}

const SAYS_WHOM = new Set(['supporting', 'support', 'to', 'for', 'the'])

/** Whether words name a high post, grades of it and what joins two of them, and nothing else. */
function namesServed(words: readonly string[]): boolean {
  if (words[0] === 'supporting') return true
  const from = words.findIndex((word) => !SAYS_WHOM.has(word))
  const named = from < 0 ? [] : phrases.scan(words.slice(from), PLAIN).map(({ value }) => value)
  return named.every(isOfHighPost) && named.some((meaning) => meaning?.kind === 'head')
}

function isOfHighPost(meaning: Meaning | null): boolean {
  if (meaning?.kind === 'head') return meaning.standing.rank >= rankRanges.director.lowest
  return meaning?.kind === 'grade' || meaning?.kind === 'and'
}

const PLAIN: Place<Meaning> = {
  endsBefore: (words, at) => words[at] === 'and',
  counts: (meaning) => meaning.kind !== 'head' || meaning.with === null,
}

const { before, before_a_role: beforeARole, after, ends } = tenseWords
const allTenseWords = new Set([...before, ...beforeARole, ...after, ...ends])

/** The words of each part without those of another time, which are ignored; empty parts are left out. */
export function presentParts(parts: Parts): Parts {
  if (!parts.some((words) => words.some((word) => allTenseWords.has(word)))) return parts
  const present: (readonly string[])[] = []
  let isNextPast = false
  let isChanged = false
  for (const words of parts) {
    if (isRemark(words)) {
      // "(ex) CEO" speaks of what follows, "CEO (retired)" and "CEO (until 2020)" of what stands before.
      isNextPast = present.length === 0
      present.length = 0
      isChanged = true
      continue
    }
    const own = isNextPast ? [] : presentWords(words)
    isNextPast = false
    isChanged ||= own.length < words.length
    if (own.length > 0) present.push(own)
  }
  return isChanged ? present : parts
}

function isRemark(words: readonly string[]): boolean {
  if (ends.has(words[0] ?? '')) return true
  return words.every((word) => before.has(word) || after.has(word))
}

function presentWords(words: readonly string[]): readonly string[] {
  if (words.some((word, at) => at > 0 && ends.has(word))) return []
  const afterAt = words.findLastIndex((word, at) => at > 0 && endsRole(words, at, word))
  const rest = withoutEmployer(words.slice(afterAt + 1))
  const at = rest.findIndex((_, index) => beginsAnotherTime(rest, index))
  return at < 0 ? rest : rest.slice(0, at)
}

/** "ex-Google Software Engineer" is one, who was at Google before. */
function withoutEmployer(words: readonly string[]): readonly string[] {
  const at = words.indexOf('ex')
  const isEmployer = at >= 0 && phrases.find(words, at + 1) === null
  const hasRole = words.some((_, index) => index > at + 1 && namesRoleAt(words, index))
  return isEmployer && hasRole ? [...words.slice(0, at), ...words.slice(at + 2)] : words
}

/** "President Emeritus", but a "Professor Emeritus" stays a professor. */
function endsRole(words: readonly string[], at: number, word: string): boolean {
  return after.has(word) && !words.slice(0, at).includes('professor')
}

/** "Past President", but not "Future Mobility" and not "Retired Officers' Association Manager". */
function beginsAnotherTime(words: readonly string[], at: number): boolean {
  const word = words[at] ?? ''
  if (before.has(word)) return !isOfOthers(words, at + 1)
  return beforeARole.has(word) && namesRoleAt(words, at + 1)
}

/** Whether the words from `at` name the subject of a role after them: "Yugoslavia Desk Officer". */
function isOfOthers(words: readonly string[], at: number): boolean {
  const last = words.length - 1
  const about = words.slice(at, last)
  const isAbout = about.some((word, index) =>
    index === 0 && tenseWords.no_roles.has(word) ? true : index < 3 && isPluralOfRole(word),
  )
  return isAbout && namesRoleAt(words, last)
}

/** "Officers", "players", but not "sales". */
function isPluralOfRole(word: string): boolean {
  if (!word.endsWith('s')) return false
  const meaning = phrases.find([word.slice(0, -1)])
  return meaning?.kind === 'head' && !meaning.isField
}

/** Whether a person's role, with or without a grade, begins at `at`. */
function namesRoleAt(words: readonly string[], at: number): boolean {
  const meaning = phrases.find(words, at)
  if (meaning?.kind === 'grade') return at + 1 < words.length
  return meaning?.kind === 'head' && !meaning.isField
}

type Marker = 'person' | 'time' | 'leave' | 'seeking'

const made = kept('no-job', () => {
  const list = wordList.transform((all) => all.map(wordsOfPhrase))
  const { adverbs, jobs, ...markers } = readTaxonomy(
    'no-job.yaml',
    z.strictObject(each(list, 'persons', 'times', 'leaves', 'seeking', 'adverbs', 'jobs')),
  )
  const { persons: person, times: time, leaves: leave, seeking } = markers
  const entries: Entry<Marker | null>[] = jobs.map((words) => [words, null])
  const all = { person, time, leave, seeking }
  for (const [kind, phrasesOf] of Object.entries(all) as [Marker, string[][]][])
    for (const words of phrasesOf) entries.push([words, kind])
  const begins = new Set(Object.values(all).flatMap((ones) => ones.map(([first = '']) => first)))
  return { book: packBook(entries), begins: [...begins], adverbs: adverbs.flat() }
})()

const book = new PhraseBook<Marker | null>(made.book)
const begins = new Set(made.begins)
const adverbs = new Set(made.adverbs)
const past = new Set([...allTenseWords].filter((word) => !tenseWords.ahead.has(word)))
const mayEnd = remembered((word) => segmented(word).some((one) => begins.has(one) || past.has(one)))
// Soldiers and officials: "Oberst a. D.", "Richter i. R.". In other letters they are an art director or a human resource.
const GERMAN_LETTERS = /(?<![\p{L}.])(?:a\.\s?D|i\.\s?R|f\.\s?d)\.(?!\p{L})/u
// "ex-Google Engineer @ Acme" has a job.
const WHERE = /@|\bat\b/i
const IS_AT = /^[^@|,]*@/

/** A job that is over, or a title that says that there is none, whatever job it names: "Teacher, unemployed". */
type End = 'over' | 'none'

/** @param namesJob whether parts name a job that is not a side role */
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
    // "Teacher, unemployed": the job before it is also over.
    if (marker === 'all') own = []
  }
  const stillOwn = own.filter((part) => !isOver(part) && !isOfExEmployer(part, title))
  const present = presentParts(stillOwn)
  const isPast = stillOwn.length < own.length || isAllPast(stillOwn, present)
  if ((!isMarked && !isPast) || namesJob(present)) return null
  // "Sales @ Acme | ex-Oracle" has a job.
  if (IS_AT.test(title) && present[0]?.join(' ') === words[0]?.join(' ')) return null
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
    // "Professor on sabbatical" comes back.
    if (value === 'leave') {
      if (at <= from && isEnd(part, end)) return 'own'
      continue
    }
    if (isEnd(part, end)) return at <= from ? 'all' : 'own'
    if (value === 'person' && at <= from && namesRoleAt(part, end)) return 'own'
  }
  return null
}

// Words that may follow without a job in them: "Career break for family", "Retired since 2020".
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
