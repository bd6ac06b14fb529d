/** Which earlier run is taken up again. Pure. */

import type { History, RunHistory } from '../journal/history.ts'
import { RESUMABLE_OUTCOMES } from '../journal/records.ts'
import type { Plan } from '../plan/plan.ts'
import { DAY } from '../support/units.ts'

/**
 * The latest run of the pipeline, when it asked the same question and was killed, or ended before it was done. An older
 * one is not: what was covered since would be bought again. Its windows count back from the time they were asked,
 * so a run with windows is only taken up on the same UTC day; a run that asks for everything, on any day while it has
 * something left to ask.
 */
export function runToResume(
  history: History,
  pipeline: string,
  plan: Plan,
  nowMs: number,
): RunHistory | null {
  // In the order of the journal, which does not depend on a clock that was set back.
  const latest = [...history.runs.values()]
    .filter(({ started }) => started.pipeline === pipeline)
    .at(-1)
  if (latest?.started.question_sha256 !== plan.questionSha256 || !isOpen(latest)) return null
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
  return finished === null || RESUMABLE_OUTCOMES.has(finished.outcome)
}

function utcDay(ms: number): number {
  return Math.floor(ms / DAY)
}
