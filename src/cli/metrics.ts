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

/** Every metric: its name without prefix and `_total`, and what it means. */
const METRICS = {
  credits: 'Credits charged by the service.',
  credits_in_doubt: 'Credits of requests that may have been charged.',
  credits_this_month: 'Credits charged or in doubt this calendar month (UTC).',
  credits_month_limit: 'The limits.credits_per_month of its file.',
  requests:
    'Requests by outcome: page (with events), in_doubt (failed, perhaps charged), free (an empty page, or an error without a charge).',
  requests_unanswered: 'Requests in flight, or left by a killed process.',
  pages: 'Pages with events.',
  events_received: 'Events received, repeats included.',
  unexpected_charges: 'Pages with an unexpected charge.',
  last_run_timestamp_seconds: 'Time when a run last ended, or could not begin.',
  last_run_exit_code: 'Exit code of that run.',
  last_success_timestamp_seconds: 'Time when a run last ended with exit code 0.',
  last_run_duration_seconds: 'Duration of the last run from start to end, interruptions included.',
  last_run_stage_seconds: 'Duration of each stage of the last run.',
  last_run_credits: 'Credits of the last run, charged or in doubt.',
  last_run_rejects: 'Events that the load of the last run rejected.',
  next_run_timestamp_seconds: 'Time when the schedule is next due.',
  organizations: 'Organisations in its list.',
  organizations_never_read:
    'Organisations in the list that were never fetched, without quarantined ones.',
  organizations_with_gaps:
    'Organisations in the list with gaps before or between two fetched periods.',
  organizations_quarantined: 'Organisations in the list that the service does not accept.',
  oldest_watermark_timestamp_seconds:
    'Time up to which all organisations that were fetched are covered.',
  judgement: '1 for each problem that jobtide status reports, by its id.',
  build_info: 'Version of Jobtide.',
  running: '1 while a process works in the data directory.',
  paused_until_timestamp_seconds: 'Time before which the service wants no request.',
  journal_bytes: 'Size of the journal segments.',
  journal_backup_timestamp_seconds:
    'Time of the last journal backup, at the place with the oldest one.',
  warehouse_bytes: 'Size of the database file.',
} as const
type Name = keyof typeof METRICS

// All others are gauges, also the credits in doubt: they may turn out not to be charged.
const COUNTERS = 'credits requests pages events_received unexpected_charges'.split(' ')

type Labels = Readonly<Record<string, string>>
/** A finite value; one for each of some labels; or null for none. */
type Value = number | null | undefined | readonly (readonly [Labels, number])[]
type Figures = Readonly<Partial<Record<Name, Value>>>

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** All metrics in the text format of Prometheus. @param attempts by pipeline, results that the journal may lack */
export function metricsText(
  freshness: Freshness,
  directory: Pick<DataDirectory, 'root' | 'journal' | 'warehouse'>,
  attempts: ReadonlyMap<string, Attempt> = new Map(),
): string {
  const { history, pipelines } = freshness
  const known = pipelines.map(({ name }) => name)
  const ran = [...history.runs.values()].map(({ started }) => started.pipeline)
  const paid = [...history.spending.values()].map(({ pipeline }) => pipeline)
  const found = [...new Set([...known, ...ran, ...paid])].map((pipeline) => {
    const ofRuns = pipelineFigures(pipeline, freshness, attempts.get(pipeline))
    return [{ pipeline }, { ...spendingFigures(pipeline, freshness), ...ofRuns }] as const
  })
  return prometheusText([...found, [{}, directoryFigures(freshness, directory)]])
}

/** The text of these figures, each with its labels; a metric without a value is left out. */
export function prometheusText(found: readonly (readonly [Labels, Figures])[]): string {
  const texts = Object.entries(METRICS).map(([key, about]) => {
    const samples = found.flatMap(([own, figures]) => {
      const value = figures[key as Name] ?? []
      const values = typeof value === 'number' ? ([[{}, value]] as const) : value
      return values.map(([labels, one]) => [{ ...own, ...labels }, one] as const)
    })
    if (samples.length === 0) return ''
    const kind = COUNTERS.includes(key) ? 'counter' : 'gauge'
    const name = `jobtide_${key}${kind === 'counter' ? '_total' : ''}`
    const lines = samples.map(([labels, value]) => `${name}${labelsText(labels)} ${value}\n`)
    return `# HELP ${name} ${about}\n# TYPE ${name} ${kind}\n${lines.join('')}`
  })
  return texts.join('')
}

function labelsText(labels: Labels): string {
  const escaped = (value: string) =>
    value.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function spendingFigures(
  name: string,
  { history: { spending }, pipelines, nowMs }: Freshness,
): Figures {
  const counts = noCounts()
  for (const one of spending.values()) if (one.pipeline === name) addCounts(counts, one)
  return {
    credits: counts.charged,
    credits_in_doubt: counts.inDoubt,
    credits_this_month: monthlyCredits(spending, name).get(monthOf(nowMs)) ?? 0,
    credits_month_limit: pipelines.find((one) => one.name === name)?.job?.creditsPerMonth,
    requests: requestsOf(counts),
    requests_unanswered: counts.unanswered,
    pages: counts.pages,
    events_received: counts.events,
    unexpected_charges: counts.unexpected,
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
  const stages = Object.entries(ended?.finished.stage_seconds ?? {})
  const found = new Set(judgements.flatMap((one) => (concerns(one, name) ? one.id : [])))
  return {
    last_run_timestamp_seconds: secondsOf(last.at),
    last_run_exit_code: last.exitCode,
    last_success_timestamp_seconds: secondsOf(runsOf(history, name).doneAt),
    last_run_duration_seconds: secondsOf(ended && ended.finished.at - ended.started.at),
    last_run_stage_seconds: stages.map(([stage, took]) => [{ stage }, took]),
    last_run_credits: ended?.creditsCommitted,
    last_run_rejects: ended?.finished.rejected,
    next_run_timestamp_seconds: secondsOf(pipeline?.schedule && nextDue(pipeline.schedule, nowMs)),
    organizations: coverage?.organizations.length,
    organizations_never_read: coverage?.neverRead,
    organizations_with_gaps: coverage?.withGaps,
    organizations_quarantined: coverage?.quarantined,
    oldest_watermark_timestamp_seconds: secondsOf(coverage?.oldestWatermark),
    judgement: pipeline && JUDGEMENT_IDS.map((id) => [{ id }, found.has(id) ? 1 : 0]),
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
  return {
    build_info: [[{ version: packageVersion() }, 1]],
    running: working === null ? 0 : 1,
    paused_until_timestamp_seconds: secondsOf(pausedUntil(history, nowMs, null)),
    journal_bytes: sum(listSegments(journal).map((name) => sizeOf(join(journal, name)))),
    journal_backup_timestamp_seconds: backups.length === 0 ? null : secondsOf(Math.min(...backups)),
    warehouse_bytes: sizeOf(warehouse),
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
  const { clock, directory, logFields } = context
  const beganAt = clock.now()
  let exitCode: ExitCode = EXIT.defect
  try {
    exitCode = await work()
    return exitCode
  } catch (error) {
    if (error instanceof JobtideError) exitCode = error.exitCode
    throw error
  } finally {
    const name = logFields['pipeline'] ?? basename(named).replace(/\.ya?ml$/, '')
    // A sample is not a run: the end of the last run and its alert remain.
    const attempts = command === 'plan' ? [] : [[name, { exitCode, at: clock.now() }] as const]
    const look = async () => {
      const freshness = await freshnessWith(context, named)
      const hasBegun = ranAt(runsOf(freshness.history, name)) >= beganAt
      if (exitCode !== EXIT.done && command !== 'plan' && !hasBegun && !isStop(exitCode)) {
        rememberNotBegun(directory, name, { at: clock.now(), exit_code: exitCode })
      }
      return freshness
    }
    const isWell = exitCode === EXIT.done
    // Never creates a folder for metrics, because its name may be a typing error.
    if (existsSync(directory.root)) await writeMetrics(context, look, new Map(attempts), isWell)
  }
}

/** Reads the state of all pipelines in reach, and of `named` if its file can be read. */
function freshnessWith({ directory, clock }: Context, named: string): Promise<Freshness> {
  const scope = { directory, clock, withOthers: true, maxAgeMs: null }
  return readFreshness({ ...scope, named: [named] }).catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error
    return readFreshness({ ...scope, named: [] })
  })
}

/** Writes `metrics.prom` into the data directory, or logs why it cannot. @param attempts as in metricsText */
export async function writeMetrics(
  { directory, logger }: Context,
  look: () => Freshness | Promise<Freshness>,
  attempts: ReadonlyMap<string, Attempt>,
  isWell = [...attempts.values()].every(({ exitCode }) => exitCode === EXIT.done),
): Promise<void> {
  try {
    const text = metricsText(await look(), directory, attempts)
    writeFileAtomic(join(directory.root, 'metrics.prom'), text, OWNER_ONLY)
  } catch (error) {
    // Not a warning after a failure, so that the error of the run stays the last line on stderr.
    logger[isWell ? 'warn' : 'info']({ reason: messageOf(error) }, 'no_metrics')
  }
}
