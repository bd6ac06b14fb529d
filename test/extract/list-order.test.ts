/** Lists whose order changes between two requests: what no page showed is never taken for read. */

import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/simulator/random.ts'
import { DAY, HOUR, MINUTE } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { NOW, anEvent } from '../simulator/simulator-fixture.ts'
import {
  aRun,
  aService,
  batchOf,
  expectSameCredits,
  nameOf,
  type Service,
} from './extract-fixture.ts'

type Event = ReturnType<typeof anEvent>

const ORGANIZATIONS = ['org_a', 'org_b', 'org_c', 'org_d']

/** So many events, of the days before, newest first. */
const events = (count: number, days: number): Event[] =>
  Array.from({ length: count }, (_, nth) =>
    anEvent({
      person: `per_${nth}`,
      organization: ORGANIZATIONS[nth % 4] ?? '',
      detectedAt: NOW - (1 + Math.floor((nth * days) / count)) * DAY,
    }),
  )

/** A service that puts its list in order for each request. */
function service(
  order: (list: readonly Event[], nth: number) => readonly Event[],
  list: Event[],
): Service {
  return aService(({ page, limit, nth }) => {
    const ordered = order(list, nth)
    return {
      data: ordered.slice((page - 1) * limit, page * limit),
      hasMore: ordered.length > page * limit,
    }
  })
}

/** Events of a day in any order. */
function shuffledWithinDays(list: readonly Event[], random: () => number): Event[] {
  const keyed = list.map((event) => ({ event, at: Date.parse(event.detected_at), by: random() }))
  return keyed.toSorted((a, b) => b.at - a.at || a.by - b.by).map(({ event }) => event)
}

async function outcomeOf(asked: Service): Promise<{ run: ReturnType<typeof aRun>; error: string }> {
  const run = aRun(asked, [batchOf(ORGANIZATIONS)])
  const error = await run.extract().then(
    () => '',
    (reason: unknown) => String(reason),
  )
  expectSameCredits(run, asked)
  return { run, error }
}

/** Events of the list that no page showed. */
function missingOf(run: ReturnType<typeof aRun>, list: readonly Event[]): string[] {
  const bought = run.bought()
  return list.map(nameOf).filter((name) => !bought.has(name))
}

describe('a list of 300 events in which those of a day change places', () => {
  it.each([[3], [10], [40], [300]])(
    '%d days: has every event when it is covered, in 8 runs',
    async (days) => {
      const list = events(300, days)
      let covered = 0
      for (let seed = 1; seed <= 8; seed += 1) {
        const random = seededRandom(seed)
        const asked = service((all) => shuffledWithinDays(all, random), list)
        const { run, error } = await outcomeOf(asked)
        if (error === '') {
          covered += 1
          expect(run.bought()).toEqual(new Set(list.map(nameOf)))
          expect(run.records('batch_finished').length).toBe(1)
          continue
        }
        expect(error).toContain('the order of its events changes from request to request')
        expect(run.records('batch_finished')).toEqual([])
        expect(asked.account.length).toBeLessThanOrEqual(6 * 6)
      }
      expect(covered).toBeGreaterThanOrEqual(days === 300 ? 8 : 5)
    },
  )
})

it('a list that nobody touches is read once; one that grew, above or in the middle, has up to three pages looked at again', async () => {
  const list = events(300, 300)
  const still = service((all) => all, list)
  expect((await outcomeOf(still)).error).toBe('')
  expect(still.account.map(({ page }) => page)).toEqual([1, 2, 3, 4, 5, 6])

  const newer = [1, 2, 3].map((nth) =>
    anEvent({ person: `new_${nth}`, organization: 'org_a', detectedAt: NOW }),
  )
  for (const place of [0, 20, 60]) {
    const grown = list.toSpliced(place, 0, ...newer)
    const growing = service((_, nth) => (nth > 2 ? grown : list), list)
    const { run, error } = await outcomeOf(growing)
    expect(error).toBe('')
    // Page 2, because page 3 shows events of it; then the last page; and page 1, where page 2 had nothing new.
    const looks = place === 60 ? [7] : [7, 1]
    expect(growing.account.map(({ page }) => page)).toEqual([1, 2, 3, 2, 4, 5, 6, 7, ...looks])
    expect(missingOf(run, list)).toEqual([])
  }
})

it('a list of 12 pages that gets 2 events anywhere each night is read in 3 nights of 5 pages, for 15 pages', async () => {
  let list: Event[] = events(600, 600)
  const random = seededRandom(1)
  const growing = service(() => list, list)
  const run = aRun(growing, [batchOf(ORGANIZATIONS)])
  for (let night = 1; night <= 3; night += 1) {
    const error = await run.extract({ creditsLimit: growing.charged() + 50 }).then(
      () => '',
      (reason: unknown) => String(reason),
    )
    expect(error.includes('budget')).toBe(night < 3)
    growing.clock.jump(DAY)
    for (const nth of [1, 2]) {
      const one = anEvent({ person: `new_${night}_${nth}`, organization: 'org_a', detectedAt: NOW })
      list = list.toSpliced(Math.floor(random() * list.length), 0, one)
    }
  }
  expect(run.records('batch_finished').length).toBe(1)
  expect(growing.charged()).toBe(150)
})

it('an event that stands in a list twice, on pages 1 and 7, costs five looks at page 1', async () => {
  const list = events(320, 320)
  const twice = service((all) => all, [...list, ...list.slice(10, 11)])
  const { run, error } = await outcomeOf(twice)
  expect(error).toBe('')
  expect(twice.account.map(({ page }) => page)).toEqual([1, 2, 3, 4, 5, 6, 7, 1, 1, 1, 1, 1])
  expect(run.bought().size).toBe(320)
})

it.each([[200], [290], [300], [500]])(
  '%d events on two machines that answer in turn, each with an order of its own: never covered with one missing',
  async (count) => {
    const list = events(count, 40)
    for (let seed = 1; seed <= 3; seed += 1) {
      const random = seededRandom(seed)
      const machines = [1, 2].map(() => shuffledWithinDays(list, random))
      const { run, error } = await outcomeOf(service((_, nth) => machines[nth % 2] ?? [], list))
      const missing = missingOf(run, list)
      expect(error === '' ? missing : []).toEqual([])
      expect(run.records('batch_finished').length).toBe(error === '' ? 1 : 0)
    }
  },
)

it('events of a day change places, and 8 come in above: never covered with one missing, in 15 runs', async () => {
  const list = events(300, 40)
  const newer = Array.from({ length: 8 }, (_, nth) =>
    anEvent({ person: `new_${nth}`, organization: 'org_a', detectedAt: NOW }),
  )
  let covered = 0
  for (let seed = 1; seed <= 15; seed += 1) {
    const random = seededRandom(seed)
    const moving = service((all, nth) => {
      return shuffledWithinDays(nth > 2 ? [...newer, ...all] : all, random)
    }, list)
    const { run, error } = await outcomeOf(moving)
    if (error !== '') continue
    covered += 1
    expect(missingOf(run, list)).toEqual([])
  }
  expect(covered).toBeGreaterThanOrEqual(12)
})

it.each([
  ['every other request', (nth: number) => nth % 2 === 0],
  ['the odd requests', (nth: number) => nth % 2 === 1],
])(
  '302 events on machines of which one lacks the newest for %s: what is covered has every event but those',
  async (_, lags) => {
    const lacking = 7
    const list = events(302, 302)
    for (let round = 0; round < 5; round += 1) {
      const asked = service((all, nth) => (lags(nth + round) ? all.slice(lacking) : all), list)
      const { run, error } = await outcomeOf(asked)
      if (error !== '') continue
      expect(missingOf(run, list.slice(lacking))).toEqual([])
    }
  },
)

describe('a service of three machines, of which one is two hours behind and lacks 60 events', () => {
  const list = [...events(60, 1), ...events(300, 300).slice(60)].map((event, nth) => ({
    ...event,
    detected_at: nth < 60 ? new Date(NOW - nth * MINUTE).toISOString() : event.detected_at,
  }))
  const machines = (isBehind: (nth: number, page: number) => boolean) => {
    const clock = virtualClock(NOW)
    return aService(({ page, limit, nth }) => {
      const at = clock.now() - (isBehind(nth, page) ? 2 * HOUR : 0)
      const shown = list.filter((event) => Date.parse(event.detected_at) <= at)
      return {
        headers: { date: new Date(at).toUTCString() },
        data: shown.slice((page - 1) * limit, page * limit),
        hasMore: shown.length > page * limit,
      }
    }, clock)
  }

  it('is asked again for each page of that machine, and every event is there', async () => {
    const asked = machines((nth) => nth % 3 === 2)
    const { run, error } = await outcomeOf(asked)
    expect(error).toBe('')
    expect(run.bought()).toEqual(new Set(list.map(nameOf)))
    expect(asked.account.map(({ page }) => page)).toEqual([1, 2, 2, 3, 4, 4, 5, 6, 6])
  })

  it('and answers alone from page 3 on: the run ends after four such answers, and nothing is covered', async () => {
    const asked = machines((_, page) => page >= 3)
    const { run, error } = await outcomeOf(asked)
    expect(error).toContain('page 3 comes from a clock behind that of other pages')
    expect(run.records('batch_finished')).toEqual([])
    expect(asked.account.map(({ page }) => page)).toEqual([1, 2, 3, 3, 3, 3])
  })
})
