/**
 * What may be missing in a batch that was read to its end, settled without a credit where that is possible: a page right
 * after the events that the list had is empty, and free, when it has not grown.
 */

import { dismiss, doubtOf, type Doubt } from '../journal/page-seams.ts'
import type { BatchHistory } from '../journal/batch-history.ts'
import type { Clock } from '../support/clock.ts'
import { SECOND } from '../support/units.ts'
import { BudgetReachedError } from './budget.ts'
import type { ListSize, PageBuyer } from './page-buyer.ts'

const LATE_ANSWERS_MAX = 3

/** What settling a doubt needs. */
export interface DoubtOptions {
  readonly buyer: Pick<PageBuyer, 'hasMoreThan'>
  readonly clock: Clock
  /** Ends waiting. */
  readonly signal: AbortSignal
}

/**
 * The page that has to be asked for again, with everything after it, in a batch that was read to its end; null when nothing
 * is missing.
 * @throws what PageBuyer.buy throws, and the signal's reason
 */
export async function pageInDoubt(
  history: BatchHistory,
  options: DoubtOptions,
): Promise<number | null> {
  const { clock, signal } = options
  let serverNowMs = clock.now()
  for (let lateAnswers = 0; ;) {
    const doubt = doubtOf(history, serverNowMs)
    if (doubt === null) return null
    if (doubt.waitMs > 0) await clock.sleep(doubt.waitMs, signal)
    const size = await sizeOfList(history, doubt, options)
    if (size === 'more') return doubt.page
    if (size === 'unknown' || size.serverAt + SECOND <= doubt.until) {
      dismiss(history, doubt)
    } else {
      // The service's clock is ahead of ours, or its answer took long: others may have left that were not counted.
      lateAnswers += 1
      if (lateAnswers > LATE_ANSWERS_MAX) return doubt.page
      serverNowMs = size.serverAt
    }
  }
}

async function sizeOfList(
  { batch }: BatchHistory,
  { kind, events }: Doubt,
  { buyer }: DoubtOptions,
): Promise<'more' | 'unknown' | ListSize> {
  if (events === null) return 'more'
  // Where that cannot be asked, an early last page is taken as it is; that events left above a page is the worse sign.
  const otherwise = kind === 'early-last-page' ? 'unknown' : 'more'
  try {
    const size = await buyer.hasMoreThan(batch, events)
    if (size === null) return otherwise
    return size.hasMore ? 'more' : size
  } catch (error) {
    // The question is free unless the list has grown, but the last credits were for the pages. What is taken as it is then
    // misses an event only when another was seen hours late between the last two pages.
    if (error instanceof BudgetReachedError && otherwise === 'unknown') return otherwise
    throw error
  }
}
