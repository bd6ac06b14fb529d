/**
 * The credit limits of a run and of the calendar month. They hold at any concurrency: the most that a request can cost
 * is reserved before it is sent, and released or kept when its answer is known. Knows nothing about requests.
 */

import { EventEmitter, once, setMaxListeners } from 'node:events'
import { isoInstant } from '../support/clock.ts'
import { EXIT, JobtideError } from '../support/errors.ts'
import { CREDITS_PER_PAGE, monthOf, nextMonthAt } from '../journal/spending.ts'

export interface BudgetOptions {
  /** For this run. `limit` in credits, null for none; `spent` before it was killed or resumed. */
  readonly run: { readonly limit: number | null; readonly spent: number }
  /** For each calendar month in UTC; `spentBy` month, such as `2026-11`. Absent: no limit. */
  readonly month?: {
    readonly limit: number | null
    readonly spentBy: ReadonlyMap<string, number>
  }
  /** The most that a request may cost, in credits, 1 or more; default: the expected price of a page of job changes. */
  readonly price?: number
  /** Our time, milliseconds since 1970 UTC. */
  readonly now: () => number
  /** The service's time, once known; else null. The month must have room by both clocks. */
  readonly serviceNow?: () => number | null
}

export interface Reservation {
  /**
   * Decides right before the request leaves: a new month may have begun, which it then counts in, or the price
   * may have risen. If false, the credits are released: reserve again.
   */
  canDispatch(): boolean
  /** Ends the reservation with the actual charge, 0 or more. A second call does nothing. */
  settle(charged: number): void
}

/** A limit, what counts against it, and its month; the month is null for the limit of the run. */
interface Limit {
  readonly limit: number
  readonly spent: number
  readonly month: string | null
}

/** No further page may be bought: the limit of the run or of the month is spent. */
export class BudgetReachedError extends JobtideError {
  constructor({ limit, spent, month }: Limit, price: number) {
    const isRun = month === null
    const told = `${spent} spent${price === CREDITS_PER_PAGE ? '' : `, and a request may cost ${price}`}`
    const budget = isRun
      ? `run's budget of ${limit} credits`
      : `budget of ${limit} credits for ${month}`
    const renewsAt = isRun ? null : isoInstant(nextMonthAt(Date.parse(`${month}-01`)))
    const advice = isRun
      ? 'Run the command again to continue with a new budget, or raise it with --credits.'
      : `The monthly budget resets on ${renewsAt?.slice(0, 10)} (UTC). To continue now, raise it in the pipeline file.`
    super(EXIT.budget, `the ${budget} is reached (${told})`, {
      hint: `Finished batches are kept. ${advice}`,
      context: {
        limit,
        spent,
        per: isRun ? 'run' : 'month',
        ...(isRun ? {} : { renews_at: renewsAt }),
      },
    })
  }
}

/** Something that tasks wait for and others announce: a condition variable. */
export class Condition {
  readonly #changes = new EventEmitter().setMaxListeners(0)

  /** Resolves at the next notifyAll(). @throws the signal's reason when it aborts first */
  async wait(signal: AbortSignal): Promise<void> {
    setMaxListeners(0, signal)
    await once(this.#changes, 'change', { signal }).catch(() => signal.throwIfAborted())
  }

  notifyAll(): void {
    this.#changes.emit('change')
  }
}

export class Budget {
  readonly #options: BudgetOptions
  readonly #spentIn: Map<string, number>
  readonly #settled = new Condition()
  #reserved = 0
  #spent: number
  /** The most that a page has cost so far: if the service charges more than expected, the budget reserves more. */
  #price: number

  constructor(options: BudgetOptions) {
    this.#options = options
    this.#price = options.price ?? CREDITS_PER_PAGE
    this.#spent = options.run.spent
    this.#spentIn = new Map(options.month?.spentBy)
  }

  /** Credits of the run, charged or in doubt, its earlier attempts included. */
  get spent(): number {
    return this.#spent
  }

  /** Of these, the credits since this budget began. */
  get spentNow(): number {
    return this.#spent - this.#options.run.spent
  }

  /**
   * Reserves the price of one page. Waits while other requests may still release theirs.
   * @throws BudgetReachedError when no request in flight can release enough
   * @throws the signal's reason when it aborts first
   */
  async reserve(signal: AbortSignal): Promise<Reservation> {
    for (;;) {
      signal.throwIfAborted()
      const reached = this.#reachedBy(this.#reserved + 1)
      if (reached === undefined) return this.#reservation()
      if (this.#reserved === 0) throw new BudgetReachedError(reached, this.#price)
      await this.#settled.wait(signal)
    }
  }

  #reachedBy(requests: number): Limit | undefined {
    const { run, month } = this.#options
    const limits = [
      { month: null, limit: run.limit ?? Infinity, spent: this.#spent },
      ...this.#months().map((one) => {
        return { month: one, limit: month?.limit ?? Infinity, spent: this.#spentIn.get(one) ?? 0 }
      }),
    ]
    return limits.find(({ limit, spent }) => spent + requests * this.#price > limit)
  }

  /** One month, or two if the clocks disagree. */
  #months(): string[] {
    const { now, serviceNow } = this.#options
    return [...new Set([now(), serviceNow?.() ?? now()].map(monthOf))]
  }

  #reservation(): Reservation {
    let months = this.#months()
    let isOpen = true
    this.#reserved += 1
    const giveBack = () => {
      isOpen = false
      this.#reserved -= 1
      this.#settled.notifyAll()
    }
    return {
      canDispatch: () => {
        months = this.#months()
        if (this.#reachedBy(this.#reserved) === undefined) return true
        giveBack()
        return false
      },
      settle: (charged) => {
        if (!isOpen) return
        this.#price = Math.max(this.#price, charged)
        this.#spent += charged
        for (const month of months)
          this.#spentIn.set(month, (this.#spentIn.get(month) ?? 0) + charged)
        giveBack()
      },
    }
  }
}
