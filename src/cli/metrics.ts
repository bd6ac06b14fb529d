/**
 * The metrics of a data directory and its pipelines, from the journal, without opening the warehouse. `metrics.prom` is
 * written after a command that ran a pipeline, whatever its result.
 */

import { existsSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pausedUntil } from '../journal/pauses.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { listSegments } from '../journal/reader.ts'
import {
  CREDITS_PER_PAGE,
  addCounts,
  monthOf,
  monthlyCredits,
  noCounts,
  type Counts,
} from '../journal/spending.ts'
import { prometheusText, type Labels, type Metric } from '../observe/metrics.ts'
import { nextDue } from '../plan/due.ts'
import { JUDGEMENT_IDS, concerns, ranAt, runsOf } from '../plan/judge.ts'
import { backupStates } from '../run/backup/backup-target.ts'
import type { DataDirectory } from '../run/data-directory.ts'
import { readFreshness, rememberNotBegun, type Freshness } from '../run/pipelines.ts'
import { packageVersion } from '../support/assets.ts'
import { OWNER_ONLY, writeFileAtomic } from '../support/atomic-file.ts'
import {
  ConfigError,
  EXIT,
  JobtideError,
  isStop,
  messageOf,
  type ExitCode,
} from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import { SECOND } from '../support/units.ts'
import type { Context } from './context.ts'

/** The end of a command that should run a pipeline, even if no run began. */
export interface Attempt {
  readonly exitCode: number
  /** Milliseconds since 1970 UTC. */
  readonly at: number
}

/** A value; one for each of some labels; or null for none. */
type Value = number | null | undefined | readonly (readonly [Labels, number])[]
type Figures = Readonly<Record<string, Omit<Metric, 'name'>>>

const figure =
  (kind: Metric['kind']) =>
  (help: string, value: Value): Omit<Metric, 'name'> => {
    const listed = typeof value === 'number' ? ([[{}, value]] as const) : (value ?? [])
    return { kind, help, samples: listed.map(([labels, one]) => ({ labels, value: one })) }
  }
const counter = figure('counter')
const gauge = figure('gauge')

/** Returns all metrics. @param attempts by pipeline, results that this process knows and the journal may lack */
export function metricsOf(
  freshness: Freshness,
  directory: Pick<DataDirectory, 'root' | 'journal' | 'warehouse'>,
  attempts: ReadonlyMap<string, Attempt> = new Map(),
): Metric[] {
  const { history, pipelines } = freshness
  const known = pipelines.map(({ name }) => name)
  const ran = [...history.runs.values()].map(({ started }) => started.pipeline)
  const paid = [...history.spending.values()].map(({ pipeline }) => pipeline)
  const all = new Map<string, Omit<Metric, 'name'>>()
  const add = (figures: Figures, own: Labels) => {
    for (const [name, { samples, ...about }] of Object.entries(figures)) {
      const more = samples.map(({ labels, value }) => ({ labels: { ...own, ...labels }, value }))
      all.set(name, { ...about, samples: [...(all.get(name)?.samples ?? []), ...more] })
    }
  }
  for (const pipeline of new Set([...known, ...ran, ...paid])) {
    add(spendingFigures(pipeline, freshness), { pipeline })
    add(pipelineFigures(pipeline, freshness, attempts.get(pipeline)), { pipeline })
  }
  add(directoryFigures(freshness, directory), {})
  return [...all].map(([name, metric]) => ({ name, ...metric }))
}

function spendingFigures(
  name: string,
  { history: { spending }, pipelines, nowMs }: Freshness,
): Figures {
  const counts = noCounts()
  for (const one of spending.values()) if (one.pipeline === name) addCounts(counts, one)
  const limit = pipelines.find((one) => one.name === name)?.job?.creditsPerMonth
  const month = monthlyCredits(spending, name).get(monthOf(nowMs)) ?? 0
  return {
    credits: counter('Credits charged by the service.', counts.charged),
    // Gauges instead of counters: credits in doubt may turn out not to be charged.
    credits_in_doubt: gauge(
      'Credits of requests that may have been charged: 10 each.',
      counts.inDoubt,
    ),
    credits_this_month: gauge('Credits charged or in doubt this calendar month (UTC).', month),
    credits_month_limit: gauge('The limits.credits_per_month of its file.', limit),
    requests: counter(
      'Requests by outcome: page (with events), in_doubt (failed, perhaps charged), free (an empty page, or an error without a charge).',
      requestsOf(counts),
    ),
    requests_unanswered: gauge(
      'Requests in flight, or left by a killed process.',
      counts.unanswered,
    ),
    pages: counter('Pages with events.', counts.pages),
    events_received: counter('Events received, repeats included.', counts.events),
    unexpected_charges: counter('Pages with an unexpected charge.', counts.unexpected),
  }
}

function pipelineFigures(
  name: string,
  { history, pipelines, judgements, nowMs }: Freshness,
  attempt: Attempt | undefined,
): Figures {
  const pipeline = pipelines.find((one) => one.name === name)
  const coverage = pipeline?.coverage
  const ended = lastEnded(history, name)
  const isNewer = attempt !== undefined && attempt.at >= (ended?.finished.at ?? 0)
  const last = isNewer ? attempt : { at: ended?.finished.at, exitCode: ended?.finished.exit_code }
  const due = pipeline?.schedule && nextDue(pipeline.schedule, nowMs)
  const stages = Object.entries(ended?.finished.stage_seconds ?? {})
  const found = new Set(judgements.flatMap((one) => (concerns(one, name) ? one.id : [])))
  const tookMs = ended && ended.finished.at - ended.started.at
  return {
    last_run_timestamp_seconds: gauge(
      'Time when a run last ended, or could not begin.',
      secondsOf(last.at),
    ),
    last_run_exit_code: gauge('Exit code of that run.', last.exitCode),
    last_success_timestamp_seconds: gauge(
      'Time when a run last ended with exit code 0.',
      secondsOf(runsOf(history, name).doneAt),
    ),
    last_run_duration_seconds: gauge(
      'Duration of the last run from start to end, interruptions included.',
      secondsOf(tookMs),
    ),
    last_run_stage_seconds: gauge(
      'Duration of each stage of the last run.',
      stages.map(([stage, took]) => [{ stage }, took]),
    ),
    last_run_credits: gauge(
      'Credits of the last run, charged or in doubt.',
      ended?.creditsCommitted,
    ),
    last_run_rejects: gauge(
      'Events that the load of the last run rejected.',
      ended?.finished.rejected,
    ),
    next_run_timestamp_seconds: gauge('Time when the schedule is next due.', secondsOf(due)),
    organizations: gauge('Organisations in its list.', coverage?.organizations.length),
    organizations_never_read: gauge(
      'Organisations in the list that were never read, without quarantined ones.',
      coverage?.neverRead,
    ),
    organizations_with_gaps: gauge(
      'Organisations in the list with gaps before or between two reads.',
      coverage?.withGaps,
    ),
    organizations_quarantined: gauge(
      'Organisations in the list that the service does not accept.',
      coverage?.quarantined,
    ),
    oldest_watermark_timestamp_seconds: gauge(
      'Time up to which all organisations that were read are covered.',
      secondsOf(coverage?.oldestWatermark),
    ),
    judgement: gauge(
      '1 for each problem that jobtide status reports, by its id.',
      pipeline && JUDGEMENT_IDS.map((id) => [{ id }, found.has(id) ? 1 : 0]),
    ),
  }
}

type Ended = RunHistory & { readonly finished: NonNullable<RunHistory['finished']> }

/** The run of a pipeline that ended last; null if none has. */
function lastEnded({ runs }: Freshness['history'], name: string): Ended | null {
  const ends = [...runs.values()]
    .filter((run): run is Ended => run.started.pipeline === name && run.finished !== null)
    .filter(({ finished }) => finished.outcome !== 'sampled')
    .toSorted((a, b) => a.finished.at - b.finished.at)
  return ends.at(-1) ?? null
}

/** Every answered request is one of these. */
function requestsOf({ requests, pages, inDoubt, unanswered }: Counts): Value {
  const doubtful = inDoubt / CREDITS_PER_PAGE - unanswered
  const free = requests - pages - doubtful - unanswered
  const outcomes = { page: pages, in_doubt: doubtful, free }
  return Object.entries(outcomes).map(([outcome, count]) => [{ outcome }, count])
}

function directoryFigures(
  { history, working, nowMs }: Freshness,
  { root, journal, warehouse }: Pick<DataDirectory, 'root' | 'journal' | 'warehouse'>,
): Figures {
  const backups = backupStates(root, 0).map(({ backedUpAt }) => backedUpAt?.getTime() ?? 0)
  const segments = listSegments(journal).map((name) => sizeOf(join(journal, name)))
  return {
    build_info: gauge('Version of Jobtide.', [[{ version: packageVersion() }, 1]]),
    running: gauge('1 while a process works in the data directory.', working === null ? 0 : 1),
    paused_until_timestamp_seconds: gauge(
      'Time before which the service wants no request.',
      secondsOf(pausedUntil(history, nowMs, null)),
    ),
    journal_bytes: gauge('Size of the journal segments.', sum(segments)),
    journal_backup_timestamp_seconds: gauge(
      'Time of the last journal backup, at the place with the oldest one.',
      backups.length === 0 ? null : secondsOf(Math.min(...backups)),
    ),
    warehouse_bytes: gauge('Size of the database file.', sizeOf(warehouse)),
  }
}

/** @param ms milliseconds, of a time since 1970 UTC; none where it is null or 0 */
function secondsOf(ms: number | null | undefined): number | null {
  return ms ? ms / SECOND : null
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Does `work`, and writes the metrics afterwards. @param named the pipeline, as it was named */
export async function observed(
  context: Context,
  command: string,
  named: string,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.defect
  const beganAt = context.clock.now()
  try {
    exitCode = await work()
    return exitCode
  } catch (error) {
    if (error instanceof JobtideError) exitCode = error.exitCode
    throw error
  } finally {
    await measure(context, command, named, exitCode, beganAt)
  }
}

async function measure(
  context: Context,
  command: string,
  named: string,
  exitCode: ExitCode,
  beganAt: number,
): Promise<void> {
  const { clock, directory, logger, logFields } = context
  // Never creates a folder for metrics, because its name may be a typing error.
  if (!existsSync(directory.root)) return
  try {
    const freshness = await freshnessWith(context, named)
    const name = logFields['pipeline'] ?? basename(named).replace(/\.ya?ml$/, '')
    const hasBegun = ranAt(runsOf(freshness.history, name)) >= beganAt
    if (exitCode !== EXIT.done && command !== 'plan' && !hasBegun && !isStop(exitCode)) {
      rememberNotBegun(directory, name, { at: clock.now(), exit_code: exitCode })
    }
    // A sample is not a run: the end of the last run and its alert remain.
    const attempts = command === 'plan' ? [] : [[name, { exitCode, at: clock.now() }] as const]
    writeMetrics(context, freshness, new Map(attempts))
  } catch (error) {
    logger[levelAfter(exitCode)]({ reason: messageOf(error) }, 'no_metrics')
  }
}

/** Not a warning after a failure, so that the error of the run stays the last line on stderr. */
function levelAfter(...exitCodes: readonly number[]): 'info' | 'warn' {
  return exitCodes.every((code) => code === EXIT.done) ? 'warn' : 'info'
}

/** Reads the state of all pipelines in reach, and of `named` if its file can be read. */
function freshnessWith({ directory, clock }: Context, named: string): Promise<Freshness> {
  const scope = { directory, clock, withOthers: true, maxAgeMs: null }
  return readFreshness({ ...scope, named: [named] }).catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error
    return readFreshness({ ...scope, named: [] })
  })
}

/** Writes `metrics.prom` into the data directory. Logs a write error. @param attempts as in metricsOf */
export function writeMetrics(
  { directory, logger }: Context,
  freshness: Freshness,
  attempts: ReadonlyMap<string, Attempt>,
): void {
  try {
    const text = prometheusText(metricsOf(freshness, directory, attempts))
    writeFileAtomic(join(directory.root, 'metrics.prom'), text, OWNER_ONLY)
  } catch (error) {
    const level = levelAfter(...[...attempts.values()].map(({ exitCode }) => exitCode))
    logger[level]({ reason: messageOf(error) }, 'no_metrics')
  }
}
