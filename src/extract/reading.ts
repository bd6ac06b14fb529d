/** A batch while it is read: what it has, what is on its way, and what was odd about its pages. */

import type { BatchRecord } from '../journal/records.ts'
import {
  canGoOn,
  isBegun,
  newBatchHistory,
  startAnew,
  type BatchHistory,
} from '../journal/batch-history.ts'
import { takePage } from '../journal/take-page.ts'
import type { BoughtPage } from './page-buyer.ts'
import { choosePage, type ReadingMode } from './page-choice.ts'
import { PagingGuard } from './paging-guard.ts'

/** A batch that is being read. */
export class Reading {
  readonly history: BatchHistory
  /** A page is on its way; no other one is asked for meanwhile. */
  isAsking = false
  /** Another process read a part of it. */
  readonly isContinued: boolean
  /** Read to its end, replaced by smaller ones, or quoted: nothing more is asked for it. */
  isClosed = false
  /** A page that was read and has to be read again; paging goes back to it when it is here. */
  askAgain: number | null = null
  readonly #guard: PagingGuard
  /** The order of an earlier process, which this one's follows. */
  readonly #orderBefore: number

  /** @param nowMs the service's time, as far as it is known */
  constructor(history: BatchHistory, nowMs: number) {
    this.history = history
    this.#guard = new PagingGuard(history.batch.batch_id)
    this.#orderBefore = history.order
    this.isContinued = isBegun(history)
    if (!canGoOn(history, nowMs)) startAnew(history)
  }

  get batch(): BatchRecord {
    return this.history.batch
  }

  /** The page to ask for now; null while one is on its way, or when nothing is left to ask. */
  wanted(mode: ReadingMode): number | null {
    if (this.isClosed || this.isAsking) return null
    return this.askAgain ?? choosePage(this.history, mode)
  }

  /**
   * Takes a page that is in the journal.
   * @throws JobtideError (exit 5) when paging does not end
   */
  take(page: BoughtPage): void {
    const before = this.#orderBefore
    const { wentBackAt } = this.history.seams
    this.askAgain = null
    takePage(this.history, {
      ...page,
      asked: before + page.asked,
      received: before + page.received,
    })
    this.#guard.look(page, page.limit)
    if (this.history.seams.wentBackAt !== wentBackAt) this.#guard.forgetAfter(this.history.pages)
  }
}

/** A batch of which nothing was read. */
export function newReading(batch: BatchRecord): Reading {
  return new Reading(newBatchHistory(batch), 0)
}
