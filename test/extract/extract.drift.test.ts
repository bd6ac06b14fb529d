import { describe, expect, it } from 'vitest'
import type { JournalWriter } from '../../src/journal/journal.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { shiftedClock } from '../../src/support/clock.ts'
import { DAY, HOUR, SECOND } from '../../src/support/units.ts'
import { NOW, anEvent, simulate } from '../simulator/simulator-fixture.ts'
import {
  anExtraction,
  errorOf,
  jumpingClock,
  batchesOf,
  type Extraction,
} from './extract-fixture.ts'

const WINDOW_DAYS = 30
const EVENTS = 400

/**
 * 400 events detected 7 h apart, so that the oldest of a window of 30 days leave it one after the other as time passes.
 * They stand in the list by their lag, in an order that has nothing to do with when they were detected.
 */
function slidingEvents(seed: number): JobChangeEvent[] {
  return Array.from({ length: EVENTS }, (_, i) =>
    anEvent({
      person: `per_${i}`,
      detectedAt: NOW - WINDOW_DAYS * DAY + SECOND + i * ((WINDOW_DAYS * DAY) / EVENTS),
      lagDays: (i * seed) % EVENTS,
    }),
  )
}

const personOf = (event: JobChangeEvent) => event.person.profile_id

/** Lets time pass, here and at the service, when page `page` was kept. */
function passAfter(page: number, ms: number, clocks: readonly Pick<Simulator, 'advance'>[]) {
  let passed = false
  return (writer: JournalWriter): JournalWriter => ({
    write: (record, payload) => writer.write(record, payload),
    async append(record, payload) {
      await writer.append(record, payload)
      if (record.kind !== 'page_received' || record.page !== page || passed) return
      passed = true
      for (const clock of clocks) clock.advance(ms)
    },
    close: () => writer.close(),
  })
}

/** Every event in the detection time that is claimed as covered was read. */
function expectAllOfTheCovered(extraction: Extraction, events: readonly JobChangeEvent[]): void {
  const finished = extraction.records().find(({ kind }) => kind === 'batch_finished')
  if (finished?.kind !== 'batch_finished') throw new Error('the batch was not finished')
  const read = new Set(extraction.events().map(personOf))
  const covered = events.filter(({ detected_at: at }) => {
    const time = Date.parse(at)
    return time >= (finished.covered_from ?? 0) && time <= finished.covered_to
  })
  expect(covered.length).toBeGreaterThan(EVENTS - 30)
  expect(covered.map(personOf).filter((person) => !read.has(person))).toEqual([])
}

describe('a window of 30 days that slides while its 8 pages are read', () => {
  it.each([
    [1, 37],
    [2, 37],
    [4, 91],
    [7, 143],
    [8, 201],
  ])(
    'by 20 hours after page %i: no event of the covered time is missed (order %i)',
    async (page, seed) => {
      const events = slidingEvents(seed)
      const simulator = await simulate(events, { clock: jumpingClock(NOW) })
      const batches = batchesOf(['org_a'], { days_ago: WINDOW_DAYS })
      const clock = shiftedClock(jumpingClock(NOW))
      const wrapWriter = passAfter(page, 20 * HOUR, [simulator, clock])
      const extraction = anExtraction({ simulator, clock, batches, wrapWriter })
      await extraction.run({ concurrency: 1 })
      expectAllOfTheCovered(extraction, events)
      // 11 events leave: going back costs at most the pages they moved, once.
      expect(simulator.account().charged_pages).toBeLessThanOrEqual(8 + 8)
    },
  )

  it.each([2, 5])(
    'when the run stops after page %i and is taken up again 20 hours later',
    async (page) => {
      const events = slidingEvents(37)
      const simulator = await simulate(events, { clock: jumpingClock(NOW) })
      const batches = batchesOf(['org_a'], { days_ago: WINDOW_DAYS })
      const extraction = anExtraction({ simulator, clock: jumpingClock(NOW), batches })
      const budget = await errorOf(extraction.run({ concurrency: 1, creditsLimit: 10 * page }))
      expect(budget).toMatchObject({ exitCode: 4 })
      simulator.advance(20 * HOUR)
      await extraction.run({ concurrency: 1 })
      expectAllOfTheCovered(extraction, events)
    },
  )

  it('costs nothing more when no event leaves: 8 pages', async () => {
    const simulator = await simulate(slidingEvents(37), { clock: jumpingClock(NOW) })
    const batches = batchesOf(['org_a'], { days_ago: WINDOW_DAYS })
    const extraction = anExtraction({ simulator, clock: jumpingClock(NOW), batches })
    await extraction.run({ concurrency: 1 })
    expect(simulator.account().charged_pages).toBe(8)
  })
})
