/**
 * The exact bill of a run, found without wasting a credit: pages 1, 2, 4, 8 … of each batch, then halving. A page past the
 * end is free; every other one has to be bought anyway, is kept, and is not asked for again when the run is read.
 */

import { pagesBought, type BatchHistory } from '../journal/batch-history.ts'
import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import { Extraction, type ExtractOptions, type ExtractProgress } from './extract.ts'
import { extentOf } from './page-choice.ts'

/** What reading a run takes. */
export interface Quote {
  /** Those that were not read to their end before, as they became known; of those that were split, the parts. */
  readonly batches: readonly BatchQuote[]
  /** Pages with events, of all batches together. */
  readonly pages: number
  /** Of these, bought by now. */
  readonly bought: number
  /** Of these, still to buy. */
  readonly toBuy: number
  /** What they will cost. */
  readonly credits: number
  /** What was asked for the quote. */
  readonly progress: ExtractProgress
}

/** What reading a batch takes. */
export interface BatchQuote {
  readonly batchId: string
  readonly organizations: number
  readonly pages: number
  readonly bought: number
  readonly toBuy: number
  readonly credits: number
}

/**
 * Finds the last page of every batch of the run. A batch whose pages are all there after that is finished.
 * @throws what extract throws; BudgetReachedError when the pages that the quote needs cost more than is left
 */
export async function quote(options: ExtractOptions): Promise<Quote> {
  const batches: BatchQuote[] = []
  const note = (history: BatchHistory) => {
    batches.push(quoteOf(history))
  }
  const progress = await new Extraction(options, note).run()
  const sum = (of: (batch: BatchQuote) => number) => batches.reduce((all, one) => all + of(one), 0)
  return {
    batches,
    pages: sum(({ pages }) => pages),
    bought: sum(({ bought }) => bought),
    toBuy: sum(({ toBuy }) => toBuy),
    credits: sum(({ credits }) => credits),
    progress,
  }
}

function quoteOf(history: BatchHistory): BatchQuote {
  const { batch } = history
  const { highest, last } = extentOf(history)
  const bought = pagesBought(history)
  const pages = history.hasMore ? (last ?? highest) : highest
  const toBuy = pages - bought
  return {
    batchId: batch.batch_id,
    organizations: batch.organizations.length,
    pages,
    bought,
    toBuy,
    credits: toBuy * CREDITS_PER_PAGE,
  }
}
