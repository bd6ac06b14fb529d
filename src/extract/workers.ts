/** What job changes and other endpoints share: the workers of a run, its budget, and the pause that it begins with. */

import PQueue from 'p-queue'
import { UnavailableError } from '../api/errors.ts'
import { waitEnd } from '../support/clock.ts'
import { Budget, type BudgetOptions } from './budget.ts'
import type { ExtractOptions } from './options.ts'

/** Several workers at the requests of one run: the first error stops the others, and is thrown when all have ended. */
export class Workers {
  /** The signal of what ends the run, from outside or because of an error. */
  readonly stop: AbortSignal
  /** Less what earlier attempts at the run have spent. */
  readonly budget: Budget
  readonly #queue: PQueue
  readonly #halt = new AbortController()
  #failure: { readonly error: unknown } | null = null

  /** @param price and @param serviceNow as in {@link BudgetOptions} */
  constructor(
    options: ExtractOptions,
    price: number,
    serviceNow: BudgetOptions['serviceNow'] = () => null,
  ) {
    const { run, creditsLimit: limit, monthlyCredits: month, concurrency, clock } = options
    const spent = run.creditsCommitted - run.creditsAtLastStop
    const now = () => clock.now()
    this.budget = new Budget({
      run: { limit, spent },
      ...(month && { month }),
      price,
      now,
      serviceNow,
    })
    this.#queue = new PQueue({ concurrency })
    this.stop = AbortSignal.any([options.stop, this.#halt.signal])
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

/** Waits until a time that an earlier run was asked to. @throws UnavailableError if that is too long */
export function respectStoredRetryAfter(options: ExtractOptions): void {
  const { notBefore, clock, maxWaitMs, pacer, logger } = options
  const waitMs = notBefore - clock.now()
  if (waitMs <= 0) return
  const time = waitEnd(notBefore)
  if (waitMs > maxWaitMs) {
    throw new UnavailableError(`the service asked for no request before ${time}`, notBefore, {
      hint: `Run the same command again after ${time}: it continues where it stopped. If that time is a mistake, add --forget-pause. \`jobtide doctor\` says why the service named it.`,
      context: { not_before: time },
    })
  }
  logger.warn({ wait_ms: Math.round(waitMs), not_before: time }, 'waiting')
  pacer.pause(waitMs)
}
