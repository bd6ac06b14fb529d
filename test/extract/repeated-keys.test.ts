import { describe, expect, it } from 'vitest'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { DAY } from '../../src/support/units.ts'
import { NOW, anEvent, sourceOf } from '../simulator/simulator-fixture.ts'
import { buyAll } from './page-server.ts'

/** 2,000 events of 5 organisations; 7 % of them correct another one, and stand anywhere beside it. */
function repeatingEvents(): JobChangeEvent[] {
  const all: JobChangeEvent[] = []
  for (let i = 0; all.length < 2_000; i += 1) {
    const detectedAt = NOW - (5 + ((i * 37) % 300)) * DAY
    const organization = `org_${i % 5}`
    const event = anEvent({ person: `per_${i}`, organization, detectedAt, lagDays: (i * 13) % 90 })
    all.push(event)
    if (i % 13 !== 0) continue
    const seenAgain = new Date(detectedAt + 4 * DAY).toISOString()
    all.push({ ...event, detected_at: seenAgain, detection_lag_days: (i * 7) % 90 })
  }
  return all
}

describe('a list where keys repeat, because corrections stand beside what they correct', () => {
  it.each([1, 2, 4, 8])('of 40 pages costs 40 pages, with %i workers', async (workers) => {
    expect(await buyAll(sourceOf(repeatingEvents()), 5, workers)).toBe(40)
  })

  it('of 5 organisations in a batch each costs 8 or 9 pages for each, with 8 workers', async () => {
    expect(await buyAll(sourceOf(repeatingEvents()), 1, 8)).toBeLessThanOrEqual(42)
  })
})
