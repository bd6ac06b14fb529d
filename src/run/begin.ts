/** Begins a run in the journal: a new one, or an earlier one that is resumed. */

import { serviceTime } from '../journal/clock-history.ts'
import type { History } from '../journal/history.ts'
import { addBatches, newRunHistory, type RunHistory } from '../journal/run-history.ts'
import type { JournalWriter } from '../journal/journal.ts'
import type { RunResumed, RunStarted, BatchRecord, SpentBefore } from '../journal/records.ts'
import { pagesBought, type BatchHistory } from '../journal/batch-history.ts'
import { runsOf } from '../plan/judge.ts'
import { makePlan, questionSha256, type Plan } from '../plan/plan.ts'
import { damageOf } from '../plan/skipped-lines.ts'
import type { Clock } from '../support/clock.ts'
import { ConfigError } from '../support/errors.ts'
import { countText, numberText, sum } from '../support/numbers.ts'
import { newUlid } from '../support/ulid.ts'
import type { BackupTarget } from './backup/backup-target.ts'
import { closingOf } from './closing.ts'
import type { Job } from './job.ts'
import { beginning, questionWithout, runsToAbandon } from './resume.ts'
import { noneTracked } from './unknown-list.ts'

/** Which command runs: `extract` stops after the journal, `plan` buys only what it needs for a sample. */
export type RunCommand = RunStarted['command']

export interface BegunRun {
  readonly run: RunHistory
  readonly resumed: boolean
  /** Organisations that are asked for. */
  readonly organizations: number
  /** Companies not asked for because the service refused them in the last days. */
  readonly skipped: Plan['quarantined']
  /** Pages paid for in batches of an earlier run that are planned again; they are kept and loaded all the same. */
  readonly leftBehind: number
}

export interface BeginOptions {
  readonly job: Job
  readonly command: RunCommand
  readonly history: History
  readonly writer: JournalWriter
  readonly clock: Clock
  /** Credits spent before the journal began. */
  readonly spentBefore?: readonly SpentBefore[]
  /** Every place that the journal is or was backed up to. */
  readonly backups?: readonly BackupTarget[]
}

/**
 * Begins or resumes a run, and records which.
 * @throws ConfigError when no organisation is left to ask for
 */
export async function beginRun(options: BeginOptions): Promise<BegunRun> {
  const { job, history, writer, clock } = options
  const { question } = job
  const nowMs = clock.now()
  const serverNowMs = serviceTime(history, nowMs)
  const sha256 = questionSha256(question)
  const how = beginning(history, question, nowMs)
  const earlier = how.kind === 'new' ? null : how.run
  for (const run of runsToAbandon(history, job.pipeline, earlier)) {
    const message =
      'it did not end: it was killed or yielded; none of it can be resumed, so it is planned again'
    await writer.append(closingOf(run, null, clock, { outcome: 'abandoned', message }))
  }
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
  await resumeRun(options, how.run, renamed(plan.batches, how.run), sha256)
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

/** Records that a run begins. */
export async function startRun(
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

/** Records that a run is resumed, with these additional batches. */
export async function resumeRun(
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

// Batches are named within their run; what is added later must not take the names of those there are.
function renamed(batches: readonly BatchRecord[], run: RunHistory): BatchRecord[] {
  return batches.map((batch) => ({ ...batch, batch_id: `r${run.resumed + 1}-${batch.batch_id}` }))
}

function drop(
  { writer, clock }: BeginOptions,
  run: RunHistory,
  batches: readonly BatchHistory[],
): void {
  for (const history of batches) {
    const { batch } = history
    writer.write(
      {
        kind: 'batch_split',
        run_id: run.started.run_id,
        batch_id: batch.batch_id,
        at: clock.now(),
        reason: 'planned again on another day',
      },
      JSON.stringify({ batch, instead: [] }),
    )
    history.state = 'split'
    run.batchesPlanned -= 1
  }
}
