/** Lists whose order changes between two requests: what no page showed is never taken for read. */

import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/simulator/random.ts'
import { DAY } from '../../src/support/units.ts'
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
