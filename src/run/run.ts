/**
 * One run: plan → extract → load → build → publish. The only place that knows every stage. A run is closed in the
 * journal when all of it is done; a run without that record was killed, and the next one of the same question goes on
 * with it.
 */

import { PaymentRequiredError, UnavailableError } from '../api/errors.ts'
import { Pacer } from '../api/pacer.ts'
import type { Transport } from '../api/transport.ts'
import { BudgetReachedError } from '../extract/budget.ts'
import { extract } from '../extract/extract.ts'
import type { ExtractOptions, ExtractProgress } from '../extract/options.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { serviceTime, type History } from '../journal/history.ts'
import { readHistory } from '../journal/read-history.ts'
import type { RunFinished } from '../journal/records.ts'
import { monthlyCredits } from '../journal/spending.ts'
import { load, type LoadReport } from '../load/load.ts'
import { readSuppression } from '../load/suppression.ts'
import type { BuildReport } from '../model/build.ts'
import type { Plan } from '../plan/plan.ts'
import { JobtideError } from '../support/errors.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import { makeAnalystCopy, type AnalystCopyReport } from './analyst-copy.ts'
import { beginRun, type RunCommand } from './begin.ts'
import { closingOf, closingRecord } from './closing.ts'
import type { Job } from './job.ts'
import { isAwaited } from './lock.ts'
import { withSession, type Session } from './session.ts'
import {
  PUBLISHING_MEMORY,
  buildStage,
  loadStage,
  publishStage,
  type PublishStageReport,
  type RunWorld,
} from './stages.ts'
import { unknownList, type UnknownList } from './unknown-list.ts'

/** How to reach the service. */
export interface Service {
  readonly transport: Transport
  readonly baseUrl: string
}

/** What a run did. Stages that were not reached are null. */
export interface RunReport {
  readonly runId: string
  readonly pipeline: string
  readonly resumed: boolean
  readonly organizations: number
  readonly batches: number
  /** Companies not asked for because the service refused them in the last days. */
  readonly skipped: Plan['quarantined']
  /** Pages paid for in batches of an earlier run that were planned again; they are kept and loaded all the same. */
  readonly leftBehind: number
  readonly extract: ExtractProgress
  /** Organisations that were not read to the end; more than 0 only when the run ended early. */
  readonly unread: number
  readonly load: LoadReport | null
  readonly build: BuildReport | null
  readonly publish: PublishStageReport | null
  /** What ended the stages after the buying: a check, a reader's lock, the disk, or the publish. What was bought is kept. */
  readonly stageFailure: JobtideError | null
  /** The copy of the warehouse for analysts; null when nothing was published. */
  readonly analystCopy: AnalystCopyReport | null
  /** What is wrong with a list of which the service knows no organisation; null for any other. */
  readonly unknownList: UnknownList | null
  /** Why the run ended early, when it did: the budget, or the service. What was bought is loaded and published. */
  readonly endedEarly: JobtideError | null
  readonly durationMs: number
}

/**
 * Runs a job. What keeps it from publishing is in the report; the run is closed as failed then. A backfill gives way: when
 * another process waits for the data directory, it ends the batches that are begun, lets that process work, and goes on.
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
    const ended = await withSession(
      job,
      command,
      world,
      (session) => attempt({ job, command, service, world, session, creditsSpent }),
      maxWaitMs,
    )
    bought = together(bought, ended.extract)
    if ('runId' in ended) {
      return { ...ended, extract: bought, durationMs: world.clock.monotonic() - beganAt }
    }
    world.logger.info({ pages: bought.pages }, 'gave_way')
  }
}

/** What two parts of one run bought. */
function together(before: ExtractProgress, after: ExtractProgress): ExtractProgress {
  return {
    ...after,
    pages: before.pages + after.pages,
    events: before.events + after.events,
    credits: before.credits + after.credits,
    unexpectedCharges: before.unexpectedCharges + after.unexpectedCharges,
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
  readonly creditsSpent: number
}

/** @returns only what was bought, where a backfill gives way: its run is not closed */
async function attempt(
  parts: Attempt,
): Promise<Omit<RunReport, 'durationMs'> | Pick<RunReport, 'extract'>> {
  const { job, command, world, session } = parts
  const { clock } = world
  const { journal, writer, history: before } = session
  // Before a credit is spent, because the load would refuse.
  if (command !== 'extract') readSuppression(journal, before.suppression)
  const begun = await beginRun({ job, command, history: before, writer, clock })
  const { run, ...beginning } = begun
  try {
    const { report, endedEarly, givesWay } = await buy(parts, run)
    if (givesWay && endedEarly === null) return { extract: report }
    const history = readHistory(journal)
    const unknown =
      endedEarly === null && report.events === 0
        ? unknownList(job, history, serviceTime(history, clock.now()))
        : null
    return {
      runId: run.started.run_id,
      pipeline: job.pipeline,
      ...beginning,
      batches: report.batches,
      extract: report,
      unread: endedEarly === null ? 0 : unreadOrganizations(history, run),
      ...(await finish(parts, run, history, endedEarly, unknown)),
      unknownList: unknown,
      endedEarly,
    }
  } catch (error) {
    await closeFailed(parts, run, error)
    throw error
  }
}

// A budget or an account that is used up, or a service that is away, ends the buying; what was bought is worth loading.
async function buy(parts: Attempt, run: RunHistory) {
  const { job, command, service, world, session, creditsSpent } = parts
  let report: ExtractProgress = NOTHING_YET
  let endedEarly: JobtideError | null = null
  let givesWay = false
  try {
    report = await extract({
      ...extraction(job, service, world, session, run),
      creditsSpent,
      mayBegin: async () => {
        // Not `||=`, which would undo what another worker was told while this one waited for its answer.
        if (command === 'backfill' && (await isAwaited(world.directory.root))) givesWay = true
        return !givesWay
      },
      onProgress: (progress) => {
        report = progress
        world.onProgress({ stage: 'extract', ...progress })
      },
    })
  } catch (error) {
    if (!endsEarly(error)) throw error
    endedEarly = error
  }
  return { report, endedEarly, givesWay }
}

// The journal knows every batch that was split while the run went on.
function unreadOrganizations(history: History, { started }: RunHistory): number {
  const batches = history.runs.get(started.run_id)?.batches.values() ?? []
  const unread = [...batches].filter(({ state }) => state === 'planned')
  const names = unread.flatMap(({ batch }) => batch.organizations.map(({ value }) => value))
  return new Set(names).size
}

type Stages = Pick<RunReport, 'load' | 'build' | 'publish' | 'stageFailure' | 'analystCopy'>

/**
 * The stages after the journal. Closing the run there comes last: one that was killed before is taken up again, and loses
 * nothing.
 * @param history as it is when all is bought
 */
async function finish(
  parts: Attempt,
  run: RunHistory,
  history: History,
  endedEarly: JobtideError | null,
  unknown: UnknownList | null,
): Promise<Stages> {
  const { command, world, session } = parts
  const { clock, stop } = world
  const { journal, writer } = session
  // With a wrong list everything was done that could be: such a run is not taken up again.
  const closing = (): RunFinished =>
    unknown?.isSure === true
      ? closingRecord(run, 'done', unknown.problem.exitCode, unknown.problem.message, clock.now())
      : closingOf(run, endedEarly, clock)
  let stages: Stages = {
    load: null,
    build: null,
    publish: null,
    stageFailure: null,
    analystCopy: null,
  }
  if (command === 'extract') {
    await writer.append(closing())
    return stages
  }
  try {
    const loaded = await inWarehouse(world, (warehouse) =>
      loadStage(warehouse, journal, world, history),
    )
    stages = { ...stages, load: loaded }
    stages = { ...stages, build: await inWarehouse(world, (open) => buildStage(open, world)) }
    stages = { ...stages, publish: await publish(parts, run) }
    const record = closing()
    await show(parts, record, history)
    await writer.append(record)
  } catch (error) {
    if (!(error instanceof JobtideError) || stop.aborted) throw error
    await closeFailed(parts, run, error)
    return { ...stages, stageFailure: error }
  }
  if (stages.publish === null) return stages
  // Last, when the warehouse is closed and shows the end of the run. Everything is published by then.
  const copy = await makeAnalystCopy(world)
  const { path, problem } = copy
  if (problem !== null) world.logger.warn({ path, reason: problem.message }, 'no_analyst_copy')
  return { ...stages, analystCopy: copy }
}

async function publish(
  { job, world, session }: Attempt,
  { started }: RunHistory,
): Promise<PublishStageReport | null> {
  const { snapshot, publishing } = job
  if (snapshot === null) return null
  const by = { runId: started.run_id, writer: session.writer }
  return inWarehouse(
    world,
    (warehouse) => publishStage(warehouse, snapshot, by, world, publishing),
    PUBLISHING_MEMORY,
  )
}

/** Lets the warehouse show the end of the run that the journal gets next. */
async function show(
  { world, session }: Attempt,
  closing: RunFinished,
  history?: History,
): Promise<void> {
  const onProgress = () => world.abort.throwIfAborted()
  await inWarehouse(world, (warehouse) =>
    load({ warehouse, journal: session.journal, history, closing, onProgress }),
  )
}

// Each stage opens the warehouse for itself: the engine gives memory back only when it is closed.
function inWarehouse<T>(
  { directory }: RunWorld,
  work: (warehouse: Warehouse) => Promise<T>,
  mostMemory?: number,
): Promise<T> {
  return withWarehouse({ path: directory.warehouse, mode: 'write', mostMemory }, work)
}

// The error to report is the one that ended the run. Where even its end cannot be noted (a full disk) the run counts
// as killed, and is taken up again all the same.
async function closeFailed(parts: Attempt, run: RunHistory, error: unknown): Promise<void> {
  const closing = closingOf(run, error, parts.world.clock)
  // The warehouse may be the very thing that is out of reach; it shows the end after the next load.
  if (parts.command !== 'extract') await show(parts, closing).catch(() => undefined)
  await parts.session.writer.append(closing).catch(() => undefined)
}

function endsEarly(error: unknown): error is JobtideError {
  return [BudgetReachedError, PaymentRequiredError, UnavailableError].some(
    (kind) => error instanceof kind,
  )
}

/** What an extraction needs, from what a run has. */
export function extraction(
  job: Job,
  service: Service,
  world: RunWorld,
  { writer, history }: Session,
  run: RunHistory,
): ExtractOptions {
  const { clock, random, logger, stop, abort } = world
  return {
    run,
    transport: service.transport,
    baseUrl: service.baseUrl,
    pacer: new Pacer(clock, job.requestsPerSecond, job.maxWaitMs),
    writer,
    clock,
    random,
    logger,
    creditsLimit: job.creditsLimit,
    monthlyCredits: {
      limit: job.creditsPerMonth,
      spentBy: monthlyCredits(history.spending, job.pipeline),
    },
    concurrency: job.concurrency,
    maxWaitMs: job.maxWaitMs,
    notBefore: history.notBefore,
    serverAheadMs: history.serverAheadMs,
    stop,
    abort,
  }
}
