/** The service's clock as one process sees it: each answer's `Date`, held against the answers before and our own clocks. */

import { statedDate, type Headers } from '../api/retry-after.ts'
import { agreeOnTime, type ServiceTime } from '../journal/service-time.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import type { ClockTrouble } from './options.ts'

interface ServiceClockOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly logger: Pick<Logger, 'warn'>
  /** How far the service was ahead in the run before, in ms; absent or null: unknown. */
  readonly serverAheadMs?: number | null
}

/** Tells the service's time of answers, and remembers where clocks did not agree. */
export class ServiceClock {
  readonly #options: ServiceClockOptions
  #believed: { readonly at: number; readonly monotonic: number } | null = null
  #trouble: ClockTrouble | null = null

  constructor(options: ServiceClockOptions) {
    this.#options = options
  }

  /** Null while clocks agree. */
  get trouble(): ClockTrouble | null {
    return this.#trouble
  }

  /** @param ours this machine's time when the answer was here */
  read(headers: Headers, ours: number): ServiceTime {
    const { clock, serverAheadMs } = this.#options
    const monotonic = clock.monotonic()
    const believed = this.#believed
    const time = agreeOnTime({
      date: statedDate(headers),
      ours,
      expected: believed && believed.at + monotonic - believed.monotonic,
      remembered: typeof serverAheadMs === 'number' ? ours + serverAheadMs : null,
    })
    if (time.dispute?.jump !== true) this.#believed = { at: time.at, monotonic }
    if (time.dispute !== null) this.#note(time.dispute, ours)
    return time
  }

  #note({ date, jump }: NonNullable<ServiceTime['dispute']>, ours: number): void {
    const before = this.#trouble ?? { answers: 0, notBelieved: 0 }
    const notBelieved = before.notBelieved + (jump ? 1 : 0)
    // Said once for each kind: a wrong clock is wrong in every answer.
    if (jump ? notBelieved === 1 : before.answers === before.notBelieved) {
      const times = { service: isoInstant(date), here: isoInstant(ours) }
      this.#options.logger.warn(times, jump ? 'date_not_believed' : 'clocks_disagree')
    }
    this.#trouble = { answers: before.answers + 1, notBelieved, date, ours }
  }
}
