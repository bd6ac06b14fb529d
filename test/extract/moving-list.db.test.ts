/**
 * A list that moves while it is read in two nights: events arrive anywhere (even hours after their detection), are
 * corrected and leave the window, while processes are killed or hit their budget. No event is missing afterwards.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BudgetReachedError } from '../../src/extract/budget.ts'
import type { RunHistory } from '../../src/journal/run-history.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { sum } from '../../src/support/numbers.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { rounds } from '../helpers/tier.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'
import { aRun, aService, batchOf, nameOf, type Service, type TestRun } from './extract-fixture.ts'

const SCHEDULES = rounds('JOBTIDE_SCHEDULES', 100, 2_000)

/** One version of an event of org_a. Times are the server's, milliseconds since 1970 UTC. */
interface Version {
  /** The event; all its versions have the same. */
  readonly id: number
  readonly detectedAt: number
  readonly visibleAt: number
  /** When a correction takes its place; Infinity for never. */
  readonly goneAt: number
  /** The sort key of the list: fresh events first. */
  readonly lagDays: number
}

function eventOf({ id, detectedAt, lagDays }: Version) {
  const event = anEvent({ person: `per_${id}`, organization: 'org_a', detectedAt, lagDays })
  // The natural key does not change with a correction.
  return { ...event, changed_at: new Date(Date.UTC(2020, 0, 1 + (id % 500))).toISOString() }
}

/** A service with this list. Requests and answers take time; a `Date` has whole seconds. */
function listService(
  clock: VirtualClock,
  versions: readonly Version[],
  latency: () => number,
  aheadMs = 0,
): Service {
  const sorted = versions.toSorted((a, b) => a.lagDays - b.lagDays || a.id - b.id)
  return aService(async ({ page, limit, daysAgo }) => {
    await clock.sleep(latency())
    const now = clock.now() + aheadMs
    const from = daysAgo === null ? -Infinity : now - daysAgo * DAY
    const list = sorted.filter(
      (one) => one.visibleAt <= now && one.goneAt > now && one.detectedAt >= from,
    )
    return {
      takesMs: latency(),
      headers: { date: new Date(now).toUTCString() },
      data: list.slice((page - 1) * limit, page * limit).map(eventOf),
      hasMore: list.length > page * limit,
    }
  }, clock)
}

const OVERLAP = 6 * HOUR

/** Everything that happens in two nights; all times are relative to the first. */
const schedules = fc.record({
  seed: fc.integer({ min: 1, max: 1_000_000_000 }),
  daysAgo: fc.constantFrom<(number | null)[]>(null, 1, 2, 3, 7, 30),
  events: fc.oneof(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 90, max: 320 })),
  /** The longest time of a request in each direction, in milliseconds. */
  latency: fc.constantFrom<number[]>(1, 40, 400, 1_500),
  concurrency: fc.integer({ min: 1, max: 6 }),
  arrivals: fc.integer({ min: 0, max: 25 }),
  /** Events that arrive together, close in time. */
  burst: fc.constantFrom<number[]>(1, 1, 3, 60, 160),
  corrections: fc.integer({ min: 0, max: 6 }),
  keepsVersions: fc.boolean(),
  leaving: fc.integer({ min: 0, max: 8 }),
  /** How the attempts before the last one end. */
  stops: fc.array(
    fc.record({
      how: fc.constantFrom('kill' as const, 'budget' as const),
      after: fc.integer({ min: 1, max: 6 }),
      gapMs: fc.constantFrom(SECOND, MINUTE, HOUR, 20 * HOUR),
    }),
    { maxLength: 3 },
  ),
})

type Schedule = typeof schedules extends fc.Arbitrary<infer T> ? T : never

/** The versions of all events in a schedule. */
function versionsOf(schedule: Schedule, startMs: number): Version[] {
  const random = seededRandom(schedule.seed)
  const between = (from: number, to: number) => from + random() * (to - from)
  const windowMs = (schedule.daysAgo ?? 60) * DAY
  const gapsMs = sum(schedule.stops.map(({ gapMs }) => gapMs))
  const pages = Math.ceil(schedule.events / 50) + 2
  const activeMs = pages * schedule.latency * 2
  // Events happen while pages are read instead of between reads.
  const instant = () =>
    startMs + (random() < 0.7 ? between(0, activeMs) : between(0, gapsMs + activeMs))
  const versions: Version[] = []
  const add = (fields: Omit<Version, 'id' | 'goneAt'>) => {
    const { length } = versions
    versions.push({ id: length, goneAt: Infinity, ...fields })
  }
  const lag = () => Math.floor(random() ** 2 * 200)
  for (let i = 0; i < schedule.events; i += 1) {
    const isLeaving = i < schedule.leaving
    const detectedAt = isLeaving
      ? instant() - windowMs
      : between(startMs - 0.95 * windowMs, startMs - OVERLAP)
    add({ detectedAt: Math.floor(detectedAt), visibleAt: 0, lagDays: lag() })
  }
  for (let i = 0; i < schedule.arrivals; i += 1) {
    const visibleAt = Math.floor(instant())
    for (let j = 0; j < (i === 0 ? schedule.burst : 1); j += 1) {
      const lateMs = random() < 0.5 ? 0 : between(0, OVERLAP - 1_000)
      add({ detectedAt: Math.floor(visibleAt - lateMs), visibleAt, lagDays: lag() })
    }
  }
  for (let i = 0; i < schedule.corrections && i < schedule.events; i += 1) {
    const index = Math.floor(random() * schedule.events)
    const old = versions[index]
    if (old === undefined || old.goneAt !== Infinity || index < schedule.leaving) continue
    const visibleAt = Math.floor(instant())
    const lateMs = random() < 0.5 ? 0 : between(0, 9.9 * MINUTE)
    const detectedAt = Math.max(old.detectedAt + SECOND, Math.floor(visibleAt - lateMs))
    if (!schedule.keepsVersions) versions[index] = { ...old, goneAt: visibleAt }
    const lagDays = old.lagDays + Math.floor(random() * 100)
    versions.push({ ...old, detectedAt, visibleAt, lagDays, goneAt: Infinity })
  }
  return versions
}

interface Night {
  readonly run: TestRun
  readonly beganAt: number
  readonly endedAt: number
}

async function readNight(
  { concurrency }: Schedule,
  daysAgo: number | null,
  service: Service,
  aheadMs: number,
  stops: Schedule['stops'],
): Promise<Night> {
  const run = aRun(service, [batchOf(['org_a'], { days_ago: daysAgo })])
  const before = service.charged()
  for (const { how, after, gapMs } of stops) {
    const history = run.run()
    if (history.batchesDone > 0) break
    if (how === 'budget') {
      const spent = history.creditsCommitted - history.creditsAtLastStop
      await run
        .extract({ concurrency, creditsLimit: spent + after * 10 })
        .catch((error: unknown) => expect(error).toBeInstanceOf(BudgetReachedError))
      expectSameState(run)
    } else {
      const onProgress = ({ pages }: { pages: number }) => pages === after && run.kill()
      await run.extract({ concurrency, onProgress }).catch((error: Error) => {
        expect(error.message).toContain('killed')
      })
    }
    await service.clock.advance(gapMs)
  }
  await run.extract({ concurrency })
  expectSameState(run)
  // Every charge is known; requests of a killed process count, charged or not.
  expect(run.run().creditsCommitted).toBeGreaterThanOrEqual(service.charged() - before)
  const finished = run.records('batch_finished')
  expect(finished).toHaveLength(1)
  return { run, beganAt: finished[0]?.covered_to ?? 0, endedAt: service.clock.now() + aheadMs }
}

/** When read again, the journal gives the state of the process that wrote it, and what replaced the batches that were split. */
function expectSameState(run: TestRun): void {
  const planned = [...run.live().batches.keys()]
  const standing = ({ batches }: RunHistory) =>
    planned.map((id) => {
      const { state, pages, hasMore, read } = batches.get(id) ?? {}
      return { id, state, pages, hasMore, read }
    })
  expect(standing(run.live())).toEqual(standing(run.run()))
}

const namesOf = (versions: readonly Version[]) =>
  versions.map((version) => nameOf(eventOf(version)))

/** Versions that were always in the list and count as covered, but were not bought. */
function missed({ run, beganAt, endedAt }: Night, versions: readonly Version[]): string[] {
  const [finished] = run.records('batch_finished')
  const from = finished?.covered_from ?? 0
  const to = finished?.covered_to ?? 0
  const bought = run.bought()
  const there = versions.filter(
    ({ detectedAt, visibleAt, goneAt }) =>
      visibleAt <= beganAt && goneAt > endedAt && detectedAt >= from && detectedAt <= to,
  )
  return namesOf(there).filter((name) => !bought.has(name))
}

/** Reads two nights and expects that nothing is missing. */
async function twoNights(schedule: Schedule): Promise<void> {
  // Every second run reads over midnight, and every third service has a clock that is ahead.
  const clock = virtualClock(Date.UTC(2026, 10, 19, 23, schedule.seed % 2 === 0 ? 0 : 59, 58))
  const aheadMs = schedule.seed % 3 === 0 ? 1.5 * HOUR : 0
  const versions = versionsOf(schedule, clock.now() + aheadMs)
  const random = seededRandom(schedule.seed + 1)
  const latency = () => Math.ceil(random() * schedule.latency)
  const service = listService(clock, versions, latency, aheadMs)

  const first = await readNight(schedule, schedule.daysAgo, service, aheadMs, schedule.stops)
  expect(missed(first, versions)).toEqual([])

  await clock.advance(12 * HOUR)
  const needed = Math.ceil((clock.now() + aheadMs - (first.beganAt - OVERLAP)) / DAY)
  const second = await readNight(schedule, needed, service, aheadMs, [])
  expect(missed(second, versions)).toEqual([])

  const from = first.run.records('batch_finished')[0]?.covered_from ?? 0
  const bought = new Set([...first.run.bought(), ...second.run.bought()])
  const wanted = versions.filter(
    ({ goneAt, detectedAt, visibleAt }) =>
      goneAt === Infinity && detectedAt >= from && visibleAt <= second.beganAt,
  )
  expect(namesOf(wanted).filter((name) => !bought.has(name))).toEqual([])
}

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

// Counterexamples that the property once found, shrunk.
const cases: readonly (readonly [string, Partial<Schedule>])[] = [
  [
    'a burst of 160 events reads the list again from page 1',
    {
      seed: 654026251,
      daysAgo: null,
      events: 114,
      latency: 400,
      concurrency: 1,
      arrivals: 1,
      burst: 160,
      leaving: 5,
    },
  ],
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
    // Always the same schedules: other seeds look for a rare one that defeats the protocol.
    await fc.assert(property, { numRuns: SCHEDULES, seed: 20_261_120 })
  }, 300_000)
})

describe('a list of 100 pages that moves once while it is read', () => {
  const ROUND_TRIP_MS = 200
  /** Reads 5,000 events and this one, and expects every event that was always there. Returns the cost. */
  async function creditsOf(moved: (clock: VirtualClock) => Version): Promise<number> {
    const clock = virtualClock()
    const recent = Array.from({ length: 5_000 }, (_, id) => ({
      id,
      detectedAt: clock.now() - 100 * DAY + id * 1_000,
      visibleAt: 0,
      goneAt: Infinity,
      lagDays: id % 97,
    }))
    const service = listService(clock, [...recent, moved(clock)], () => ROUND_TRIP_MS / 2)
    const run = aRun(service, [batchOf(['org_a'], { days_ago: 365 })])
    await run.extract()
    const bought = run.bought()
    expect(namesOf(recent).filter((name) => !bought.has(name))).toEqual([])
    expect(run.ledger().total).toBe(service.charged())
    return service.charged()
  }
  const aVersion = { id: 99_999, goneAt: Infinity, lagDays: -1 }

  it.each([1, 12])(
    'an event that arrives after %i s costs the page that it adds',
    async (seconds) => {
      const credits = await creditsOf((clock) => {
        const visibleAt = clock.now() + seconds * SECOND
        return { ...aVersion, detectedAt: visibleAt - SECOND, visibleAt }
      })
      expect(credits).toBe(1_000 + 10)
    },
  )

  it.each([1.5, 12.5])(
    'an event that leaves after %f s costs at most 10 more pages, as many as are read in two seconds',
    async (seconds) => {
      const credits = await creditsOf((clock) => {
        const leavesAt = clock.now() + seconds * SECOND
        return { ...aVersion, detectedAt: leavesAt - 365 * DAY, visibleAt: 0 }
      })
      expect(credits).toBeLessThanOrEqual(1_010 + 100)
    },
  )
})
