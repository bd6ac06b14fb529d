/** A job title → what it says: how senior, whether it manages people, which field, which job. Puts the readers together. */

import { endOf, presentParts, withoutServed } from './end-marker.ts'
import { functionWords, gradeSteps, kinds, readFunction, roles, type Kind } from './functions.ts'
import { remembered } from './kept.ts'
import { readByLadder } from './ladders.ts'
import { readLevel, type ReadLevel } from './levels.ts'
import { confidences, phrases, asDigit, isNumeral, standingOf } from './lexicon.ts'
import { readBeside, type Beside } from './side-roles.ts'
import type { JobFunction, Level } from './taxonomy.ts'
import {
  isKnownWord,
  readInEnglish,
  segmented,
  masculine,
  toEnglish,
  type Keeps,
} from './to-english.ts'
import { placesOf } from './trade-steps.ts'
import {
  baseForms,
  isAmbiguous,
  isFiller,
  meantBy,
  splitTitle,
  type EnglishTitle,
  type Parts,
} from './words.ts'

// Titles of people at the top in addition to their office.
const BESIDE_AN_OFFICE = new Set(['founder', 'owner', 'partner', 'president', 'chairperson'])
const DEPUTIES = new Set(['deputy', 'vice', 'assistant', 'associate'])

/**
 * The office in English words; null where the title names no job. Of several that of the chief executive counts, then the
 * first of another chief.
 */
function officeOf(own: Parts, title: EnglishTitle, job: Job): string | null {
  const chiefs = textsOf('unit', title).filter((text) => text.startsWith('chief '))
  const others = [...job.field, ...job.words].filter((words) => !BESIDE_AN_OFFICE.has(words))
  const named =
    chiefs.find((text) => text === 'chief executive officer') ?? chiefs[0] ?? others.join(' ')
  const office = named === '' ? coreOf(job) : named
  if (office === null) return null
  const grades = [
    ...(hasGrade('regional', own) ? ['regional'] : []),
    ...(isDeputy(office, title) ? ['deputy'] : []),
  ]
  return [...grades, office, ...textsOf('place', title)].join(' ')
}

/** @param name a grade of config/titles/levels.yaml */
function hasGrade(name: string, own: Parts): boolean {
  return own.some((words) =>
    phrases.scan(words).some(({ value }) => value?.kind === 'grade' && value.grade.name === name),
  )
}

/** "Deputy CEO", "Deputy Group CEO", "CEO adjoint", "CEO (designate)", but not "CEO & Vice Chairman". */
function isDeputy(office: string, { parts }: EnglishTitle): boolean {
  if (parts.some(([only, ...others]) => only === 'deputy' && others.length === 0)) return true
  const words = office.split(' ')
  return parts.some((part) =>
    part.some((word, at) => {
      if (word !== words[0]) return false
      const before = part.slice(Math.max(0, at - 2), at)
      return before.some((one) => DEPUTIES.has(one)) || part[at + words.length] === 'deputy'
    }),
  )
}

function textsOf(kind: Kind, { parts }: EnglishTitle): string[] {
  return parts.flatMap((words) =>
    kinds
      .scan(words)
      .filter(({ value }) => value === kind)
      .map(({ at, end }) => words.slice(at, end).join(' ')),
  )
}

export interface UnderstoodTitle extends Beside {
  readonly level: Level
  /** 0–99, orders levels and the steps inside one; null when unknown. */
  readonly rank: number | null
  /** Whether the title manages people; null when unknown. */
  readonly isManagement: boolean | null
  /** The field of work; `other` when the title names none, `unknown` when nothing is understood. */
  readonly function: JobFunction | 'unknown'
  /** The role without level, team and place, in canonical English words where known: "software engineer". */
  readonly core: string | null
  /** Which office it is where the level is cxo: "chief executive officer" of "Founder & CEO"; else null. */
  readonly office: string | null
  /** Whether the post is held for the time being: interim, acting. */
  readonly isInterim: boolean
  /** It says that the job or the career is over, or that there is none: retired, former, open to work. */
  readonly isEndMarker: boolean
  readonly rule: string
  /** How likely the level is right, 0 to 1, two decimals; 0 when unknown. */
  readonly confidence: number
}

/** Understands one title as written. */
export function understandTitle(title: string, ladder = 'standard'): UnderstoodTitle {
  return read(title, ladder).understood
}

// Comparing goes over millions of pairs of few titles, and reading one takes five times as long as comparing two that are
// read. Of twice as many at most, 160,000 took 120 MB.
const MOST_READ_TITLES = 150_000
const readByTitle = remembered((ladder) =>
  remembered((title) => comparable(read(title, ladder)), MOST_READ_TITLES),
)

/** Reads a title by the ladder of an organisation; remembers a bounded number of titles of each ladder. */
export function readTitle(title: string, ladder: string): ReadTitle {
  return readByTitle(ladder)(title)
}

/** A word as it is in the lists, where a letter of it is wrong: "Porject Manger". */
const corrected = remembered((word: string): string => {
  const isKnown = (form: string) => isKnownWord(form) || phrases.knows(form)
  if (isKnown(word) || functionWords.knows(word) || baseForms(word).some(isKnown)) return word
  return meantBy(word) ?? word
})

function read(title: string, ladder: string) {
  const parts = splitTitle(title).map((words) => words.map(corrected))
  const own = withoutServed(parts)
  const english = toEnglish(own)
  const end = endOf(title, parts, namesMainJob)
  const level = end === 'none' ? null : (readByLadder(ladder, own) ?? levelOf(title, own, english))
  const job = readJob(english)
  const mention = readFunction(english)
  const understood: UnderstoodTitle = {
    level: level?.level ?? 'unknown',
    rank: level?.rank ?? null,
    isManagement: level?.management ?? null,
    function: mention?.function ?? (level === null ? 'unknown' : 'other'),
    core: coreOf(job),
    office: level?.level === 'cxo' ? officeOf(own, english, job) : null,
    // "Interim CEO", "Directeur général par intérim".
    isInterim: hasGrade('acting', own),
    ...readBeside(title, english),
    isEndMarker: end !== null,
    rule: level?.rule ?? 'unknown',
    confidence: confidences[level?.rule.split(':')[0] ?? ''] ?? 0,
  }
  return { understood, job, mention, parts, own, english }
}

function comparable(found: ReturnType<typeof read>) {
  const { understood, job, mention, parts, own, english } = found
  const inOrder = parts.flat().flatMap(segmented)
  return {
    understood,
    job,
    /** The words that name the field of work, and how strongly. */
    function: mention,
    /** Whether it names a role that the person no longer has or does not have yet. */
    isOfAnotherTime: presentParts(parts) !== parts,
    firstPart: own[0] ?? [],
    /** The places that it names; a country or a part of the world is also a region. */
    places: textsOf('place', english),
    /** Its positions on ladders of trades. */
    steps: placesOf(inOrder.map(masculine)),
    inOrder,
    /** The form that all spellings of one title share: case, signs, short forms, gender, order of words, I or 1. */
    normal: normalForm(english.language === 'en' ? english.parts : english.native),
    /** Every meaningful word as written, sorted. */
    words: meaningful(inOrder),
    /** As `words`, in English. "Leiter Einkauf" is "Purchasing Manager" as often as "Head of Purchasing". */
    english: meaningful(english.parts.flat().map((word) => (word === 'head' ? 'manager' : word))),
  }
}

export type ReadTitle = Readonly<ReturnType<typeof comparable>>

function namesMainJob(parts: Parts): boolean {
  const english = toEnglish(parts)
  const level = levelOf('', parts, english)
  return level !== null && level.rule !== 'field' && !readBeside('', english).isSideRole
}

function levelOf(title: string, own: Parts, english: EnglishTitle): ReadLevel | null {
  const level = readInEnglish.has(english.language)
    ? readLevel(toEnglish(own, keepsNativeLevel).parts)
    : levelOfEither(own, english.parts)
  if (level === null && isField(english, IS_AT.test(title))) {
    return { ...standingOf('mid'), rule: 'field' }
  }
  return level?.level === 'cxo' && isAmbiguous(title)
    ? { ...level, rule: 'ambiguous_abbreviation' }
    : level
}

/** By the words as written or, if they name no person ("MD, Insurance"), by the English. */
function levelOfEither(own: Parts, english: Parts): ReadLevel | null {
  const level = readLevel(own)
  return level === null || level.rule === 'field' ? (readLevel(english) ?? level) : level
}

// "Product @ Acme"
const IS_AT = /^[^@|,]*@/

/**
 * "Product Development", "Legal Services": a field of work, but no person.
 * @param isAt whether the title says where; without that, one word is too little
 */
function isField({ parts: [first = []] }: EnglishTitle, isAt: boolean): boolean {
  const named = functionWords.scan(first).map(({ value, at }) => ({
    strength: value?.strength,
    isWord: value === null && !NO_WORDS.has(kinds.find(first, at) ?? 'unit'),
  }))
  const isOther = named.some(
    ({ strength, isWord }) => isWord || strength === 'default' || strength === 'job',
  )
  return (
    (isAt || first.length > 1) && !isOther && named.some(({ strength }) => strength === 'field')
  )
}

const NO_WORDS: ReadonlySet<Kind> = new Set(['filler', 'place', 'technology', 'level'])

const LATIN = /^[a-z0-9&]/

/** Of other scripts the lists of levels hold posts that no English word means: 係長, 과장, начальник отдела. */
const keepsNativeLevel: Keeps = (words, at) => {
  if (LATIN.test(words[at] ?? '')) return 0
  const { value, end } = phrases.longest(words, at)
  return value === null ? 0 : end - at
}

function normalForm(parts: Parts): string {
  const words = parts.flat()
  const plain = words.filter((word, at) => !isNumeral(words[at + 1] ?? '') || !isNumeral(word))
  return meaningful(plain.map((word, at) => (at > 0 ? asDigit(word) : word))).join(' ')
}

function meaningful(words: readonly string[]): string[] {
  return [...new Set(words.filter((word) => !isFiller(word)))].toSorted()
}

// Which job a title names, apart from level, team, place and technology: read from its English words. Two titles of one job
// have the same words here, whatever their language, gender or word order.

export interface Job {
  /** The name of the job: its field and the work, in the order written. */
  readonly words: readonly string[]
  /** The subject of a post or a general job, where it is separate: "Director, Internal Audit". */
  readonly field: readonly string[]
  /** Whether the title leads what its words name: manager, director, head, vice president. */
  readonly leads: boolean
  /** The word of grade that is the whole job where no other word is one: "assistant" in "sales assistant". */
  readonly standIn: string | null
  /** How far its words of grade lift it above the plain job; orders titles of one job only. */
  readonly grade: number
  /** The part of `grade` that puts it below the plain job: deputy, assistant, interim. Never above 0. */
  readonly deputy: number
  readonly language: string
}

// The words after it say where or for whom the person works: "Senior Software Engineer on Code Intelligence",
// "Développeur à Beta".
const BEGINS_A_TEAM = new Set(['on', 'for', 'at', 'within', 'from', 'with'])

type ReadPart = ReturnType<typeof readPart>

export function readJob(title: EnglishTitle): Job {
  const parts = title.parts.map(readPart)
  const main = parts.findIndex(({ words, leads }) => words.length > 0 || leads)
  const first = parts[main]
  const rest = parts.slice(main + 1)
  const grade = parts.reduce((sum, part) => sum + part.grade, 0)
  const field =
    first !== undefined && needsField(first)
      ? rest.map(namesOf).find((names) => names.length > 0)
      : []
  return {
    words: first === undefined ? [] : first.leads ? namesOf(first) : first.words,
    field: field ?? [],
    leads: first?.leads ?? false,
    // Of a title that names nothing else, a word of grade is all there is: "Associate".
    standIn: (first ?? parts[0])?.standIn ?? null,
    grade,
    deputy: parts.reduce((sum, part) => sum + part.deputy, 0),
    language: title.language,
  }
}

// "EVP, Digital": where nothing else is named, the technology is the field.
function namesOf({ words, technologies }: ReadPart): readonly string[] {
  return words.length > 0 ? words : technologies
}

// "Director, Internal Audit", "Analyst, Treasury": a post or a general job takes the field that comes next.
function needsField(part: ReadPart): boolean {
  if (part.leads) return namesOf(part).length === 0
  const [only = ''] = part.words
  return part.words.length === 1 && roles.jobs_with_field_apart.has(only)
}

/** The job in words: "software engineer", "sales management"; null where the title names none. */
export function coreOf(job: Job): string | null {
  const words = HEAD_FIRST.has(job.language) ? headLast(job.words) : job.words
  const core = [...job.field, ...words, ...headOf(job)].join(' ')
  return core === '' ? null : core
}

function headOf({ words, leads, standIn }: Job): string[] {
  if (leads) return ['management']
  return standIn === null || words.some(namesJobItself) ? [] : [standIn]
}

function namesJobItself(word: string): boolean {
  const words = word.split(' ')
  const strength = functionWords.find(words, words.length - 1)?.strength
  return strength === 'job' || strength === 'default' || roles.general.has(words.at(-1) ?? '')
}

const HEAD_FIRST = new Set(['fr', 'es', 'pt', 'it', 'ar', 'he', 'id', 'th', 'vi'])

function headLast(words: readonly string[]): readonly string[] {
  const [first = '', ...others] = words
  return roles.general.has(first.split(' ').at(-1) ?? '') ? [...others, first] : words
}

function readPart(words: readonly string[]) {
  const part = {
    words: [] as string[],
    technologies: [] as string[],
    standIn: null as string | null,
    leads: false,
    grade: 0,
    deputy: 0,
  }
  for (const { value: kind, at, end } of kinds.scan(words)) {
    const text = words.slice(at, end).join(' ')
    if (BEGINS_A_TEAM.has(text) && namesField(part)) break
    if (kind === null || kind === 'unit') part.words.push(text)
    else if (kind === 'leading') part.leads = true
    else if (kind === 'technology') part.technologies.push(text)
    else if (kind === 'level' && roles.stand_in_jobs.has(text)) part.standIn = text
    const step = kind === 'unit' ? 0 : (gradeSteps.get(text) ?? 0)
    part.grade += step
    if (roles.deputies.has(text)) part.deputy += step
  }
  nameSoftwareWork(part.words, part.technologies)
  return part
}

// "Specialist for Tax" still says nothing before the "for".
function namesField({ words }: Pick<Job, 'words'>): boolean {
  return words.some((word) => !roles.general.has(word))
}

/** "React Developer", "Web Engineer" and "Developer" are software engineers; "Mechanical Engineer" is not. */
function nameSoftwareWork(words: string[], technologies: readonly string[]): void {
  const [only = ''] = words
  const isSoftware = technologies.some((name) => roles.software.has(name))
  if (words.length === 1 && (only === 'developer' || (only === 'engineer' && isSoftware))) {
    words[0] = 'software engineer'
  }
}
