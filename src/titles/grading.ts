/**
 * What grades do to a role: "Senior", "Staff" and "II" say the level of a contributor; a post of its own, such as a director's,
 * keeps its level and moves inside it.
 */

import { ANYWHERE } from './level-phrases.ts'
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

/** What a title says about seniority, and by which rule. */
export interface ReadLevel extends Standing {
  readonly rule: string
}

/** One role of a title. */
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
export function gradedRole(
  head: Head,
  grades: readonly Grade[],
  words: readonly string[] = [],
): Role {
  const effective = grades.filter(({ name }) => name !== 'staff' || isOnStaffLadder(words))
  const graded = isPost(head.standing)
    ? gradedPost(head.standing, effective)
    : gradedContributor(head, effective)
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

function isOnStaffLadder(words: readonly string[]): boolean {
  return words.some((_, at) => staffLadder.find(words, at, ANYWHERE) !== null)
}

function gradedPost(post: Standing, grades: readonly Grade[]): Standing {
  if (post.level === 'manager' && grades.some(({ makesEntryOfPosts }) => makesEntryOfPosts)) {
    return standingOf('entry', 11)
  }
  const shifts = [...new Set(grades)].reduce((sum, grade) => sum + grade.shift(post.level), 0)
  return shiftInside(post, shifts)
}

const INSIDE_LEVEL_STEP = 3

function gradedContributor(head: Head, grades: readonly Grade[]): Standing {
  const { standing } = head
  if (grades.length === 0) return standing
  const moved = [...new Set(grades)].flatMap(({ contributor, name }) =>
    contributor === null ? [] : [{ ...contributor, name }],
  )
  const top = moved.reduce<(Standing & { readonly name: string }) | null>(
    (best, each) => (best === null || each.rank > best.rank ? each : best),
    null,
  )
  if (standing.level === 'intern') return standing
  // Deputy and acting team leads stay what they are; "lead" and "senior" only shift them.
  if (top === null)
    return shiftInside(
      standing,
      standing.management ? grades.reduce((sum, grade) => sum + grade.shift('lead'), 0) : 0,
    )
  if (standing.management) {
    if (top.rank < standing.rank && top.level !== 'lead') {
      return top.level === 'senior' ? shiftInside(standing, 2) : shiftInside(standing, -2)
    }
    return top.management ? top : shiftInside(standing, 2)
  }
  const { name: _name, ...moves } = top
  if (moves.level === 'lead' || standing.level === 'lead' || standing.level === 'senior') {
    return gradedExpert(
      standing,
      moves,
      moved.some(({ name }) => name === 'senior'),
    )
  }
  return moves
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
  const { lowest, highest: most } = rankRanges[standing.level]
  return { ...standing, rank: Math.max(lowest, Math.min(most, standing.rank + by)) }
}

/** "Sr. UX", "Nutrition II": a grade beside words that are not known says the level of a contributor. */
export function aloneGrades(
  grades: readonly Grade[],
  parts: readonly (readonly string[])[],
): ReadLevel | null {
  if (parts.flat().length < 2) return null
  const standing = gradedContributor(plainProfession, grades)
  // "October 1" is no title: the first step of a ladder is read only beside a known role.
  const isSaid = grades.some(
    ({ contributor, name }) => contributor !== null && name !== 'staff' && name !== 'numeralone',
  )
  return isSaid ? { ...standing, rule: 'grade_alone' } : null
}
