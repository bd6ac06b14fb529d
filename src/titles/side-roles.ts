/**
 * Whether a title is only a side role: a seat on a board, an adviser from outside, a mentor, an investor, a volunteer.
 * The list of side roles is data (config/titles/side-roles.yaml); this file decides where in a title one has to stand.
 */

import { z } from 'zod'
import { functionWords, kinds, withUsualNames } from './functions.ts'
import { kept, remembered } from './kept.ts'
import { segmented, masculine } from './to-english.ts'
import { packBook, PhraseBook, splitAt } from './phrase-book.ts'
import { each, readTaxonomy, setsOf, wordList } from './taxonomy.ts'
import { foldLetters, wordsOfPhrase, type EnglishTitle } from './words.ts'

type Words = readonly string[]

/** The words of a part of a title, or of a phrase of the lists, as both are compared: whatever script and gender. */
function plain(words: Words): string[] {
  return words.flatMap(segmented).map((word) => (word.startsWith('*') ? word : masculine(word)))
}

const made = kept('side-roles', () => {
  const list = wordList.transform((all) => all.map(wordsOfPhrase))
  const words = wordList.transform((all) => all.map(foldLetters))
  const read = readTaxonomy(
    'side-roles.yaml',
    z.strictObject({
      ...each(list, 'seats', 'boards', 'roles', 'advisory', 'native_jobs'),
      ...each(list, 'staff_boards', 'staff_roles', 'staff_native'),
      ...each(words, 'boards_that_lead', 'before', 'plain_adviser', 'serves_the_state'),
      ...each(words, 'volunteering_is_the_field', 'unpaid', 'not_beside', 'held_beside', 'ands'),
      native: z.record(z.string(), list),
    }),
  )
  const bookOf = (...lists: (readonly Words[])[]) =>
    packBook(lists.flat().map((phrase) => [phrase, true] as const))
  const usual = (lists: readonly Words[]) => lists.map(withUsualNames)
  const native = Object.values(read.native).flat().map(plain)
  const { seats, boards, roles, advisory, native: _, native_jobs, ...others } = read
  const { staff_boards, staff_roles, staff_native, ...sets } = others
  const ofStaff = [...usual(staff_boards), ...staff_boards.map(plain)]
  const staff = [...usual(staff_roles), ...staff_native.map(plain)]
  return {
    seats: bookOf(usual(seats), seats.map(plain)),
    boards: bookOf(usual(boards), boards.map(plain), ofStaff),
    roles: bookOf(usual(roles), native, staff),
    staff: bookOf(ofStaff, staff),
    advisory: bookOf(usual(advisory)),
    sets: { ...sets, native_jobs: native_jobs.map((words) => plain(words).join(' ')) },
  }
})()

const seats = new PhraseBook(made.seats)
const boards = new PhraseBook(made.boards)
const roles = new PhraseBook(made.roles)
const advisory = new PhraseBook(made.advisory)
const staff = new PhraseBook(made.staff)
const sets = setsOf(made.sets)

/** How a title relates to a main job. */
export interface Beside {
  /** Board member, adviser, investor, volunteer …: a role in addition to a main job. */
  readonly isSideRole: boolean
  /** Whether it is advice that may come from outside: a side role, or a job such as "Technical Advisor". */
  readonly isAdvisory: boolean
  /** Whether it is a side role that only the staff of the organisation can have: on its works council, or of a union. */
  readonly isSeatOfStaff: boolean
  /** Whether it is a job that people have alongside another one: by the hour, as a guest, on loan, in the reserve. */
  readonly isHeldBeside: boolean
}

type Side = Pick<Beside, 'isSideRole' | 'isAdvisory'>

const isBegin = remembered((word) => roles.knows(word) || boards.knows(word))
const mayBeSide = (words: Words): boolean => words.some(isBegin)

const NEITHER: Side = { isSideRole: false, isAdvisory: false }

/** @param written the title as written */
export function readBeside(written: string, english: EnglishTitle): Beside {
  const side = readSide(written, english)
  const isSeatOfStaff = side.isSideRole && [...english.native, ...english.parts].some(namesStaff)
  return { ...side, isSeatOfStaff, isHeldBeside: isHeldBeside(written) }
}

function namesStaff(words: Words): boolean {
  return words.some((_, at) => staff.find(words, at) === true)
}

const HELD_BESIDE = new RegExp(
  [...sets.held_beside]
    .map((words) => (/^[\p{Script=Latin}\p{Script=Cyrillic}]/u.test(words) ? ` ${words}` : words))
    .join('|'),
  'u',
)

function isHeldBeside(written: string): boolean {
  return HELD_BESIDE.test(` ${foldLetters(written).replaceAll(/[^\p{L}\p{M}]+/gu, ' ')}`)
}

function readSide(written: string, english: EnglishTitle): Side {
  if (isUnpaid(written)) return { isSideRole: true, isAdvisory: false }
  if (!english.native.some(mayBeSide) && !english.parts.some(mayBeSide)) return NEITHER
  const native = joinedSeats(english.native)
  const parts = joinedSeats(english.parts)
  const said = parts.flatMap((part, at) => saidBy(native[at] ?? [], part, english.language))
  if (said.includes('job')) return NEITHER
  const isAdvice = parts.some((part) => groupsOf(part).some(isAdvisory))
  const isOfState = isAdvice && servesState(written)
  // A firm's "Advisor", but not "Advisor, Public Affairs".
  const isStaff = said.includes('adviser') && (isOfState || said.includes('field'))
  const isBeside = said.some((one) => one === 'side' || one === 'adviser')
  return {
    isSideRole: isBeside && !isStaff && !said.includes('advice'),
    isAdvisory: isAdvice && !isStaff && !isOfState,
  }
}

type Said = 'side' | 'adviser' | 'advice' | 'field' | 'job'

function saidBy(native: Words, part: Words, language: string): Said[] {
  if (sets.native_jobs.has(native.join(' '))) return ['job']
  const isTwo = native.some((word) => sets.ands.has(word))
  if (isSide(native) || isSide(part, isTwo)) return ['side']
  return groupsOf(part).flatMap((words): Said[] => {
    if (isSide(words, isTwo)) return ['side']
    if (sets.plain_adviser.has(words.join(' '))) return [language === 'en' ? 'adviser' : 'job']
    if (isAdvisory(words)) return ['advice']
    if (namesJob(words)) return ['job']
    return functionWords.scan(words).some(({ value }) => value !== null) ? ['field'] : []
  })
}

/** "Member, Board of Trustees" is one role. */
function joinedSeats(parts: readonly Words[]): Words[] {
  return parts.reduce<Words[]>((joined, words) => {
    const last = joined.at(-1)
    const isSeat = last !== undefined && endOfSeat(last, seatAt(last)) === last.length
    if (isSeat && indexOfBoard(words, 0) >= 0) joined.splice(-1, 1, [...last, ...words])
    else joined.push(words)
    return joined
  }, [])
}

/** @param isTwo whether it may be two roles, joined by an "and" of another language, which English words lack */
function isSide(words: Words, isTwo = false): boolean {
  for (let at = 0; at < words.length; at += 1) {
    if (isRole(roles, words, at) || isSeat(words, at) || isVolunteer(words, at)) return true
    if (!sets.before.has(words[at] ?? '')) return endsWithSeat(words, isTwo)
  }
  return false
}

function isAdvisory(words: Words): boolean {
  return isRole(advisory, words, 0)
}

/** Whether a phrase of the book is all there is from `at` on, but for what it is of. */
function isRole(book: PhraseBook<true>, words: Words, at: number): boolean {
  const { value, end } = book.longest(words, at)
  return (
    value !== null &&
    isOf(words, end) &&
    !words.slice(end).some((word) => sets.not_beside.has(word))
  )
}

function isOf(words: Words, end: number): boolean {
  const next = words[end]
  return next === undefined || (next !== 'and' && kinds.find([next]) === 'filler')
}

const seatAt = (words: Words): number => words.findIndex((word) => !sets.before.has(word))

function endOfSeat(words: Words, at: number): number {
  const found = seats.longest(words, Math.max(at, 0))
  return found.value === null ? -1 : found.end
}

/** "Member of the Youth Advisory Board". */
function isSeat(words: Words, at: number): boolean {
  const end = endOfSeat(words, at)
  return end >= 0 && indexOfBoard(words, end) >= 0
}

/** "Alumni Board Member". */
function endsWithSeat(words: Words, isTwo: boolean): boolean {
  // "CTO and Board Member", but not "Audit and Risk Committee Chair".
  const [first = []] = groupsOf(words)
  const isJob = (some: Words) => namesJob(some) && !isSide(some)
  if (first.length < words.length && isJob(first)) return false
  return words.some((_, at) => {
    const { value, end } = boards.longest(words, at)
    if (value === null || leads(words.slice(0, end))) return false
    if (isTwo && isJob(words.slice(0, at))) return false
    const seat = endOfSeat(words, end)
    return seat >= 0 && isOf(words, seat)
  })
}

function indexOfBoard(words: Words, from: number): number {
  const at = words.findIndex((_, index) => {
    if (index < from) return false
    const { value, end } = boards.longest(words, index)
    return value !== null && isOf(words, end)
  })
  return at >= 0 && leads(words.slice(from)) ? -1 : at
}

/** Whether it is a board that runs the firm. */
function leads(words: Words): boolean {
  return words.some((word) => sets.boards_that_lead.has(word))
}

/** "Volunteer Firefighter", but not "Volunteer Coordinator". */
function isVolunteer(words: Words, at: number): boolean {
  if (words[at] !== 'volunteer') return false
  return !words.some((word) => sets.volunteering_is_the_field.has(word))
}

/** "Web Developer (Volunteer)", "Coach - ehrenamtlich", "Treasurer (Volunteer), Food Bank". */
function isUnpaid(written: string): boolean {
  const remarks = written.matchAll(/(?:[([]|\s[-–—]\s)([^()[\]–—,-]+)[)\]]?\s*(?:,|$)/gu)
  return [...remarks].some(([, words = '']) => sets.unpaid.has(foldLetters(words).trim()))
}

function servesState(written: string): boolean {
  const [, ...served] = foldLetters(written).split(/\bto\b/)
  return served.some((text) =>
    text.split(/[^\p{L}]+/u).some((word) => sets.serves_the_state.has(word)),
  )
}

function groupsOf(words: Words): Words[] {
  return splitAt(words, (word) => word === 'and')
}

/** Whether words name a job. */
function namesJob(words: Words): boolean {
  return words.some((_, at) => {
    const strength = functionWords.find(words, at)?.strength
    return strength === 'job' || strength === 'default' || kinds.find(words, at) === 'leading'
  })
}
