/** How much of a run's reading is done, and what the whole of it will cost, judged by the pages of its batches. */

import type { BatchHistory } from '../journal/batch-history.ts'
import { expectedPages, project, type Projection } from './projection.ts'

// What is read beyond expectation shows that the batch goes on, not that it is done.
const NEARLY = 0.95

/** The batches of a run, but for those that were split. */
export class Workload {
  readonly #batches = new Map<string, BatchHistory>()
  #projection: Projection | null = null

  get batches(): number {
    return this.#batches.size
  }

  get batchesDone(): number {
    return [...this.#batches.values()].filter(({ state }) => state === 'finished').length
  }

  /** What the run costs in all, from the batches that are finished; null before two are. */
  get projection(): Projection | null {
    return this.#projection
  }

  add(history: BatchHistory): void {
    this.#batches.set(history.batch.batch_id, history)
  }

  remove({ batch }: BatchHistory): void {
    this.#batches.delete(batch.batch_id)
  }

  /** Looks again at what the run will cost: call it when a batch was finished or replaced. */
  update(): void {
    this.#projection = project([...this.#batches.values()])
  }

  /** From 0 to 1; a batch with many pages is worth more than one with few. */
  fraction(): number {
    let planned = 0
    let read = 0
    for (const history of this.#batches.values()) {
      const pages = expectedPages(history)
      planned += pages
      if (history.state === 'finished') read += pages
      else if (history.pages > 0) read += pages * Math.min(NEARLY, history.pages / pages)
    }
    return planned === 0 ? 1 : Math.min(1, read / planned)
  }
}

/** Pages that a batch still has, as far as that is known: at least 1. One longer than expected is taken to be half read. */
export function pagesToBuy(history: BatchHistory): number {
  const { pages, hasMore } = history
  const expected = expectedPages(history)
  return Math.max(1, expected > pages ? expected - pages : hasMore ? pages : 0)
}
