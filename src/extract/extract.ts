/**
 * The stage that spends money: reads every batch of a run to its end into the journal, the pages of a batch in order,
 * several batches at a time. What is in the journal is never asked for again; a batch that was read in part goes on where
 * it stopped. Knows nothing of the warehouse.
 */

import PQueue from 'p-queue'
import { BadRequestError, UnavailableError } from '../api/errors.ts'
import type { Pacer } from '../api/pacer.ts'
import type { Transport } from '../api/transport.ts'
import type { RunHistory } from '../journal/run-history.ts'
import type { JournalWriter } from '../journal/journal.ts'
import type { OrganizationRef, BatchRecord } from '../journal/records.ts'
import {
  closeBatch,
  isBegun,
  newBatchHistory,
  type BatchHistory,
} from '../journal/batch-history.ts'
import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { createBudget, type Budget, type BudgetOptions } from './budget.ts'
import { pageInDoubt } from './doubts.ts'
import { createIsolator, type Isolator } from './isolation.ts'
import { createPageBuyer, type BoughtPage, type PageBuyer } from './page-buyer.ts'
import { isTooWide, type ReadingMode } from './page-choice.ts'
import { expectSameList } from './paging-guard.ts'
import { Reading, newReading } from './reading.ts'
import { LAST_PAGE } from './request-body.ts'
import type { ClockTrouble } from './service-clock.ts'
import { createBatchLedger, type BatchLedger } from './batch-ledger.ts'
import { halve } from './split.ts'
import { Workload, pagesToBuy } from './workload.ts'

/** What an extraction needs. */
export interface ExtractOptions {
  readonly run: RunHistory
  readonly transport: Transport
  readonly pacer: Pacer
  readonly writer: JournalWriter
  readonly clock: Clock
  /** A random number in [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly baseUrl: string
  /** Credits this run may spend; null for no limit. */
  readonly creditsLimit: number | null
  /** Credits that all runs of the pipeline may spend in a calendar month; absent: no limit. */
  readonly monthlyCredits?: BudgetOptions['month']
  /** Names of organisations that the service accepted before. */
  readonly accepted?: ReadonlySet<string>
  /** Requests at the same time, 1 or more. */
  readonly concurrency: number
  readonly maxWaitMs: number
  /** Milliseconds since 1970 UTC before which the service wants no request, from an earlier run; 0 for none. */
  readonly notBefore: number
  /** How far the service's clock was ahead of this machine's in the run before, in ms; absent or null: unknown. */
  readonly serverAheadMs?: number | null
  /** Whether another batch may be begun; those that are begun are read to their end. Absent: always. */
  readonly mayBegin?: () => Promise<boolean>
  /** Stops cleanly: requests in flight are finished. */
  readonly stop: AbortSignal
  /** Breaks off requests in flight. */
  readonly abort: AbortSignal
  readonly onProgress?: (progress: ExtractProgress) => void
}

/** How far an extraction is. */
export interface ExtractProgress {
  /** From 0 to 1, judged by the pages that are expected. */
  readonly fraction: number
  readonly batchesDone: number
  readonly batches: number
  /** Pages with events: those that cost. */
  readonly pages: number
  readonly events: number
  readonly credits: number
  /** Organisations left out, with the reason. */
  readonly quarantined: readonly Quarantined[]
  /** Pages that cost something else than expected. */
  readonly unexpectedCharges: number
  /** Where the service's clock and this machine's did not agree; null where they did. */
  readonly clockTrouble: ClockTrouble | null
}

/** An organisation that could not be asked for, or not be read to its end. */
export interface Quarantined {
  readonly organization: OrganizationRef
  readonly reason: string
}

/**
 * Reads all batches of the run that are not read yet. Pages of earlier attempts at the same run are not counted.
 * @throws the first error that ends the run; what was bought until then is in the journal
 */
export async function extract(options: ExtractOptions): Promise<ExtractProgress> {
  return new Extraction(options).run()
}

/** Buys pages of all batches of a run, until each batch is read, or for a quote until its last page is known. */
export class Extraction {
  readonly #options: ExtractOptions
  readonly #onQuoted: ((history: BatchHistory) => void) | null
  readonly #queue: PQueue
  readonly #records: BatchLedger
  readonly #buyer: PageBuyer
  readonly #isolator: Isolator
  readonly #budget: Budget
  readonly #halt = new AbortController()
  /** Batches of which nothing was asked yet in this process, in the order in which they are begun. */
  #waiting: BatchHistory[] = []
  readonly #begun = new Set<Reading>()
  readonly #quarantined: Quarantined[] = []
  readonly #workload = new Workload()
  readonly #creditsBefore: number
  /** No further batch may be begun. */
  #isHeldBack = false
  #busy = 0
  #failure: { readonly error: unknown } | null = null
  #pages = 0
  #events = 0

  /** @param onQuoted told of each batch whose last page is known; then no other pages are bought */
  constructor(options: ExtractOptions, onQuoted: ((history: BatchHistory) => void) | null = null) {
    const { run, creditsLimit, monthlyCredits, clock, stop } = options
    this.#options = options
    this.#onQuoted = onQuoted
    this.#creditsBefore = run.creditsCommitted - run.creditsAtLastStop
    this.#budget = createBudget({
      run: { limit: creditsLimit, spent: this.#creditsBefore },
      ...(monthlyCredits === undefined ? {} : { month: monthlyCredits }),
      now: () => clock.now(),
    })
    this.#records = createBatchLedger(run.started.run_id, options.writer, clock)
    this.#queue = new PQueue({ concurrency: options.concurrency })
    this.#buyer = createPageBuyer({
      ...options,
      runId: run.started.run_id,
      budget: this.#budget,
      stop: AbortSignal.any([stop, this.#halt.signal]),
    })
    this.#isolator = createIsolator({
      buyer: this.#buyer,
      accepted: options.accepted ?? new Set(),
      leaveOut: (organization, reason) => this.#leaveOut(organization, reason),
      replace: (batch, instead, reason) => this.#replace(batch, instead, reason),
    })
  }

  async run(): Promise<ExtractProgress> {
    this.#honourEarlierPause()
    const open = [...this.#options.run.batches.values()].filter(({ state }) => state !== 'split')
    for (const { batch, state } of open) {
      this.#workload.add(batch)
      if (state === 'finished') this.#workload.finish(batch)
    }
    const unread = open.filter(({ state }) => state === 'planned')
    // What was begun is finished first, so that a small budget finishes something.
    this.#waiting = [...unread.filter(isBegun), ...unread.filter((batch) => !isBegun(batch))]
    this.#report()
    this.#start()
    await this.#queue.onIdle()
    if (this.#failure !== null) throw this.#failure.error
    this.#options.stop.throwIfAborted()
    if (this.#begun.size > 0) throw new Error('a batch was begun and not read to its end')
    return this.#progress()
  }

  // A time the service named holds for every later run too.
  #honourEarlierPause(): void {
    const { notBefore, clock, maxWaitMs, pacer, logger } = this.#options
    const waitMs = notBefore - clock.now()
    if (waitMs <= 0) return
    if (waitMs > maxWaitMs) {
      throw new UnavailableError(
        `the service asked for no request before ${isoInstant(notBefore)}`,
        notBefore,
      )
    }
    logger.warn({ wait_ms: Math.round(waitMs), not_before: isoInstant(notBefore) }, 'waiting')
    pacer.pause(waitMs)
  }

  /** Gives every free worker a page. */
  #start(): void {
    while (this.#busy < this.#options.concurrency) {
      if (this.#failure !== null || this.#options.stop.aborted) return
      const task = this.#nextTask()
      if (task === null) return
      this.#busy += 1
      // onIdle is what waits for the workers.
      void this.#queue.add(() => this.#work(task))
    }
  }

  // What a task makes possible is begun before it ends, so that the queue is idle only when all is done. The first error
  // stops the others and is thrown when all have ended.
  async #work(task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      this.#failure ??= { error }
      this.#halt.abort(error)
    }
    this.#busy -= 1
    this.#start()
  }

  #nextTask(): (() => Promise<void>) | null {
    const mode = this.#onQuoted === null ? 'in-order' : 'quote'
    // What the pages may cost that the batches begun before still have: those are to be finished with what is left.
    let committed = 0
    for (const reading of this.#begun) {
      if (committed > 0 && !this.#canPay(committed + pagesToBuy(reading.history))) return null
      const page = reading.wanted(mode)
      if (page !== null) return this.#reader(reading, page)
      committed += pagesToBuy(reading.history)
    }
    const [next] = this.#waiting
    if (next === undefined || this.#isHeldBack) return null
    if (committed > 0 && !this.#canPay(committed + pagesToBuy(next))) return null
    this.#waiting.shift()
    return this.#beginBatch(next, mode)
  }

  /** Whether the run's own limit is expected to last for so many pages more. A quote wants a part of each batch only. */
  #canPay(pages: number): boolean {
    const { creditsLimit } = this.#options
    if (creditsLimit === null || this.#onQuoted !== null) return true
    return this.#budget.spent() + pages * CREDITS_PER_PAGE <= creditsLimit
  }

  #beginBatch(history: BatchHistory, mode: ReadingMode): () => Promise<void> {
    const { clock, serverAheadMs } = this.#options
    const reading = new Reading(history, clock.now() + (serverAheadMs ?? 0))
    this.#begun.add(reading)
    const page = reading.wanted(mode)
    // Bought whole before, but not closed; or quoted before.
    const begin = page === null ? () => this.#settle(reading) : this.#reader(reading, page)
    return async () => {
      this.#isHeldBack ||= (await this.#options.mayBegin?.()) === false
      if (this.#isHeldBack) this.#close(reading)
      else await begin()
    }
  }

  #reader(reading: Reading, page: number): () => Promise<void> {
    reading.isAsking = true
    return async () => {
      try {
        const bought = await this.#buyOrIsolate(reading.batch, page)
        if (bought !== null) this.#take(reading, bought)
      } finally {
        reading.isAsking = false
      }
      if (!reading.isClosed) await this.#settle(reading)
    }
  }

  async #buyOrIsolate(batch: BatchRecord, page: number): Promise<BoughtPage | null> {
    try {
      return await this.#buyer.buy(batch, page)
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error
      for (const { batch: rest, firstPage } of await this.#isolator.isolate(batch, error)) {
        const reading = newReading(rest)
        this.#begun.add(reading)
        if (firstPage !== null) {
          this.#take(reading, firstPage)
          await this.#settle(reading)
        }
      }
      return null
    }
  }

  #take(reading: Reading, page: BoughtPage): void {
    this.#count(page)
    reading.take(page)
  }

  #count({ events }: BoughtPage): void {
    if (events > 0) this.#pages += 1
    this.#events += events
    this.#report()
  }

  /** Looks whether a batch is done. */
  async #settle(reading: Reading): Promise<void> {
    const { history } = reading
    if (isTooWide(history)) return this.#tooWide(reading)
    if (history.hasMore) {
      if (this.#onQuoted === null || reading.wanted('quote') !== null) return
      this.#onQuoted(history)
      this.#close(reading)
      return
    }
    const { clock, stop } = this.#options
    const signal = AbortSignal.any([stop, this.#halt.signal])
    reading.askAgain = await pageInDoubt(history, { buyer: this.#buyer, clock, signal })
    if (reading.askAgain !== null) return
    this.#onQuoted?.(history)
    await this.#finish(reading)
  }

  async #tooWide(reading: Reading): Promise<void> {
    const { batch, history } = reading
    const again = await this.#buyOrIsolate(batch, history.pages)
    if (again === null) return
    this.#count(again)
    expectSameList(history, again)
    const reason = `more than ${LAST_PAGE} pages`
    const [organization, another] = batch.organizations
    this.#close(reading)
    if (organization !== undefined && another === undefined) {
      await this.#leaveOut(organization, `${reason}: not coverable in this window`)
      await this.#replace(batch, [], 'not coverable')
      return
    }
    const halves = halve(batch)
    await this.#replace(batch, halves, reason)
    this.#waiting.unshift(...halves.map(newBatchHistory))
  }

  async #leaveOut(organization: OrganizationRef, reason: string): Promise<void> {
    this.#quarantined.push({ organization, reason })
    const { logger } = this.#options
    logger.info({ organization: organization.value, reason }, 'organization_quarantined')
    await this.#records.leftOut(organization, reason)
  }

  async #replace(
    batch: BatchRecord,
    instead: readonly BatchRecord[],
    reason: string,
  ): Promise<void> {
    for (const reading of this.#begun) if (reading.batch === batch) this.#close(reading)
    await this.#records.replaced(batch, instead, reason)
    this.#workload.remove(batch)
    for (const smaller of instead) this.#workload.add(smaller)
    this.#report()
  }

  async #finish(reading: Reading): Promise<void> {
    this.#close(reading)
    // Of pages that another process read only what they cost is known: they may have shown another company of that name.
    if (!reading.isContinued) this.#buyer.learnIds(reading.batch)
    await this.#records.finished(reading.history)
    closeBatch(reading.history, 'finished')
    this.#workload.finish(reading.batch)
    this.#report()
  }

  #close(reading: Reading): void {
    reading.isClosed = true
    this.#begun.delete(reading)
  }

  #progress(): ExtractProgress {
    const begun = [...this.#begun].map(({ history }) => history)
    return {
      fraction: this.#workload.fraction(begun),
      batchesDone: this.#workload.batchesDone,
      batches: this.#workload.batches,
      pages: this.#pages,
      events: this.#events,
      credits: this.#budget.spent() - this.#creditsBefore,
      quarantined: this.#quarantined,
      unexpectedCharges: this.#buyer.unexpectedCharges(),
      clockTrouble: this.#buyer.clockTrouble(),
    }
  }

  #report(): void {
    this.#options.onProgress?.(this.#progress())
  }
}
