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
        expect(asked.account.length).toBeLessThanOrEqual(5 * 6 + 1)
      }
      expect(covered).toBeGreaterThanOrEqual(days === 300 ? 8 : 5)
    },
  )
})

it('a list that nobody touches is read once; one that grew above is looked at once more, on page 1', async () => {
  const list = events(300, 300)
  const still = service((all) => all, list)
  expect((await outcomeOf(still)).error).toBe('')
  expect(still.account.map(({ page }) => page)).toEqual([1, 2, 3, 4, 5, 6])

  const newer = Array.from({ length: 3 }, (_, nth) =>
    anEvent({ person: `new_${nth}`, organization: 'org_a', detectedAt: NOW }),
  )
  const growing = service((all, nth) => (nth > 2 ? [...newer, ...all] : all), list)
  const { run, error } = await outcomeOf(growing)
  expect(error).toBe('')
  expect(growing.account.map(({ page }) => page)).toEqual([1, 2, 3, 4, 5, 6, 7, 1])
  expect(run.bought().size).toBe(303)
})

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
