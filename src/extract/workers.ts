/** What job changes and other endpoints share: the workers of a run, and its budget. */

import PQueue from 'p-queue'
import { Budget, type BudgetOptions } from './budget.ts'
import type { ExtractOptions } from './options.ts'

/** Several workers at the requests of one run: the first error stops the others, and is thrown when all have ended. */
export class Workers {
  /** The signal of what ends the run, from outside or because of an error. */
  readonly stop: AbortSignal
  readonly #queue: PQueue
  readonly #halt = new AbortController()
  #failure: { readonly error: unknown } | null = null

  constructor(concurrency: number, stop: AbortSignal) {
    this.#queue = new PQueue({ concurrency })
    this.stop = AbortSignal.any([stop, this.#halt.signal])
  }

  /** Nothing begins once something ended the run. @param ended called when the work has ended, however it did */
  add(work: () => Promise<void>, priority = 0, ended = () => {}): void {
    const attempt = async () => {
      if (this.stop.aborted) return
      try {
        await work()
      } catch (error) {
        this.#failure ??= { error }
        this.#halt.abort(error)
      } finally {
        ended()
      }
    }
    void this.#queue.add(attempt, { priority })
  }

  /** Waits until all work has ended. @throws the first error */
  async idle(): Promise<void> {
    await this.#queue.onIdle()
    if (this.#failure !== null) throw this.#failure.error
  }
}

/** The budget of a run, less what its earlier attempts have spent. @param price as in {@link BudgetOptions} */
export function budgetOf(
  {
    run,
    creditsLimit: limit,
    monthlyCredits: month,
    clock,
  }: Pick<ExtractOptions, 'run' | 'creditsLimit' | 'monthlyCredits' | 'clock'>,
  price: number,
  serviceNow: BudgetOptions['serviceNow'] = () => null,
): Budget {
  const spent = run.creditsCommitted - run.creditsAtLastStop
  const now = () => clock.now()
  return new Budget({ run: { limit, spent }, ...(month && { month }), price, now, serviceNow })
}
