/** A service that says a wrong time, over HTTP: what is covered, what the next plan asks for, and what is said about it. */

import { describe, expect, it } from 'vitest'
import { serviceTime } from '../../src/journal/history.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { neededWindow } from '../../src/plan/window.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'
import { DAY, MINUTE } from '../../src/support/units.ts'
import { anExtraction, jumpingClock, batchesOf, type Extraction } from './extract-fixture.ts'
import { pageServer } from './page-server.ts'

const NOW = Date.UTC(2026, 10, 23, 2)
const QUESTION = {
  eventTypes: ['joined', 'left', 'title_change'],
  window: 'since-last',
  initialWindow: 365,
  overlapHours: 6,
} as const

/** Reads three pages of one organisation; the `Date` of each is `ahead` of the truth by so many days. */
async function read(
  ahead: readonly number[],
): Promise<{ extraction: Extraction; progress: unknown }> {
  const clock = jumpingClock(NOW)
  const events = Array.from({ length: 150 }, (_, n) =>
    anEvent({ person: `per_${n}`, organization: 'org_1' }),
  )
  const server = await pageServer(({ page }) => ({
    data: events.slice((page - 1) * 50, page * 50),
    hasMore: page < 3,
    at: clock.now() + (ahead[page - 1] ?? 0) * DAY,
  }))
  const batches = batchesOf(['org_1'], { days_ago: 365 })
  const extraction = anExtraction({ simulator: server, clock, batches })
  const progress = await extraction.run({ concurrency: 1 })
  return { extraction, progress }
}

function coverageOf({ journal }: Extraction) {
  const history = readHistory(journal)
  const coverage = history.coverage.get('org_1') ?? []
  const daysAfter = (days: number) => {
    const nowMs = NOW + days * DAY
    return neededWindow(QUESTION, coverage, serviceTime(history, nowMs))
  }
  return { history, coverage, daysAfter }
}

describe('a Date header that is wrong', () => {
  it('in one of 3 pages, 30 days ahead: not believed, coverage is as without it, and 14 days later 15 days are asked', async () => {
    const { extraction, progress } = await read([0, 30, 0])
    const { coverage, daysAfter, history } = coverageOf(extraction)
    expect(coverage).toHaveLength(1)
    expect(Math.abs(coverage[0]!.to - NOW)).toBeLessThan(MINUTE)
    expect(Math.abs(coverage[0]!.from! - (NOW - 365 * DAY))).toBeLessThan(MINUTE)
    expect(daysAfter(14)).toBe(15)
    expect(progress).toMatchObject({ clockTrouble: { answers: 1, notBelieved: 1 } })
    expect(extraction.log.filter(({ msg }) => msg === 'date_not_believed')).toHaveLength(1)
    expect(history.clockDispute).toMatchObject({ runId: 'run_1' })
  })

  it('in all pages, 30 days ahead: coverage ends at our clock, and 14 days later no day is left out', async () => {
    const { extraction, progress } = await read([30, 30, 30])
    const { coverage, daysAfter } = coverageOf(extraction)
    expect(Math.abs(coverage[0]!.to - NOW)).toBeLessThan(MINUTE)
    // What the service may have left out at the other end is not covered.
    expect(Math.abs(coverage[0]!.from! - (NOW - 335 * DAY))).toBeLessThan(MINUTE)
    expect(daysAfter(14)).toBe(45)
    expect(progress).toMatchObject({ clockTrouble: { answers: 3, notBelieved: 0 } })
    // Once, not for each page.
    expect(extraction.log.filter(({ msg }) => msg === 'clocks_disagree')).toHaveLength(1)
  })

  it('in all pages, 30 days behind: coverage ends at the service clock, and a day later 32 days are asked', async () => {
    const { extraction } = await read([-30, -30, -30])
    const { coverage, daysAfter } = coverageOf(extraction)
    expect(Math.abs(coverage[0]!.to - (NOW - 30 * DAY))).toBeLessThan(MINUTE)
    expect(Math.abs(coverage[0]!.from! - (NOW - 365 * DAY))).toBeLessThan(MINUTE)
    expect(daysAfter(1)).toBe(32)
  })

  it('by 2 minutes is believed as it is, and nothing is said', async () => {
    const { extraction, progress } = await read([2 / 1440, 2 / 1440, 2 / 1440])
    const { coverage, history } = coverageOf(extraction)
    expect(Math.abs(coverage[0]!.to - (NOW + 2 * MINUTE))).toBeLessThan(MINUTE)
    expect(progress).toMatchObject({ clockTrouble: null })
    expect(history.clockDispute).toBeNull()
  })
})
