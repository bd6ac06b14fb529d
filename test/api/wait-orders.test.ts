/** From the header to the request: an order to wait is kept by all workers. */

import { expect, it } from 'vitest'
import { Pacer } from '../../src/api/pacer.ts'
import { decideRetry } from '../../src/api/retry-policy.ts'
import { HOUR, MINUTE } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { ALL, SERVER } from './wait-headers.ts'

const WORKERS = 4
const NOT_YET = {
  attempts: 0,
  billable: 0,
  unreadableInARow: 0,
  pausesInARow: 1,
  outageMs: 0,
  failuresInARow: 1,
  wasReached: true,
  maxWaitMs: Number.POSITIVE_INFINITY,
  previousWaitMs: 0,
  random: 0,
}

const orders = ALL.flatMap(([what, headers, waitMs]) =>
  [429, 503].map((status) => ({ what, headers, status, waitMs: waitMs ?? MINUTE })),
)

it(`${ALL.length} shapes of headers × 429 and 503: none of ${WORKERS} workers sends before the deadline, then 1 alone`, async () => {
  for (const order of orders) {
    const clock = virtualClock(SERVER + HOUR)
    const pacer = new Pacer(clock, null)
    const { signal } = new AbortController()
    const before = await Promise.all(Array.from({ length: WORKERS }, () => pacer.permit(signal)))
    await clock.advance(100)
    const failure = { kind: 'status', message: 'wait', ...order } as const
    const decision = decideRetry(failure, { ...NOT_YET, nowMs: clock.now() })
    if (decision.kind !== 'pause-all') throw new Error(`${order.status} is no order to wait`)
    pacer.pause(decision.waitMs)
    for (const permit of before) permit.release('undecided')
    const from = clock.monotonic()
    const sentAt: number[] = []
    for (let worker = 0; worker < WORKERS; worker += 1) {
      void pacer.permit(signal).then(() => sentAt.push(clock.monotonic() - from))
    }
    await clock.advance(order.waitMs + HOUR)
    expect([order, decision.waitMs, sentAt]).toEqual([order, order.waitMs, [order.waitMs]])
  }
})
