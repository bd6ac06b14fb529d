/**
 * Stops pagination that never ends, which would be paid until the budget is spent. Full pages of new events look the
 * same in a long list and in an endless one, so no list is cut for its length. Instead, a list that turns out to be long
 * is probed with free requests for pages far behind its end, which must promise nothing.
 */

import { UnavailableError } from '../api/errors.ts'
import type { BatchRecord } from '../journal/records.ts'
import { LAST_PAGE, type PageBuyer } from './page-buyer.ts'

// 97 % of random batches of 50 from 39,163 real organisations, over twenty years, have no more pages; the longest had 57.
const LONG_FROM = 8
// A batch with this many pages may have more than the service counts.
const WIDE_FROM = 64
// 499,950 events of one organisation in one day. Not the last page itself, because a service may cut an endless list
// there.
const CONTROL_PAGE = LAST_PAGE - 1
// Wrong clocks may lead back to page 1. Each time the pages after it are paid for again.
const FIRST_PAGES_MAX = 20

/** The service pages without end: nothing of the batch counts as read. */
export class EndlessListError extends UnavailableError {
  constructor(what: string, batchId: string) {
    super(`batch ${batchId}: ${what}`, null, {
      hint: 'The pages bought so far are kept. Run the same command again later: it reads this batch from page 1. If it fails again, report it to the provider.',
    })
  }
}

export class PageLimit {
  readonly #batch: BatchRecord
  readonly #buyer: PageBuyer
  #isControlled = false
  #isCounted = false
  #firstPages = 0

  constructor(batch: BatchRecord, buyer: PageBuyer) {
    this.#batch = batch
    this.#buyer = buyer
  }

  /** Call it before a page is bought. @throws EndlessListError when the service pages without end */
  async isTooWide(page: number): Promise<boolean> {
    const { was_endless: wasEndless, part_of_wide: isPart } = this.#batch
    if (page === 1) this.#firstPages += 1
    if (this.#firstPages > FIRST_PAGES_MAX) this.#end(`page 1 was read ${FIRST_PAGES_MAX} times`)
    if (!this.#isControlled && page > (wasEndless ? 0 : LONG_FROM)) await this.#control(page)
    if (this.#isCounted || (page <= WIDE_FROM && !isPart)) return page > LAST_PAGE
    this.#isCounted = true
    return this.#buyer.goesOnAt(this.#batch, LAST_PAGE)
  }

  // A service that has this page has every page.
  async #control(page: number): Promise<void> {
    this.#isControlled = true
    const organizations = this.#batch.organizations.slice(0, 1)
    const oneDay = { ...this.#batch, organizations, days_ago: 1 }
    if (!(await this.#buyer.goesOnAt(oneDay, CONTROL_PAGE))) return
    const pages = page === 1 ? 'its pages promised more before' : `${page - 1} pages promise more`
    const control = `page ${CONTROL_PAGE} of one day of ${organizations[0]?.value} alone`
    this.#end(`${pages}, and so does ${control}`)
  }

  #end(what: string): never {
    throw new EndlessListError(what, this.#batch.batch_id)
  }
}
