/**
 * Stops pagination that never ends. A service that repeats pages under other numbers, or sends nearly empty pages that
 * promise more, would be paid until the budget is spent; the guard stops it within three such pages and names the
 * cause. Full pages of new events without end look like a long list: page-limit.ts knows what to ask then.
 */

import { UnavailableError } from '../api/errors.ts'
import { PAGE_EVENTS, type BatchHistory } from '../journal/batch-history.ts'
import { earlierPages } from '../journal/page-drift.ts'
import { decodeMarks } from '../journal/page-keys.ts'
import type { PageReceived } from '../journal/records.ts'
import type { BoughtPage } from './page-buyer.ts'

// The service fills its pages, but one that drops some events after counting them still ends. The limit of half a page,
// three times in a row, is chosen: one page that was cut by accident must not stop the run.
const FILLED_SHARE = 0.5
const UNFILLED_MAX = 3
// The events of others can fill a page when some arrive above, but hardly three times.
const REPEATS_MAX = 3
// Events that left a list, or wrong clocks, may make page 1 the next one again; each time the pages below are paid for
// again.
const FIRST_PAGES_MAX = 20
// New events at the top push all others down, so that pages repeat with other boundaries: 1,000 at once are this many
// pages.
const PUSHED_MAX = 20

/**
 * Watches the pages of one batch while one process reads it: events that arrived since an earlier day are not a fault.
 */
export class PagingGuard {
  /** How often a page came whose events were on others. */
  #repeats = 0
  /** Of these: cut elsewhere, because events that came in above pushed theirs down. */
  #pushed = 0
  /** The latest pages in a row that promise more although they are not half full, with their events. */
  readonly #unfilled = new Map<number, number>()
  #firstPages = 0

  /**
   * Checks a page before it is taken. The same page requested again is not a repeat.
   * @throws EndlessListError at the third page in a row that is not half full and promises more, at the third page that
   *   only has events of other pages, at the 21st where these were only pushed down, and when page 1 came 21 times
   */
  look(history: BatchHistory, { record, limit }: BoughtPage): void {
    const { page } = record
    if (page === 1) this.#firstPages += 1
    if (this.#firstPages > FIRST_PAGES_MAX) {
      throw new EndlessListError(`page 1 was read ${this.#firstPages} times`, record.batch_id)
    }
    this.#lookForRoom(record, Math.min(limit ?? PAGE_EVENTS, PAGE_EVENTS))
    const isNew = page > history.pages
    const others = isNew ? earlierPages(history, page, decodeMarks(record.keys ?? '')) : []
    if (others.length === 0) return
    this.#repeats += 1
    if (isPushedDown(others)) this.#pushed += 1
    if (this.#repeats - this.#pushed < REPEATS_MAX && this.#repeats <= PUSHED_MAX) return
    throw new EndlessListError(
      `${this.#repeats} pages repeat events of other pages, the last of them page ${page}`,
      record.batch_id,
    )
  }

  #lookForRoom(record: PageReceived, fullPage: number): void {
    const { page, events, has_more: hasMore } = record
    if (!hasMore || events >= fullPage * FILLED_SHARE) return this.#unfilled.clear()
    this.#unfilled.set(page, events)
    const { size } = this.#unfilled
    if (size < UNFILLED_MAX) return
    const isEmpty = [...this.#unfilled.values()].every((count) => count === 0)
    const what = isEmpty ? 'empty pages' : 'pages that are not half full'
    throw new EndlessListError(
      `${size} ${what} promise more, the last of them page ${page}`,
      record.batch_id,
    )
  }
}

/**
 * Checks a page that was read before and requested again. It shows an event of the list that was read, even when the
 * list has grown; it shows none only where more than a page of events left above it meanwhile, or where the service
 * makes up its pages.
 * @throws EndlessListError when it shows none
 */
export function expectSameList({ drift }: BatchHistory, record: PageReceived): void {
  const marks = decodeMarks(record.keys ?? '')
  if (marks.length === 0 || marks.some(({ key }) => drift.met.has(key))) return
  throw new EndlessListError(
    `page ${record.page}, requested again, shows only other events`,
    record.batch_id,
  )
}

/**
 * Whether its events were in this order on a page and the next one: so they appear again when others arrived above. A
 * service that goes round in circles sends the same pages with the same boundaries.
 */
function isPushedDown(pages: readonly number[]): boolean {
  const [first = 0] = pages
  return pages.at(-1) === first + 1 && pages.every((page, i) => page >= (pages[i - 1] ?? first))
}

/** A service pages without end: nothing of the batch counts as read. */
export class EndlessListError extends UnavailableError {
  constructor(what: string, batchId: string) {
    super(`batch ${batchId}: ${what}`, null, {
      hint: 'Pagination never ends: report it to the provider. The pages bought so far are kept.',
    })
  }
}
