/**
 * The stages after the journal, each usable by itself: `load`, `build` and `publish` run them alone, a run in order.
 * Each stops between two of its steps: what a load has merged stays, of a build nothing, and readers of a snapshot keep
 * the one before.
 */

import type { ExtractProgress } from '../extract/extract.ts'
import type { Journal, JournalWriter } from '../journal/journal.ts'
import { load, type LoadProgress, type LoadReport } from '../load/load.ts'
import { buildModels, type BuildReport, type BuildStep } from '../model/build.ts'
import { filledTables } from '../model/filled-tables.ts'
import { openStore } from '../publish/open-store.ts'
import { publishSnapshot, type PublishReport, type PublishStep } from '../publish/publish.ts'
import type { Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { newUlid } from '../support/ulid.ts'
import { publishedTables, readModelFiles } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { DataDirectory } from './data-directory.ts'

/** The world of a run, as an argument. */
export interface RunWorld {
  readonly directory: DataDirectory
  readonly clock: Clock
  /** A random number in [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  /** Version of Jobtide, for manifests. */
  readonly version: string
  readonly s3Endpoint: string | undefined
  /** Stops cleanly; requests in flight are finished. Its reason is the error to end with. */
  readonly stop: AbortSignal
  /** Breaks off requests in flight. */
  readonly abort: AbortSignal
  readonly onProgress: (progress: RunProgress) => void
}

/** Progress of one stage. */
export type RunProgress =
  | ({ readonly stage: 'extract' } & ExtractProgress)
  | ({ readonly stage: 'load' } & LoadProgress)
  | ({ readonly stage: 'build' } & BuildStep)
  | ({ readonly stage: 'publish' } & PublishStep)

/** Brings the warehouse up to date with the journal. */
export async function loadStage(
  warehouse: Warehouse,
  journal: Journal,
  world: Pick<RunWorld, 'onProgress' | 'stop'>,
): Promise<LoadReport> {
  world.stop.throwIfAborted()
  return load({
    warehouse,
    journal,
    onProgress: (progress) => {
      world.stop.throwIfAborted()
      world.onProgress({ stage: 'load', ...progress })
    },
  })
}

/** Builds and checks the models. */
export async function buildStage(
  warehouse: Warehouse,
  world: Pick<RunWorld, 'clock' | 'onProgress' | 'stop'>,
): Promise<BuildReport> {
  world.stop.throwIfAborted()
  return buildModels(warehouse, {
    buildId: newUlid(world.clock.now()),
    builtAt: new Date(world.clock.now()),
    clock: world.clock,
    onProgress: (step) => {
      world.stop.throwIfAborted()
      world.onProgress({ stage: 'build', ...step })
    },
  })
}

/** Publishes a snapshot and notes it in the journal. */
export async function publishStage(
  warehouse: Warehouse,
  destination: string,
  by: { readonly runId: string | null; readonly writer: JournalWriter },
  world: RunWorld,
): Promise<PublishReport> {
  const { clock, logger, version, directory, stop, s3Endpoint, onProgress } = world
  stop.throwIfAborted()
  const store = await openStore(destination, {
    clock,
    ...(s3Endpoint === undefined ? {} : { s3Endpoint }),
  })
  const report = await publishSnapshot({
    warehouse,
    store,
    tables: [...publishedTables(readModelFiles()), ...filledTables],
    scratchFolder: directory.scratch,
    clock,
    snapshotId: newUlid(clock.now()),
    runId: by.runId,
    version,
    logger,
    signal: stop,
    onProgress: (step) => onProgress({ stage: 'publish', ...step }),
  })
  if (!report.unchanged) {
    await by.writer.append({
      kind: 'snapshot_published',
      run_id: by.runId,
      at: clock.now(),
      snapshot_id: report.snapshotId,
      destination: report.destination,
      tables: report.tables,
      files: report.files,
      new_files: report.newFiles,
      rows: report.rows,
      bytes: report.bytes,
      new_bytes: report.newBytes,
    })
  }
  return report
}
