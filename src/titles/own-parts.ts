/**
 * The parts of a title that name a role of today and of the person: not of whom an assistant assists ("Executive Assistant, CEO",
 * "Assistenz (Vorstand)"), and not of another time ("Former CEO", "President-elect").
 */

import { phrases, rankRanges, servingPhrases, tenseWords, type Meaning } from './lexicon.ts'
import type { Place } from './phrase-book.ts'
import type { Parts } from './words.ts'

/** The parts of a title without those that only name whom the first one serves. */
export function withoutServed(parts: Parts): Parts {
  const [first = [], ...others] = parts
  if (others.length === 0 || !isServing(first)) return parts
  return [first, ...others.filter((words) => !namesServed(words))]
}

/**
 * Whether a part names somebody who serves another: "Senior Executive Assistant", "Chief of Staff". A single word such as
 * "secretary" must be all there is but for a grade: a corporate secretary serves nobody.
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

/** The words of each part without those of another time, of which nothing is read; empty parts are left out. */
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
export function beginsAnotherTime(words: readonly string[], at: number): boolean {
  const word = words[at] ?? ''
  if (before.has(word)) return !isOfOthers(words, at + 1)
  return beforeARole.has(word) && namesRoleAt(words, at + 1)
}

/** Whether the words from `at` say whom or what a role behind them is for: "Yugoslavia Desk Officer". */
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
export function namesRoleAt(words: readonly string[], at: number): boolean {
  const meaning = phrases.find(words, at)
  if (meaning?.kind === 'grade') return at + 1 < words.length
  return meaning?.kind === 'head' && !meaning.isField
}
