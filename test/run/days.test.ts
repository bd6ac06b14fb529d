/**
 * A budget too small for one day: what later days continue, and what they never buy again. And clocks that were all ahead for one
 * night: what is reported, voided and read again.
 */

import { describe, expect, it } from 'vitest'
import { DOCUMENTS } from '../../src/cli/documents.ts'
import { reportDocument } from '../../src/cli/report.ts'
import { runReport } from '../../src/cli/run-result.ts'
import { readIntervals } from '../../src/journal/coverage.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { DAY, MINUTE } from '../../src/support/units.ts'
import { NOW, manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import { jobOver, nightsOf } from './nights-fixture.ts'

// 1,000 events of one year are 20 pages; their window of 365 days covers them during the test.
const EVENTS = manyEvents(1_000, { detectedDaysAgo: 100 })
const PAGES = 20

describe('a budget of 60 credits a run for a batch of 200', () => {
  it('finishes in 4 days, buys each page once, and then asks only for news', async () => {
    const simulator = await simulate(EVENTS)
    const nights = nightsOf(simulator, { ...jobOver(['org_a']), creditsLimit: 60 })
    for (let day = 0; day < 3; day += 1) {
      const night = await nights.night(NOW + day * (DAY + MINUTE))
      expect(night).toMatchObject({ endedEarly: { exitCode: 4 }, unread: 1 })
      const facts = JSON.stringify(runReport(night).sections)
      expect(facts).toContain('1 of 1 organisations are not fetched to the end; the next run')
    }
    expect((await nights.night(NOW + 3 * (DAY + MINUTE))).endedEarly).toBe(null)
    expect(simulator.account()).toMatchObject({ charged_pages: PAGES, credits: PAGES * 10 })
    const history = readHistory(nights.journal)
    expect(history.runs.size).toBe(1)
    // Read from the first day to the fourth: covered up to the first page, and from the window of the last one.
    expect(history.coverage.get('org_a')).toMatchObject([{ to: NOW }])
    await nights.night(NOW + 4 * DAY)
    expect(simulator.account().credits).toBe(PAGES * 10)
    // Empty: covered up to then, and asked for again.
    expect(readHistory(nights.journal).coverage.get('org_a')).toMatchObject([
      { to: NOW },
      { isUnconfirmed: true, to: NOW + 4 * DAY },
    ])
  })

  it('plans the companies that were added to the list meanwhile, next to the unfinished batch', async () => {
    const simulator = await simulate([
      ...EVENTS,
      ...manyEvents(10, { organization: 'org_b', detectedDaysAgo: 3 }),
    ])
    const nights = nightsOf(simulator, { ...jobOver(['org_a']), creditsLimit: 60 })
    await nights.night(NOW)
    const longer = { ...jobOver(['org_a', 'org_b']), creditsLimit: null }
    await nights.night(NOW + DAY, { job: longer })
    expect(simulator.account().charged_pages).toBe(PAGES + 1)
    const { coverage, runs } = readHistory(nights.journal)
    expect([...coverage.keys()].toSorted()).toEqual(['org_a', 'org_b'])
    expect([...runs.values()]).toMatchObject([{ resumed: 1, batchesPlanned: 2, batchesDone: 2 }])
  })
})

describe('a budget of 100 credits a month', () => {
  it('is shared by all runs of the month, and resets on the first of the next', async () => {
    const simulator = await simulate(EVENTS)
    const nights = nightsOf(simulator, { ...jobOver(['org_a']), creditsPerMonth: 100 })
    const end = Date.UTC(2026, 5, 30, 23)
    const first = await nights.night(end - DAY, { job: { creditsLimit: 70 } })
    expect(first.extract.credits).toBe(70)
    const second = await nights.night(end - MINUTE)
    expect(second.extract.credits).toBe(30)
    expect(second.endedEarly?.message).toBe(
      'the budget of 100 credits for 2026-06 is reached (100 spent)',
    )
    const third = await nights.night(end + 2 * 60 * MINUTE)
    expect(third.endedEarly).toBe(null)
    expect(third.extract.credits).toBe(100)
    expect(simulator.account().credits).toBe(PAGES * 10)
  })
})

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
    const document: unknown = JSON.parse(JSON.stringify(reportDocument(runReport(found))))
    expect(DOCUMENTS['run']?.safeParse(document).error).toBeUndefined()
    const facts = JSON.stringify(runReport(found).sections)
    expect(facts).toMatch(/coverage after 20\d\d-\S+ \S+ is void, and the next run reads it again/)
    expect(coverage()).toMatchObject([{ to: NOW }])
    const after = await nights.night(NOW + 15 * DAY)
    expect(after.extract.clockTrouble).toBe(null)
    expect(coverage()).toMatchObject([{ to: NOW + 15 * DAY }])
  })
})
