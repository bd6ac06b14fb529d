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
import { serviceTime } from '../journal/history.ts'
import { readHistory } from '../journal/read-history.ts'
import { type RunFinished } from '../journal/records.ts'
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
  for (let sessions = 0; ; sessions += 1) {
    const { credits } = bought
    const ended = await withSession(
      job,
      command,
      world,
      (session) => new Run(job, command, service, world, session).run(credits),
      sessions === 0 ? job.maxWaitMs : Number.POSITIVE_INFINITY,
    )
    bought = together(bought, ended.extract)
    if ('runId' in ended) {
      return { ...ended, extract: bought, durationMs: world.clock.monotonic() - beganAt }
    }
    world.logger.info({ pages: bought.pages }, 'gave_way')
  }
}

/** A backfill that another process waited for. Its run is not closed. */
interface GaveWay {
  readonly extract: ExtractProgress
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

type Stages = Pick<RunReport, 'load' | 'build' | 'publish' | 'stageFailure' | 'analystCopy'>

const NO_STAGES: Stages = {
  load: null,
  build: null,
  publish: null,
  stageFailure: null,
  analystCopy: null,
}

class Run {
  readonly #job: Job
  readonly #command: RunCommand
  readonly #service: Service
  readonly #world: RunWorld
  readonly #session: Session
  #givesWay = false

  constructor(job: Job, command: RunCommand, service: Service, world: RunWorld, session: Session) {
    this.#job = job
    this.#command = command
    this.#service = service
    this.#world = world
    this.#session = session
  }

  /** @param creditsSpent by this command before it gave way: another day, or another run of the pipeline, makes a new run */
  async run(creditsSpent: number): Promise<Omit<RunReport, 'durationMs'> | GaveWay> {
    const { clock } = this.#world
    const { history, journal, writer } = this.#session
    // Before a credit is spent, because the load would refuse.
    if (this.#command !== 'extract') readSuppression(journal)
    const begun = await beginRun({ job: this.#job, command: this.#command, history, writer, clock })
    const { run, ...beginning } = begun
    try {
      const { report, endedEarly } = await this.#extract(run, creditsSpent)
      if (this.#givesWay && endedEarly === null) return { extract: report }
      const unknown = endedEarly === null && report.events === 0 ? this.#unknownList() : null
      return {
        runId: run.started.run_id,
        pipeline: this.#job.pipeline,
        ...beginning,
        batches: report.batches,
        extract: report,
        unread: endedEarly === null ? 0 : this.#unreadOrganizations(run.started.run_id),
        ...(await this.#finish(run, endedEarly, unknown)),
        unknownList: unknown,
        endedEarly,
      }
    } catch (error) {
      await this.#closeFailed(run, error)
      throw error
    }
  }

  // A budget or an account that is used up, or a service that is away, ends the buying; what was bought is worth loading.
  async #extract(
    run: RunHistory,
    creditsSpent: number,
  ): Promise<{ report: ExtractProgress; endedEarly: JobtideError | null }> {
    let last: ExtractProgress = NOTHING_YET
    try {
      const report = await extract({
        ...extraction(this.#job, this.#service, this.#world, this.#session, run),
        creditsSpent,
        mayBegin: () => this.#mayBegin(),
        onProgress: (progress) => {
          last = progress
          this.#world.onProgress({ stage: 'extract', ...progress })
        },
      })
      return { report, endedEarly: null }
    } catch (error) {
      if (!endsEarly(error)) throw error
      return { report: last, endedEarly: error }
    }
  }

  async #mayBegin(): Promise<boolean> {
    if (this.#command !== 'backfill') return true
    if (await isAwaited(this.#world.directory.root)) this.#givesWay = true
    return !this.#givesWay
  }

  // Asked of the journal, which knows every batch that was split while the run went on.
  #unreadOrganizations(runId: string): number {
    const batches = readHistory(this.#session.journal).runs.get(runId)?.batches.values() ?? []
    const unread = [...batches].filter(({ state }) => state === 'planned')
    const names = unread.flatMap(({ batch }) => batch.organizations.map(({ value }) => value))
    return new Set(names).size
  }

  #unknownList(): UnknownList | null {
    const history = readHistory(this.#session.journal)
    return unknownList(this.#job, history, serviceTime(history, this.#world.clock.now()))
  }

  // Closing the run in the journal comes last: a run that was killed before is taken up again, and loses nothing.
  async #finish(
    run: RunHistory,
    endedEarly: JobtideError | null,
    unknown: UnknownList | null,
  ): Promise<Stages> {
    const { clock, stop } = this.#world
    const { writer } = this.#session
    // With a wrong list everything was done that could be: such a run is not taken up again.
    const closing = (): RunFinished =>
      unknown?.isSure === true
        ? closingRecord(run, 'done', unknown.problem.exitCode, unknown.problem.message, clock.now())
        : closingOf(run, endedEarly, clock)
    if (this.#command === 'extract') {
      await writer.append(closing())
      return NO_STAGES
    }
    let stages = NO_STAGES
    try {
      for await (const done of this.#stages(run.started.run_id)) stages = { ...stages, ...done }
      const record = closing()
      await this.#show(record)
      await writer.append(record)
    } catch (error) {
      if (!(error instanceof JobtideError) || stop.aborted) throw error
      await this.#closeFailed(run, error)
      return { ...stages, stageFailure: error }
    }
    if (stages.publish === null) return stages
    return { ...stages, analystCopy: await this.#copyForAnalysts() }
  }

  async *#stages(runId: string): AsyncGenerator<Partial<Stages>> {
    const world = this.#world
    const { journal, writer } = this.#session
    const { snapshot, publishing } = this.#job
    yield { load: await this.#withWarehouse((warehouse) => loadStage(warehouse, journal, world)) }
    yield { build: await this.#withWarehouse((warehouse) => buildStage(warehouse, world)) }
    if (snapshot === null) return
    const by = { runId, writer }
    yield {
      publish: await this.#withWarehouse(
        (warehouse) => publishStage(warehouse, snapshot, by, world, publishing),
        PUBLISHING_MEMORY,
      ),
    }
  }

  // Last, when the warehouse is closed and shows the end of the run. Everything is published by then.
  async #copyForAnalysts(): Promise<AnalystCopyReport> {
    const copy = await makeAnalystCopy(this.#world)
    const { path, problem } = copy
    if (problem !== null) {
      this.#world.logger.warn({ path, reason: problem.message }, 'no_analyst_copy')
    }
    return copy
  }

  /** Lets the warehouse show the end of the run that the journal gets next. */
  async #show(closing: RunFinished): Promise<void> {
    const { journal } = this.#session
    const onProgress = () => this.#world.abort.throwIfAborted()
    await this.#withWarehouse((warehouse) => load({ warehouse, journal, closing, onProgress }))
  }

  // Each stage opens the warehouse for itself: the engine gives memory back only when it is closed.
  #withWarehouse<T>(work: (warehouse: Warehouse) => Promise<T>, mostMemory?: number): Promise<T> {
    const path = this.#world.directory.warehouse
    const limit = mostMemory === undefined ? {} : { mostMemory }
    return withWarehouse({ path, mode: 'write', ...limit }, work)
  }

  // The error to report is the one that ended the run. Where even its end cannot be noted (a full disk) the run counts
  // as killed, and is taken up again all the same.
  async #closeFailed(run: RunHistory, error: unknown): Promise<void> {
    const closing = closingOf(run, error, this.#world.clock)
    // The warehouse may be the very thing that is out of reach; it shows the end after the next load.
    if (this.#command !== 'extract') await this.#show(closing).catch(() => undefined)
    await this.#session.writer.append(closing).catch(() => undefined)
  }
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
