import fc from 'fast-check'
import { describe, it } from 'vitest'
import { rounds } from '../helpers/tier.ts'
import { schedules, twoNights, type Schedule } from './moving-list.ts'

const SCHEDULES = rounds('JOBTIDE_SCHEDULES', 300, 2_000)

const quiet: Schedule = {
  seed: 1,
  daysAgo: 1,
  events: 200,
  latency: 1,
  concurrency: 2,
  arrivals: 2,
  burst: 1,
  corrections: 0,
  keepsVersions: false,
  leaving: 1,
  stops: [],
}
const late = { seed: 67682430, daysAgo: 30, events: 202, latency: 1500, leaving: 4 }
const empty = { seed: 864549484, events: 102, latency: 40, arrivals: 0, leaving: 2 }

// Found by the property, and shrunk, while the protocol was wrong.
const cases: readonly (readonly [string, Partial<Schedule>])[] = [
  [
    'events leave in the second in which seven pages are read',
    {
      seed: 999992366,
      daysAgo: 3,
      events: 269,
      concurrency: 1,
      burst: 3,
      corrections: 2,
      leaving: 7,
    },
  ],
  [
    'an event leaves in that second while the last page is asked for again',
    { seed: 992187485, events: 207, arrivals: 1, burst: 60, corrections: 3, keepsVersions: true },
  ],
  ['an event that paging went back behind leaves from where it was pulled up to', late],
  [
    'an empty page past the end is answered last',
    { ...empty, stops: [{ how: 'budget', after: 4, gapMs: 1000 }] },
  ],
]

describe('a list that moves while its pages are read', () => {
  it.each(cases)('%s: nothing is missing', async (_, schedule) => {
    await twoNights({ ...quiet, ...schedule })
  })

  it(`${SCHEDULES} schedules of arrivals, corrections, kills and resumes: every event is there after the next night`, async () => {
    const property = fc.asyncProperty(schedules, (schedule) => twoNights(schedule))
    // The same ones every time: a rare schedule that defeats the protocol is looked for with other seeds, not in a release.
    await fc.assert(property, { numRuns: SCHEDULES, seed: 20_261_120 })
  }, 300_000)
})
