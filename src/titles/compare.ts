/**
 * Two titles of one person at one organisation, one after the other → what kind of change it was. Levels decide what is up or
 * down; where they are about the same, the words decide whether it is another job or the same one written otherwise.
 */

import { readJob, type Job } from './core.ts'
import { toEnglish } from './to-english.ts'
import { lists } from './roles.ts'
import { isEqual, isSameJob, isTypingError } from './same-job.ts'
import { readTitle, type ReadTitle } from './understand.ts'
import { isOtherGender, splitTitle } from './words.ts'

/** Clearly up, clearly down, another role at about the same level, the same job in other words, or not known. */
export type TitleChange = 'promotion' | 'demotion' | 'lateral' | 'retitle' | 'unclassified'

/** What a change of title was, by which rule, and how likely that is right (0 to 1). */
export interface ComparedTitles {
  readonly label: TitleChange
  readonly rule: string
  readonly confidence: number
}

// Two ranks this far apart are a step that everybody reads as one.
const CLEAR_STEP = 2
// From here on a rise or fall is certain.
const FAR_STEP = 12
// This far apart two languages do not say the same.
const STEP_OF_TRANSLATION = 15

/**
 * What kind of change it was from `previous` to `current`; abstains with `unclassified` where one is not understood.
 * @param ladder name of the organisation's ladder, `standard` where it has none
 */
export function compareTitles(
  previous: string,
  current: string,
  ladder = 'standard',
): ComparedTitles {
  const before = readTitle(previous, ladder)
  const after = readTitle(current, ladder)
  const same = sameWords(before, after)
  if (same !== null) return same
  if (isDeputyOf(before.inOrder, after.inOrder)) return deputyStep('promotion')
  if (isDeputyOf(after.inOrder, before.inOrder)) return deputyStep('demotion')
  const from = before.understood.rank
  const to = after.understood.rank
  return from === null || to === null
    ? withoutRank(before, after)
    : withRanks(before, after, to - from)
}

/** The same words, whatever their order, case, spelling, gender or language. */
function sameWords(before: ReadTitle, after: ReadTitle): ComparedTitles | null {
  if (isEqual(before.words, after.words)) {
    // Nothing but signs, twice, says nothing.
    if (before.words.length === 0) return { label: 'unclassified', rule: 'no_words', confidence: 0 }
    return { label: 'retitle', rule: 'same_words', confidence: 0.99 }
  }
  if (isTypingError(before.words, after.words)) {
    return { label: 'retitle', rule: 'typing_error', confidence: 0.95 }
  }
  if (isEqual(before.inOrder, after.inOrder, isOtherGender)) {
    return { label: 'retitle', rule: 'gender', confidence: 0.97 }
  }
  if (isTranslation(before, after)) {
    return { label: 'retitle', rule: 'translation', confidence: 0.95 }
  }
  return null
}

/**
 * The same in two languages. "Leiter Einkauf" and "Purchasing Manager" may be one job although their levels are not; between
 * two languages of which neither is English, words are too near to each other for that ("auxiliar", "assistente").
 */
function isTranslation(before: ReadTitle, after: ReadTitle): boolean {
  const from = before.job.language
  const to = after.job.language
  if (from === to) return false
  const step = Math.abs((after.understood.rank ?? 0) - (before.understood.rank ?? 0))
  const isKnown = before.understood.rank !== null && after.understood.rank !== null
  const isNear = step < (from === 'en' || to === 'en' ? STEP_OF_TRANSLATION : CLEAR_STEP)
  return (!isKnown || isNear) && isEqual(before.english, after.english)
}

const STANDS_FOR_ANOTHER = new Set([...lists.deputies, 'vice'])

/** Whether `before` is `after` with words such as "Assistant" or "Vice" in front. */
function isDeputyOf(before: readonly string[], after: readonly string[]): boolean {
  const from = before.findIndex((word) => !STANDS_FOR_ANOTHER.has(word) && word !== 'and')
  return from > 0 && isEqual(before.slice(from), after)
}

function deputyStep(label: TitleChange): ComparedTitles {
  return { label, rule: 'deputy_of_same_title', confidence: 0.93 }
}

// The leader of a job stands above all who do it.
const GRADE_OF_LEADING = 10

function withoutRank(before: ReadTitle, after: ReadTitle): ComparedTitles {
  const isNamed = before.job.words.length > 0 && after.job.words.length > 0
  const isOneTime = before.isOfAnotherTime === after.isOfAnotherTime
  if (!isNamed || !isOneTime || !isEqual(before.job.words, after.job.words)) {
    return { label: 'unclassified', rule: 'level_unknown', confidence: 0 }
  }
  // The level of a job that nobody knows is unknown, but a grade of it is above it all the same.
  const rise = gradeOf(after.job) - gradeOf(before.job)
  if (rise > 0) return { label: 'promotion', rule: 'grade_of_same_job', confidence: 0.85 }
  if (rise < 0) return { label: 'demotion', rule: 'grade_of_same_job', confidence: 0.85 }
  return { label: 'retitle', rule: 'same_job', confidence: 0.85 }
}

function gradeOf(job: Job): number {
  return job.grade + (job.leads ? GRADE_OF_LEADING : 0)
}

function withRanks(before: ReadTitle, after: ReadTitle, rise: number): ComparedTitles {
  const track = changeOfTrack(before, after)
  if (track !== null) return track
  const isSame = isSameJob(before, after)
  const step = Math.abs(rise)
  const crossed = before.understood.level !== after.understood.level
  if (step < CLEAR_STEP) {
    return (
      stepOfTrade(before, after) ??
      stepOfDeputy(before, after, isSame) ??
      atOneLevel(before, after, isSame)
    )
  }
  return {
    label: rise > 0 ? 'promotion' : 'demotion',
    rule: crossed ? 'level' : 'step_inside_level',
    confidence: confidenceOfStep(step, crossed, isSame),
  }
}

function atOneLevel(before: ReadTitle, after: ReadTitle, isSame: boolean): ComparedTitles {
  if (isSame) {
    const confidence = isEqual(before.job.words, after.job.words) ? 0.93 : 0.85
    return { label: 'retitle', rule: 'same_job', confidence }
  }
  const isKnown = before.function !== null && after.function !== null
  return { label: 'lateral', rule: 'other_job', confidence: isKnown ? 0.9 : 0.6 }
}

/** For each trade, where on its steps a job stands. */
const trades: readonly ReadonlyMap<string, number>[] = lists.steps_of_trades.map(
  (titles) =>
    new Map(titles.map((title, step) => [nameOf(readJob(toEnglish(splitTitle(title)))), step])),
)

function nameOf({ words }: Job): string {
  return words.join(' ')
}

/** Steps that levels do not tell apart: a registered nurse who becomes a nurse practitioner. */
function stepOfTrade(before: ReadTitle, after: ReadTitle): ComparedTitles | null {
  for (const steps of trades) {
    const from = steps.get(nameOf(before.job))
    const to = steps.get(nameOf(after.job))
    if (from === undefined || to === undefined) continue
    if (from === to) return null
    return { label: to > from ? 'promotion' : 'demotion', rule: 'step_of_trade', confidence: 0.85 }
  }
  return null
}

/** "Deputy Manager" → "Manager", "Interim Head of X" → "Head of X": a step where both have one rank. */
function stepOfDeputy(before: ReadTitle, after: ReadTitle, isSame: boolean): ComparedTitles | null {
  const lift = after.job.deputy - before.job.deputy
  const isOnePost = before.job.leads || isEqual(before.job.words, after.job.words)
  if (!isSame || !isOnePost || lift === 0) return null
  return { label: lift > 0 ? 'promotion' : 'demotion', rule: 'deputy_of_same_job', confidence: 0.8 }
}

// What labelled pairs showed (test/titles/labelled), a little below where there were few.
function confidenceOfStep(step: number, crossed: boolean, isSame: boolean): number {
  if (isSame) return crossed ? 0.97 : 0.95
  if (step >= FAR_STEP) return 0.96
  return crossed ? 0.85 : 0.7
}

const EXPERT_LADDER = new Set(['principal', 'staff', 'distinguished', 'fellow'])

/**
 * Between leading people and the highest grades of an expert's ladder nobody rises or falls: engineering manager ↔ staff or
 * principal engineer. A lead or an architect who becomes a manager rises; the way back is no fall.
 */
function changeOfTrack(before: ReadTitle, after: ReadTitle): ComparedTitles | null {
  if (before.understood.level === 'manager' && isExpert(after)) {
    return { label: 'lateral', rule: 'manager_to_expert', confidence: 0.85 }
  }
  const isHighExpert = isExpert(before) && before.words.some((word) => EXPERT_LADDER.has(word))
  if (isHighExpert && after.understood.level === 'manager') {
    return { label: 'lateral', rule: 'expert_to_manager', confidence: 0.6 }
  }
  return null
}

function isExpert({ understood }: ReadTitle): boolean {
  return understood.level === 'lead' && understood.isManagement === false
}
