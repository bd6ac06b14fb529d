/**
 * The stages after the journal: `load`, `build` and `publish` run one each, a run all in order. A stop takes effect between
 * steps: merged data of a load stays, a build is rolled back, and readers keep the previous snapshot.
 */

import type { ExtractProgress } from '../extract/options.ts'
import type { History } from '../journal/history.ts'
import {
  journalIdentity,
  openJournal,
  type Journal,
  type JournalWriter,
} from '../journal/journal.ts'
import type { StageSeconds } from '../journal/records.ts'
import { refuseOlderList } from '../load/remove-suppressed.ts'
import { monthlyCredits } from '../journal/spending.ts'
import { load, type LoadProgress, type LoadReport } from '../load/load.ts'
import { readSuppression } from '../load/suppression.ts'
import { buildModels, type BuildOptions, type BuildReport, type BuildStep } from '../model/build.ts'
import { computedModels } from '../model/computed-models.ts'
import { readOwnFiles } from '../model/own/files.ts'
import { refuseOnSpark } from '../model/own/project.ts'
import { ownTables } from '../model/build-state.ts'
import { NewerFormatError, PublishError, RefusedError } from '../publish/errors.ts'
import { checkDestination, type LossChoices } from '../publish/guard.ts'
import { collectGarbage, type GcReport, type Keep } from '../publish/retention.ts'
import type { PublishStep } from '../publish/export.ts'
import type { Step } from '../publish/scratch.ts'
import type { ObjectStore } from '../publish/store/object-store.ts'
import { openStore } from '../publish/store/open-store.ts'
import { readCurrent } from '../publish/manifest.ts'
import {
  publishSnapshot,
  type PublishChoices,
  type PublishOptions,
  type PublishReport,
} from '../publish/publish.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import { isWithin, usersModes } from '../support/file-modes.ts'
import type { Logger } from '../support/logger.ts'
import { useOwnLists } from '../support/own-lists.ts'
import { toSnakeCase } from '../support/json.ts'
import { sum } from '../support/numbers.ts'
import { newUlid } from '../support/ulid.ts'
import { SECOND } from '../support/units.ts'
import { publishedTables, readModelFiles, shippedNames } from '../warehouse/catalog.ts'
import { withoutAbsent } from '../warehouse/endpoint-tables.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { DataDirectory } from './data-directory.ts'
import type { SnapshotTarget } from './job.ts'
import { publishFromSpark, type SubmitWorld } from './spark-publish.ts'

/** The effects of a run, passed as an argument. */
export interface RunWorld {
  readonly directory: DataDirectory
  /** Folder of the user's own models/ and checks/; null or absent: that of the last build. */
  readonly ownFolder?: string | null
  readonly clock: Clock
  /** A random number in [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly version: string
  readonly s3Endpoint: string | undefined
  /** Stops cleanly; requests in flight are finished. Its reason is the error to end with. */
  readonly stop: AbortSignal
  /** Of the process; what starts Spark gets it. Default: nothing. */
  readonly environment?: SubmitWorld['environment']
  /** Breaks off requests in flight. */
  readonly abort: AbortSignal
  readonly onProgress: (progress: RunProgress) => void
  /** Called with the id of each run that begins or is resumed. */
  readonly onBegun?: (runId: string) => void
}

export type RunProgress =
  | ({ readonly stage: 'extract' } & ExtractProgress)
  | ({ readonly stage: 'load' } & LoadProgress)
  | ({ readonly stage: 'build' } & BuildStep)
  | ({ readonly stage: 'publish' } & PublishStep)
  | ({ readonly stage: 'forget' | 'backup' | 'export' } & Step)

/**
 * Does the work of a stage of a run, measures it, and logs its start, its end, and the numbers, ids and lengths of lists in its
 * result: no received text.
 * @param seconds gets how long it took
 */
export async function timed<T extends object | null>(
  { world: { clock, logger }, seconds }: { world: RunWorld; seconds: StageSeconds },
  stage: keyof StageSeconds,
  work: () => Promise<T>,
): Promise<T> {
  const beganAt = clock.monotonic()
  const took = () => Math.round(clock.monotonic() - beganAt) / SECOND
  logger.info({ stage }, 'stage_began')
  try {
    const result = await work()
    // A failure that is kept until the other stages are done.
    if (result instanceof Error) {
      logger.info({ stage, seconds: took(), reason: result.message }, 'stage_failed')
      return result
    }
    const figures = Object.entries(result ?? {}).flatMap(([name, value]: [string, unknown]) => {
      if (Array.isArray(value)) return [[name, value.length]]
      return typeof value === 'number' || name.endsWith('Id') ? [[name, value]] : []
    })
    const told = toSnakeCase(Object.fromEntries(figures)) as object
    logger.info({ stage, seconds: took(), ...told }, 'stage_ended')
    return result
  } finally {
    seconds[stage] = took()
  }
}

/** Brings the warehouse up to date with the journal. @param history of the journal; read from it unless given */
export async function loadStage(
  warehouse: Warehouse,
  journal: Journal,
  world: Pick<RunWorld, 'onProgress' | 'stop'>,
  history?: History,
): Promise<LoadReport> {
  world.stop.throwIfAborted()
  return load({
    warehouse,
    journal,
    history,
    onProgress: (progress) => {
      world.stop.throwIfAborted()
      world.onProgress({ stage: 'load', ...progress })
    },
  })
}

/** @param how titlesOnly: whether Spark builds the models */
export async function buildStage(
  warehouse: Warehouse,
  world: Pick<RunWorld, 'directory' | 'ownFolder' | 'clock' | 'onProgress' | 'stop'>,
  how: Pick<BuildOptions, 'titlesOnly' | 'select' | 'ownFolder'> = {},
): Promise<BuildReport> {
  world.stop.throwIfAborted()
  return buildModels(warehouse, {
    buildId: newUlid(world.clock.now()),
    builtAt: new Date(world.clock.now()),
    clock: world.clock,
    ownFolder: world.ownFolder ?? null,
    ...how,
    asKnownOn: world.directory.asKnownOn,
    onProgress: (step) => {
      world.stop.throwIfAborted()
      world.onProgress({ stage: 'build', ...step })
    },
  })
}

export interface PublishStageReport extends PublishReport {
  readonly gc: GcReport
}

/**
 * The journal of a data directory as a snapshot names it, and what was erased from it.
 * @param noted as in {@link readSuppression}
 */
function sourceOf(
  { directory, clock }: Pick<RunWorld, 'directory' | 'clock'>,
  noted?: History['suppression'],
) {
  const suppression = readSuppression(openJournal(directory.journal, clock), noted)
  const { people, eventsBefore, list, lists } = suppression
  const before = eventsBefore === null ? null : isoInstant(eventsBefore)
  return {
    suppression,
    lists,
    journalId: journalIdentity(directory.journal, clock.now()),
    notKept: { people, events_before: before, list },
  }
}

/**
 * Reads the user's own models, checks and lists before a run buys. @throws ConfigError for a wrong one, or where Spark builds the
 * models
 */
export async function refuseWrongOwn(folder: string | null | undefined, isOfSpark: boolean) {
  if (folder === null || folder === undefined) return
  const { models, checks, lists } = readOwnFiles(folder)
  if (isOfSpark) refuseOnSpark(models.length + checks.length)
  if (lists.size === 0) return
  useOwnLists(lists)
  const { organizationGroups, transferDecisions } = await import('../model/config-lists.ts')
  const { ladders } = await import('../titles/ladders.ts')
  for (const read of [organizationGroups, transferDecisions, ladders]) read()
}

/**
 * Opens the destination of a run before it buys, and refuses one that it could not publish to.
 * @param history of the journal
 * @throws PublishError when it cannot be reached or written, or shows the rows of another journal or of a newer copy of it
 */
export async function preflightStage(
  target: SnapshotTarget,
  world: Pick<RunWorld, 'clock' | 's3Endpoint' | 'directory'>,
  choices: LossChoices,
  { spending, suppression }: Pick<History, 'spending' | 'suppression'>,
): Promise<ObjectStore> {
  try {
    const { journalId, notKept, lists } = sourceOf(world, suppression)
    const store = await openTarget(target, world)
    const source = { journal_id: journalId, not_kept: notKept }
    const credits = sum([...monthlyCredits(spending, null).values()])
    await checkDestination(store, source, credits, { ...choices, lists })
    return store
  } catch (error) {
    if (!(error instanceof PublishError) || error instanceof NewerFormatError) throw error
    throw error.hinting(
      'Nothing was bought: a run checks its destination first. To buy anyway, run with --no-publish.',
    )
  }
}

/** The end of a publish: the hint of what a later run can fix also says so. */
function whilePublishing(error: unknown): unknown {
  if (!(error instanceof PublishError) || error instanceof RefusedError) return error
  return error.hinting(
    'The warehouse is complete, and the next run publishes it. Or fix this and run `jobtide publish`.',
  )
}

/** Reads what a destination shows. @throws PublishError when it cannot be continued */
export async function readTarget(target: SnapshotTarget, world: RunWorld): Promise<void> {
  try {
    await readCurrent(await openTarget(target, world))
  } catch (error) {
    throw whilePublishing(error)
  }
}

/**
 * Publishes a snapshot, notes it in the journal, and deletes what is no longer kept.
 * @param by who publishes; with the store where it is open already, and what the journal says of erased people where it was
 *   read already
 */
export async function publishStage(
  warehouse: Warehouse,
  target: SnapshotTarget,
  by: {
    readonly runId: string | null
    readonly writer: Pick<JournalWriter, 'append'>
    readonly store?: ObjectStore | null
    readonly suppression?: History['suppression']
  },
  world: RunWorld,
  choices: PublishChoices = {},
): Promise<PublishStageReport> {
  const { clock, logger, version, directory, stop } = world
  stop.throwIfAborted()
  const snapshotId = newUlid(clock.now())
  const { suppression, ...source } = sourceOf(world, by.suppression)
  await refuseOlderList(warehouse, suppression)
  const shipped = shippedNames()
  const own = await ownTables(warehouse)
  if (target.spark !== undefined) refuseOnSpark(own.length)
  try {
    const store = by.store ?? (await openTarget(target, world))
    const options: PublishOptions = {
      ...choices,
      ...source,
      warehouse,
      snapshotId,
      runId: by.runId,
      hasCurrent: target.current ?? true,
      store,
      tables: await withoutAbsent(warehouse, [
        ...publishedTables(readModelFiles()),
        ...computedModels,
        ...own,
      ]),
      isOwn: (table) => !shipped.has(table),
      scratchFolder: directory.scratch,
      clock,
      version,
      logger,
      signal: stop,
      onProgress: (step) => world.onProgress({ stage: 'publish', ...step }),
      // Recorded as soon as readers see it, because a later failure of a Delta log, or a signal, does not undo it.
      onPublished: (published) => {
        const { snapshotId: snapshot_id, destination, tables, files, rows, bytes } = published
        const { newFiles: new_files, newBytes: new_bytes } = published
        const what = { snapshot_id, destination, tables, files, new_files, rows, bytes, new_bytes }
        const about = { run_id: by.runId, at: clock.now() }
        return by.writer.append({ kind: 'snapshot_published', ...about, ...what })
      },
    }
    const report =
      target.spark === undefined
        ? await publishSnapshot(options)
        : await publishFromSpark(options, target.spark, { environment: {}, ...world })
    const gc = report.nothingRead ? NOTHING_DELETED : await gcTarget(store, target.keep, world)
    return { ...report, gc }
  } catch (error) {
    throw whilePublishing(error)
  }
}

/** Opens the store of a target. @throws PublishError when it cannot be used */
export function openTarget(
  { to, s3 }: Pick<SnapshotTarget, 'to' | 's3'>,
  { clock, s3Endpoint, directory }: Pick<RunWorld, 'clock' | 's3Endpoint' | 'directory'>,
  access: 'read' | 'write' = 'write',
): Promise<ObjectStore> {
  // A separate folder is for other readers; one in the data directory is as private as all there.
  const modes = isWithin(directory.root, to) ? null : usersModes()
  return openStore(to, {
    clock,
    s3,
    modes,
    access,
    ...(s3Endpoint === undefined ? {} : { s3Endpoint }),
  })
}

const NOTHING_DELETED: GcReport = { reason: null, snapshots: [], objects: 0, bytes: 0, uploads: 0 }

// Everything is published by now: a failed garbage collection is reported, and the next one continues.
async function gcTarget(store: ObjectStore, keep: Keep, { logger, stop }: RunWorld) {
  try {
    return await collectGarbage({ store, keep, logger, signal: stop })
  } catch (error) {
    if (!(error instanceof PublishError)) throw error
    logger.warn({ reason: error.message }, 'gc.failed')
    return { ...NOTHING_DELETED, reason: error.message }
  }
}
