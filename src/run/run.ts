/**
 * Runs a pipeline: plan → extract → load → build → publish. The only place that knows every stage. A run is closed in the
 * journal when it is done; a run without that record was killed, and the next run of the same question resumes it.
 */

import { Pacer } from '../api/pacer.ts'
import type { Transport } from '../api/transport.ts'
import { collect } from '../extract/collect.ts'
import { extract } from '../extract/extract.ts'
import type { ExtractOptions, ExtractProgress } from '../extract/options.ts'
import { pausedUntil } from '../journal/pauses.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { monthlyCredits } from '../journal/spending.ts'
import type { SkippedLines } from '../plan/skipped-lines.ts'
import { readSuppression } from '../load/suppression.ts'
import { EXIT, JobtideError } from '../support/errors.ts'
import type { Secret } from '../support/secret.ts'
import { MINUTE } from '../support/units.ts'
import { checkBackup } from './backup/back-up.ts'
import { eachOnce, knownBackups } from './backup/backup-target.ts'
import { beginCollection } from './begin-collection.ts'
import { beginRun, type BegunRun, type RunCommand } from './begin.ts'
import { closeFailed, finish, hasSpark, type RunEnd, type RunParts } from './finish.ts'
import type { Job } from './job.ts'
import { hasWaiter } from './lock.ts'
import { timed } from './stage-times.ts'
import { withSession } from './session.ts'
import { preflightStage, refuseWrongOwn, type RunWorld } from './stages.ts'

export interface Service {
  readonly transport: Transport
  readonly baseUrl: string
  /** The secret that signs signal deliveries; if absent, they are unsigned. */
  readonly webhookSecret?: Secret | null
}

/** The report of a run. Stages that were not reached are null. */
export interface RunReport extends RunEnd, Omit<BegunRun, 'run'> {
  readonly runId: string
  readonly pipeline: string
  /** The requests; null for job changes. */
  readonly endpoint: string | null
  readonly batches: number
  /** Lines of the lists that name nothing. */
  readonly skippedLines: readonly SkippedLines[]
  readonly extract: ExtractProgress
  /** Why the run ended early, if it did: the budget, or the service. Bought pages are loaded and published. */
  readonly endedEarly: JobtideError | null
  readonly durationMs: number
}

/**
 * Runs a job. A problem that prevents publishing is in the report, and the run is closed as failed. A backfill yields: when
 * another process waits for the data directory, it finishes the batches in flight, lets that process work, and continues.
 * @throws JobtideError whose exit code says which stage ended it and what to do
 */
export async function runJob(
  job: Job,
  command: RunCommand,
  service: Service,
  world: RunWorld,
): Promise<RunReport> {
  const beganAt = world.clock.monotonic()
  let bought = NOTHING_YET
  for (let maxWaitMs = job.maxWaitMs; ; maxWaitMs = Number.POSITIVE_INFINITY) {
    // Another day, or another run of the pipeline, makes a new run; the budget is that of this command.
    const creditsSpent = bought.credits
    const ended = await withSession(job, command, world, maxWaitMs, (session) =>
      attempt({ job, command, service, world, session, creditsSpent }),
    )
    bought = together(bought, ended.extract)
    if ('runId' in ended) {
      return { ...ended, extract: bought, durationMs: world.clock.monotonic() - beganAt }
    }
    world.logger.info({ pages: bought.pages }, 'gave_way')
  }
}

function together(before: ExtractProgress, after: ExtractProgress): ExtractProgress {
  return {
    ...after,
    pages: before.pages + after.pages,
    events: before.events + after.events,
    credits: before.credits + after.credits,
    unexpectedCharges: before.unexpectedCharges + after.unexpectedCharges,
    listsCut: before.listsCut + after.listsCut,
    filterErrors: [...new Set([...before.filterErrors, ...after.filterErrors])],
    quarantined: [...before.quarantined, ...after.quarantined],
    clockTrouble: after.clockTrouble ?? before.clockTrouble,
  }
}

const NOTHING_YET: ExtractProgress = {
  fraction: 0,
  batchesDone: 0,
  batches: 0,
  pages: 0,
  events: 0,
  credits: 0,
  projection: null,
  unexpectedCharges: 0,
  listsCut: 0,
  filterErrors: [],
  clockTrouble: null,
  quarantined: [],
}

/** A run in one session: from the lock of the data directory to giving it back. */
interface Attempt extends RunParts {
  readonly service: Service
  readonly creditsSpent: number
}

/** @returns only the bought pages if a backfill yields: its run is not closed */
async function attempt(
  given: Omit<Attempt, 'store' | 'seconds'>,
): Promise<Omit<RunReport, 'durationMs'> | Pick<RunReport, 'extract'>> {
  const { job, command, world, session } = given
  const { clock } = world
  const { journal, writer, history: before, spentBefore } = session
  const { collection } = job
  // Before a credit is spent, because the load would refuse, and nothing is asked of who was erased.
  const suppression =
    command === 'extract' && collection === null
      ? null
      : readSuppression(journal, before.suppression)
  const publishes = command !== 'extract' && job.snapshot !== null
  if (command !== 'extract') refuseWrongOwn(world.ownFolder, hasSpark(job))
  const store = publishes ? await preflightStage(job.snapshot, world, job.publishing, before) : null
  for (const target of job.backups) await checkBackup(target, journal, world, 'write', store)
  await session.warehouse.bringUp()
  const backups = eachOnce([
    ...job.backups,
    ...knownBackups(world.directory.root, journal, before.runs),
  ])
  const about = { job, command, history: before, writer, clock, spentBefore, backups }
  const begun =
    collection === null || suppression === null
      ? await beginRun(about)
      : await beginCollection(about, collection, suppression)
  const { run, ...beginning } = begun
  const { organizations, resumed } = beginning
  const parts = { ...given, store, seconds: {} }
  world.onBegun?.(run.started.run_id)
  world.logger.info({ command, organizations, resumed, batches: run.batchesPlanned }, 'run_began')
  try {
    const { report, endedEarly, givesWay } = await buy(parts, run)
    if (givesWay && endedEarly === null) return { extract: report }
    const end = await finish(parts, run, { events: report.events, endedEarly })
    return {
      runId: run.started.run_id,
      pipeline: job.pipeline,
      endpoint: job.collection?.endpoint ?? null,
      ...beginning,
      batches: report.batches,
      skippedLines: job.skipped,
      extract: report,
      ...end,
      // Where the list is wrong, that is what is said.
      endedEarly: endedEarly ?? (end.unknownList?.isSure === true ? null : end.nothingCovered),
    }
  } catch (error) {
    await closeFailed(parts, run, error)
    throw error
  }
}

function buy(parts: Attempt, run: RunHistory) {
  return timed(
    parts,
    'extract',
    () => buyPages(parts, run),
    ({ report: { batches, batchesDone, pages, events, credits } }) => ({
      batches,
      batches_done: batchesDone,
      pages,
      events,
      credits,
    }),
  )
}

// A budget or an account that is used up, or a service that is away, ends the buying; what was bought is worth loading.
async function buyPages(parts: Attempt, run: RunHistory) {
  const { command, world, creditsSpent } = parts
  const { clock, logger } = world
  let tellAt = clock.monotonic() + MINUTE
  let report: ExtractProgress = NOTHING_YET
  let endedEarly: JobtideError | null = null
  let givesWay = false
  try {
    const { collection } = parts.job
    const buying = {
      ...extraction(parts, run),
      creditsSpent,
      mayBegin: async () => {
        // Not `||=`, which would undo the answer of another worker that arrived during this wait.
        if (command === 'backfill' && (await hasWaiter(world.directory.root))) givesWay = true
        return !givesWay
      },
      onProgress: (progress: ExtractProgress) => {
        report = progress
        if (clock.monotonic() >= tellAt) {
          tellAt = clock.monotonic() + MINUTE
          const { fraction, pages, events, credits } = progress
          logger.info({ stage: 'extract', fraction, pages, events, credits }, 'progress')
        }
        world.onProgress({ stage: 'extract', ...progress })
      },
    } satisfies ExtractOptions
    report =
      collection === null
        ? await extract(buying)
        : await collect({ ...buying, endpoint: collection.declared, pages: collection.pages })
  } catch (error) {
    if (!endsEarly(error)) throw error
    endedEarly = error
  }
  return { report, endedEarly, givesWay }
}

function endsEarly(error: unknown): error is JobtideError {
  const { exitCode } = error instanceof JobtideError ? error : { exitCode: EXIT.defect }
  return exitCode === EXIT.budget || exitCode === EXIT.unavailable
}

export function extraction(
  {
    job,
    service,
    world,
    session: { writer, history },
  }: Pick<Attempt, 'job' | 'service' | 'world' | 'session'>,
  run: RunHistory,
): ExtractOptions {
  const { onProgress: _, ...about } = world
  return {
    ...service,
    ...about,
    run,
    ids: history.ids,
    pacer: new Pacer(world.clock, job.requestsPerSecond, job.maxWaitMs),
    writer,
    creditsLimit: job.creditsLimit,
    monthlyCredits: {
      limit: job.creditsPerMonth,
      spentBy: monthlyCredits(history.spending, job.pipeline),
    },
    pagePrice: history.lastPrice.credits,
    concurrency: job.concurrency,
    maxWaitMs: job.maxWaitMs,
    notBefore: pausedUntil(history, world.clock.now(), world.clock.uptime?.() ?? null),
    clocksBefore: { serverAheadMs: history.serverAheadMs, reached: history.reached },
  }
}
