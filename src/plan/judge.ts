/**
 * Judges whether the data is as fresh as it should be: compares the journal's record of each pipeline with its file and
 * the options. Pure. Without a schedule or `--max-age`, age is not judged.
 */

import type { RunOutcome } from '../journal/records.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { minuteText } from '../support/clock.ts'
import { EXIT, isStop, type ExitCode } from '../support/errors.ts'
import { DAY, HOUR, MINUTE } from '../support/units.ts'
import type { CoverageReport } from './coverage-report.ts'
import { lastDue, type Schedule } from './due.ts'
import type { PlanHistory } from './plan.ts'
import { damageOf, type SkippedLines } from './skipped-lines.ts'
import { LONGEST_WINDOW_DAYS } from './window.ts'

/** The possible problems. Programs depend on these names, so they never change. */
export const JUDGEMENT_IDS = [
  'pipeline_unreadable',
  'never_run',
  'last_run_failed',
  'last_run_killed',
  'missed_schedule',
  'too_old',
  'coverage_gaps',
  'list_damaged',
  'erasure_pending',
] as const
export type JudgementId = (typeof JUDGEMENT_IDS)[number]

export interface Judgement {
  readonly id: JudgementId
  /** Null for the data directory as a whole. */
  readonly pipeline: string | null
  /** One sentence; no personal data. */
  readonly message: string
  readonly hint: string
  /** The run that it is about, if any. */
  readonly runId: string | null
  /** Milliseconds since 1970 UTC; with `id` and `pipeline` it identifies the problem as long as it lasts. */
  readonly since: number
}

/** Whether a problem is one of this pipeline, or of all. */
export function concerns({ pipeline }: Pick<Judgement, 'pipeline'>, name: string): boolean {
  return pipeline === name || pipeline === null
}

/** A pipeline to judge, as far as its file can be read. */
export interface JudgedPipeline {
  readonly name: string
  readonly schedule: Schedule | null
  /** Coverage of what its file wants, once computed; null if there is no file. */
  readonly coverage?: CoverageReport | null
  /** Lines in its lists that name nothing. */
  readonly skipped?: readonly SkippedLines[]
  /** Why its file could not be read; null if it could. */
  readonly problem: string | null
  /** True if it should have run: it was named, or its file has a schedule. */
  readonly isExpected: boolean
}

export interface JudgingOptions {
  /** Our time, milliseconds since 1970 UTC. */
  readonly nowMs: number
  /** The same by the service's clock. */
  readonly serverNowMs: number
  /** The pipeline of the process that holds the lock; null if none holds it. */
  readonly working: { readonly pipeline: string | null } | null
  /** The maximum age of data in milliseconds; null for any age. */
  readonly maxAgeMs: number | null
}

/** The state of a run: how it ended, or whether its process still works. */
export type RunState = RunOutcome | 'running' | 'killed'

// How long after its due time a run may end.
const GRACE_MS = HOUR
// Younger gaps are left out, because the next run closes them.
const OLD_GAP_MS = 2 * DAY

export function runState(run: RunHistory, working: JudgingOptions['working']): RunState {
  if (run.finished !== null) return run.finished.outcome
  if (working === null) return 'killed'
  const isAnother = working.pipeline !== null && working.pipeline !== run.started.pipeline
  return isAnother ? 'killed' : 'running'
}

export type PipelineRuns = Readonly<ReturnType<typeof runsOf>>

/**
 * The last run of a pipeline, without samples and searches by hand, when its last run ended, and when one last ended
 * with exit 0; null for never.
 */
export function runsOf({ runs }: Pick<PlanHistory, 'runs'>, pipeline: string) {
  const own = [...runs.values()].filter(
    ({ started, finished }) =>
      started.pipeline === pipeline &&
      started.command !== 'find' &&
      finished?.outcome !== 'sampled',
  )
  const ends = own.flatMap(({ finished }) => finished ?? [])
  const latest = (times: readonly number[]) => (times.length === 0 ? null : Math.max(...times))
  return {
    last: own.at(-1) ?? null,
    endedAt: latest(ends.map(({ at }) => at)),
    doneAt: latest(ends.filter(({ exit_code: code }) => code === EXIT.done).map(({ at }) => at)),
  }
}

export function judge(
  pipelines: readonly JudgedPipeline[],
  history: Pick<PlanHistory, 'runs'>,
  options: JudgingOptions,
): Judgement[] {
  return pipelines.flatMap((pipeline) => {
    const { name, coverage = null } = pipeline
    const runs = runsOf(history, name)
    const facts = { ...options, pipeline, runs, coverage, again: `\`jobtide run ${name}\`` }
    return [unreadable, lastRun, missed, tooOld, gaps, damaged]
      .flatMap((rule) => rule(facts) ?? [])
      .map((found) => ({ runId: null, since: 0, ...found, pipeline: name }))
  })
}

interface Facts extends JudgingOptions {
  readonly pipeline: JudgedPipeline
  readonly runs: PipelineRuns
  readonly coverage: CoverageReport | null
  /** The command that runs the pipeline. */
  readonly again: string
}

/** A problem; `runId` null and `since` 0 unless given. */
type Found = Pick<Judgement, 'id' | 'message' | 'hint'> & Partial<Judgement>

function unreadable({ pipeline: { problem } }: Facts): Found | null {
  if (problem === null) return null
  const hint = 'Fix the file: until then the pipeline cannot run.'
  return { id: 'pipeline_unreadable', message: problem, hint }
}

function lastRun({ pipeline, runs: { last }, working, again }: Facts): Found | null {
  const { name, isExpected } = pipeline
  if (last === null) {
    if (!isExpected) return null
    const message = `${name} never ran in this data directory`
    return { id: 'never_run', message, hint: `${again} is its first run.` }
  }
  const { finished, started, resumed } = last
  const runId = started.run_id
  if (finished === null) {
    if (runState(last, working) === 'running') return null
    const message = `the last run of ${name}, of ${minuteText(started.at)} UTC, was killed`
    const hint = `${again} continues where it stopped. Nothing is bought twice.`
    return { id: 'last_run_killed', message, hint, runId, since: started.at + resumed }
  }
  const { exit_code: code, at: since } = finished
  if (code === EXIT.done) return null
  const why = finished.message === null ? '' : `: ${finished.message}`
  const message = `the last run of ${name} ended at ${minuteText(since)} UTC with exit ${code}${why}`
  const hint = isStop(code)
    ? `It was stopped on purpose. ${again} continues it.`
    : code === EXIT.budget
      ? `${again} continues it with a new budget. ${IF_NOT_OF_RUN}`
      : `${REMEDIES[code] ?? 'Fix what the message names'}, then ${again}.`
  return { id: 'last_run_failed', message, hint, runId, since }
}

/** When a run last began or ended, by its own clock; 0 for never. */
export function ranAt({ last, endedAt }: PipelineRuns): number {
  return Math.max(endedAt ?? 0, last?.started.at ?? 0)
}

/** The last due time without a run that began or ended since; null for none. */
export function missingSince(schedule: Schedule | null, runs: PipelineRuns, nowMs: number) {
  const due = schedule === null ? null : lastDue(schedule, nowMs)
  // A run that began since then and was killed did not miss its time.
  return due === null || ranAt(runs) >= due ? null : due
}

function missed(facts: Facts): Found | null {
  const { pipeline, runs, working, again, nowMs } = facts
  const { last, endedAt } = runs
  const due = missingSince(pipeline.schedule, runs, nowMs - GRACE_MS)
  if (due === null || last === null || runState(last, working) === 'running') return null
  const before =
    endedAt === null
      ? 'none of its runs has ended'
      : `its last run ended at ${minuteText(endedAt)} UTC`
  const message = `${pipeline.name} was due at ${minuteText(due)} UTC and has not run since: ${before}`
  const hint = `Check what starts it (jobtide schedule, cron, a timer). ${again} catches up.`
  return { id: 'missed_schedule', message, hint, since: due }
}

function tooOld(facts: Facts): Found | null {
  const { pipeline, runs, coverage, again, maxAgeMs, nowMs, serverNowMs } = facts
  if (maxAgeMs === null || runs.last === null) return null
  // Without a file, Jobtide does not know whose coverage to judge.
  const asOf = coverage === null ? runs.doneAt : coverage.oldestWatermark
  const ageMs = (coverage === null ? nowMs : serverNowMs) - (asOf ?? 0)
  if (ageMs <= maxAgeMs) return null
  const is =
    asOf === null
      ? 'nothing has been fetched to its end yet'
      : `its data is of ${minuteText(asOf)} UTC, ${age(ageMs)} ago`
  const message = `${pipeline.name} is older than ${age(maxAgeMs)}: ${is}`
  return {
    id: 'too_old',
    message,
    hint: `${again} fetches the events since then.`,
    since: asOf ?? 0,
  }
}

function gaps({ pipeline: { name }, coverage, serverNowMs }: Facts): Found | null {
  const old = (coverage?.organizations ?? [])
    .map(({ unread }) =>
      unread.filter(({ place, to }) => place === 'between' && to < serverNowMs - OLD_GAP_MS),
    )
    .filter((stretches) => stretches.length > 0)
  if (old.length === 0) return null
  const since = Math.min(...old.flat().map(({ from }) => from ?? 0))
  const days = Math.ceil((serverNowMs - since) / DAY)
  const window = days > LONGEST_WINDOW_DAYS ? 'all' : String(days)
  const who = old.length === 1 ? '1 organisation' : `${old.length} organisations`
  return {
    id: 'coverage_gaps',
    message: `${who} of ${name} ${old.length === 1 ? 'was' : 'were'} not fetched for a time between two runs, the earliest from ${minuteText(since)} UTC on`,
    hint: `\`jobtide backfill ${name} --days ${window}\` fetches it; \`jobtide coverage ${name} --prove\` lists it.`,
    since,
  }
}

function damaged({ pipeline: { skipped = [] } }: Facts): Found | null {
  const damage = damageOf(skipped)
  return damage && { id: 'list_damaged', ...damage }
}

const IF_NOT_OF_RUN =
  'If the budget of the month is used up, first raise `limits.credits_per_month`; after 402, first top up the account.'

const REMEDIES: Readonly<Partial<Record<ExitCode, string>>> = {
  [EXIT.defect]: 'Report the defect with the text that the run printed',
  [EXIT.refused]: 'Set the right key, or ask the provider about your plan',
  [EXIT.unavailable]: 'Wait until the service is back',
  [EXIT.checkFailed]: 'Look at the failed checks (`ops.checks`)',
  [EXIT.publishFailed]: 'Fix the destination, backup or database that the message names',
  [EXIT.locked]: 'Close the reader of the database file, or wait for the other process',
  [EXIT.storage]: 'Free space on the disk, or restore the file that the message names',
}

function age(ms: number): string {
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`
  return ms < 3 * DAY ? `${Math.round(ms / HOUR)} h` : `${Math.round(ms / DAY)} days`
}
