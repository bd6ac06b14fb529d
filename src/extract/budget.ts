/**
 * The credits of a run and of the calendar month, which hold at any concurrency: the most a request can cost is reserved
 * before it is sent, and given back or kept when its answer is known. Knows nothing of requests.
 */

import { isoInstant } from '../support/clock.ts'
import { Condition } from '../support/condition.ts'
import { EXIT, JobtideError } from '../support/errors.ts'
import { CREDITS_PER_PAGE, monthOf, nextMonthAt } from '../journal/spending.ts'

/** What may be spent. */
export interface BudgetOptions {
  /** Of this run. `limit` in credits, null for none; `spent` before it was killed or taken up again. */
  readonly run: { readonly limit: number | null; readonly spent: number }
  /** Of each calendar month in UTC; `spentBy` month, such as `2026-11`. Absent: no limit. */
  readonly month?: {
    readonly limit: number | null
    readonly spentBy: ReadonlyMap<string, number>
  }
  /** Our time, milliseconds since 1970 UTC. */
  readonly now: () => number
}

/** The price of one request, reserved. */
export interface Reservation {
  /**
   * Says right before the request leaves whether it may. While it waited, a month may have begun, in which it counts
   * then, or the price may have risen. When it may not leave, the credits are given back: reserve again.
   */
  mayLeave(): boolean
  /** Ends the reservation with what was charged, 0 or more. A second call does nothing. */
  settle(charged: number): void
}

/** Gives out credits. */
export interface Budget {
  /**
   * Sets the price of one page aside; waits while other requests may still give theirs back.
   * @throws BudgetReachedError when no request in flight can free enough
   * @throws the signal's reason when it aborts first
   */
  reserve(signal: AbortSignal): Promise<Reservation>
  /** Credits of the run, charged or in doubt so far. */
  spent(): number
}

/** No other page may be bought: the run, or the month, has spent what it may. */
export class BudgetReachedError extends JobtideError {
  override readonly name = 'BudgetReachedError'
  constructor({ limit, spent, month }: { limit: number; spent: number; month: string | null }) {
    const context = { limit, spent, per: month === null ? 'run' : 'month' }
    if (month === null) {
      super(EXIT.budget, `the run's budget of ${limit} credits is reached (${spent} spent)`, {
        hint: 'Finished batches are kept. Run again to go on with a fresh budget, or give more with --credits.',
        context,
      })
      return
    }
    const renewsAt = isoInstant(nextMonthAt(Date.parse(`${month}-01`)))
    super(EXIT.budget, `the budget of ${limit} credits for ${month} is reached (${spent} spent)`, {
      hint: `Finished batches are kept. The month's budget is fresh on ${renewsAt.slice(0, 10)} (UTC); the pipeline file can give more.`,
      context: { ...context, renews_at: renewsAt },
    })
  }
}

/** What counts against one limit. */
interface Purse {
  readonly limit: number | null
  /** Null for the run's. */
  readonly month: string | null
  spent: number
  /** Requests whose price is reserved. */
  reserved: number
}

/** A budget. */
export function createBudget({ run, month, now }: BudgetOptions): Budget {
  const ofRun: Purse = { limit: run.limit, month: null, spent: run.spent, reserved: 0 }
  const ofMonths = new Map<string, Purse>()
  const settled = new Condition()
  // The most that a page has cost so far: a service that charges more than expected is believed.
  let price = CREDITS_PER_PAGE

  function ofThisMonth(): Purse {
    const name = monthOf(now())
    const known = ofMonths.get(name)
    if (known !== undefined) return known
    const spent = month?.spentBy.get(name) ?? 0
    const purse: Purse = { limit: month?.limit ?? null, month: name, spent, reserved: 0 }
    ofMonths.set(name, purse)
    return purse
  }

  function isShort({ limit, spent, reserved }: Purse, more: 0 | 1): boolean {
    return limit !== null && spent + (reserved + more) * price > limit
  }

  function createReservation(begun: Purse): Reservation {
    let month = begun
    let isOpen = true
    ofRun.reserved += 1
    month.reserved += 1
    const giveBack = () => {
      isOpen = false
      ofRun.reserved -= 1
      month.reserved -= 1
      settled.notifyAll()
    }
    return {
      mayLeave() {
        const current = ofThisMonth()
        if (current !== month) {
          month.reserved -= 1
          current.reserved += 1
          month = current
          settled.notifyAll()
        }
        if (!isShort(ofRun, 0) && !isShort(month, 0)) return true
        giveBack()
        return false
      },
      settle(charged) {
        if (!isOpen) return
        price = Math.max(price, charged)
        ofRun.spent += charged
        month.spent += charged
        giveBack()
      },
    }
  }

  return {
    async reserve(signal) {
      for (;;) {
        signal.throwIfAborted()
        const current = ofThisMonth()
        const short = [ofRun, current].filter((purse) => isShort(purse, 1))
        if (short.length === 0) return createReservation(current)
        const empty = short.find(({ reserved }) => reserved === 0)
        if (empty !== undefined) {
          throw new BudgetReachedError({ ...empty, limit: empty.limit ?? 0 })
        }
        await settled.wait(signal)
      }
    },
    spent: () => ofRun.spent,
  }
}
