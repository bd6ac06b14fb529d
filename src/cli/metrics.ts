/**
 * Computes the metrics of a data directory and its pipelines from the journal, without opening the warehouse. Pure, except
 * for file sizes.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
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
import type { Labels, Metric } from '../observe/metrics.ts'
import type { CoverageReport } from '../plan/coverage-report.ts'
import { nextDue } from '../plan/due.ts'
import { JUDGEMENT_IDS, runsOf, type PipelineRuns } from '../plan/judge.ts'
import { backupStates } from '../run/backup/backup-target.ts'
import type { DataDirectory } from '../run/data-directory.ts'
import type { Freshness, KnownPipeline } from '../run/pipelines.ts'
import { sum } from '../support/numbers.ts'
import { SECOND } from '../support/units.ts'
import { packageVersion } from '../support/assets.ts'

/** The end of a command that should run a pipeline, even if no run began. */
export interface Attempt {
  readonly exitCode: number
  /** Milliseconds since 1970 UTC. */
  readonly at: number
}

interface Facts {
  readonly freshness: Freshness
  readonly name: string
  readonly pipeline: KnownPipeline | undefined
  /** Of all its runs. */
  readonly counts: Counts
  readonly runs: PipelineRuns
  /** The run that ended last; null if none has. */
  readonly ended: Ended | null
  readonly attempt: Attempt | null
  /** Null if no pipeline file says what should be covered. */
  readonly coverage: CoverageReport | null
}

type Ended = RunHistory & { readonly finished: NonNullable<RunHistory['finished']> }
type Values = number | null | undefined | readonly (readonly [Labels, number])[]
type Row<Of> = Omit<Metric, 'samples'> & { readonly values: (of: Of) => Values }

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
  const names = [...new Set([...known, ...ran, ...paid])]
  const facts = names.map((name) => factsOf(name, freshness, attempts.get(name) ?? null))
  return [
    ...OF_PIPELINE.map((row) => metricOf(row, facts, ({ name: pipeline }) => ({ pipeline }))),
    ...OF_DIRECTORY.map((row) => metricOf(row, [{ freshness, directory }], () => ({}))),
  ]
}

function metricOf<Of>(row: Row<Of>, all: readonly Of[], labelsOf: (of: Of) => Labels): Metric {
  const { values, ...metric } = row
  const samples = all.flatMap((of) => {
    const found = values(of) ?? []
    const listed = typeof found === 'number' ? [[{}, found] as const] : found
    return listed.map(([labels, value]) => ({ labels: { ...labelsOf(of), ...labels }, value }))
  })
  return { ...metric, samples }
}

function factsOf(name: string, freshness: Freshness, attempt: Attempt | null): Facts {
  const { history, pipelines } = freshness
  const counts = noCounts()
  for (const one of history.spending.values()) if (one.pipeline === name) addCounts(counts, one)
  const pipeline = pipelines.find((one) => one.name === name)
  const ends = [...history.runs.values()]
    .filter((run): run is Ended => run.started.pipeline === name && run.finished !== null)
    .filter(({ finished }) => finished.outcome !== 'sampled')
    .toSorted((a, b) => a.finished.at - b.finished.at)
  const ended = ends.at(-1) ?? null
  return {
    freshness,
    name,
    pipeline,
    counts,
    runs: runsOf(history, name),
    ended,
    attempt: attempt !== null && attempt.at >= (ended?.finished.at ?? 0) ? attempt : null,
    coverage: pipeline?.coverage ?? null,
  }
}

function counter<Of>(name: string, help: string, values: Row<Of>['values']): Row<Of> {
  return { name, kind: 'counter', help, values }
}

function gauge<Of>(name: string, help: string, values: Row<Of>['values']): Row<Of> {
  return { name, kind: 'gauge', help, values }
}

/** @param ms milliseconds, of a time since 1970 UTC; none where it is null or 0 */
function seconds<Of>(name: string, help: string, ms: (of: Of) => number | null | undefined) {
  const values = (of: Of) => (ms(of) || null) && Number(ms(of)) / SECOND
  return { name, kind: 'gauge', unit: 'seconds', help, values } satisfies Row<Of>
}

/** Every answered request is one of these. */
function requestsOf({ counts }: Facts): Values {
  const { requests, pages, inDoubt, unanswered } = counts
  const doubtful = inDoubt / CREDITS_PER_PAGE - unanswered
  const free = requests - pages - doubtful - unanswered
  const outcomes = { page: pages, in_doubt: doubtful, free }
  return Object.entries(outcomes).map(([outcome, count]) => [{ outcome }, count])
}

function stagesOf({ ended }: Facts): Values {
  const stages = Object.entries(ended?.finished.stage_seconds ?? {})
  return stages.map(([stage, took]) => [{ stage }, took])
}

function judgedOf({ name, pipeline, freshness: { judgements } }: Facts): Values {
  if (pipeline === undefined) return null
  const found = new Set(judgements.flatMap((one) => (one.pipeline === name ? one.id : [])))
  return JUDGEMENT_IDS.map((id) => [{ id }, found.has(id) ? 1 : 0])
}

const OF_PIPELINE: readonly Row<Facts>[] = [
  counter('credits', 'Credits charged by the service.', (of) => of.counts.charged),
  // Gauges instead of counters: credits in doubt may turn out not to be charged.
  gauge('credits_in_doubt', 'Credits of requests that may have been charged: 10 each.', (of) => {
    return of.counts.inDoubt
  }),
  gauge('credits_this_month', 'Credits charged or in doubt this calendar month (UTC).', (of) => {
    const { history, nowMs } = of.freshness
    return monthlyCredits(history.spending, of.name).get(monthOf(nowMs)) ?? 0
  }),
  gauge('credits_month_limit', 'The limits.credits_per_month of its file.', (of) => {
    return of.pipeline?.job?.creditsPerMonth
  }),
  counter(
    'requests',
    'Requests by outcome: page (with events), in_doubt (failed, perhaps charged), free (an empty page, or an error without a charge).',
    requestsOf,
  ),
  gauge('requests_unanswered', 'Requests in flight, or left by a killed process.', (of) => {
    return of.counts.unanswered
  }),
  counter('pages', 'Pages with events.', (of) => of.counts.pages),
  counter('events_received', 'Events received, repeats included.', (of) => of.counts.events),
  counter('unexpected_charges', 'Pages with an unexpected charge.', (of) => {
    return of.counts.unexpected
  }),
  seconds('last_run_timestamp', 'Time when a run last ended, or could not begin.', (of) => {
    return of.attempt?.at ?? of.ended?.finished.at
  }),
  gauge('last_run_exit_code', 'Exit code of that run.', (of) => {
    return of.attempt?.exitCode ?? of.ended?.finished.exit_code
  }),
  seconds(
    'last_success_timestamp',
    'Time when a run last ended with exit code 0.',
    (of) => of.runs.doneAt,
  ),
  seconds(
    'last_run_duration',
    'Duration of the last run from start to end, interruptions included.',
    (of) => {
      return of.ended && of.ended.finished.at - of.ended.started.at
    },
  ),
  {
    ...gauge('last_run_stage', 'Duration of each stage of the last run.', stagesOf),
    unit: 'seconds',
  },
  gauge('last_run_credits', 'Credits of the last run, charged or in doubt.', (of) => {
    return of.ended?.creditsCommitted
  }),
  gauge(
    'last_run_rejects',
    'Events that the load of the last run rejected.',
    (of) => of.ended?.finished.rejected,
  ),
  seconds('next_run_timestamp', 'Time when the schedule is next due.', (of) => {
    const schedule = of.pipeline?.schedule
    return schedule && nextDue(schedule, of.freshness.nowMs)
  }),
  gauge('organizations', 'Organisations in its list.', (of) => of.coverage?.organizations.length),
  gauge(
    'organizations_never_read',
    'Organisations in the list that were never read, without quarantined ones.',
    (of) => {
      return of.coverage?.neverRead
    },
  ),
  gauge(
    'organizations_with_gaps',
    'Organisations in the list with gaps before or between two reads.',
    (of) => {
      return of.coverage?.withGaps
    },
  ),
  gauge(
    'organizations_quarantined',
    'Organisations in the list that the service does not accept.',
    (of) => {
      return of.coverage?.quarantined
    },
  ),
  seconds(
    'oldest_watermark_timestamp',
    'Time up to which all organisations that were read are covered.',
    (of) => {
      return of.coverage?.oldestWatermark
    },
  ),
  gauge('judgement', '1 for each problem that jobtide status reports, by its id.', judgedOf),
]

interface DirectoryFacts {
  readonly freshness: Freshness
  readonly directory: Pick<DataDirectory, 'root' | 'journal' | 'warehouse'>
}

function bytes(name: string, help: string, paths: (of: DirectoryFacts) => readonly string[]) {
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const values = (of: DirectoryFacts) => sum(paths(of).map(sizeOf))
  return { name, kind: 'gauge', unit: 'bytes', help, values } satisfies Row<DirectoryFacts>
}

const OF_DIRECTORY: readonly Row<DirectoryFacts>[] = [
  gauge('build_info', 'Version of Jobtide.', () => [[{ version: packageVersion() }, 1]]),
  gauge('running', '1 while a process works in the data directory.', ({ freshness }) => {
    return freshness.working === null ? 0 : 1
  }),
  seconds('paused_until_timestamp', 'Time before which the service wants no request.', (of) => {
    return pausedUntil(of.freshness.history, of.freshness.nowMs, null)
  }),
  bytes('journal', 'Size of the journal segments.', ({ directory: { journal } }) =>
    listSegments(journal).map((name) => join(journal, name)),
  ),
  seconds(
    'journal_backup_timestamp',
    'Time of the last journal backup, at the place with the oldest one.',
    (of) => {
      const times = backupStates(of.directory.root, 0).map(({ backedUpAt }) =>
        backedUpAt?.getTime(),
      )
      return times.length === 0 ? null : Math.min(...times.map((time) => time ?? 0))
    },
  ),
  bytes('warehouse', 'Size of the database file.', ({ directory }) => [directory.warehouse]),
]
