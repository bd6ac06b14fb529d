/** A job title → what it says: how senior, whether it manages people, which field, which role. Puts the readers together. */

import { readByLadder } from './ladders.ts'
import { readLevel } from './levels.ts'
import { withoutServed } from './served.ts'
import type { JobFunction, Level } from './taxonomy.ts'
import { readWork, type Work } from './work.ts'
import { splitTitle } from './words.ts'

/** What a title says. */
export interface UnderstoodTitle {
  readonly level: Level
  /** 0–99, orders levels and the steps inside one; null when unknown. */
  readonly rank: number | null
  /** Whether the title manages people; null when unknown. */
  readonly isManagement: boolean | null
  /** The field of work; `other` when the title names none, `unknown` when nothing is understood. */
  readonly function: JobFunction | 'unknown'
  /** The role without level, team and place, in canonical English words where known: "software engineer". */
  readonly core: string | null
  /** Board member, adviser, investor, volunteer …: a role beside a main job. */
  readonly isSideRole: boolean
  /** Which rule decided the level. */
  readonly rule: string
  /** How likely the level is right, 0 to 1, two decimals; 0 when unknown. */
  readonly confidence: number
}

/**
 * Understands one title as written.
 * @param ladder name of a ladder of config/ladders.yaml, `standard` for none
 */
export function understandTitle(title: string, ladder = 'standard'): UnderstoodTitle {
  const parts = withoutServed(splitTitle(title))
  return understandWords(parts, readWork(parts), ladder)
}

/** As {@link understandTitle}, from the words of a title and what they say of the work. */
export function understandWords(
  parts: readonly (readonly string[])[],
  work: Work,
  ladder: string,
): UnderstoodTitle {
  const read = readByLadder(ladder, parts) ?? readLevel(parts)
  return {
    level: read?.level ?? 'unknown',
    rank: read?.rank ?? null,
    isManagement: read?.management ?? null,
    function: work.function ?? (read === null ? 'unknown' : 'other'),
    core: work.core,
    isSideRole: work.isSideRole,
    rule: read?.rule ?? 'unknown',
    confidence: read === null ? 0 : confidenceOf(read.rule),
  }
}

// How often each rule was right on labelled titles that it had not been tried on before, a little less where those were few.
const CONFIDENCE: Readonly<Record<string, number>> = {
  post: 0.96,
  learner: 0.94,
  grade_of_profession: 0.97,
  grade_of_post: 0.97,
  high_step: 0.6,
  profession: 0.95,
  profession_ending: 0.8,
  grade_alone: 0.88,
  field: 0.65,
}
const CONFIDENCE_OF_TRADES = 0.94
const CONFIDENCE_OF_LADDERS = 1

function confidenceOf(rule: string): number {
  if (rule.startsWith('ladder:')) return CONFIDENCE_OF_LADDERS
  return CONFIDENCE[rule] ?? CONFIDENCE_OF_TRADES
}
