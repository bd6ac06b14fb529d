/**
 * Which job a title names, apart from level, team, place and technology: read from its English words. Two titles of one job
 * have the same words here, whatever their language, gender or word order.
 */

import { functionWords } from './functions.ts'
import type { EnglishTitle } from './languages.ts'
import { gradeSteps, kinds, lists } from './roles.ts'

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

interface ReadPart {
  readonly words: string[]
  readonly technologies: string[]
  standIn: string | null
  leads: boolean
  grade: number
  deputy: number
}

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
  return part.words.length === 1 && lists.jobs_with_field_apart.has(only)
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
  return strength === 'job' || strength === 'default' || lists.general.has(words.at(-1) ?? '')
}

const HEAD_FIRST = new Set(['fr', 'es', 'pt', 'it', 'ar', 'he', 'id', 'th', 'vi'])

function headLast(words: readonly string[]): readonly string[] {
  const [first = '', ...others] = words
  return lists.general.has(first.split(' ').at(-1) ?? '') ? [...others, first] : words
}

function readPart(words: readonly string[]): ReadPart {
  const part: ReadPart = {
    words: [],
    technologies: [],
    standIn: null,
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
    else if (kind === 'level' && lists.stand_in_jobs.has(text)) part.standIn = text
    const step = kind === 'unit' ? 0 : (gradeSteps.get(text) ?? 0)
    part.grade += step
    if (lists.deputies.has(text)) part.deputy += step
  }
  nameSoftwareWork(part.words, part.technologies)
  return part
}

// "Specialist for Tax" still says nothing before the "for".
function namesField({ words }: ReadPart): boolean {
  return words.some((word) => !lists.general.has(word))
}

/** "React Developer", "Web Engineer" and "Developer" are software engineers; "Mechanical Engineer" is not. */
function nameSoftwareWork(words: string[], technologies: readonly string[]): void {
  const [only = ''] = words
  const isSoftware = technologies.some((name) => lists.software.has(name))
  if (words.length === 1 && (only === 'developer' || (only === 'engineer' && isSoftware))) {
    words[0] = 'software engineer'
  }
}
