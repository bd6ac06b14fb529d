/**
 * How much of a run's reading is done, judged by the pages that its batches were expected to have, or are known to have. A
 * batch with many pages is worth more than one with few, so that a run of two long batches moves from the first page on.
 */

import type { BatchRecord } from '../journal/records.ts'
import type { BatchHistory } from '../journal/batch-history.ts'
import { extentOf } from './page-choice.ts'

// A batch that is expected to be empty is a request all the same.
const LEAST_PAGES = 1
// What is read beyond expectation shows that the batch goes on, not that it is done.
const NEARLY = 0.95

/** The batches of a run, added and taken away as they come. */
export class Workload {
  #batches = 0
  #batchesDone = 0
  /** Expected pages of all batches, and of those that are done. */
  #planned = 0
  #finished = 0

  get batches(): number {
    return this.#batches
  }

  get batchesDone(): number {
    return this.#batchesDone
  }

  add(batch: BatchRecord): void {
    this.#batches += 1
    this.#planned += pagesOf(batch)
  }

  remove(batch: BatchRecord): void {
    this.#batches -= 1
    this.#planned -= pagesOf(batch)
  }

  finish(batch: BatchRecord): void {
    this.#batchesDone += 1
    this.#finished += pagesOf(batch)
  }

  /** From 0 to 1. @param begun batches of which a part was read */
  fraction(begun: Iterable<BatchHistory>): number {
    if (this.#planned === 0) return 1
    let read = this.#finished
    for (const history of begun) read += pagesOf(history.batch) * partRead(history)
    return Math.min(1, read / this.#planned)
  }
}

/** Pages that a batch still has, as far as that is known: at least 1. A batch longer than expected is taken to be half read. */
export function pagesToBuy(history: BatchHistory): number {
  const read = history.pages + history.ahead.size
  const inAll = extentOf(history).last ?? pagesOf(history.batch)
  return Math.max(1, inAll > read ? inAll - read : history.hasMore ? read : 0)
}

function pagesOf({ expected_pages: pages = LEAST_PAGES }: BatchRecord): number {
  return Math.max(pages, LEAST_PAGES)
}

function partRead(history: BatchHistory): number {
  const pages = history.pages + history.ahead.size
  const inAll = extentOf(history).last ?? pagesOf(history.batch)
  return Math.min(NEARLY, pages / inAll)
}
