/**
 * Workers that send requests at a pace, on a clock where hours pass instantly, and services that count the requests.
 */

import type { Pacer, Permit } from '../../src/api/pacer.ts'
import type { RateReport } from '../../src/api/retry-after.ts'
import { SECOND } from '../../src/support/units.ts'
import type { VirtualClock } from '../helpers/virtual-clock.ts'

/** A service that counts requests. */
export interface Service {
  /** True if the request is accepted. */
  arrive(): boolean
  /** The count that the service reports. */
  report?(): RateReport
}

const NO_REPORT: RateReport = { limit: null, remaining: null, resetMs: null }

/** A service that refuses each request beyond the limit of the window of `windowMs` that begins at `startOf`. */
export function strictService(
  clock: VirtualClock,
  requests: number,
  windowMs = SECOND,
  startOf = (at: number) => at,
) {
  const accepted: number[] = []
  let total = 0
  let refused = 0
  return {
    /** True if the request is accepted. Refused requests do not count. */
    arrive(): boolean {
      const now = clock.monotonic()
      while (accepted[0] !== undefined && accepted[0] <= now - windowMs) accepted.shift()
      if (accepted.length >= requests) {
        refused += 1
        return false
      }
      accepted.push(startOf(now))
      total += 1
      return true
    },
    /** The time until the next request is accepted, in whole seconds. */
    report(): RateReport {
      const resetMs = (accepted[0] ?? startOf(clock.monotonic())) + windowMs - clock.monotonic()
      return {
        limit: requests,
        remaining: requests - accepted.length,
        resetMs: Math.ceil(resetMs / SECOND) * SECOND,
      }
    },
    accepted: () => total,
    refused: () => refused,
  }
}

/** A service that starts a new count every `windowMs`. */
export function fixedWindowService(clock: VirtualClock, requests: number, windowMs = SECOND) {
  return strictService(clock, requests, windowMs, (at) => Math.floor(at / windowMs) * windowMs)
}

/** How long a request travels, and then how long until its answer arrives, in milliseconds. */
export interface Latency {
  there(isFirst: boolean): number
  back(): number
}

const { signal } = new AbortController()

/** The permits granted now to `tries` waiting workers; later ones are appended to the list. */
export async function permitsNow(
  clock: VirtualClock,
  pacer: Pacer,
  tries: number,
): Promise<Permit[]> {
  const given: Permit[] = []
  for (let i = 0; i < tries; i += 1) void pacer.permit(signal).then((one) => given.push(one))
  await clock.advance(0)
  return given
}

/** Workers that send `requests` requests in total, each worker one at a time. Returns the times of sending. */
export async function sendAll(
  clock: VirtualClock,
  options: {
    pacer: Pacer
    workers: number
    requests: number
    latency: Latency
    /** Default: accepts every request and reports no count. */
    service?: Service
    onAnswer?: (sent: number) => void
  },
): Promise<number[]> {
  const { pacer, latency, service } = options
  const sentAt: number[] = []
  let left = options.requests
  const worker = async () => {
    for (let isFirst = true; left > 0; isFirst = false) {
      left -= 1
      const permit = await pacer.permit(signal)
      sentAt.push(clock.monotonic())
      await clock.sleep(latency.there(isFirst))
      const isTaken = service?.arrive() ?? true
      const report = service?.report?.() ?? NO_REPORT
      await clock.sleep(latency.back())
      permit.learn(report)
      permit.release(isTaken ? 'answered' : 'throttled')
      options.onAnswer?.(options.requests - left)
    }
  }
  await clock.run(Promise.all(Array.from({ length: options.workers }, worker)))
  return sentAt
}
