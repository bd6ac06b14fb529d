/**
 * A job title → how senior it is. Reads words, never guesses: a title without a known word is `unknown`. Which words mean
 * what is data (config/titles.json); this file only says how posts ("director"), professions ("engineer") and grades
 * ("senior") combine.
 */

import { lexicon, type Grade, type Level, type Standing } from './lexicon.ts'
import { phraseMatcher } from './phrases.ts'
import { splitTitle } from './words.ts'

/** What a title says. */
export interface UnderstoodTitle {
  readonly level: Level
  /** 0–99, higher is more senior; null when unknown. */
  readonly rank: number | null
  /** Whether the title manages people; null when unknown. */
  readonly isManagement: boolean | null
}

const UNKNOWN: UnderstoodTitle = { level: 'unknown', rank: null, isManagement: null }

// Ranks from here on are posts of their own, which grades shift by a step; below, a grade decides the level.
const LOWEST_POST_RANK = 36

const SHIFT: Partial<Record<Grade, number>> = {
  senior: 4,
  assistant: -6,
  associate: -3,
  deputy: -3,
}

const GRADED_CONTRIBUTOR: Record<Exclude<Grade, 'deputy' | 'staff'>, Standing> = {
  assistant: { level: 'entry', rank: 10, management: false },
  first: { level: 'entry', rank: 10, management: false },
  associate: { level: 'entry', rank: 14, management: false },
  middle: { level: 'mid', rank: 23, management: false },
  third: { level: 'mid', rank: 26, management: false },
  senior: { level: 'senior', rank: 30, management: false },
  lead: { level: 'lead', rank: 40, management: false },
  principal: { level: 'lead', rank: 44, management: false },
}

const findPost = phraseMatcher(
  lexicon.posts.flatMap((post) => post.phrases.map((phrase): [string, Standing] => [phrase, post])),
)
const findFixed = phraseMatcher(
  lexicon.fixed.flatMap((post) => post.phrases.map((phrase): [string, Standing] => [phrase, post])),
)
const findProfession = phraseMatcher(
  lexicon.professions.map((phrase): [string, Standing] => [phrase, lexicon.contributor]),
)
const findGrade = phraseMatcher(
  Object.entries(lexicon.grades).flatMap(([grade, phrases]) =>
    phrases.map((phrase): [string, Grade] => [phrase, grade as Grade]),
  ),
)
const findStaffLadder = phraseMatcher(
  lexicon.staffLadder.map((phrase): [string, true] => [phrase, true]),
)

/** Understands one title as written, in English, German, French, Spanish or Portuguese. */
export function understandTitle(title: string): UnderstoodTitle {
  const parts = splitTitle(title)
  const fixed = parts.flatMap((words) => readAll(words, findFixed))[0]
  const roles = parts.map(readRole).filter((role) => role !== null)
  const highest = roles.toSorted((a, b) => b.rank - a.rank)[0]
  // "Junior" and "intern" decide over a profession, but "Manager, Intern Programme" stays a manager.
  if (fixed !== undefined && (highest === undefined || highest.rank < LOWEST_POST_RANK)) {
    return asUnderstood(fixed)
  }
  return highest === undefined ? UNKNOWN : asUnderstood(highest)
}

function asUnderstood({ level, rank, management }: Standing): UnderstoodTitle {
  return { level, rank, isManagement: management }
}

/** One part of a title between commas or dashes: its highest post or profession, moved by its grades. */
function readRole(words: readonly string[]): Standing | null {
  const grades = new Set<Grade>()
  const bases: Standing[] = []
  for (let at = 0; at < words.length;) {
    const post = findPost(words, at)
    const profession = findProfession(words, at)
    const grade = findGrade(words, at)
    // "Assistant" before another post or profession is a grade of it; as the last word it is a post.
    const isPrefix = grade !== null && isGradeOfLaterWords(words, at + grade.length)
    if (post !== null && !(isPrefix && post.length <= grade.length)) {
      bases.push(post.value)
      at += post.length
    } else if (profession !== null) {
      bases.push(profession.value)
      at += profession.length
    } else {
      if (grade !== null) grades.add(grade.value)
      at += grade?.length ?? 1
    }
  }
  if (grades.has('staff') && readAll(words, findStaffLadder).length === 0) grades.delete('staff')
  const base = bases.toSorted((a, b) => b.rank - a.rank)[0]
  return base === undefined ? gradeAlone(grades) : gradedRole(base, grades)
}

function isGradeOfLaterWords(words: readonly string[], from: number): boolean {
  return words.some(
    (_, at) => at >= from && (findPost(words, at) !== null || findProfession(words, at) !== null),
  )
}

function gradedRole(base: Standing, grades: ReadonlySet<Grade>): Standing {
  if (base.rank >= LOWEST_POST_RANK) {
    const shift = [...grades].reduce((sum, grade) => sum + (SHIFT[grade] ?? 0), 0)
    const ladder = base.management || !grades.has('principal') ? 0 : 4
    return { ...base, rank: Math.min(99, base.rank + shift + ladder) }
  }
  const standings = [...grades].map(contributorStanding).filter((standing) => standing !== null)
  const highest = standings.toSorted((a, b) => b.rank - a.rank)[0]
  return highest ?? base
}

function contributorStanding(grade: Grade): Standing | null {
  if (grade === 'deputy') return null
  return GRADED_CONTRIBUTOR[grade === 'staff' ? 'lead' : grade]
}

/** "Audit Senior" says its level without a profession; "Lead", "Staff" or "II" alone say too little. */
function gradeAlone(grades: ReadonlySet<Grade>): Standing | null {
  return grades.has('senior') ? GRADED_CONTRIBUTOR.senior : null
}

function readAll<T>(
  words: readonly string[],
  find: (words: readonly string[], at: number) => { value: T } | null,
): T[] {
  return words.flatMap((_, at) => find(words, at)?.value ?? [])
}
