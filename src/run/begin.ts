/**
 * Begins a run in the journal: a new one, or an earlier one that is resumed, by what the journal says was bought. Also makes
 * the record that closes it.
 */

import { pagesToBuy } from '../extract/projection.ts'
import { isBegun, isStale, pagesBought, type BatchHistory } from '../journal/batch-history.ts'
import { serviceTime } from '../journal/clock-history.ts'
import { filtersText, inQuestion } from '../journal/coverage.ts'
import { canonicalName, type History } from '../journal/history.ts'
import type { JournalWriter } from '../journal/journal.ts'
import {
  isResumable,
  type BatchRecord,
  type OrganizationRef,
  type RunFinished,
  type RunOutcome,
  type RunResumed,
  type RunStarted,
} from '../journal/records.ts'
import {
  addBatches,
  addLookups,
  hasLostRecords,
  newRunHistory,
  type RunHistory,
} from '../journal/run-history.ts'
import { CREDITS_PER_PAGE, dayOf } from '../journal/spending.ts'
import type { Suppression } from '../load/suppression.ts'
import { collectQuestionSha256, planCollection } from '../plan/collection.ts'
import { runsOf } from '../plan/judge.ts'
import { makePlan, questionSha256, type Plan, type Question } from '../plan/plan.ts'
import { damageOf } from '../plan/skipped-lines.ts'
import { neededWindow, type Window } from '../plan/window.ts'
import type { Clock } from '../support/clock.ts'
import { ConfigError, EXIT, JobtideError, type ExitCode } from '../support/errors.ts'
import { countText, numberText, sum } from '../support/numbers.ts'
import { newUlid } from '../support/ulid.ts'
import { withoutErased, type Collection } from './collection.ts'
import type { Job } from './job.ts'
import type { Session } from './session.ts'
import { noneTracked } from './unknown-list.ts'

/** Which command runs: `extract` stops after the journal, `plan` buys only what it needs for a sample. */
export type RunCommand = RunStarted['command']

export type BegunRun = Awaited<ReturnType<typeof beginRun>>

export interface BeginOptions extends Pick<
  Session,
  'history' | 'writer' | 'spentBefore' | 'backups'
> {
  readonly job: Job
  readonly command: RunCommand
  readonly clock: Clock
}

/** Begins or resumes a run, and records which. @throws ConfigError when no organisation is left to ask for */
export async function beginRun(options: BeginOptions) {
  const { job, history, clock } = options
  const nowMs = clock.now()
  const how = beginning(history, job.question, nowMs)
  const { run: open, kept, dropped, rest } = how
  await abandonOthers(
    options,
    open,
    'it was killed; none of it can be resumed, so it is planned again',
  )
  const sha256 = questionSha256(job.question)
  const plan = makePlan(rest, history, serviceTime(history, nowMs))
  const about = {
    /** Companies not asked for because the service refused them in the last days. */
    skipped: plan.quarantined,
    /** Pages paid for in batches of an earlier run that are planned again; they are still kept and loaded. */
    leftBehind: sum(dropped.map(pagesBought)),
  }
  if (open === null) {
    const { batches, organizations } = plan
    if (batches.length === 0) throw noneTracked(job.organizationsFile, about.skipped)
    refuseLost(job, history, organizations)
    const run = await startRun(options, plan, sha256)
    return { run, resumed: false, organizations, ...about }
  }
  drop(options, open, dropped)
  await resumeRun(options, open, named(plan.batches, open.resumed + 1), sha256)
  const keptOrganizations = kept.flatMap(({ batch }) => batch.organizations).length
  const organizations = how.isAsPlanned
    ? open.started.organizations
    : plan.organizations + keptOrganizations
  return { run: open, resumed: true, organizations, ...about }
}

// An organisation that a damaged list lost would go unwatched. In a list that was shortened on purpose all lines name one.
const LOST_SHARE = 0.1

/** @throws ConfigError where many lines are skipped, and over a tenth of the organisations of the last run are gone */
function refuseLost(
  { pipeline, skipped, organizationsFile }: Job,
  history: History,
  organizations: number,
): void {
  const damage = damageOf(skipped)
  const before = runsOf(history, pipeline).last?.started.organizations ?? 0
  if (damage === null || before - organizations <= LOST_SHARE * before) return
  throw new ConfigError(
    `${organizationsFile} names ${countText(organizations, 'organisation')}, the last run asked for ${numberText(before)}: ${damage.message}`,
    { hint: damage.hint },
  )
}

async function startRun(
  { job, command, writer, clock, spentBefore, backups }: BeginOptions,
  plan: Pick<Plan, 'organizations' | 'batches' | 'expectedCredits'>,
  sha256: string,
): Promise<RunHistory> {
  const started: RunStarted = {
    kind: 'run_started',
    run_id: newUlid(clock.now()),
    at: clock.now(),
    pipeline: job.pipeline,
    command,
    organizations: plan.organizations,
    batches: plan.batches.length,
    credits_limit: job.creditsLimit,
    ...(plan.expectedCredits === null ? {} : { expected_credits: plan.expectedCredits }),
    question_sha256: sha256,
    ...(spentBefore.length === 0 ? {} : { spent_before: spentBefore }),
    backups,
  }
  noteFilters(job, started, writer)
  await writer.append(started, JSON.stringify(plan.batches))
  return newRunHistory(started, plan.batches)
}

async function resumeRun(
  { job, writer, clock }: BeginOptions,
  run: RunHistory,
  added: readonly BatchRecord[],
  sha256: string,
): Promise<void> {
  const record: RunResumed = {
    kind: 'run_resumed',
    run_id: run.started.run_id,
    at: clock.now(),
    ...(sha256 === run.questionSha256 ? {} : { question_sha256: sha256 }),
  }
  noteFilters(job, record, writer)
  await writer.append(record, added.length === 0 ? undefined : JSON.stringify(added))
  run.resumed += 1
  run.questionSha256 = sha256
  addBatches(run, added)
}

// Before the batches: a version that knows no filters reads none of them.
function noteFilters(
  { question: { filters } }: Job,
  { run_id, at }: RunStarted | RunResumed,
  writer: JournalWriter,
): void {
  if (filters !== undefined) writer.write({ kind: 'question_filtered', run_id, at, filters })
}

function drop({ writer, clock }: BeginOptions, run: RunHistory, batches: readonly BatchHistory[]) {
  for (const history of batches) {
    const { batch } = history
    const about = { run_id: run.started.run_id, batch_id: batch.batch_id, at: clock.now() }
    const reason = 'planned again on another day'
    const instead = JSON.stringify({ batch, instead: [] })
    writer.write({ kind: 'batch_split', ...about, reason }, instead)
    history.state = 'split'
    run.batchesPlanned -= 1
  }
}

/** As {@link beginRun}, for a run of `kind: collect`, whose lookups go on. */
export async function beginCollection(
  options: BeginOptions,
  collection: Collection,
  suppression: Suppression,
): Promise<BegunRun> {
  const { job, history, writer, clock } = options
  const { lookups: listed, refused } = await collection.read()
  const question = { ...collection, lookups: withoutErased(listed, suppression) }
  const sha256 = collectQuestionSha256(question)
  const latest = openRunOf(history, job.pipeline)
  const open = latest?.questionSha256 === sha256 ? latest : null
  await abandonOthers(options, open, 'it was killed, and another question is asked')
  let { lookups } = planCollection(question, history, collection.declared, clock.now())
  if (open !== null) {
    await resumeRun(options, open, [], sha256)
    // Adds the lookups that are due by now: one thing that is never answered does not hold up the others.
    const known = new Set([...open.lookups.values()].map(({ lookup }) => lookup.lookup_key))
    lookups = named(
      lookups.filter(({ lookup_key: key }) => !known.has(key)),
      open.resumed,
    )
  }
  const plan = { organizations: lookups.length, batches: [], expectedCredits: null }
  const run = open ?? (await startRun(options, plan, sha256))
  if (lookups.length > 0) {
    const about = { run_id: run.started.run_id, at: clock.now(), endpoint: collection.endpoint }
    await writer.append({ kind: 'lookups_planned', ...about }, JSON.stringify(lookups))
    addLookups(run, lookups)
  }
  return {
    run,
    resumed: open !== null,
    organizations: run.lookups.size,
    skipped: refused.map(({ subject: name, reason }) => ({ name, reason })),
    leftBehind: 0,
  }
}

async function abandonOthers(
  { job, history, writer, clock }: BeginOptions,
  resumed: RunHistory | null,
  why: string,
): Promise<void> {
  for (const run of runsToAbandon(history, job.pipeline, resumed)) {
    const message = `it did not end: ${why}`
    await writer.append(closingOf(run, null, clock, { outcome: 'abandoned', message }))
  }
}

// Batches are named within their run; what is added later must not take the names of those there are.
function named<T extends { readonly batch_id: string }>(batches: readonly T[], attempt: number) {
  return batches.map((batch) => ({ ...batch, batch_id: `r${attempt}-${batch.batch_id}` }))
}

/**
 * The record that ends a run which ended with `error`; null when it is done.
 * @param more what it says otherwise than the error does
 */
export function closingOf(
  { started }: RunHistory,
  error: unknown,
  clock: Clock,
  more: Partial<Pick<RunFinished, 'outcome' | 'message' | 'stage_seconds' | 'rejected'>> = {},
): RunFinished {
  const known = error instanceof JobtideError ? error : null
  const exitCode = error === null ? EXIT.done : (known?.exitCode ?? EXIT.defect)
  return {
    kind: 'run_finished',
    run_id: started.run_id,
    at: clock.now(),
    outcome: OUTCOMES[exitCode] ?? 'failed',
    exit_code: exitCode,
    message: known?.message ?? null,
    ...more,
  }
}

// A run that a check, the publisher or a reader's lock ended is resumed like any other that failed: it has bought
// everything already, so it only loads, builds and publishes.
const OUTCOMES: Readonly<Partial<Record<ExitCode, RunOutcome>>> = {
  [EXIT.done]: 'done',
  [EXIT.refused]: 'refused',
  [EXIT.budget]: 'budget',
  [EXIT.unavailable]: 'unavailable',
  [EXIT.hungUp]: 'interrupted',
  [EXIT.interrupted]: 'interrupted',
  [EXIT.terminated]: 'interrupted',
}

/** How a run begins. */
interface Beginning {
  /** The earlier run that is resumed; null for a new one. */
  readonly run: RunHistory | null
  /** Batches of the latest run that are read on, and those that are not. */
  readonly kept: readonly BatchHistory[]
  readonly dropped: readonly BatchHistory[]
  /** True for the same question on the same UTC day: the run continues with its planned batches. */
  readonly isAsPlanned: boolean
  /** The question that is planned now. */
  readonly rest: Question
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
  const isNew = { run: null, kept: [], isAsPlanned: false, rest: question }
  if (latest === null) return { ...isNew, dropped: [] }
  const isSameQuestion = latest.questionSha256 === questionSha256(question)
  const isAsPlanned = isSameQuestion && dayOf(latest.started.at) === dayOf(nowMs)
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
  const kept = isAsPlanned ? unread : unread.filter(isWorthReadingOn)
  if (kept.length === 0 && !isAsPlanned) return { ...isNew, dropped: unread }
  const dropped = unread.filter((batch) => !kept.includes(batch))
  const asked = namesOf(
    history,
    kept.flatMap(({ batch }) => batch.organizations),
  )
  const organizations = question.organizations.filter(
    (organization) => !isAsPlanned && !asked.has(canonicalName(history.ids, organization)),
  )
  return { run: latest, kept, dropped, isAsPlanned, rest: { ...question, organizations } }
}

/** The latest run of a pipeline, where it did not end or can be resumed. */
function openRunOf({ runs }: Pick<History, 'runs'>, pipeline: string): RunHistory | null {
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
  const { run, kept, isAsPlanned, rest } = beginning(history, question, times.nowMs)
  if (run === null) return null
  const scale = scaleOf([...run.batches.values()])
  const batches = [
    ...kept.map((one) => ({ ...one.batch, expected_pages: pagesLeft(one, scale ?? 1) })),
    ...makePlan(rest, history, times.serverNowMs).batches,
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
      batchesLeft: kept.length,
      pagesOfThemBought: sum(kept.map(pagesBought)),
      /** True on another day, or for another question: batches that had not begun are planned again. */
      restPlannedAgain: !isAsPlanned,
      /** Charged for the run so far, or perhaps charged. */
      creditsBought: run.creditsCommitted,
      /** The expected cost of the remaining pages; null if nothing in the list was read to its end. */
      creditsToCome,
      /** The least number of remaining pages: a begun batch with more has at least one. */
      pagesAtLeast: kept.filter((one) => one.pages > 0 && one.hasMore).length,
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
