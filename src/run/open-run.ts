/** Computes the remaining plan of an open run, which the next run resumes. Pure. */

import { pagesToBuy } from '../extract/projection.ts'
import { pagesBought, type BatchHistory } from '../journal/batch-history.ts'
import type { History } from '../journal/history.ts'
import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import { makePlan, type Plan, type Question } from '../plan/plan.ts'
import { sum } from '../support/numbers.ts'
import { beginning, questionWithout } from './resume.ts'

export interface OpenRun {
  readonly runId: string
  readonly batchesLeft: number
  readonly pagesOfThemBought: number
  /** True when it is read on another day, or for another question: what it had not begun is planned again. */
  readonly restPlannedAgain: boolean
  /** Charged for the run so far, or perhaps charged. */
  readonly creditsBought: number
  /** Expected of the pages that are still to come; null where nothing of the list was read to its end. */
  readonly creditsToCome: number | null
  /** Pages that are certainly to come: a batch that is begun and has more has one at least. */
  readonly pagesAtLeast: number
}

/**
 * Finds the open run that the next one goes on with, and plans only what is left of it.
 * @param plan of a run that begins from nothing
 * @returns null where the next run would begin so; else the plan of what is left, its pages those to come
 */
export function remainingPlan(
  question: Question,
  history: History,
  plan: Plan,
  times: { readonly nowMs: number; readonly serverNowMs: number },
): { readonly openRun: OpenRun; readonly plan: Plan } | null {
  const how = beginning(history, question, times.nowMs)
  if (how.kind === 'new') return null
  const { run } = how
  const all = [...run.batches.values()]
  const left = how.kind === 'carried-on' ? how.kept : all.filter(({ state }) => state === 'planned')
  const scale = scaleOf(all)
  const again =
    how.kind === 'carried-on'
      ? makePlan(questionWithout(question, left, history), history, times.serverNowMs)
      : null
  const batches = [
    ...left.map((one) => ({ ...one.batch, expected_pages: pagesLeft(one, scale ?? 1) })),
    ...(again?.batches ?? []),
  ]
  const asked = new Set(batches.flatMap((one) => one.organizations.map(({ value }) => value)))
  // Without one batch that was read to its end there are only the pages that there are for sure.
  const isKnown = plan.expectedCredits !== null || scale !== null || batches.length === 0
  const pages = sum(batches.map(({ expected_pages: expected = 0 }) => expected))
  const creditsToCome = isKnown ? Math.round(pages) * CREDITS_PER_PAGE : null
  return {
    plan: { ...plan, batches, organizations: asked.size, expectedCredits: creditsToCome },
    openRun: {
      runId: run.started.run_id,
      batchesLeft: left.length,
      pagesOfThemBought: sum(left.map(pagesBought)),
      restPlannedAgain: how.kind === 'carried-on',
      creditsBought: run.creditsCommitted,
      creditsToCome,
      pagesAtLeast: left.filter((one) => one.pages > 0 && one.hasMore).length,
    },
  }
}

/** How many times their expectation the batches had that were read to their end. */
function scaleOf(batches: readonly BatchHistory[]): number | null {
  const read = batches.filter(({ state }) => state === 'finished')
  const expected = sum(read.map(({ batch }) => Math.max(1, batch.expected_pages ?? 1)))
  return expected === 0 ? null : sum(read.map(({ pages }) => pages)) / expected
}

// A batch that is begun has at least a page more; one longer than expected is taken to be half read.
function pagesLeft(one: BatchHistory, scale: number): number {
  const { batch, pages } = one
  const expected = (batch.expected_pages ?? 1) * scale
  if (pages === 0) return expected
  return pagesToBuy({ ...one, batch: { ...batch, expected_pages: expected } })
}
