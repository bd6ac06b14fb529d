/**
 * The stage that spends money: reads every slice of a run to its end, page by page, into the journal. What is in the
 * journal is never asked for again; a slice that was read in part goes on with its next page. Knows nothing of the
 * warehouse.
 */

import PQueue from 'p-queue'
import { BadRequestError, UnavailableError } from '../api/errors.ts'
import type { Pacer } from '../api/pacer.ts'
import type { Transport } from '../api/transport.ts'
import type { RunHistory } from '../journal/history.ts'
import type { JournalWriter } from '../journal/journal.ts'
import type { OrganizationRef, SliceRecord } from '../journal/records.ts'
import {
  coveredTime,
  newSliceHistory,
  takePage,
  type SliceHistory,
} from '../journal/slice-history.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { createBudget } from './budget.ts'
import { createPageBuyer, type BoughtPage, type PageBuyer } from './page-buyer.ts'
import { PagingGuard } from './paging-guard.ts'
import { halve, isolate } from './split.ts'

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
  /** Requests at the same time, 1 or more. */
  readonly concurrency: number
  readonly maxWaitMs: number
  /** Milliseconds since 1970 UTC before which the service wants no request, from an earlier run; 0 for none. */
  readonly notBefore: number
  /** Stops cleanly: requests in flight are finished. */
  readonly stop: AbortSignal
  /** Breaks off requests in flight. */
  readonly abort: AbortSignal
  readonly onProgress?: (progress: ExtractProgress) => void
}

/** How far an extraction is. */
export interface ExtractProgress {
  readonly slicesDone: number
  readonly slices: number
  readonly pages: number
  readonly events: number
  readonly credits: number
  /** Organisations left out, with the reason. */
  readonly setAside: readonly SetAside[]
}

/** An organisation that could not be asked for, or not be read to its end. */
export interface SetAside {
  readonly organization: OrganizationRef
  readonly reason: string
}

/** The service counts pages to here; a slice with more was too wide. */
export const LAST_PAGE = 10_000

/**
 * Reads all slices of the run that are not read yet. Pages of earlier attempts at the same run are not counted.
 * @throws the first error that ends the run; what was bought until then is in the journal
 */
export async function extract(options: ExtractOptions): Promise<ExtractProgress> {
  const extraction = new Extraction(options)
  return extraction.run()
}

class Extraction {
  readonly #options: ExtractOptions
  readonly #queue: PQueue
  readonly #buyer: PageBuyer
  readonly #budget: ReturnType<typeof createBudget>
  readonly #halt = new AbortController()
  readonly #setAside: SetAside[] = []
  readonly #creditsBefore: number
  #failure: { readonly error: unknown } | null = null
  #slicesDone = 0
  #slices = 0
  #pages = 0
  #events = 0

  constructor(options: ExtractOptions) {
    this.#options = options
    const { run, creditsLimit, stop } = options
    this.#creditsBefore = run.creditsCommitted - run.creditsAtLastStop
    this.#budget = createBudget(creditsLimit, this.#creditsBefore)
    this.#queue = new PQueue({ concurrency: options.concurrency })
    this.#buyer = createPageBuyer({
      ...options,
      runId: run.started.run_id,
      budget: this.#budget,
      stop: AbortSignal.any([stop, this.#halt.signal]),
    })
  }

  async run(): Promise<ExtractProgress> {
    this.#honourEarlierPause()
    const open = [...this.#options.run.slices.values()].filter(({ state }) => state !== 'split')
    this.#slices = open.length
    this.#slicesDone = open.filter(({ state }) => state === 'finished').length
    for (const slice of open) if (slice.state === 'planned') this.#enqueue(slice)
    this.#report()
    await this.#queue.onIdle()
    if (this.#failure !== null) throw this.#failure.error
    this.#options.stop.throwIfAborted()
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

  #enqueue(slice: SliceHistory): void {
    const task = async () => {
      if (this.#failure !== null || this.#options.stop.aborted) return
      await this.#readSlice(slice)
    }
    // onIdle is what waits for the tasks; a task's error stops the others and is thrown when all have ended.
    this.#queue.add(task).catch((error: unknown) => {
      this.#failure ??= { error }
      this.#queue.clear()
      this.#halt.abort(error)
    })
  }

  async #readSlice(history: SliceHistory): Promise<void> {
    const { slice } = history
    const guard = new PagingGuard(slice.slice_id)
    while (history.hasMore) {
      if (history.pages >= LAST_PAGE) {
        await this.#tooWide(history)
        return
      }
      const page = await this.#buyOrIsolate(slice, history.pages + 1)
      if (page === null) return
      guard.look(history.pages + 1, page)
      takePage(history, page)
      this.#pages += 1
      this.#events += page.events
      this.#report()
    }
    await this.#finish(history)
  }

  async #buyOrIsolate(slice: SliceRecord, page: number): Promise<BoughtPage | null> {
    try {
      return await this.#buyer.buy(slice, page)
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error
      const isolation = isolate(slice, error.serverMessage)
      if (isolation === null) throw error
      for (const organization of isolation.setAside) {
        await this.#leaveOut(organization, error.serverMessage)
      }
      await this.#split(slice, isolation.instead, error.serverMessage)
      return null
    }
  }

  async #tooWide(history: SliceHistory): Promise<void> {
    const { slice } = history
    if (slice.organizations.length > 1) {
      await this.#split(slice, halve(slice), `more than ${LAST_PAGE} pages`)
      return
    }
    const [organization] = slice.organizations
    if (organization === undefined) return
    await this.#leaveOut(organization, `more than ${LAST_PAGE} pages: not coverable in this window`)
    await this.#split(slice, [], 'not coverable')
  }

  async #leaveOut(organization: OrganizationRef, reason: string): Promise<void> {
    const { writer, run, clock, logger } = this.#options
    this.#setAside.push({ organization, reason })
    logger.info({ organization: organization.value, reason }, 'organization_set_aside')
    await writer.append({
      kind: 'organization_set_aside',
      run_id: run.started.run_id,
      at: clock.now(),
      organization,
      reason,
    })
  }

  async #split(slice: SliceRecord, instead: readonly SliceRecord[], reason: string): Promise<void> {
    const { writer, run, clock } = this.#options
    await writer.append(
      {
        kind: 'slice_split',
        run_id: run.started.run_id,
        slice_id: slice.slice_id,
        at: clock.now(),
        reason,
      },
      JSON.stringify({ slice, instead }),
    )
    this.#slices += instead.length - 1
    for (const smaller of instead) this.#enqueue(newSliceHistory(smaller))
    this.#report()
  }

  async #finish(history: SliceHistory): Promise<void> {
    const { writer, run, clock } = this.#options
    const covered = coveredTime(history, clock.now())
    await writer.append(
      {
        kind: 'slice_finished',
        run_id: run.started.run_id,
        slice_id: history.slice.slice_id,
        at: clock.now(),
        pages: history.pages,
        events: history.events,
        covered_from: covered.from,
        covered_to: covered.to,
      },
      JSON.stringify(history.slice),
    )
    this.#slicesDone += 1
    this.#report()
  }

  #progress(): ExtractProgress {
    return {
      slicesDone: this.#slicesDone,
      slices: this.#slices,
      pages: this.#pages,
      events: this.#events,
      credits: this.#budget.spent() - this.#creditsBefore,
      setAside: this.#setAside,
    }
  }

  #report(): void {
    this.#options.onProgress?.(this.#progress())
  }
}
