/** Begins a run in the journal: a new one, or an earlier one that is resumed. Also makes the record that closes it. */

import { serviceTime } from '../journal/clock-history.ts'
import type { History } from '../journal/history.ts'
import { addBatches, addLookups, newRunHistory, type RunHistory } from '../journal/run-history.ts'
import type { JournalWriter } from '../journal/journal.ts'
import type {
  BatchRecord,
  RunFinished,
  RunOutcome,
  RunResumed,
  RunStarted,
  SpentBefore,
} from '../journal/records.ts'
import { pagesBought, type BatchHistory } from '../journal/batch-history.ts'
import type { Suppression } from '../load/suppression.ts'
import { collectQuestionSha256, planCollection } from '../plan/collection.ts'
import { runsOf } from '../plan/judge.ts'
import { makePlan, questionSha256, type Plan } from '../plan/plan.ts'
import { damageOf } from '../plan/skipped-lines.ts'
import type { Clock } from '../support/clock.ts'
import { ConfigError, EXIT, JobtideError, type ExitCode } from '../support/errors.ts'
import { countText, numberText, sum } from '../support/numbers.ts'
import { newUlid } from '../support/ulid.ts'
import type { BackupTarget } from './backup/backup-target.ts'
import { withoutErased, type Collection } from './collection.ts'
import type { Job } from './job.ts'
import { beginning, openRunOf, questionWithout, runsToAbandon } from './resume.ts'
import { noneTracked } from './unknown-list.ts'

/** Which command runs: `extract` stops after the journal, `plan` buys only what it needs for a sample. */
export type RunCommand = RunStarted['command']

export interface BegunRun {
  readonly run: RunHistory
  readonly resumed: boolean
  readonly organizations: number
  /** Companies not asked for because the service refused them in the last days. */
  readonly skipped: Plan['quarantined']
  /** Pages paid for in batches of an earlier run that are planned again; they are still kept and loaded. */
  readonly leftBehind: number
}

export interface BeginOptions {
  readonly job: Job
  readonly command: RunCommand
  readonly history: History
  readonly writer: JournalWriter
  readonly clock: Clock
  readonly spentBefore?: readonly SpentBefore[]
  readonly backups?: readonly BackupTarget[]
}

/** Begins or resumes a run, and records which. @throws ConfigError when no organisation is left to ask for */
export async function beginRun(options: BeginOptions): Promise<BegunRun> {
  const { job, history, clock } = options
  const { question } = job
  const nowMs = clock.now()
  const serverNowMs = serviceTime(history, nowMs)
  const sha256 = questionSha256(question)
  const how = beginning(history, question, nowMs)
  await abandonOthers(
    options,
    how.kind === 'new' ? null : how.run,
    'it was killed; none of it can be resumed, so it is planned again',
  )
  if (how.kind === 'as-planned') {
    await resumeRun(options, how.run, [], sha256)
    const { organizations } = how.run.started
    return { run: how.run, resumed: true, organizations, skipped: [], leftBehind: 0 }
  }
  const leftBehind = sum(how.dropped.map(pagesBought))
  if (how.kind === 'new') {
    const plan = makePlan(question, history, serverNowMs)
    const { batches, organizations, quarantined: skipped } = plan
    if (batches.length === 0) throw noneTracked(job.organizationsFile, skipped)
    refuseLost(job, history, organizations)
    const run = await startRun(options, plan, sha256)
    return { run, resumed: false, organizations, skipped, leftBehind }
  }
  const plan = makePlan(questionWithout(question, how.kept, history), history, serverNowMs)
  drop(options, how.run, how.dropped)
  await resumeRun(options, how.run, named(plan.batches, how.run.resumed + 1), sha256)
  const keptOrganizations = how.kept.flatMap(({ batch }) => batch.organizations).length
  const organizations = plan.organizations + keptOrganizations
  return { run: how.run, resumed: true, organizations, skipped: plan.quarantined, leftBehind }
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
  { job, command, writer, clock, spentBefore = [], backups = [] }: BeginOptions,
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
