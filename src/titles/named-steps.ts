/** Steps that two titles show word by word, whatever their levels: "Assistant Principal" → "Principal". */

import { deputyWords, stepsOfSomeFirms } from './roles.ts'
import { isEqual } from './same-job.ts'

const PREFIXES = ['ober', 'haupt'] as const
const SHORTEST_STEM = 3

/**
 * How many steps of German public service `after` stands above `before`, where all other words are the same: Kommissar <
 * Oberkommissar < Hauptkommissar. 0 where that is not the difference.
 */
export function riseByPrefix(before: readonly string[], after: readonly string[]): number {
  if (before.length !== after.length) return 0
  const at = before.findIndex((word, index) => word !== after[index])
  if (at < 0 || !isEqual(before.slice(at + 1), after.slice(at + 1))) return 0
  const low = stepOf(before[at] ?? '')
  const high = stepOf(after[at] ?? '')
  return low.stem === high.stem && low.stem.length >= SHORTEST_STEM ? high.step - low.step : 0
}

function stepOf(word: string): { readonly step: number; readonly stem: string } {
  const index = PREFIXES.findIndex((prefix) => word.includes(prefix))
  const prefix = PREFIXES[index]
  return { step: index + 1, stem: prefix === undefined ? word : word.replace(prefix, '') }
}

const STANDS_FOR_ANOTHER = new Set([...deputyWords, 'vice'])

/** Whether `before` is `after` with words such as "Assistant" or "Vice" in front. */
export function isDeputyOf(before: readonly string[], after: readonly string[]): boolean {
  const from = before.findIndex((word) => !STANDS_FOR_ANOTHER.has(word) && word !== 'and')
  return from > 0 && isEqual(before.slice(from), after)
}

const AT_THE_PRESIDENT = /^\s*(?:(special|deputy)\s+)?assistant\s+to\s+the\s+president\b/i
const STEPS_AT_THE_PRESIDENT = ['special', 'deputy', ''] as const

/**
 * How many steps among a president's assistants `current` stands above `previous`, whatever else they are: Special Assistant <
 * Deputy Assistant < Assistant to the President. 0 where one is none of them.
 */
export function riseAtThePresident(previous: string, current: string): number {
  const from = stepAtThePresident(previous)
  const to = stepAtThePresident(current)
  return from < 0 || to < 0 ? 0 : to - from
}

function stepAtThePresident(title: string): number {
  const found = AT_THE_PRESIDENT.exec(title)
  if (found === null) return -1
  const rank = found[1]?.toLowerCase() ?? ''
  return STEPS_AT_THE_PRESIDENT.findIndex((step) => step === rank)
}

const FOR_A_TIME = new Set(['interim', 'acting', 'temporary'])

/** Whether `after` is `before` with a team that somebody leads for a time: "Manager" → "Manager, Verify (Interim)". */
export function addsInterimTeam(before: readonly string[], after: readonly string[]): boolean {
  const added = after.slice(before.length)
  return (
    before.length > 0 &&
    isEqual(before, after.slice(0, before.length)) &&
    added.length > 1 &&
    FOR_A_TIME.has(added.at(-1) ?? '')
  )
}

const steps = new Set(stepsOfSomeFirms.map((jobs) => jobs.join('\0')))

/** Whether two titles say no more than a job that is the next step in some firms and a lower one in others. */
export function isStepOfSomeFirms(before: readonly string[], after: readonly string[]): boolean {
  return steps.has([before.join(' '), after.join(' ')].join('\0'))
}
