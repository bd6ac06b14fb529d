import fc from 'fast-check'
import { describe, it } from 'vitest'
import { rounds } from '../helpers/tier.ts'
import { schedules, twoNights, type Schedule } from './moving-list.ts'

const SCHEDULES = rounds('JOBTIDE_SCHEDULES', 300, 2_000)

// Found by the property, and shrunk, while the protocol was wrong.
const cases: readonly { readonly what: string; readonly schedule: Schedule }[] = [
  {
    what: 'an event leaves right after the last page before it was quoted, and the list stops for 20 hours',
    schedule: {
      seed: 506920257,
      daysAgo: 2,
      events: 344,
      latency: 1500,
      concurrency: 1,
      arrivals: 3,
      burst: 3,
      corrections: 0,
      keepsVersions: false,
      leaving: 7,
      stops: [{ how: 'kill', after: 1, gapMs: 72000000 }],
    },
  },
  {
    what: 'events leave in the second in which seven pages are read',
    schedule: {
      seed: 999992366,
      daysAgo: 3,
      events: 269,
      latency: 1,
      concurrency: 1,
      arrivals: 2,
      burst: 3,
      corrections: 2,
      keepsVersions: false,
      leaving: 7,
      stops: [],
    },
  },
  {
    what: 'an event leaves in that second while the last page is asked for again',
    schedule: {
      seed: 992187485,
      daysAgo: 1,
      events: 207,
      latency: 1,
      concurrency: 2,
      arrivals: 1,
      burst: 60,
      corrections: 3,
      keepsVersions: true,
      leaving: 1,
      stops: [],
    },
  },
  {
    what: 'a hundred events leave while a quote waits for 20 hours, and one came in between its pages',
    schedule: {
      seed: 34292594,
      daysAgo: 2,
      events: 232,
      latency: 1500,
      concurrency: 1,
      arrivals: 4,
      burst: 1,
      corrections: 0,
      keepsVersions: false,
      leaving: 4,
      stops: [{ how: 'kill', after: 1, gapMs: 72000000 }],
    },
  },
  {
    what: 'an event leaves below the page that was read first',
    schedule: {
      seed: 683191317,
      daysAgo: 2,
      events: 150,
      latency: 1,
      concurrency: 1,
      arrivals: 2,
      burst: 60,
      corrections: 0,
      keepsVersions: false,
      leaving: 3,
      stops: [{ how: 'kill', after: 1, gapMs: 1000 }],
    },
  },
  {
    what: 'a correction lands on a page that was read ahead',
    schedule: {
      seed: 640500124,
      daysAgo: null,
      events: 170,
      latency: 1,
      concurrency: 1,
      arrivals: 9,
      burst: 60,
      corrections: 6,
      keepsVersions: false,
      leaving: 0,
      stops: [
        { how: 'kill', after: 4, gapMs: 60000 },
        { how: 'budget', after: 5, gapMs: 60000 },
      ],
    },
  },
  {
    what: 'an event is seen hours late between the last page and the one before it',
    schedule: {
      seed: 319586701,
      daysAgo: null,
      events: 165,
      latency: 40,
      concurrency: 1,
      arrivals: 7,
      burst: 60,
      corrections: 0,
      keepsVersions: false,
      leaving: 0,
      stops: [],
    },
  },
  {
    what: 'an event leaves and another comes in between two pages read in the wrong order',
    schedule: {
      seed: 28,
      daysAgo: 2,
      events: 207,
      latency: 1,
      concurrency: 1,
      arrivals: 2,
      burst: 60,
      corrections: 0,
      keepsVersions: false,
      leaving: 2,
      stops: [
        { how: 'kill', after: 1, gapMs: 60000 },
        { how: 'kill', after: 1, gapMs: 1000 },
        { how: 'kill', after: 1, gapMs: 60000 },
      ],
    },
  },
  {
    what: 'an event that paging went back behind leaves from where it was pulled up to',
    schedule: {
      seed: 67682430,
      daysAgo: 30,
      events: 202,
      latency: 1500,
      concurrency: 2,
      arrivals: 2,
      burst: 1,
      corrections: 0,
      keepsVersions: false,
      leaving: 4,
      stops: [],
    },
  },
  {
    what: 'an empty page past the end is answered last',
    schedule: {
      seed: 864549484,
      daysAgo: 1,
      events: 102,
      latency: 40,
      concurrency: 2,
      arrivals: 0,
      burst: 1,
      corrections: 0,
      keepsVersions: false,
      leaving: 2,
      stops: [{ how: 'budget', after: 4, gapMs: 1000 }],
    },
  },
  {
    what: 'the same with two workers and four events that leave',
    schedule: {
      seed: 13,
      daysAgo: 2,
      events: 102,
      latency: 400,
      concurrency: 2,
      arrivals: 0,
      burst: 1,
      corrections: 0,
      keepsVersions: false,
      leaving: 5,
      stops: [{ how: 'budget', after: 4, gapMs: 1000 }],
    },
  },
]

describe('a list that moves while its pages are read', () => {
  it.each(cases)('$what: nothing is missing', async ({ schedule }) => {
    await twoNights(schedule)
  })

  it(`${SCHEDULES} schedules of arrivals, corrections, kills and resumes: every event is there after the next night`, async () => {
    const property = fc.asyncProperty(schedules, (schedule) => twoNights(schedule))
    // The same ones every time: a rare schedule that defeats the protocol is looked for with other seeds, not in a release.
    await fc.assert(property, { numRuns: SCHEDULES, seed: 20_261_120 })
  }, 300_000)
})
