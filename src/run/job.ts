/**
 * Resolves a job: a pipeline file with the overrides of the command line, absolute paths and checked values. After this, a
 * run does not depend on where it was started.
 */

import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { EVENT_TYPES, type Filters } from '../journal/records.ts'
import type { Schedule } from '../plan/due.ts'
import { parsePipeline, type CollectSpec, type PipelineSpec } from '../plan/pipeline.ts'
import { durationMs } from '../plan/pipeline-fields.ts'
import type { Question } from '../plan/plan.ts'
import type { SkippedLines } from '../plan/skipped-lines.ts'
import { parsePeople, watchedOrganizations, type WatchList } from '../plan/watch-lists.ts'
import type { Window } from '../plan/window.ts'
import type { LossChoices } from '../publish/guard.ts'
import { parseKeep, type Keep } from '../publish/retention.ts'
import type { S3Options } from '../publish/store/object-store.ts'
import { absoluteAddress, checkS3Options, isFolderAddress } from '../publish/store/open-store.ts'
import { packageRoot } from '../support/assets.ts'
import { readNamedFile } from '../support/atomic-file.ts'
import { ConfigError } from '../support/errors.ts'
import { WHOLE_PATH, isUnexpanded, withoutCredentials } from '../support/text.ts'
import { backupTarget, type BackupTarget } from './backup/backup-target.ts'
import { readCollection, type Collection } from './collection.ts'
import { refuseOwnPlace } from './data-directory.ts'
import { CHECK_PATH, readOrganizations } from './organizations-file.ts'
import { findPipeline, refuseOthersPipeline } from './pipeline-file.ts'

/** The overrides of the command line; absent values come from the file. */
export interface Overrides extends LossChoices {
  /** Continues without lost journal segments, whose pages are bought again. */
  readonly acceptLoss?: boolean
  /** Begins a new journal for a warehouse whose journal is gone: everything is bought again. */
  readonly beginAgain?: boolean
  /** Forgets the time before which the service wants no request. */
  readonly forgetPause?: boolean
  readonly organizations?: string
  /** Only this many organisations, from the beginning of the list. */
  readonly limit?: number
  readonly days?: Window
  readonly credits?: number
  readonly requestsPerSecond?: number
  readonly concurrency?: number
  readonly snapshotTo?: string | undefined
  /** Where the journal is backed up, or false for nowhere: JOBTIDE_JOURNAL_BACKUP. */
  readonly journalBackup?: string | false | undefined
  readonly engine?: 'duckdb' | 'spark' | undefined
  /** False leaves publishing out. */
  readonly publish?: boolean
}

export interface SnapshotTarget {
  /** Absolute folder or s3:// address. */
  readonly to: string
  readonly keep: Keep
  /** Whether `current/` is kept there. Default: true. */
  readonly current?: boolean
  readonly s3: S3Options
  /** The engine that builds the models of a snapshot; if absent, DuckDB has built them. */
  readonly spark?: SparkBuild | undefined
}

export type SparkBuild = NonNullable<ReturnType<typeof sparkBuildOf>>

export type DatabaseTarget = PipelineSpec['destinations'][number]

const BUNDLED_LIST = join(packageRoot, 'config', 'organizations.csv')

/**
 * Reads the pipeline `name` (a name below ./pipelines or below Jobtide's own, or a path) and applies `overrides`.
 * @param dataDir what a relative snapshot folder of the pipeline file is relative to
 * @throws ConfigError naming file, line and what is allowed
 */
export async function readJob(name: string, overrides: Overrides, dataDir: string): Promise<Job> {
  const { file, spec } = readPipeline(name)
  const asked =
    spec.kind === 'collect'
      ? collected(await readCollection(spec, file, overrides, dataDir))
      : await readQuestion(spec, file, overrides)
  return jobOf(asked, spec, overrides, dataDir)
}

/** What a job asks for. */
interface Asked {
  /** The question about job changes; without organisations if the pipeline collects something else. */
  readonly question: Question
  /** The things to collect; null for job changes. */
  readonly collection: Collection | null
  /** Absolute path of the list of organisations, or of what is collected. */
  readonly organizationsFile: string
  /** True for a pipeline or list of Jobtide's package, whose organisations only the simulator knows. */
  readonly isBundled: boolean
  /** Lines of the list that named a company already named. */
  readonly duplicates: number
  /** Lines that name nothing, of each list that has some. */
  readonly skipped: readonly SkippedLines[]
  /** Whose changes go to watch_hits. */
  readonly watch: readonly WatchList[]
}

type Common = Pick<PipelineSpec, 'name' | 'limits' | 'timezone' | 'destinations'> &
  Partial<PipelineSpec | CollectSpec>

export type Job = Readonly<ReturnType<typeof jobOf>>

function jobOf(asked: Asked, spec: Common, overrides: Overrides, dataDir: string) {
  const { limits, schedule, timezone } = spec
  return {
    ...asked,
    pipeline: spec.name,
    /** The destinations of messages about runs; null for none. */
    notify: spec.notify ?? null,
    /** When it is due; null when it says no time. */
    schedule: schedule === undefined ? null : ({ cron: schedule, timezone } satisfies Schedule),
    creditsLimit: overrides.credits ?? limits.credits ?? null,
    /** Credits all runs of the pipeline together may spend in a calendar month (UTC). */
    creditsPerMonth: limits.credits_per_month ?? null,
    requestsPerSecond: overrides.requestsPerSecond ?? limits.requests_per_second ?? null,
    concurrency: concurrencyOf(spec, overrides),
    maxWaitMs: durationMs(limits.max_wait),
    /** Where snapshots go; null publishes nothing. */
    snapshot: snapshotTarget(spec, overrides, dataDir),
    backups: [backupOf(spec, overrides, dataDir) ?? []].flat(),
    databases: databasesOf(spec, overrides),
    publishing: {
      adoptDestination: overrides.adoptDestination ?? false,
      acceptShrink: overrides.acceptShrink ?? false,
    },
    /** Older events are erased after a run; null keeps all. */
    retentionDays: spec.retention_days ?? null,
    acceptLoss: overrides.acceptLoss ?? false,
    beginAgain: overrides.beginAgain ?? false,
    forgetPause: overrides.forgetPause ?? false,
  }
}

const concurrencyOf = ({ limits }: Pick<PipelineSpec, 'limits'>, { concurrency }: Overrides) =>
  concurrency ?? limits.concurrency

/** A job for one request, without file and schedule; the next run of a pipeline publishes its result. */
export function oneOffJob(
  collection: Collection,
  { credits, forgetPause = false, backups = [] }: OneOffOptions,
): Job {
  // A person waits for the result.
  const limits = { credits, concurrency: 1, max_wait: '2m' }
  const spec = { name: collection.pipeline, limits, timezone: 'UTC', destinations: [] }
  const overrides = { forgetPause, journalBackup: false } as const
  return { ...jobOf(collected(collection), spec, overrides, '.'), backups }
}

export type OneOffOptions = Pick<Overrides, 'credits' | 'forgetPause'> &
  Partial<Pick<Job, 'backups'>>

async function readQuestion(
  spec: PipelineSpec,
  file: string,
  overrides: Overrides,
): Promise<Asked> {
  const namedList = resolve(dirname(file), spec.organizations)
  const organizationsFile = resolve(overrides.organizations ?? namedList)
  const list = await readOrganizations(organizationsFile)
  const watch = await readWatchLists(spec, dirname(file))
  const { title, geo_city, geo_country_code } = spec
  const filters = Object.entries({ title, geo_city, geo_country_code }).filter(
    ([, value]) => value !== undefined,
  )
  const question: Question = {
    pipeline: spec.name,
    organizations: list.organizations.slice(0, overrides.limit),
    // Sorted, so that the same types in another order are the same question.
    eventTypes: EVENT_TYPES.filter((type) => spec.event_types.includes(type)),
    // Absent if none is set, so that a question without filters is the same as before filters existed.
    ...(filters.length === 0 ? {} : { filters: Object.fromEntries(filters) as Filters }),
    window: overrides.days ?? spec.window,
    initialWindow: spec.initial_window,
    overlapHours: spec.overlap_hours,
    concurrency: concurrencyOf(spec, overrides),
  }
  return {
    question,
    collection: null,
    organizationsFile,
    isBundled: isBundled(organizationsFile) || isBundled(namedList),
    duplicates: list.duplicates,
    skipped: [...list.skipped, ...watch.skipped],
    watch: watch.lists,
  }
}

/** As {@link Asked}, with a question that asks nothing of job changes. */
function collected(collection: Collection): Asked {
  const { pipeline, list: organizationsFile, skipped } = collection
  const ever = { window: 'all', initialWindow: 'all', overlapHours: 0 } as const
  const question = { pipeline, organizations: [], eventTypes: [], ...ever }
  const asked = { question, collection, organizationsFile, skipped }
  return { ...asked, isBundled: false, duplicates: 0, watch: [] }
}

/** @throws ConfigError naming file and line of what is wrong in a list */
async function readWatchLists({ watch = [] }: PipelineSpec, folder: string) {
  const lists: WatchList[] = []
  const skipped: SkippedLines[] = []
  for (const list of watch) {
    const file = resolve(folder, list.people ?? list.organizations ?? '')
    if (list.people === undefined) {
      const read = await readOrganizations(file)
      lists.push({ ...list, entries: watchedOrganizations(read) })
      skipped.push(...read.skipped)
    } else {
      const bytes = readNamedFile('watch-list', file, CHECK_PATH)
      lists.push({ ...list, entries: parsePeople(bytes, basename(file)) })
    }
  }
  return { lists, skipped }
}

function isBundled(list: string): boolean {
  return existsSync(list) && realpathSync(list) === realpathSync(BUNDLED_LIST)
}

/** The snapshot settings of pipeline `name`; null publishes nothing. For commands that run no pipeline. */
export function readSnapshotTarget(name: string, overrides: Overrides, dataDir: string) {
  return snapshotTarget(readPipeline(name).spec, overrides, dataDir)
}

/** Where pipeline `name` backs the journal up; null for nowhere. For commands that run no pipeline. */
export function readBackupTarget(name: string, overrides: Overrides, dataDir: string) {
  return backupOf(readPipeline(name).spec, overrides, dataDir)
}

/** The databases that pipeline `name` loads. For commands that run no pipeline. */
export function readDatabaseTargets(name: string, overrides: Overrides): DatabaseTarget[] {
  return databasesOf(readPipeline(name).spec, overrides)
}

function databasesOf(
  { destinations, build }: Pick<PipelineSpec, 'destinations' | 'build'>,
  { publish, engine }: Overrides,
): DatabaseTarget[] {
  if (publish === false) return []
  if (destinations.length > 0 && (engine ?? build?.engine) === 'spark') {
    const what = 'destinations: get the tables that DuckDB builds, and Spark builds these'
    const hint = 'Leave destinations: out, or build with engine: duckdb. Nothing was sent.'
    throw new ConfigError(what, { hint })
  }
  return destinations
}

// Even if this run publishes nothing, because its pages are worth as much.
function backupOf(
  spec: Pick<PipelineSpec, 'snapshot' | 'build' | 'journal'>,
  { journalBackup, ...overrides }: Overrides,
  dataDir: string,
): BackupTarget | null {
  const snapshot = snapshotTarget(spec, { ...overrides, publish: true }, dataDir)
  return backupTarget(journalBackup ?? spec.journal?.backup, snapshot, dataDir)
}

function snapshotTarget(
  spec: Pick<PipelineSpec, 'snapshot' | 'build'>,
  overrides: Overrides,
  dataDir: string,
): SnapshotTarget | null {
  const { snapshot } = spec
  const { snapshotTo: override } = overrides
  const named = override ?? snapshot?.to
  if (overrides.publish === false || named === undefined) return null
  const to = absoluteDestination(named, override === undefined ? dataDir : '.')
  if (isFolderAddress(to)) {
    // A publish empties some of these folders, an erasure removes others: readers would lose every snapshot.
    const hint = 'Name another folder, such as snapshots. Nothing was sent.'
    refuseOwnPlace(resolve(dataDir), to, 'snapshots', { hint })
  }
  const s3 = snapshot?.s3 ?? {}
  checkS3Options(s3)
  const spark = sparkBuildOf(spec.build, overrides.engine)
  const keep = parseKeep(snapshot?.keep ?? 30)
  return { to, keep, current: snapshot?.current ?? true, s3, spark }
}

/** An s3:// address as it is, a folder made absolute from `base`. */
export function absoluteDestination(destination: string, base: string): string {
  const address = absoluteAddress(destination, base)
  if (address !== null) return address
  const isNamed = destination.trim() !== ''
  const what = isNamed ? `not to ${withoutCredentials(destination)}` : 'and none is named'
  const hint = isNamed
    ? `Fix --snapshot-to, or \`snapshot: {to: …}\` in the pipeline file${isUnexpanded(destination) ? `: ${WHOLE_PATH}` : '.'} Nothing was sent.`
    : 'Name one, or leave publishing out with --no-publish. Nothing was sent.'
  throw new ConfigError(`snapshots go to a folder or to s3://bucket/prefix, ${what}`, { hint })
}

function readPipeline(name: string): {
  readonly file: string
  readonly spec: PipelineSpec | CollectSpec
} {
  const file = findPipeline(name)
  refuseOthersPipeline(file)
  const text = readNamedFile('pipeline', file, CHECK_PATH).toString()
  return { file, spec: parsePipeline(text, file) }
}

/**
 * The Spark settings of a pipeline; undefined if DuckDB builds. @param engine the override of the command line
 * @throws ConfigError when it does not say how a job is started
 */
export function sparkBuildOf(build: PipelineSpec['build'], engine: 'duckdb' | 'spark' | undefined) {
  const { engine: said = 'duckdb', submit, address } = build ?? {}
  if ((engine ?? said) === 'duckdb') return undefined
  if (submit !== undefined) {
    return {
      /** The command that starts the job and waits for its end. */
      submit,
      /** The destination as Spark calls it; null: as Jobtide does. */
      address: address ?? null,
    }
  }
  throw new ConfigError('the pipeline does not say how a Spark job is started', {
    hint: 'Add `build: {engine: spark, submit: [spark-submit, …]}` to it. Nothing was sent.',
  })
}
