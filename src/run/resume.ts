/** Which earlier run is taken up again. Pure. */

import type { History, RunHistory } from '../journal/history.ts'
import type { Plan } from '../plan/plan.ts'
import { DAY } from '../support/units.ts'

const RESUMABLE: ReadonlySet<string> = new Set(['budget', 'unavailable', 'interrupted', 'failed'])

/**
 * The latest run that asked the same question and has not ended. Its windows count back from the time they were asked,
 * so a run with windows is only taken up on the same UTC day; a run that asks for everything, on any day while it has
 * something left to ask.
 */
export function runToResume(history: History, plan: Plan, nowMs: number): RunHistory | null {
  // In the order of the journal, which does not depend on a clock that was set back.
  const latest = [...history.runs.values()]
    .filter(({ started }) => started.question_sha256 === plan.questionSha256)
    .at(-1)
  if (latest === undefined || !isOpen(latest)) return null
  if (utcDay(latest.started.at) === utcDay(nowMs)) return latest
  const slices = [...latest.slices.values()]
  const hasWindows = slices.some(({ slice }) => slice.days_ago !== null)
  const hasMore = slices.some(({ state }) => state === 'planned')
  return hasMore && !hasWindows ? latest : null
}

/** Runs of the same pipeline that will not be taken up again and were never closed: their process was killed. */
export function runsToAbandon(
  history: History,
  pipeline: string,
  resumed: RunHistory | null,
): RunHistory[] {
  return [...history.runs.values()].filter(
    (run) => run.started.pipeline === pipeline && run.finished === null && run !== resumed,
  )
}

function isOpen({ finished }: RunHistory): boolean {
  return finished === null || RESUMABLE.has(finished.outcome)
}

function utcDay(ms: number): number {
  return Math.floor(ms / DAY)
}
