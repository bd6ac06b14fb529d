/** Which earlier run is resumed, and what of it is still worth reading on. Pure. */

import { serviceTime } from '../journal/clock-history.ts'
import { filtersText, inQuestion } from '../journal/filters.ts'
import { canonicalName, type History } from '../journal/history.ts'
import { hasLostRecords, type RunHistory } from '../journal/run-history.ts'
import { isResumable, type OrganizationRef, type BatchRecord } from '../journal/records.ts'
import { dayOf } from '../journal/spending.ts'
import { isBegun, isStale, type BatchHistory } from '../journal/batch-history.ts'
import { questionSha256, type Question } from '../plan/plan.ts'
import { neededWindow, type Window } from '../plan/window.ts'

export type Beginning =
  /** `dropped`: batches of an earlier run that are not read on. */
  | { readonly kind: 'new'; readonly dropped: readonly BatchHistory[] }
  /** The same question on the same UTC day: the run goes on with the batches it was planned with. */
  | { readonly kind: 'as-planned'; readonly run: RunHistory }
  /** Begun batches are resumed, and the rest is planned again. */
  | {
      readonly kind: 'carried-on'
      readonly run: RunHistory
      readonly kept: readonly BatchHistory[]
      readonly dropped: readonly BatchHistory[]
    }

/**
 * Takes up the latest run of the pipeline, when it was killed or ended before it was done. An older one is not: what was
 * covered since would be bought again. Windows count back from the time they are asked, so that the plan of another day,
 * or of another question, does not fit any more; but a batch that was begun has pages that were paid for, and is read on
 * while its window still reaches as far back as its organisations need, and, where another question is asked, no further.
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
    // With two event types, each in a batch of its own, the two would have to be kept or dropped together.
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
  const latest = [...runs.values()].filter(({ started }) => started.pipeline === pipeline).at(-1)
  return latest !== undefined && isOpen(latest) ? latest : null
}

/** Runs of the same pipeline that will not be resumed and were never closed: they were killed or yielded. */
export function runsToAbandon(
  history: History,
  pipeline: string,
  resumed: RunHistory | null,
): RunHistory[] {
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

// What another question had begun may go back years where a night needs a day (an interrupted backfill, a sample that
// was too expensive): reading that on would buy all of it.
function reachesNoFurther(batch: BatchRecord, needed: readonly Window[]): boolean {
  return reaches(batch, needed) && needed.includes(batch.days_ago ?? 'all')
}

function namesOf(history: History, organizations: readonly OrganizationRef[]): Set<string> {
  return new Set(organizations.map((organization) => canonicalName(history.ids, organization)))
}

// Of a run that lost records it is not known what it was to read.
function isOpen({ finished, isIncomplete }: RunHistory): boolean {
  if (isIncomplete) return false
  return finished === null || isResumable(finished.outcome)
}
