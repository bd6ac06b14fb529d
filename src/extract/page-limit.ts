/**
 * Stops pagination that never ends. A service that repeats pages under other numbers, or sends nearly empty pages that
 * promise more, would be paid until the budget is spent. Full pages of new events look the same in a long list and in
 * an endless one, so no list is cut for its length. Instead, a long list is probed with free requests for pages far
 * behind its end, which must be empty.
 */

import { UnavailableError } from '../api/errors.ts'
import { PAGE_EVENTS, type BatchHistory } from '../journal/batch-history.ts'
import { earlierPages } from '../journal/page-drift.ts'
import { decodeMarks } from '../journal/page-keys.ts'
import type { BatchRecord, PageReceived } from '../journal/records.ts'
import type { BoughtPage, PageBuyer } from './page-buyer.ts'
import { LAST_PAGE } from './question.ts'

// 97 % of random batches of 50 from 39,163 real organisations, over twenty years, have no more pages; the longest had 57.
const LONG_FROM = 8
// A batch with so many pages may have more than the service counts.
const WIDE_FROM = 64
// 499,950 events of one organisation in one day. Not the last page itself, because a service may cut an endless list
// there.
const CONTROL_PAGE = LAST_PAGE - 1
// Chosen. One page that was cut by accident must not stop the run. New events at the top can push known ones onto a
// page once, but hardly three times.
const FILLED_SHARE = 0.5
const ODD_PAGES_MAX = 3
// Wrong clocks may lead back to page 1. Each time the pages after it are paid for again.
const FIRST_PAGES_MAX = 20

/** The service pages without end: nothing of the batch counts as read. */
export class EndlessListError extends UnavailableError {
  constructor(what: string, batchId: string) {
    super(`batch ${batchId}: ${what}`, null, {
      hint: 'Pagination never ends: report it to the provider. The pages bought so far are kept.',
    })
  }
}

/** Watches one batch while one process reads it. Across days, new events would look like a fault. */
export class PageLimit {
  readonly #history: BatchHistory
  readonly #buyer: PageBuyer
  #isControlled = false
  #isCounted = false
  #repeats = 0
  #firstPages = 0
  /** Event counts of the latest consecutive pages that promise more although they are less than half full, by page. */
  readonly #unfilled = new Map<number, number>()

  constructor(history: BatchHistory, buyer: PageBuyer) {
    this.#history = history
    this.#buyer = buyer
  }

  /**
   * Whether the batch has more pages than the service counts. Call it before page `page` is bought.
   * @throws EndlessListError when the service pages without end
   */
  async isTooWide(page: number): Promise<boolean> {
    const { batch } = this.#history
    const controlFrom = batch.was_endless === true ? 0 : LONG_FROM
    if (!this.#isControlled && page > controlFrom) await this.#control(page)
    if (page > LAST_PAGE) return true
    if (this.#isCounted || (page <= WIDE_FROM && batch.part_of_wide !== true)) return false
    this.#isCounted = true
    return this.#goesOnAt(batch, LAST_PAGE)
  }

  /**
   * Checks a page before it is accepted. The same page requested again is not a repeat.
   * @throws EndlessListError at the third consecutive page that promises more while less than half full, at the third
   * page that only repeats events of other pages, and when page 1 was read 21 times
   */
  look({ record, limit }: BoughtPage): void {
    const { page } = record
    if (page === 1) this.#firstPages += 1
    if (this.#firstPages > FIRST_PAGES_MAX) this.#end(`page 1 was read ${this.#firstPages} times`)
    this.#lookForRoom(record, Math.min(limit ?? PAGE_EVENTS, PAGE_EVENTS))
    if (page <= this.#history.pages) return
    const others = earlierPages(this.#history, page, decodeMarks(record.keys ?? ''))
    if (others.length === 0 || isPushedDown(others)) return
    this.#repeats += 1
    if (this.#repeats < ODD_PAGES_MAX) return
    this.#end(`${this.#repeats} pages repeat events of other pages, the last of them page ${page}`)
  }

  #lookForRoom({ page, events, has_more: hasMore }: PageReceived, fullPage: number): void {
    if (!hasMore || events >= fullPage * FILLED_SHARE) return this.#unfilled.clear()
    this.#unfilled.set(page, events)
    const { size } = this.#unfilled
    if (size < ODD_PAGES_MAX) return
    const isEmpty = [...this.#unfilled.values()].every((count) => count === 0)
    const what = isEmpty ? 'empty pages' : 'pages that are less than half full'
    this.#end(`${size} ${what} promise more, the last of them page ${page}`)
  }

  // A service that has this page has every page.
  async #control(page: number): Promise<void> {
    const { batch } = this.#history
    const organizations = batch.organizations.slice(0, 1)
    if (await this.#goesOnAt({ ...batch, organizations, days_ago: 1 }, CONTROL_PAGE)) {
      const pages = page === 1 ? 'its pages promised more before' : `${page - 1} pages promise more`
      const control = `page ${CONTROL_PAGE} of one day of ${organizations[0]?.value} alone`
      this.#end(`${pages}, and so does ${control}`)
    }
    this.#isControlled = true
  }

  /** Whether the page exists and promises more. */
  async #goesOnAt(batch: BatchRecord, page: number): Promise<boolean> {
    const answer = await this.#buyer.probePage(batch, page)
    return answer !== null && answer.has_more && answer.events > 0
  }

  #end(what: string): never {
    throw new EndlessListError(what, this.#history.batch.batch_id)
  }
}

/**
 * Whether its events were in this order across the end of one page and the start of the next, as when new events at the
 * top push them down. A service that goes round in circles repeats pages with the same boundaries.
 */
function isPushedDown(pages: readonly number[]): boolean {
  const [first = 0] = pages
  return pages.at(-1) === first + 1 && pages.every((page, i) => page >= (pages[i - 1] ?? first))
}
