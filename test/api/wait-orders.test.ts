/** From the header to the request: what a service says is kept by all workers, all processes, and after a restart. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPaceFile } from '../../src/api/pace-file.ts'
import { createMemoryPaceStore } from '../../src/api/pace-store.ts'
import { createPacer, type Pacer } from '../../src/api/pacer.ts'
import type { Headers } from '../../src/api/retry-after.ts'
import { decideRetry } from '../../src/api/retry-policy.ts'
import { HOUR, MINUTE } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'
import { ALL, SERVER } from './wait-headers.ts'

const { signal } = new AbortController()
const WORKERS = 4

/** What happens when one of the requests in flight is answered with `status` and `headers`. */
function obey(pacer: Pacer, clock: VirtualClock, status: number, headers: Headers): number {
  const decision = decideRetry(
    { kind: 'status', status, headers, message: 'wait' },
    {
      attempts: 0,
      billable: 0,
      unreadableInARow: 0,
      pausesInARow: 1,
      outageMs: 0,
      failuresInARow: 1,
      wasReached: true,
      maxWaitMs: Number.POSITIVE_INFINITY,
      nowMs: clock.now(),
      previousWaitMs: 0,
      random: 0,
    },
  )
  if (decision.kind !== 'pause-all') throw new Error(`${status} is no order to wait`)
  pacer.pause(decision.waitMs)
  return decision.waitMs
}

/** When workers of all these pacers get through, milliseconds from now, until one has. */
async function firstThrough(clock: VirtualClock, pacers: readonly Pacer[]): Promise<number> {
  const from = clock.monotonic()
  const stop = new AbortController()
  const turns = pacers.flatMap((pacer) =>
    Array.from({ length: WORKERS }, async () => {
      await pacer.permit(stop.signal)
      return clock.monotonic() - from
    }),
  )
  const tookMs = await clock.run(Promise.race(turns))
  stop.abort()
  const ends = await Promise.allSettled(turns)
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  return tookMs
}

const orders = ALL.flatMap(([what, headers, waitMs]) =>
  [429, 503].map((status) => ({ what, headers, status, waitMs: waitMs ?? MINUTE })),
)

describe(`${ALL.length} shapes of headers × 429 and 503: 0 requests before the deadline`, () => {
  it('by any worker of 2 processes, and then 1 request alone', async () => {
    for (const order of orders) {
      const clock = virtualClock(SERVER + HOUR)
      const sharing = { store: createMemoryPaceStore(), priority: 'nightly' } as const
      const first = createPacer(clock, null, undefined, sharing)
      const second = createPacer(clock, null, undefined, sharing)
      const pacers = [first, second] as const
      const turns = await Promise.all(
        pacers.flatMap((pacer) => Array.from({ length: WORKERS }, () => pacer.permit(signal))),
      )
      await clock.advance(100)
      const waitMs = obey(first, clock, order.status, order.headers)
      for (const turn of turns) turn.release('undecided')
      const tookMs = await firstThrough(clock, pacers)
      expect([order, waitMs, tookMs]).toEqual([order, order.waitMs, order.waitMs])
    }
  })

  /** A process that is told to wait, and ends; then another. */
  const restarts = [
    ['of the process, whatever the wall clock says then', false],
    ['of the machine, by the wall clock', true],
  ] as const

  it.each(restarts)('after a restart %s', async (_, isReboot) => {
    const file = join(temporaryFolder(), 'pace.json')
    const openPacer = (clock: VirtualClock) =>
      createPacer(clock, null, undefined, { store: openPaceFile(file, clock), priority: 'nightly' })
    for (const order of orders) {
      rmSync(file, { force: true })
      const clock = virtualClock(SERVER + HOUR)
      await clock.advance(1)
      const waitMs = obey(openPacer(clock), clock, order.status, order.headers)
      await clock.advance(waitMs / 4)
      if (!isReboot) clock.jump(HOUR)
      const later = isReboot ? virtualClock(clock.now()) : clock
      const tookMs = await firstThrough(later, [openPacer(later)])
      expect([order, Math.round(tookMs)]).toEqual([order, Math.round((order.waitMs * 3) / 4)])
    }
  })
})
