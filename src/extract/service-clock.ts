/**
 * The service's clock as one process sees it: the `Date` of each answer, compared with earlier answers and our own
 * clocks.
 */

import { statedDate, type Headers } from '../api/retry-after.ts'
import {
  noteReached,
  resolveServerTime,
  trustedUntil,
  type ServiceTime,
} from '../journal/clock-history.ts'
import type { ClockDispute } from '../journal/records.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import type { BuyingOptions, ClockTrouble } from './options.ts'

interface ServiceClockOptions extends Pick<BuyingOptions, 'clocksBefore'> {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly logger: Pick<Logger, 'warn'>
}

export class ServiceClock {
  readonly #options: ServiceClockOptions
  #believed: { readonly at: number; readonly monotonic: number } | null = null
  readonly #reached: number[]
  /** How far coverage holds, once the clocks are behind what they had reached. */
  #soundUntil: number | null = null
  #trouble: ClockTrouble | null = null

  constructor(options: ServiceClockOptions) {
    this.#options = options
    this.#reached = [...(options.clocksBefore?.reached ?? [])]
  }

  get trouble(): ClockTrouble | null {
    return this.#trouble
  }

  /** The service's time by the answers to this process; before the first, by what earlier runs know. */
  now(): number {
    const { clock, clocksBefore } = this.#options
    return this.heard() ?? clock.now() + (clocksBefore?.serverAheadMs ?? 0)
  }

  /** The service's time now, by the answers to this process; null before the first. */
  heard(): number | null {
    const believed = this.#believed
    return believed && believed.at + this.#options.clock.monotonic() - believed.monotonic
  }

  /** @param ours this machine's time when the answer arrived */
  read(headers: Headers, ours: number): ServiceTime {
    const { clock, clocksBefore } = this.#options
    const monotonic = clock.monotonic()
    const ahead = clocksBefore?.serverAheadMs ?? null
    const { at, dispute } = resolveServerTime({
      date: statedDate(headers),
      ours,
      expected: this.heard(),
      remembered: ahead === null ? null : ours + ahead,
      reached: this.#reached.at(-1) ?? null,
    })
    if (dispute?.jump !== true) this.#believed = { at, monotonic }
    if (dispute?.wentBack === undefined) {
      noteReached(this.#reached, dispute?.earliest ?? at)
      if (dispute !== null) this.#note(dispute, ours)
      return { at, dispute }
    }
    // The same for all answers, because the next run decides which of the clocks is wrong.
    const last = this.#reached.at(-1) ?? 0
    this.#soundUntil ??= trustedUntil(this.#reached, last, dispute.wentBack.to)
    const wentBack = { ...dispute, earliest: this.#soundUntil }
    this.#note(wentBack, ours)
    return { at, dispute: wentBack }
  }

  #note({ date, jump, wentBack, earliest }: ClockDispute, ours: number): void {
    const known = this.#trouble ?? { answers: 0, notBelieved: 0, wentBack: null }
    const notBelieved = known.notBelieved + (jump ? 1 : 0)
    const times = { service: isoInstant(date), here: isoInstant(ours) }
    // Reported once for each kind, because a wrong clock is wrong in every answer.
    if (wentBack !== undefined) {
      const since = { before: isoInstant(wentBack.from), void_after: isoInstant(earliest) }
      if (known.wentBack === null)
        this.#options.logger.warn({ ...times, ...since }, 'clocks_went_back')
    } else if (jump ? notBelieved === 1 : known.answers === known.notBelieved) {
      this.#options.logger.warn(times, jump ? 'date_not_believed' : 'clocks_disagree')
    }
    this.#trouble = {
      answers: known.answers + 1,
      notBelieved,
      date,
      ours,
      wentBack: wentBack === undefined ? known.wentBack : { ...wentBack, voidAfter: earliest },
    }
  }
}
