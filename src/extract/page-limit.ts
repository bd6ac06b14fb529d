/**
 * Full pages of new events look the same in a long list and in a made-up one, so no list is cut for its length. Instead
 * a long list makes the service answer questions: for empty, free pages, where its lists end; and for an enormous list,
 * for a page that was read before.
 */

import type { BatchHistory } from '../journal/batch-history.ts'
import type { BatchRecord } from '../journal/records.ts'
import type { PageBuyer } from './page-buyer.ts'
import { EndlessListError, expectSameList } from './paging-guard.ts'
import { LAST_PAGE } from './question.ts'

// 97 % of random batches of 50 from 39,163 real organisations, over twenty years, have no more pages; the longest had 57.
const LONG_FROM = 8
// A batch with this many pages may have more than the service counts.
const WIDE_FROM = 64
// From here on a page that is bought twice costs a thousandth.
const RECHECK_AFTER_PAGES = 1_000
// 499,950 events of one organisation in one day. Not the last page itself: a service may cut an endless list there.
const CONTROL_PAGE = LAST_PAGE - 1

/** Checks the length of one batch while one process reads it. */
export class PageLimit {
  readonly #history: BatchHistory
  readonly #buyer: PageBuyer
  #isControlled = false
  #isCounted = false
  #isSame = false
  /** Whether this process has read a page of it: the list may be another one than on an earlier day. */
  #isRead = false

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
    const isLong = page > WIDE_FROM
    const controlFrom = batch.was_endless === true ? 0 : LONG_FROM
    if (!this.#isControlled && page > controlFrom) await this.#control(page)
    const mayBeWide =
      page > LAST_PAGE || (!this.#isCounted && (isLong || batch.part_of_wide === true))
    const isTooWide = mayBeWide && (page > LAST_PAGE || (await this.#goesOnAt(batch, LAST_PAGE)))
    this.#isCounted ||= mayBeWide
    if (isTooWide || (page > RECHECK_AFTER_PAGES && this.#isRead && !this.#isSame))
      await this.#expectSame()
    this.#isRead = true
    return isTooWide
  }

  // A service that has this page has any page.
  async #control(page: number): Promise<void> {
    const { batch } = this.#history
    const organizations = batch.organizations.slice(0, 1)
    if (await this.#goesOnAt({ ...batch, organizations, days_ago: 1 }, CONTROL_PAGE)) {
      const pages = page === 1 ? 'its pages promised more before' : `${page - 1} pages promise more`
      throw new EndlessListError(
        `${pages}, and so does page ${CONTROL_PAGE} of one day of ${organizations[0]?.value} alone`,
        batch.batch_id,
      )
    }
    this.#isControlled = true
  }

  /** Whether the page is there and promises more. */
  async #goesOnAt(batch: BatchRecord, page: number): Promise<boolean> {
    const answer = await this.#buyer.probePage(batch, page)
    return answer !== null && answer.has_more && answer.events > 0
  }

  async #expectSame(): Promise<void> {
    const { batch, pages } = this.#history
    this.#isSame = true
    const again = pages === 0 ? null : await this.#buyer.probePage(batch, pages)
    if (again !== null) expectSameList(this.#history, again)
  }
}
