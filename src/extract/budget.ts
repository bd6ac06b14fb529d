/**
 * A budget of credits that holds at any concurrency: the most a request can cost is set aside before it is sent, and
 * given back or kept when its answer is known.
 */

import { CREDITS_PER_PAGE } from '../journal/history.ts'
import { createBell } from '../support/bell.ts'
import { EXIT, JobtideError } from '../support/errors.ts'

/** The run may not buy another page. */
export class BudgetReachedError extends JobtideError {
  override readonly name = 'BudgetReachedError'
  constructor(limit: number, spent: number) {
    super(EXIT.budget, `the budget of ${limit} credits is reached (${spent} spent)`, {
      hint: 'Finished slices are kept. Run again to go on with a fresh budget, or give more with --credits.',
      context: { limit, spent },
    })
  }
}

/** The credits of one run. */
export interface Budget {
  /**
   * Sets the price of one page aside; waits while other requests may still give theirs back.
   * @throws BudgetReachedError when no request in flight can free enough
   * @throws the signal's reason when it aborts first
   */
  reserve(signal: AbortSignal): Promise<void>
  /** Ends a reservation with what was charged, 0 or more. */
  settle(charged: number): void
  /** Credits charged or in doubt so far. */
  spent(): number
}

/** A budget. @param limit credits; null for none @param alreadySpent credits of this run before it was killed */
export function createBudget(limit: number | null, alreadySpent: number): Budget {
  let spent = alreadySpent
  let reserved = 0
  const settled = createBell()

  return {
    async reserve(signal) {
      signal.throwIfAborted()
      while (limit !== null && spent + reserved + CREDITS_PER_PAGE > limit) {
        if (reserved === 0) throw new BudgetReachedError(limit, spent)
        await settled.wait(signal)
      }
      reserved += CREDITS_PER_PAGE
    },
    settle(charged) {
      reserved -= CREDITS_PER_PAGE
      spent += charged
      settled.ring()
    },
    spent: () => spent,
  }
}
