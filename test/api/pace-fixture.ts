/** Workers that send requests at a pace, on a clock where hours pass in no time, and the service as it counts them. */

import type { Pacer, Permit } from '../../src/api/pacer.ts'
import type { RateReport } from '../../src/api/retry-after.ts'
import { SECOND } from '../../src/support/units.ts'
import type { VirtualClock } from '../helpers/virtual-clock.ts'

/** A service that counts requests. */
export interface Service {
  /** True when the request is taken. */
  arrive(): boolean
  /** What it says of its count. */
  report?(): RateReport
}

const NO_REPORT: RateReport = { limit: null, remaining: null, resetMs: null }

/** A service that refuses the request that would be one too many in the `windowMs` that begin at `startOf` it. */
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
    /** True when the request is taken. Those that are refused are not counted. */
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
    /** The reset, when one more is taken, is told in whole seconds. */
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

/** A service that begins a new count every `windowMs`. */
export function fixedWindowService(clock: VirtualClock, requests: number, windowMs = SECOND) {
  return strictService(clock, requests, windowMs, (at) => Math.floor(at / windowMs) * windowMs)
}

/** How long a request is on its way there, and then until it is answered, in milliseconds. */
export interface Latency {
  there(isFirst: boolean): number
  back(): number
}

const { signal } = new AbortController()

/** The permits that are given now to workers that ask for `tries`; later ones are added to the list. */
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

/** Workers that send `requests` requests altogether, each one after another; gives the times at which they were sent. */
export async function sendAll(
  clock: VirtualClock,
  options: {
    pacer: Pacer
    workers: number
    requests: number
    latency: Latency
    /** Absent: one that takes every request, and tells nothing. */
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
