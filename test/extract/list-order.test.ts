/** Lists whose order changes between two requests: when they are read again, and for how many credits. */

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

/** This many events of the days before, newest first. */
const events = (count: number, days: number): Event[] =>
  Array.from({ length: count }, (_, nth) =>
    anEvent({
      person: `per_${nth}`,
      organization: ORGANIZATIONS[nth % 4] ?? '',
      detectedAt: NOW - (1 + Math.floor((nth * days) / count)) * DAY,
    }),
  )

/** A service that sorts its list for each request. */
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

it('an unchanged list is read once, and a list that grew at the top or in the middle costs the added page', async () => {
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
    expect(growing.account.map(({ page }) => page)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(missingOf(run, list)).toEqual([])
  }
})

it('a list of 12 pages that gains 2 events anywhere each night is read in 3 nights of 5 pages', async () => {
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
  expect(growing.charged()).toBe(130)
})

it('events that are in a list twice, as 7 % of real ones are, are read once', async () => {
  const list = events(320, 320)
  const twice = service((all) => all, [...list, ...list.slice(10, 30)])
  const { run, error } = await outcomeOf(twice)
  expect(error).toBe('')
  expect(twice.account.map(({ page }) => page)).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(run.bought().size).toBe(320)
})

it('a list with more than a fifth of its events on two pages is read once more, completely, and the log says so', async () => {
  const list = events(300, 1)
  const random = seededRandom(1)
  let isMoving = true
  const asked = service((all) => (isMoving ? shuffledWithinDays(all, random) : all), list)
  const run = aRun(asked, [batchOf(ORGANIZATIONS)], (record) => {
    if (record.kind === 'batch_split') isMoving = false
  })
  await run.extract()
  expect(asked.account.map(({ page }) => page)).toEqual([1, 2, 3, 4, 5, 6, 9_999, 1, 2, 3, 4, 5, 6])
  expect(missingOf(run, list)).toEqual([])
  expect(run.log.filter(({ msg }) => msg === 'list_read_again')).toHaveLength(1)
  expectSameCredits(run, asked)
})

it('a list whose order never settles is read at most twice: the batch is not covered, and the bill is bounded', async () => {
  const list = events(300, 1)
  const random = seededRandom(2)
  const asked = service((all) => shuffledWithinDays(all, random), list)
  const { run, error } = await outcomeOf(asked)
  expect(error).toContain('more than a fifth of its events came on two pages')
  expect(asked.charged()).toBe(120)
  expect(run.records('batch_finished')).toHaveLength(0)
})

it('if the budget ends with the first reading, the batch stays open, and a later run reads it once more', async () => {
  const list = events(300, 1)
  const random = seededRandom(2)
  const asked = service((all) => shuffledWithinDays(all, random), list)
  const run = aRun(asked, [batchOf(ORGANIZATIONS)])
  await expect(run.extract({ creditsLimit: 60 })).rejects.toThrow('budget')
  expect(run.records('batch_split')).toEqual([])
  await expect(run.extract({ creditsLimit: 120 })).rejects.toThrow('came on two pages')
  expect(asked.charged()).toBe(120)
  expect(run.records('batch_finished')).toHaveLength(0)
})

describe('a service of three machines, one of them two hours behind and without 60 events', () => {
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

  it('is asked again for each page of that machine, and no event is missing', async () => {
    const asked = machines((nth) => nth % 3 === 2)
    const { run, error } = await outcomeOf(asked)
    expect(error).toBe('')
    expect(run.bought()).toEqual(new Set(list.map(nameOf)))
    expect(asked.account.map(({ page }) => page)).toEqual([1, 2, 2, 3, 4, 4, 5, 6, 6])
  })

  it('even if that machine answers first after the run was stopped', async () => {
    const asked = machines((nth) => nth === 3)
    const run = aRun(asked, [batchOf(ORGANIZATIONS)])
    await expect(run.extract({ creditsLimit: 20 })).rejects.toThrow('budget')
    await run.extract()
    expect(run.bought()).toEqual(new Set(list.map(nameOf)))
    expect(asked.account.map(({ page }) => page)).toEqual([1, 2, 3, 3, 4, 5, 6])
    expect(run.history().notRead.size).toBe(0)
  })

  it('ends the run after four answers if it alone answers from page 3 on, and nothing is covered', async () => {
    const asked = machines((_, page) => page >= 3)
    const { run, error } = await outcomeOf(asked)
    expect(error).toContain('page 3 comes from a clock behind that of other pages')
    expect(run.records('batch_finished')).toEqual([])
    expect(asked.account.map(({ page }) => page)).toEqual([1, 2, 3, 3, 3, 3])
  })
})
