/** What keeping the pace costs, in memory and in a file that processes share, and how much of the allowed rate is used. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPaceFile } from '../../src/api/pace-file.ts'
import { createMemoryPaceStore, type PaceStore } from '../../src/api/pace-store.ts'
import { createPacer } from '../../src/api/pacer.ts'
import { realClock } from '../../src/support/clock.ts'
import { SECOND } from '../../src/support/units.ts'

const { signal } = new AbortController()

async function withStore(what: string, work: (store: PaceStore) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
  try {
    await work(
      what === 'file'
        ? openPaceFile(join(folder, 'pace.json'), realClock)
        : createMemoryPaceStore(),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** 10 workers that take `turns` turns of 20 to 120 ms; gives the seconds it took. */
async function takeTurns(store: PaceStore, perSecond: number, turns: number): Promise<number> {
  const pacer = createPacer(realClock, perSecond, undefined, { store, priority: 'nightly' })
  let left = turns
  const beganAt = realClock.monotonic()
  const work = async (worker: number) => {
    while (left > 0) {
      left -= 1
      const turn = await pacer.permit(signal)
      await realClock.sleep(20 + ((left * 37 + worker * 11) % 100))
      turn.release('answered')
    }
  }
  await Promise.all(Array.from({ length: 10 }, (_, worker) => work(worker)))
  return (realClock.monotonic() - beganAt) / SECOND
}

describe.each(['memory', 'file'])('a pace in %s', (what) => {
  it('turns taken and ended, one after another, without a limit', () =>
    withStore(what, async (store) => {
      const turns = what === 'file' ? 2_000 : 20_000
      const pacer = createPacer(realClock, null, undefined, { store, priority: 'nightly' })
      const beganAt = realClock.monotonic()
      for (let i = 0; i < turns; i += 1) (await pacer.permit(signal)).release('answered')
      const ms = realClock.monotonic() - beganAt
      process.stdout.write(
        `${what.padEnd(8)} ${Math.round((turns / ms) * SECOND)} turns/s  ${(ms / turns).toFixed(3)} ms a turn\n`,
      )
      expect(turns / ms).toBeGreaterThan(0)
    }))

  it.each([5, 50])('the share of %d requests/s that 10 workers use', (perSecond) =>
    withStore(what, async (store) => {
      const turns = perSecond * 20
      const cpu = process.cpuUsage()
      const seconds = await takeTurns(store, perSecond, turns + 1)
      const { user, system } = process.cpuUsage(cpu)
      const share = turns / seconds / perSecond
      process.stdout.write(
        `${what.padEnd(8)} ${perSecond}/s: ${(100 * share).toFixed(2)} % used, ${((user + system) / 1e3 / turns).toFixed(2)} ms of processor a request\n`,
      )
      expect(share).toBeGreaterThan(0.9)
      // The first request of the last window may leave a little early, and the last one ends later.
      expect(share).toBeLessThan(1.01)
    }),
  )
})
