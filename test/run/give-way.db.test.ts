/** A backfill that gives way, in one process: what it may spend when it goes on. */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { manyEvents, NOW, simulate } from '../simulator/simulator-fixture.ts'
import { tryProcessLock } from '../../src/warehouse/process-lock.ts'
import { DAY } from '../../src/support/units.ts'
import { jobOver, nightsOf } from './nights-fixture.ts'

const ORGANIZATIONS = Array.from({ length: 120 }, (_, i) => `org_${i}`)

describe('a backfill with a budget of 80 credits that gives way over midnight', () => {
  it('spends no more than that in all, although its batches are planned again', async () => {
    const simulator = await simulate(
      ORGANIZATIONS.flatMap((organization) =>
        manyEvents(5, { organization, detectedDaysAgo: 100 }),
      ),
    )
    const job = { ...jobOver(ORGANIZATIONS, { window: 300 }), creditsLimit: 80, concurrency: 1 }
    const nights = nightsOf(simulator, job)
    const waitingFile = join(nights.root, 'locks', 'waiting.duckdb')
    mkdirSync(join(nights.root, 'locks'), { recursive: true })
    const file = await tryProcessLock(waitingFile)
    file?.release()
    let waiting: ReturnType<typeof tryProcessLock> | null = null
    let gaveWay = 0
    const ended = await nights.night(NOW, {
      command: 'backfill',
      onProgress: (step) => {
        if (step.stage === 'extract' && step.batchesDone === 1)
          waiting ??= tryProcessLock(waitingFile)
      },
      onGaveWay: () => {
        gaveWay += 1
        simulator.clock.nowMs += DAY
        void waiting?.then((lock) => lock?.release())
      },
    })
    expect(gaveWay).toBe(1)
    expect(ended.endedEarly).toMatchObject({ exitCode: 4 })
    expect(simulator.account().credits).toBeLessThanOrEqual(80)
    expect(ended.extract.credits).toBe(simulator.account().credits)
  }, 60_000)
})
