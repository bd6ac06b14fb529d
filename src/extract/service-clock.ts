/** The service's clock as one process sees it: each answer's `Date`, held against the answers before and our own clocks. */

import { statedDate, type Headers } from '../api/retry-after.ts'
import { agreeOnTime, type ServiceTime } from '../journal/service-time.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'

/** Answers of this process whose `Date` and this machine's clock did not agree. */
export interface ClockTrouble {
  readonly answers: number
  /** Of these, the answers whose `Date` was not believed, because others contradict it. */
  readonly notBelieved: number
  /** The clocks at the last of them, milliseconds since 1970 UTC. */
  readonly date: number
  readonly ours: number
}

/** Tells the service's time of answers, and remembers where clocks did not agree. */
export interface ServiceClock {
  /** @param receivedAt this machine's time when the answer was here */
  read(headers: Headers, receivedAt: number): ServiceTime
  /** Null while clocks agree. */
  trouble(): ClockTrouble | null
}

/** A clock for one process. @param aheadBefore how far the service was ahead in the run before, in ms; null: unknown */
export function createServiceClock(
  clock: Pick<Clock, 'monotonic'>,
  logger: Pick<Logger, 'warn'>,
  aheadBefore: number | null,
): ServiceClock {
  let believed: { readonly at: number; readonly monotonic: number } | null = null
  let trouble: ClockTrouble | null = null

  function note({ dispute }: ServiceTime, ours: number): void {
    if (dispute === null) return
    const { date, jump = false } = dispute
    const before = trouble ?? { answers: 0, notBelieved: 0 }
    const notBelieved = before.notBelieved + Number(jump)
    // Said once for each kind: a wrong clock is wrong in every answer.
    if (jump ? notBelieved === 1 : before.answers === before.notBelieved) {
      const times = { service: isoInstant(date), here: isoInstant(ours) }
      logger.warn(times, jump ? 'date_not_believed' : 'clocks_disagree')
    }
    trouble = { answers: before.answers + 1, notBelieved, date, ours }
  }

  return {
    read(headers, receivedAt) {
      const monotonic = clock.monotonic()
      const expected = believed === null ? null : believed.at + monotonic - believed.monotonic
      const remembered = aheadBefore === null ? null : receivedAt + aheadBefore
      const date = statedDate(headers)
      const time = agreeOnTime({ date, ours: receivedAt, expected, remembered })
      if (time.dispute?.jump !== true) believed = { at: time.at, monotonic }
      note(time, receivedAt)
      return time
    },
    trouble: () => trouble,
  }
}
