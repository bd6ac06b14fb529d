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

/**
 * Watches a batch while one process reads it.
 * @returns whether it has more pages than the service counts; asked before each page is bought
 * @throws EndlessListError, also from there, when the service pages without end
 */
export function pageLimit(batch: BatchRecord, buyer: PageBuyer) {
  const { was_endless: wasEndless, part_of_wide: isPart } = batch
  let isControlled = false
  let isCounted = false
  let firstPages = 0
  const end = (what: string) => {
    throw new EndlessListError(what, batch.batch_id)
  }
  // A service that has this page has every page.
  const control = async (page: number) => {
    const organizations = batch.organizations.slice(0, 1)
    const oneDay = { ...batch, organizations, days_ago: 1 }
    if (!(await buyer.goesOnAt(oneDay, CONTROL_PAGE))) return
    const pages = page === 1 ? 'its pages promised more before' : `${page - 1} pages promise more`
    end(`${pages}, and so does page ${CONTROL_PAGE} of one day of ${organizations[0]?.value} alone`)
  }
  return async (page: number): Promise<boolean> => {
    if (page === 1) firstPages += 1
    if (firstPages > FIRST_PAGES_MAX) end(`page 1 was fetched ${FIRST_PAGES_MAX} times`)
    if (!isControlled && page > (wasEndless ? 0 : LONG_FROM)) {
      isControlled = true
      await control(page)
    }
    if (isCounted || (page <= WIDE_FROM && !isPart)) return page > LAST_PAGE
    isCounted = true
    return buyer.goesOnAt(batch, LAST_PAGE)
  }
}
