/**
 * Search lists that move while their pages are read: items come and go anywhere, while processes are killed or hit
 * their budget. Items present from the first request to the last are bought, and no page is requested again without a
 * reason.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { companySearch } from '../../src/api/endpoints/company-search.ts'
import { peopleSearch } from '../../src/api/endpoints/people-search.ts'
import { BudgetReachedError } from '../../src/extract/budget.ts'
import { ServedWorld, WorldBehind, type ServedPerson } from '../../src/simulator/endpoints/world.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { sum } from '../../src/support/numbers.ts'
import { HOUR } from '../../src/support/units.ts'
import { rounds } from '../helpers/tier.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { NOW, sourceOf } from '../api/served-fixture.ts'
import { aCollection, aListService, type Collecting } from './collect-fixture.ts'
import { simulated } from './extract-fixture.ts'

const PAGE = 5
const MANY = 1_000

/** How a list changes before the request of that number: how many items go (below 0) or come, at places from 0 to 1. */
type Moves = Readonly<Record<number, { readonly by: number; readonly at: number }>>

/** Reads a list of this many items. Items that were always there must be bought, unless `mayMiss`. */
async function read(items: number, moves: Moves, pages = MANY, mayMiss = false) {
  const list = Array.from({ length: items }, (_, id) => id)
  const always = new Set(list)
  let next = items
  const service = aListService(PAGE, ({ nth }) => {
    const { by = 0, at = 0 } = moves[nth] ?? {}
    const place = Math.round(at * Math.max(0, list.length + Math.min(0, by)))
    for (const gone of list.splice(place, Math.max(0, -by))) always.delete(gone)
    list.splice(place, 0, ...Array.from({ length: Math.max(0, by) }, () => next++))
    return list
  })
  const run = aCollection(service, companySearch)
  const progress = await run.collect({ pages })
  if (!mayMiss) expect(missed(run, always)).toEqual([])
  expect(run.ledger()).toBe(service.charged())
  return { asked: service.account.map(({ page }) => page), progress }
}

function missed(run: Collecting, always: ReadonlySet<number>): number[] {
  const bought = new Set(run.items())
  return [...always].filter((id) => !bought.has(id))
}

describe('a list of 20 items, in pages of 5', () => {
  it.each<[string, Moves, number[]]>([
    ['stays', {}, [1, 2, 3, 4]],
    ['grows', { 2: { by: 1, at: 0 }, 3: { by: 1, at: 0 } }, [1, 2, 3, 4, 5]],
    ['loses its first item', { 3: { by: -1, at: 0 } }, [1, 2, 3, 4, 2]],
    ['loses its last item', { 3: { by: -1, at: 1 } }, [1, 2, 3, 4, 2]],
    ['loses a page', { 3: { by: -5, at: 0 } }, [1, 2, 3, 2]],
    ['loses more than a page', { 3: { by: -6, at: 0 } }, [1, 2, 3, 1, 2]],
    ['loses an item twice', { 2: { by: -1, at: 0 }, 4: { by: -1, at: 0 } }, [1, 2, 3, 4, 1, 3]],
    [
      'loses an item while a page is asked for again',
      { 3: { by: -1, at: 0 }, 5: { by: -1, at: 0 } },
      [1, 2, 3, 4, 2],
    ],
    [
      'loses an item and gets another',
      { 2: { by: -1, at: 0 }, 4: { by: 1, at: 0 } },
      [1, 2, 3, 4, 1, 2],
    ],
    ['ends while it is read', { 4: { by: -5, at: 0 } }, [1, 2, 3, 4, 3]],
    ['is gone', { 3: { by: -20, at: 0 } }, [1, 2, 3]],
  ])('%s', async (_, moves, asked) => {
    expect((await read(20, moves)).asked).toEqual(asked)
  })

  it('is requested for no more pages than allowed, and reports what may be missing', async () => {
    const { asked, progress } = await read(20, { 3: { by: -1, at: 0 } }, 4, true)
    expect(asked).toEqual([1, 2, 3, 4])
    expect(progress).toMatchObject({ listsCut: 1 })
    expect((await read(20, { 3: { by: -1, at: 0 } }, 5)).progress).toMatchObject({ listsCut: 0 })
  })
})

const schedules = fc.record({
  seed: fc.integer({ min: 1, max: 1_000_000_000 }),
  items: fc.integer({ min: 0, max: 60 }),
  /** How often it changes before a request, and by how many items at most. */
  changes: fc.constantFrom(0.05, 0.2, 0.6),
  most: fc.constantFrom(1, 3, 12),
  stops: fc.array(
    fc.record({ how: fc.constantFrom('kill' as const, 'budget' as const), after: fc.nat(6) }),
    { maxLength: 3 },
  ),
})
type Schedule = typeof schedules extends fc.Arbitrary<infer T> ? T : never

async function readMoving({ seed, items, changes, most, stops }: Schedule): Promise<void> {
  const random = seededRandom(seed)
  const list = Array.from({ length: items }, (_, id) => id)
  const always = new Set(list)
  let next = items
  let direction = { answers: -1, isGoing: false }
  const moved: number[] = []
  const service = aListService(PAGE, () => {
    // Between two answers the list only shrinks or only grows: its length would not reveal both at once.
    const answers = run.answers().length
    if (direction.answers !== answers) direction = { answers, isGoing: random() < 0.6 }
    // The list settles, so that it can be read to its end.
    if (answers === 0 || answers > 40 || random() >= changes) return list
    const by = 1 + Math.floor(random() * most)
    moved.push(by)
    const place = Math.floor(random() * (list.length + 1))
    if (direction.isGoing) for (const gone of list.splice(place, by)) always.delete(gone)
    else list.splice(place, 0, ...Array.from({ length: by }, () => next++))
    return list
  })
  const run: Collecting = aCollection(service, companySearch)
  for (const { how, after } of stops) {
    const spent = run.ledger()
    const options =
      how === 'budget'
        ? { creditsLimit: run.ledger() + after * 10 }
        : { onProgress: ({ pages }: { pages: number }) => pages === after && run.kill() }
    const isDone = await run.collect(options).then(
      () => true,
      (error: Error) => {
        if (how === 'budget') expect(error).toBeInstanceOf(BudgetReachedError)
        else expect(error.message).toContain('killed')
        return false
      },
    )
    expect(run.ledger()).toBeGreaterThanOrEqual(spent)
    if (isDone) break
  }
  await run.collect({})
  expect(missed(run, always)).toEqual([])
  expect(run.ledger()).toBeGreaterThanOrEqual(service.charged())
  expect(run.ledger()).toBeLessThanOrEqual(service.charged() + 10 * stops.length)
  if (stops.length === 0) expect(run.ledger()).toBe(service.charged())
  // Each change opens at most one gap, and all of them widen it.
  const again = run.answers().length - new Set(run.answers().map(({ page }) => page)).size
  expect(again).toBeLessThanOrEqual(moved.length * (1 + Math.ceil(sum(moved) / PAGE)))
  if (moved.length === 0) expect(again).toBe(0)
}

const SCHEDULES = rounds('JOBTIDE_SCHEDULES', 150, 5_000)

it(`${SCHEDULES} lists that shrink and grow while they are read, kills and budgets: nothing is missing`, async () => {
  await fc.assert(fc.asyncProperty(schedules, readMoving), { numRuns: SCHEDULES })
}, 600_000)

it('a list of the simulator moves with its clock: everyone shown from the first request to the last is bought', async () => {
  const source = sourceOf(20)
  const behind = new WorldBehind(source)
  const service = simulated(source, { clock: virtualClock(NOW), takesMs: 4 * HOUR })
  let again = 0
  for (let night = 0; night < 10; night += 1) {
    service.account.length = 0
    const run = aCollection(service, peopleSearch)
    await run.collect()
    const shown = service.account.map(
      ({ sentAt }) => new Set(new ServedWorld(behind, sentAt).people().map(nameOf)),
    )
    const pairs = shown.slice(1).map((now, i) => [shown[i]!, now] as const)
    // One item went and another came between two requests, which the length does not reveal.
    if (pairs.some(([before, now]) => isLess(before, now) && isLess(now, before))) continue
    const bought = new Set(
      run
        .bodies()
        .flatMap((body) => (body as Found).results.map((one) => `${one.full_name} ${one.company}`)),
    )
    const always = [...shown[0]!].filter((name) => shown.every((names) => names.has(name)))
    expect(always.filter((name) => !bought.has(name))).toEqual([])
    expect(run.ledger()).toBe(service.charged())
    again += service.account.length - new Set(service.account.map(({ page }) => page)).size
  }
  expect(again).toBeGreaterThan(0)
})

interface Found {
  readonly results: readonly { readonly full_name: string; readonly company: string }[]
}

const nameOf = ({ person, organization }: ServedPerson) =>
  `${person.full_name} ${organization.tracked.name}`

/** Whether names of the first are not among those of the second. */
const isLess = (some: ReadonlySet<string>, others: ReadonlySet<string>) =>
  [...some].some((name) => !others.has(name))
