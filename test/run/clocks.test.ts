/** Clocks that were all ahead for one night, over complete runs: what is reported, voided and read again. */

import { describe, expect, it } from 'vitest'
import { runReport } from '../../src/cli/run-result.ts'
import { readIntervals } from '../../src/journal/coverage.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { DAY } from '../../src/support/units.ts'
import { NOW, manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import { jobOver, nightsOf } from './nights-fixture.ts'

describe('a night on which all clocks are 30 days ahead', () => {
  it('is detected by the next run: the report says so, and the night after that reads the void time again', async () => {
    const simulator = await simulate(manyEvents(100, { detectedDaysAgo: 100 }))
    const nights = nightsOf(simulator, jobOver(['org_a']))
    const coverage = () => readIntervals(readHistory(nights.journal).coverage.get('org_a') ?? [])
    await nights.night(NOW)
    const wrong = await nights.night(NOW + 30 * DAY)
    expect(wrong.extract.clockTrouble).toBe(null)
    expect(coverage()).toMatchObject([{ to: NOW + 30 * DAY }])
    const found = await nights.night(NOW + 14 * DAY)
    expect(found.extract.clockTrouble).toMatchObject({
      wentBack: { from: NOW + 30 * DAY, to: NOW + 14 * DAY, voidAfter: NOW },
    })
    const facts = JSON.stringify(runReport(found).sections)
    expect(facts).toMatch(/coverage after 20\d\d-\S+ \S+ is void, and the next run reads it again/)
    expect(coverage()).toMatchObject([{ to: NOW }])
    const after = await nights.night(NOW + 15 * DAY)
    expect(after.extract.clockTrouble).toBe(null)
    expect(coverage()).toMatchObject([{ to: NOW + 15 * DAY }])
  })
})
