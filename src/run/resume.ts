/**
 * Decides which earlier run to resume, which of its batches to continue, and at what cost: from what the journal says was
 * bought (`src/journal/history.ts`). Pure.
 */

import { pagesToBuy } from '../extract/projection.ts'
import { serviceTime } from '../journal/clock-history.ts'
import { filtersText, inQuestion } from '../journal/coverage.ts'
import { canonicalName, type History } from '../journal/history.ts'
import { hasLostRecords, type RunHistory } from '../journal/run-history.ts'
import { isResumable, type OrganizationRef, type BatchRecord } from '../journal/records.ts'
import { CREDITS_PER_PAGE, dayOf } from '../journal/spending.ts'
import { isBegun, isStale, pagesBought, type BatchHistory } from '../journal/batch-history.ts'
import { makePlan, questionSha256, type Plan, type Question } from '../plan/plan.ts'
import { neededWindow, type Window } from '../plan/window.ts'
import { sum } from '../support/numbers.ts'

export type Beginning =
  /** `dropped`: batches of an earlier run that are not read on. */
  | { readonly kind: 'new'; readonly dropped: readonly BatchHistory[] }
  /** The same question on the same UTC day: the run continues with its planned batches. */
  | { readonly kind: 'as-planned'; readonly run: RunHistory }
  /** Begun batches are resumed, and the rest is planned again. */
  | {
      readonly kind: 'carried-on'
      readonly run: RunHistory
      readonly kept: readonly BatchHistory[]
      readonly dropped: readonly BatchHistory[]
    }

/**
 * Resumes the latest run of the pipeline if it was killed or ended early. An older run is not resumed, because it would
 * buy again what was covered since. Windows count back from the time of the request, so the plan of another day, or of
 * another question, no longer fits. But a begun batch has paid pages: it is continued while its window still reaches as
 * far back as its organisations need and, for another question, no further.
 * @param nowMs this machine's time, milliseconds since 1970 UTC
 */
export function beginning(history: History, question: Question, nowMs: number): Beginning {
  const latest = openRunOf(history, question.pipeline)
  if (latest === null) return { kind: 'new', dropped: [] }
  const isSameQuestion = latest.questionSha256 === questionSha256(question)
  if (isSameQuestion && dayOf(latest.started.at) === dayOf(nowMs)) {
    return { kind: 'as-planned', run: latest }
  }
  const unread = [...latest.batches.values()].filter(({ state }) => state === 'planned')
  const wanted = namesOf(history, question.organizations)
  const fits = isSameQuestion ? reaches : reachesNoFurther
  const serverNowMs = serviceTime(history, nowMs)
  const isAfterLoss = hasLostRecords(history.runs)
  const { coverage } = inQuestion(history, question.filters)
  const isWorthReadingOn = (begun: BatchHistory): boolean => {
    const { organizations, event_types: types, filters } = begun.batch
    if (!isBegun(begun) || isStale(begun, serverNowMs)) return false
    // With two event types in separate batches, both would have to be kept or dropped together.
    if (types.join() !== question.eventTypes.join()) return false
    if (filtersText(filters) !== filtersText(question.filters)) return false
    const names = [...namesOf(history, organizations)]
    const needed = names.map((name) =>
      neededWindow({ ...question, isAfterLoss }, coverage.get(name) ?? [], serverNowMs),
    )
    return names.every((name) => wanted.has(name)) && fits(begun.batch, needed)
  }
  const kept = unread.filter(isWorthReadingOn)
  if (kept.length === 0) return { kind: 'new', dropped: unread }
  const dropped = unread.filter((batch) => !kept.includes(batch))
  return { kind: 'carried-on', run: latest, kept, dropped }
}

/** The latest run of a pipeline, where it did not end or can be resumed. */
export function openRunOf({ runs }: Pick<History, 'runs'>, pipeline: string): RunHistory | null {
  // In the order of the journal, which does not depend on a clock that was set back.
  const latest = [...runs.values()].findLast(({ started }) => started.pipeline === pipeline)
  // It is unknown what a run with lost records had to read.
  if (latest === undefined || latest.isIncomplete) return null
  return latest.finished === null || isResumable(latest.finished.outcome) ? latest : null
}

/** Runs of the same pipeline that will not be resumed and were never closed: they were killed. */
export function runsToAbandon(history: History, pipeline: string, resumed: RunHistory | null) {
  return [...history.runs.values()].filter(
    (run) => run.started.pipeline === pipeline && run.finished === null && run !== resumed,
  )
}

/** The question without the organisations that batches ask for already. */
export function questionWithout(
  question: Question,
  batches: readonly BatchHistory[],
  history: History,
): Question {
  const inBatches = batches.flatMap(({ batch }) => batch.organizations)
  const asked = namesOf(history, inBatches)
  const organizations = question.organizations.filter(
    (organization) => !asked.has(canonicalName(history.ids, organization)),
  )
  return { ...question, organizations }
}

function reaches({ days_ago: daysAgo }: BatchRecord, needed: readonly Window[]): boolean {
  return daysAgo === null || needed.every((days) => days !== 'all' && days <= daysAgo)
}

// Batches of another question, such as an interrupted backfill or an expensive sample, may go back years where a night
// needs a day. Continuing them would buy everything.
function reachesNoFurther(batch: BatchRecord, needed: readonly Window[]): boolean {
  return reaches(batch, needed) && needed.includes(batch.days_ago ?? 'all')
}

function namesOf(history: History, organizations: readonly OrganizationRef[]): Set<string> {
  return new Set(organizations.map((organization) => canonicalName(history.ids, organization)))
}

export type OpenRun = NonNullable<ReturnType<typeof remainingPlan>>['openRun']

/**
 * Finds the open run that the next one continues, and plans only what is left of it.
 * @param plan of a run that begins from nothing
 * @returns null where the next run would begin so; else the plan of what is left, its pages those to come
 */
export function remainingPlan(
  question: Question,
  history: History,
  plan: Plan,
  times: { readonly nowMs: number; readonly serverNowMs: number },
) {
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
  // Without a batch that was read to its end, only the least number of pages is known.
  const isKnown = plan.expectedCredits !== null || scale !== null || batches.length === 0
  const pages = sum(batches.map(({ expected_pages: expected = 0 }) => expected))
  const creditsToCome = isKnown ? Math.round(pages) * CREDITS_PER_PAGE : null
  return {
    plan: { ...plan, batches, organizations: asked.size, expectedCredits: creditsToCome },
    openRun: {
      runId: run.started.run_id,
      batchesLeft: left.length,
      pagesOfThemBought: sum(left.map(pagesBought)),
      /** True on another day, or for another question: batches that had not begun are planned again. */
      restPlannedAgain: how.kind === 'carried-on',
      /** Charged for the run so far, or perhaps charged. */
      creditsBought: run.creditsCommitted,
      /** The expected cost of the remaining pages; null if nothing in the list was read to its end. */
      creditsToCome,
      /** The least number of remaining pages: a begun batch with more has at least one. */
      pagesAtLeast: left.filter((one) => one.pages > 0 && one.hasMore).length,
    },
  }
}

/** The ratio of actual to expected pages of the batches that were read to their end. */
function scaleOf(batches: readonly BatchHistory[]): number | null {
  const read = batches.filter(({ state }) => state === 'finished')
  const expected = sum(read.map(({ batch }) => Math.max(1, batch.expected_pages ?? 1)))
  return expected === 0 ? null : sum(read.map(({ pages }) => pages)) / expected
}

// A begun batch has at least one more page; one longer than expected counts as half read.
function pagesLeft(one: BatchHistory, scale: number): number {
  const { batch, pages } = one
  const expected = (batch.expected_pages ?? 1) * scale
  if (pages === 0) return expected
  return pagesToBuy({ ...one, batch: { ...batch, expected_pages: expected } })
}
