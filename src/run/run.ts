/**
 * One run: plan → extract → load → build → publish. The only place that knows every stage. A run is closed in the
 * journal when all of it is done; a run without that record was killed, and the next one of the same question goes on
 * with it.
 */

import { UnavailableError } from '../api/errors.ts'
import { createPacer } from '../api/pacer.ts'
import type { Transport } from '../api/transport.ts'
import { BudgetReachedError } from '../extract/budget.ts'
import { extract, type ExtractProgress } from '../extract/extract.ts'
import { newRunHistory, readHistory, type History, type RunHistory } from '../journal/history.ts'
import { openJournal, type Journal, type JournalWriter } from '../journal/journal.ts'
import type { RunFinished, RunOutcome, RunStarted } from '../journal/records.ts'
import { load, type LoadReport } from '../load/load.ts'
import type { BuildReport } from '../model/build.ts'
import { makePlan, type Plan } from '../plan/plan.ts'
import type { PublishReport } from '../publish/publish.ts'
import { EXIT, ConfigError, JobtideError, type ExitCode } from '../support/errors.ts'
import { newUlid } from '../support/ulid.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Job } from './job.ts'
import { acquireLock } from './lock.ts'
import { runToResume, runsToAbandon } from './resume.ts'
import { buildStage, loadStage, publishStage, type RunWorld } from './stages.ts'

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
  readonly slices: number
  /** Companies not asked for because the service refused them in the last days. */
  readonly skipped: Plan['setAside']
  readonly extract: ExtractProgress
  readonly load: LoadReport | null
  readonly build: BuildReport | null
  readonly publish: PublishReport | null
  /** Why the run ended early, when it did: the budget, or the service. What was bought is loaded and published. */
  readonly endedEarly: JobtideError | null
  readonly durationMs: number
}

/** Which command runs: `extract` stops after the journal. */
export type RunCommand = RunStarted['command']

/**
 * Runs a job.
 * @throws JobtideError whose exit code says which stage ended it and what to do
 */
export async function runJob(
  job: Job,
  command: RunCommand,
  service: Service,
  world: RunWorld,
): Promise<RunReport> {
  const release = acquireLock(world.directory.root, command, world.clock)
  const journal = openJournal(world.directory.journal, world.clock)
  const writer = journal.writer()
  try {
    journal.recover()
    return await new Run(job, command, service, world, journal, writer).run()
  } finally {
    // Closing seals the segment, which a full disk refuses; the lock is given back all the same.
    await writer.close().finally(release)
  }
}

const NOTHING_YET: ExtractProgress = {
  slicesDone: 0,
  slices: 0,
  pages: 0,
  events: 0,
  credits: 0,
  setAside: [],
}

class Run {
  readonly #job: Job
  readonly #command: RunCommand
  readonly #service: Service
  readonly #world: RunWorld
  readonly #journal: Journal
  readonly #writer: JournalWriter

  constructor(
    job: Job,
    command: RunCommand,
    service: Service,
    world: RunWorld,
    journal: Journal,
    writer: JournalWriter,
  ) {
    this.#job = job
    this.#command = command
    this.#service = service
    this.#world = world
    this.#journal = journal
    this.#writer = writer
  }

  async run(): Promise<RunReport> {
    const beganAt = this.#world.clock.monotonic()
    const history = readHistory(this.#journal)
    const { run, resumed, plan } = await this.#begin(history)
    try {
      const { report, endedEarly } = await this.#extract(run, history.notBefore)
      const stages = await this.#after(run.started.run_id)
      await this.#end(run, endedEarly)
      return {
        runId: run.started.run_id,
        pipeline: this.#job.pipeline,
        resumed,
        organizations: run.started.organizations,
        slices: report.slices,
        skipped: plan.setAside,
        extract: report,
        ...stages,
        endedEarly,
        durationMs: this.#world.clock.monotonic() - beganAt,
      }
    } catch (error) {
      // The error to report is the one that ended the run. Where even its end cannot be noted (a full disk) the run
      // counts as killed, and is taken up again all the same.
      await this.#end(run, error).catch(() => undefined)
      throw error
    }
  }

  async #begin(history: History): Promise<{ run: RunHistory; resumed: boolean; plan: Plan }> {
    const { clock } = this.#world
    // Coverage is in the service's time, so the plan is made for the service's now.
    const plan = makePlan(this.#job.question, history, clock.now() + history.serverAheadMs)
    const earlier = runToResume(history, this.#job.pipeline, plan, clock.now())
    for (const run of runsToAbandon(history, this.#job.pipeline, earlier)) {
      const reason = 'its process was killed on another day; planned anew'
      await this.#writer.append(this.#closingRecord(run, 'abandoned', EXIT.done, reason))
    }
    if (earlier !== null) {
      await this.#writer.append({
        kind: 'run_resumed',
        run_id: earlier.started.run_id,
        at: clock.now(),
      })
      return { run: earlier, resumed: true, plan }
    }
    if (plan.slices.length === 0) throw nothingToAsk(plan)
    return { run: await this.#start(plan), resumed: false, plan }
  }

  async #start(plan: Plan): Promise<RunHistory> {
    const { clock } = this.#world
    const started: RunStarted = {
      kind: 'run_started',
      run_id: newUlid(clock.now()),
      at: clock.now(),
      pipeline: this.#job.pipeline,
      command: this.#command,
      organizations: plan.organizations,
      slices: plan.slices.length,
      credits_limit: this.#job.creditsLimit,
      question_sha256: plan.questionSha256,
    }
    await this.#writer.append(started, JSON.stringify(plan.slices))
    return newRunHistory(started, plan.slices)
  }

  // A budget that is used up, or a service that is away, ends the buying; what was bought is worth loading all the same.
  async #extract(
    run: RunHistory,
    notBefore: number,
  ): Promise<{ report: ExtractProgress; endedEarly: JobtideError | null }> {
    const { clock, random, logger, stop, abort, onProgress } = this.#world
    let last: ExtractProgress = NOTHING_YET
    try {
      const report = await extract({
        run,
        transport: this.#service.transport,
        baseUrl: this.#service.baseUrl,
        pacer: createPacer(clock, this.#job.requestsPerSecond, this.#job.maxWaitMs),
        writer: this.#writer,
        clock,
        random,
        logger,
        creditsLimit: this.#job.creditsLimit,
        concurrency: this.#job.concurrency,
        maxWaitMs: this.#job.maxWaitMs,
        notBefore,
        stop,
        abort,
        onProgress: (progress) => {
          last = progress
          onProgress({ stage: 'extract', ...progress })
        },
      })
      return { report, endedEarly: null }
    } catch (error) {
      if (!(error instanceof BudgetReachedError) && !(error instanceof UnavailableError)) {
        throw error
      }
      return { report: last, endedEarly: error }
    }
  }

  async #after(runId: string): Promise<Pick<RunReport, 'load' | 'build' | 'publish'>> {
    if (this.#command === 'extract') return { load: null, build: null, publish: null }
    const world = this.#world
    const loaded = await this.#withWarehouse((warehouse) =>
      loadStage(warehouse, this.#journal, world),
    )
    const build = await this.#withWarehouse((warehouse) => buildStage(warehouse, world))
    const { snapshotTo } = this.#job
    if (snapshotTo === null) return { load: loaded, build, publish: null }
    const by = { runId, writer: this.#writer }
    const publish = await this.#withWarehouse((warehouse) =>
      publishStage(warehouse, snapshotTo, by, world),
    )
    return { load: loaded, build, publish }
  }

  // Each stage opens the warehouse for itself: the engine gives memory back only when it is closed.
  #withWarehouse<T>(work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
    return withWarehouse({ path: this.#world.directory.warehouse, mode: 'write' }, work)
  }

  // Closing the run in the journal comes last: a run that was killed before is taken up again, and loses nothing.
  async #end(run: RunHistory, error: unknown): Promise<void> {
    const known = error instanceof JobtideError ? error : null
    const exitCode = error === null ? EXIT.done : (known?.exitCode ?? EXIT.defect)
    const outcome = OUTCOMES[exitCode]
    const closing = this.#closingRecord(run, outcome, exitCode, known?.message ?? null)
    if (this.#command !== 'extract') {
      const onProgress = () => this.#world.abort.throwIfAborted()
      const shown = this.#withWarehouse((warehouse) =>
        load({ warehouse, journal: this.#journal, closing, onProgress }),
      )
      // After a failure the warehouse may be the very thing that is out of reach; it shows the end after the next load.
      await (error === null ? shown : shown.catch(() => undefined))
    }
    await this.#writer.append(closing)
  }

  #closingRecord(
    run: RunHistory,
    outcome: RunOutcome,
    exitCode: ExitCode,
    message: string | null,
  ): RunFinished {
    return {
      kind: 'run_finished',
      run_id: run.started.run_id,
      at: this.#world.clock.now(),
      outcome,
      exit_code: exitCode,
      message,
    }
  }
}

function nothingToAsk(plan: Plan): ConfigError {
  const [first] = plan.setAside
  return new ConfigError(
    `every organisation of the list was refused by the service lately, first ${first?.name}: ${first?.reason}`,
    { hint: 'Correct the list, or wait: a refused company is tried again after 7 days.' },
  )
}

// A run that a check, the publisher or a reader's lock ended is taken up again like any other that failed: it has bought
// everything already, so it only loads, builds and publishes.
const OUTCOMES: Readonly<Record<ExitCode, RunOutcome>> = {
  [EXIT.done]: 'done',
  [EXIT.defect]: 'failed',
  [EXIT.usage]: 'failed',
  [EXIT.refused]: 'refused',
  [EXIT.budget]: 'budget',
  [EXIT.unavailable]: 'unavailable',
  [EXIT.checkFailed]: 'failed',
  [EXIT.publishFailed]: 'failed',
  [EXIT.locked]: 'failed',
  [EXIT.storage]: 'failed',
  [EXIT.interrupted]: 'interrupted',
  [EXIT.terminated]: 'interrupted',
}
