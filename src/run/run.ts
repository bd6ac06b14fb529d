/**
 * Runs a pipeline: plan → extract → load → build → publish. The only place that knows every stage. A run is closed in the
 * journal when it is done; a run without that record was killed, and the next run of the same question resumes it.
 */

import { Pacer } from '../api/pacer.ts'
import type { Transport } from '../api/transport.ts'
import { collect } from '../extract/collect.ts'
import { BudgetReachedError } from '../extract/budget.ts'
import { extract } from '../extract/extract.ts'
import type { ExtractOptions, ExtractProgress } from '../extract/options.ts'
import { serviceTime } from '../journal/clock-history.ts'
import { pausedUntil } from '../journal/pauses.ts'
import type { RunFinished, StageSeconds } from '../journal/records.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { monthlyCredits } from '../journal/spending.ts'
import { load, type LoadReport, type RunsOfHistory } from '../load/load.ts'
import { readSuppression } from '../load/suppression.ts'
import type { BuildReport } from '../model/build.ts'
import type { ObjectStore } from '../publish/store/object-store.ts'
import { EXIT, JobtideError, expectedError } from '../support/errors.ts'
import { shuffled } from '../support/numbers.ts'
import type { Secret } from '../support/secret.ts'
import { MINUTE } from '../support/units.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { makeAnalystCopy, type AnalystCopyReport } from './analyst-copy.ts'
import { checkBackup } from './backup/back-up.ts'
import { beginCollection, beginRun, closingOf, type RunCommand } from './begin.ts'
import { loadDatabases, problemIn, type DatabaseOutcome } from './databases.ts'
import type { Job } from './job.ts'
import { withSession, type Session } from './session.ts'
import {
  buildStage,
  loadStage,
  preflightStage,
  publishStage,
  refuseWrongOwn,
  timed,
  type PublishStageReport,
  type RunWorld,
} from './stages.ts'
import { judgeList, type ListVerdict } from './unknown-list.ts'
import { storeWatchLists } from './watch-lists.ts'

export interface Service {
  readonly transport: Transport
  readonly baseUrl: string
  /** The secret that signs signal deliveries; if absent, they are unsigned. */
  readonly webhookSecret?: Secret | null
}

/** The report of a run. Stages that were not reached are null. */
export type RunReport = Awaited<ReturnType<typeof runJob>>

/**
 * Runs a job. A problem that prevents publishing is in the report, and the run is closed as failed.
 * @throws JobtideError whose exit code says which stage ended it and what to do
 */
export async function runJob(job: Job, command: RunCommand, service: Service, world: RunWorld) {
  const beganAt = world.clock.monotonic()
  const ended = await withSession(job, command, world, (session) =>
    attempt({ job, command, service, world, session }),
  )
  return { ...ended, durationMs: world.clock.monotonic() - beganAt }
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
interface Attempt {
  readonly job: Job
  readonly command: RunCommand
  readonly service: Service
  readonly world: RunWorld
  readonly session: Session
  /** Of the snapshots, open since before anything was bought; null for a run that publishes nothing. */
  readonly store: ObjectStore | null
  readonly seconds: StageSeconds
}

async function attempt(given: Omit<Attempt, 'store' | 'seconds'>) {
  const { job, command, world, session } = given
  const { clock } = world
  const { journal, history: before } = session
  const { collection } = job
  // Before a credit is spent, because the load would refuse, and erased people must not be requested.
  const suppression =
    command === 'extract' && collection === null
      ? null
      : readSuppression(journal, before.suppression)
  const publishes = command !== 'extract' && job.snapshot !== null
  if (command !== 'extract') await refuseWrongOwn(world.ownFolder, hasSpark(job))
  const store = publishes ? await preflightStage(job.snapshot, world, job.publishing, before) : null
  for (const target of job.backups) await checkBackup(target, journal, world, 'write', store)
  await session.bringUp()
  const about = { ...session, job, command, clock }
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
    const bought = await timed(parts, 'extract', () => buy(parts, run))
    const { endedEarly, ...report } = bought
    const end = await finish(parts, run, endedEarly)
    return {
      runId: run.started.run_id,
      pipeline: job.pipeline,
      /** The requests; null for job changes. */
      endpoint: collection?.endpoint ?? null,
      ...beginning,
      batches: report.batches,
      skippedLines: job.skipped,
      extract: report,
      ...end,
      /**
       * Why the run ended early, if it did: the budget, or the service. Bought pages are loaded and published. Where the
       * list is wrong, that is what is said.
       */
      endedEarly: endedEarly ?? (end.unknownList?.isSure === true ? null : end.nothingCovered),
    }
  } catch (error) {
    await closeFailed(parts, run, error)
    throw error
  }
}

// A spent budget, an empty account or an unavailable service ends the buying, but the bought pages are worth loading.
async function buy(parts: Attempt, run: RunHistory) {
  const { world, job } = parts
  const { clock, logger } = world
  const { collection } = job
  let tellAt = clock.monotonic() + MINUTE
  let report = NOTHING_YET
  try {
    const buying = {
      ...extraction(parts, run),
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
    return { ...report, endedEarly: null }
  } catch (error) {
    const endedEarly = expectedError(error)
    const { exitCode } = endedEarly
    if (exitCode !== EXIT.budget && exitCode !== EXIT.unavailable) throw error
    return { ...report, endedEarly }
  }
}

function extraction(
  { job, service, world, session }: Pick<Attempt, 'job' | 'service' | 'world' | 'session'>,
  run: RunHistory,
): ExtractOptions {
  const { writer, history } = session
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

/** Loads, builds and publishes what was bought, and closes the run. */
async function finish(parts: Attempt, run: RunHistory, endedEarly: JobtideError | null) {
  const { job, command, world, session, store } = parts
  const { warehouse } = session
  // The bought pages are backed up before anything is derived from them; loading continues where that fails.
  const notBackedUp =
    job.backups.length === 0 ? null : await timed(parts, 'backup', () => session.backUp(store))
  // The session keeps it for the checkpoint at its end.
  const history = session.readHistory()
  // The journal knows every batch that was split during the run.
  const recorded = history.runs.get(run.started.run_id) ?? run
  const nowMs = serviceTime(history, world.clock.now())
  const end = {
    ...(endedEarly === null ? judgeList(job, history, recorded, nowMs) : NOT_JUDGED),
    /** Organisations that were not read to the end; more than 0 only when the run ended early. */
    unread: endedEarly === null ? 0 : unreadOrganizations(recorded),
    load: null as LoadReport | null,
    build: null as BuildReport | null,
    publish: null as PublishStageReport | null,
    databases: [] as DatabaseOutcome[],
    /** The error that ended these stages: a check, a reader's lock, the disk, or the publish. Bought pages are kept. */
    stageFailure: null as JobtideError | null,
    /** The copy of the warehouse for analysts; null when nothing was published. */
    analystCopy: null as AnalystCopyReport | null,
  }
  const isWrongList = end.unknownList?.isSure === true
  const closing = (): RunFinished => {
    // With a wrong list everything possible was done, so such a run is not resumed.
    const problem = isWrongList ? end.unknownList?.problem : end.nothingCovered
    // The next run loads the changes that a database missed.
    const missed = endedEarly === null ? problemIn(end.databases) : null
    const reason = problem ?? missed
    const more = reason === null ? {} : { outcome: 'done' as const }
    return closingOf(run, reason ?? endedEarly, world.clock, {
      ...more,
      ...toldOf(parts, end.load),
    })
  }
  try {
    if (command === 'extract') {
      if (notBackedUp !== null) throw notBackedUp
      await close(parts, closing())
      return end
    }
    end.load = await timed(parts, 'load', () =>
      warehouse.use((open) => loadStage(open, session.journal, world, history)),
    )
    end.build = await timed(parts, 'build', () => build(parts))
    // With only a wrong list, empty tables would suggest to readers that nothing ever happened.
    if (!isWrongList || (await warehouse.use(hasEvents))) {
      const { snapshot, publishing, databases } = job
      const { suppression } = session.history
      const by = { runId: run.started.run_id, writer: session.writer, store, suppression }
      if (snapshot !== null) {
        end.publish = await timed(parts, 'publish', () =>
          warehouse.use((open) => publishStage(open, snapshot, by, world, publishing)),
        )
      }
      if (databases.length > 0) {
        end.databases = await warehouse.use((open) => loadDatabases(open, databases, world))
      }
    }
    if (notBackedUp !== null) throw notBackedUp
    const record = closing()
    await show(parts, record, history)
    warehouse.close()
    await close(parts, record)
  } catch (error) {
    if (!(error instanceof JobtideError) || world.stop.aborted) throw error
    await closeFailed(parts, run, error, end.load)
    return { ...end, stageFailure: error }
  }
  if (end.publish === null) return end
  // Last, when the warehouse is closed and shows the end of the run. Everything is published by then.
  end.analystCopy = await makeAnalystCopy(world)
  const { path, problem: refused } = end.analystCopy
  if (refused !== null) world.logger.warn({ path, reason: refused.message }, 'no_analyst_copy')
  return end
}

const hasEvents = async (warehouse: Warehouse) =>
  (await warehouse.number('select count(*) from (from job_change_events limit 1)')) > 0

const NOT_JUDGED: ListVerdict = { unknownList: null, nothingCovered: null }

function unreadOrganizations(run: RunHistory): number {
  const unread = [...run.batches.values()].filter(({ state }) => state === 'planned')
  const names = unread.flatMap(({ batch }) => batch.organizations.map(({ value }) => value))
  return new Set(names).size
}

function build({ job, world, session }: Attempt): Promise<BuildReport> {
  return session.warehouse.use(async (warehouse) => {
    await storeWatchLists(
      warehouse,
      job,
      readSuppression(session.journal, session.history.suppression),
    )
    return buildStage(warehouse, world, { titlesOnly: hasSpark(job) })
  })
}

function hasSpark({ snapshot }: Job): boolean {
  return snapshot?.spark !== undefined
}

/** Lets the warehouse show the end of the run that the journal gets next. */
async function show(
  { world, session }: Attempt,
  closing: RunFinished,
  history?: RunsOfHistory,
): Promise<void> {
  const onProgress = () => world.abort.throwIfAborted()
  // The rest of it is loaded already: coverage alone can have a row for each organisation.
  const ended = history && {
    runs: history.runs,
    notRead: history.notRead,
    suppression: history.suppression,
  }
  const options = { closing, history: ended, journal: session.journal, onProgress }
  await session.warehouse.use((warehouse) => load({ ...options, warehouse }))
}

async function close({ session, world }: Attempt, record: RunFinished): Promise<void> {
  await session.writer.append(record)
  const { outcome, exit_code: exitCode, message } = record
  world.logger.info({ outcome, exit_code: exitCode, message }, 'run_ended')
}

function toldOf({ seconds }: Attempt, load: LoadReport | null) {
  return { stage_seconds: seconds, ...(load === null ? {} : { rejected: load.rejected }) }
}

/**
 * Closes a run that failed. The error to report is the one that ended it. If even its end cannot be recorded (a full
 * disk), the run counts as killed, and is resumed anyway.
 */
async function closeFailed(
  parts: Attempt,
  run: RunHistory,
  error: unknown,
  loaded: LoadReport | null = null,
): Promise<void> {
  const closing = closingOf(run, error, parts.world.clock, toldOf(parts, loaded))
  // The warehouse may be the very thing that is out of reach, or broken as it is open; it shows the end after the next load.
  parts.session.warehouse.close()
  if (parts.command !== 'extract') {
    await show(parts, closing).catch(() => undefined)
  }
  await close(parts, closing).catch(() => undefined)
}

export type SampleReport = Awaited<ReturnType<typeof sampleRun>>

/**
 * Forecasts from a sample, for `plan --sample`: reads random batches of a run of `job` to their end. The next `run` of the
 * same pipeline continues with the others.
 * @param count how many of the batches that are not read yet, 2 or more: one gives no range
 * @returns also what a sample shows that needs more pages than the budget allows
 * @throws JobtideError as a run does
 */
export async function sampleRun(job: Job, count: number, service: Service, world: RunWorld) {
  const { clock, random } = world
  return withSession(job, 'plan', world, async (session) => {
    const { writer } = session
    const begun = await beginRun({ ...session, job, command: 'plan', clock })
    const { run, organizations, leftBehind } = begun
    const unread = [...run.batches.values()].filter(({ state }) => state === 'planned')
    // Those that an earlier sample could not finish come first: others would cost as much again.
    const begunBefore = unread.filter(({ pages }) => pages > 0)
    const others = unread.filter(({ pages }) => pages === 0)
    const drawn = [...begunBefore, ...shuffled(others, random)].slice(0, count)
    let progress: ExtractProgress | null = null
    const reportOf = (now: ExtractProgress, endedEarly: JobtideError | null) => ({
      runId: run.started.run_id,
      pipeline: job.pipeline,
      organizations,
      leftBehind,
      /** The pace at which the rest will be bought; null where the service sets it. */
      requestsPerSecond: job.requestsPerSecond,
      /** Credits of the run so far, including earlier attempts. */
      creditsOfRun: run.creditsCommitted + now.credits,
      /** The sample, and the projection of the whole run. */
      progress: now,
      /** The budget that ended the sample; null if it was read to its end. */
      endedEarly,
    })
    try {
      const read = await extract({
        ...extraction({ job, service, world, session }, run),
        only: new Set(drawn.map(({ batch }) => batch.batch_id)),
        onProgress: (now) => {
          progress = now
          world.onProgress({ stage: 'extract', ...now })
        },
      })
      await writer.append(closingOf(run, null, clock, { outcome: 'sampled' }))
      return reportOf(read, null)
    } catch (error) {
      // The error to report is the one that ended the sample, also where even its end cannot be noted.
      await writer.append(closingOf(run, error, clock)).catch(() => undefined)
      if (progress === null || !(error instanceof BudgetReachedError)) throw error
      return reportOf(progress, error)
    }
  })
}
