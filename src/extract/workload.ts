/**
 * How much of a run's reading is done, judged by the pages that its slices were expected to have, or are known to have. A
 * slice with many pages is worth more than one with few, so that a run of two long slices moves from the first page on.
 */

import type { SliceRecord } from '../journal/records.ts'
import type { SliceHistory } from '../journal/slice-history.ts'
import { extentOf } from './page-choice.ts'

// A slice that is expected to be empty is a request all the same.
const LEAST_PAGES = 1
// What is read beyond expectation shows that the slice goes on, not that it is done.
const NEARLY = 0.95

/** The slices of a run, added and taken away as they come. */
export class Workload {
  #slices = 0
  #slicesDone = 0
  /** Expected pages of all slices, and of those that are done. */
  #planned = 0
  #finished = 0

  get slices(): number {
    return this.#slices
  }

  get slicesDone(): number {
    return this.#slicesDone
  }

  add(slice: SliceRecord): void {
    this.#slices += 1
    this.#planned += pagesOf(slice)
  }

  remove(slice: SliceRecord): void {
    this.#slices -= 1
    this.#planned -= pagesOf(slice)
  }

  finish(slice: SliceRecord): void {
    this.#slicesDone += 1
    this.#finished += pagesOf(slice)
  }

  /** From 0 to 1. @param begun slices of which a part was read */
  fraction(begun: Iterable<SliceHistory>): number {
    if (this.#planned === 0) return 1
    let read = this.#finished
    for (const history of begun) read += pagesOf(history.slice) * partRead(history)
    return Math.min(1, read / this.#planned)
  }
}

/** Pages that a slice still has, as far as that is known: at least 1. A slice longer than expected is taken to be half read. */
export function pagesToBuy(history: SliceHistory): number {
  const read = history.pages + history.ahead.size
  const inAll = extentOf(history).last ?? pagesOf(history.slice)
  return Math.max(1, inAll > read ? inAll - read : history.hasMore ? read : 0)
}

function pagesOf({ expected_pages: pages = LEAST_PAGES }: SliceRecord): number {
  return Math.max(pages, LEAST_PAGES)
}

function partRead(history: SliceHistory): number {
  const pages = history.pages + history.ahead.size
  const inAll = extentOf(history).last ?? pagesOf(history.slice)
  return Math.min(NEARLY, pages / inAll)
}
