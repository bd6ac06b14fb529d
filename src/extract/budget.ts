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
  /** Of this run. `limit` in credits, null for none; `spent` before it was killed or resumed. */
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
  canDispatch(): boolean
  /** Ends the reservation with what was charged, 0 or more. A second call does nothing. */
  settle(charged: number): void
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
interface Bucket {
  readonly limit: number | null
  /** Null for the run's. */
  readonly month: string | null
  spent: number
  /** Requests whose price is reserved. */
  reserved: number
}

/** Gives out credits. */
export class Budget {
  readonly #options: BudgetOptions
  readonly #run: Bucket
  readonly #months = new Map<string, Bucket>()
  readonly #settled = new Condition()
  /** The most that a page has cost so far: a service that charges more than expected is believed. */
  #price = CREDITS_PER_PAGE

  constructor(options: BudgetOptions) {
    this.#options = options
    this.#run = { ...options.run, month: null, reserved: 0 }
  }

  /** Credits of the run, charged or in doubt so far. */
  get spent(): number {
    return this.#run.spent
  }

  /**
   * Reserves the price of one page; waits while other requests may still give theirs back.
   * @throws BudgetReachedError when no request in flight can free enough
   * @throws the signal's reason when it aborts first
   */
  async reserve(signal: AbortSignal): Promise<Reservation> {
    for (;;) {
      signal.throwIfAborted()
      const month = this.#thisMonth()
      const short = [this.#run, month].filter((bucket) => this.#isShort(bucket, 1))
      if (short.length === 0) return this.#reservation(month)
      const empty = short.find(({ reserved }) => reserved === 0)
      if (empty !== undefined) throw new BudgetReachedError({ ...empty, limit: empty.limit ?? 0 })
      await this.#settled.wait(signal)
    }
  }

  #thisMonth(): Bucket {
    const { month: options, now } = this.#options
    const month = monthOf(now())
    const known = this.#months.get(month)
    if (known !== undefined) return known
    const spent = options?.spentBy.get(month) ?? 0
    const bucket: Bucket = { limit: options?.limit ?? null, month, spent, reserved: 0 }
    this.#months.set(month, bucket)
    return bucket
  }

  #isShort({ limit, spent, reserved }: Bucket, more: 0 | 1): boolean {
    return limit !== null && spent + (reserved + more) * this.#price > limit
  }

  #reservation(begun: Bucket): Reservation {
    let month = begun
    let isOpen = true
    const move = (bucket: Bucket, by: 1 | -1) => {
      bucket.reserved += by
      if (by < 0) this.#settled.notifyAll()
    }
    const giveBack = () => {
      isOpen = false
      move(this.#run, -1)
      move(month, -1)
    }
    move(this.#run, 1)
    move(month, 1)
    return {
      canDispatch: () => {
        const current = this.#thisMonth()
        if (current !== month) {
          move(current, 1)
          move(month, -1)
          month = current
        }
        if (!this.#isShort(this.#run, 0) && !this.#isShort(month, 0)) return true
        giveBack()
        return false
      },
      settle: (charged) => {
        if (!isOpen) return
        this.#price = Math.max(this.#price, charged)
        this.#run.spent += charged
        month.spent += charged
        giveBack()
      },
    }
  }
}
