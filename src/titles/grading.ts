/**
 * What grades do to a role: "Senior", "Staff" and "II" say the level of a contributor; a post of its own, such as a director's,
 * keeps its level and moves inside it.
 */

import {
  plainProfession,
  rankRanges,
  staffLadder,
  standingOf,
  type Grade,
  type Head,
  type Standing,
} from './lexicon.ts'
import { isHighStep } from './numerals.ts'
import type { Parts } from './words.ts'

/** What a title says about seniority, and by which rule. */
export interface ReadLevel extends Standing {
  readonly rule: string
}

export interface Role {
  readonly head: Head
  readonly standing: Standing
  readonly rule: string
  /** The grades that stand at the role, for a later role of the same part. */
  readonly grades: readonly Grade[]
  /** Whether the part says nothing else. */
  readonly isWhole: boolean
}

/** Whether a standing is a post of its own: manager and up. */
export function isPost({ level }: Standing): boolean {
  return rankRanges[level].lowest >= rankRanges.manager.lowest
}

/** The contributor whom only a grade names: "Design Lead", "Office Assistant". */
export const unnamedContributor: Head = { ...plainProfession, rule: 'grade_alone' }

/**
 * A role with its grades applied.
 * @param words the words of the role: "staff" is a grade beside some professions only
 */
export function gradedRole(head: Head, grades: readonly Grade[], words: readonly string[]): Role {
  const isOnStaffLadder = words.some((_, at) => staffLadder.find(words, at) !== null)
  const effective = grades.filter(({ name }) => name !== 'staff' || isOnStaffLadder)
  const graded = isPost(head.standing)
    ? gradedPost(head.standing, effective)
    : gradedContributor(head.standing, effective)
  const isMoved = graded.level !== head.standing.level || graded.rank !== head.standing.rank
  const kind = isPost(head.standing) ? 'grade_of_post' : ruleOfContributor(head, effective)
  return {
    head,
    standing: graded,
    rule: isMoved ? kind : head.isField ? 'field' : head.rule,
    grades: effective,
    isWhole: false,
  }
}

function ruleOfContributor(head: Head, grades: readonly Grade[]): string {
  // Ladders disagree from the third step on: of "Analyst III" less is known than of "Senior Analyst".
  const said = grades.filter(({ contributor }) => contributor !== null)
  if (said.length > 0 && said.every(({ name }) => isHighStep(name))) return 'high_step'
  return head === unnamedContributor ? head.rule : 'grade_of_profession'
}

function gradedPost(post: Standing, grades: readonly Grade[]): Standing {
  if (post.level === 'manager' && grades.some(({ makesEntryOfPosts }) => makesEntryOfPosts)) {
    return standingOf('entry', 11)
  }
  const shifts = [...new Set(grades)].reduce((sum, grade) => sum + grade.shift(post.level), 0)
  return shiftInside(post, shifts)
}

const INSIDE_LEVEL_STEP = 3

function gradedContributor(standing: Standing, grades: readonly Grade[]): Standing {
  const moves = grades.flatMap(({ contributor }) => contributor ?? [])
  const [top] = moves.toSorted((a, b) => b.rank - a.rank)
  if (top === undefined || standing.level === 'intern') return standing
  // Team leads stay what they are: "senior" and "lead" lift them, other grades lower them.
  if (standing.management)
    return shiftInside(standing, top.rank < rankRanges.senior.lowest ? -2 : 2)
  if (top.level === 'lead' || standing.level === 'lead' || standing.level === 'senior') {
    const isSenior = grades.some(({ name }) => name === 'senior')
    return gradedExpert(standing, top, isSenior)
  }
  return top
}

/** Architects and other leading experts: "Senior Staff" stands above "Staff", a junior architect is a beginner. */
function gradedExpert(base: Standing, moves: Standing, isSenior: boolean): Standing {
  if (moves.level === 'lead') {
    const rank = base.level === 'lead' && base.rank > moves.rank - 1 ? base.rank + 2 : moves.rank
    return shiftInside({ ...moves, rank }, isSenior ? INSIDE_LEVEL_STEP - 1 : 0)
  }
  if (moves.level === 'senior') return shiftInside(base, INSIDE_LEVEL_STEP)
  return moves.level === 'entry' ? moves : base
}

function shiftInside(standing: Standing, by: number): Standing {
  const { lowest, highest } = rankRanges[standing.level]
  return { ...standing, rank: Math.max(lowest, Math.min(highest, standing.rank + by)) }
}

/** "Sr. UX", "Nutrition II": a grade beside words that are not known says the level of a contributor. */
export function aloneGrades(grades: readonly Grade[], parts: Parts): ReadLevel | null {
  // "October 1" is no title: the first step of a ladder is read only beside a known role.
  const isSaid = grades.some(
    ({ contributor, name }) => contributor !== null && name !== 'staff' && name !== 'numeralone',
  )
  if (!isSaid || parts.flat().length < 2) return null
  return { ...gradedContributor(plainProfession.standing, grades), rule: 'grade_alone' }
}
