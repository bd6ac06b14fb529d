/**
 * Search lists that change while their pages are read, by processes that are killed or hit their budget: no page is
 * bought twice, and a list that became shorter counts as incomplete.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { companySearch } from '../../src/api/endpoints/companies.ts'
import { BudgetReachedError } from '../../src/extract/budget.ts'
import { rounds } from '../helpers/tier.ts'
import { aCollection, aListService } from './collect-fixture.ts'

const PAGE = 5

/** Reads a list of 20 items that has this many items more or less from the given request on. */
async function read(changes: Readonly<Record<number, number>>, pages = 1_000) {
  const list = Array.from({ length: 20 }, (_, id) => id)
  const service = aListService(PAGE, ({ nth }) => {
    const by = changes[nth] ?? 0
    list.splice(0, Math.max(0, -by))
    for (let i = 0; i < by; i += 1) list.push(100 + i)
    return list
  })
  const run = aCollection(service, companySearch)
  const { listsCut } = await run.collect({ pages })
  expect(run.ledger()).toBe(service.charged())
  return { asked: service.account.map(({ page }) => page), listsCut }
}

describe('a list of 20 items, in pages of 5', () => {
  it.each<[string, Record<number, number>, number[], number]>([
    ['that stays', {}, [1, 2, 3, 4], 0],
    ['that grows', { 2: 1, 3: 1 }, [1, 2, 3, 4, 5], 0],
    ['that loses an item', { 3: -1 }, [1, 2, 3, 4], 1],
    ['that loses an item twice', { 2: -1, 4: -1 }, [1, 2, 3, 4], 1],
    ['that loses an item and gets another', { 2: -1, 4: 1 }, [1, 2, 3, 4], 1],
    ['that is gone', { 3: -20 }, [1, 2, 3], 1],
  ])(
    '%s is requested for each page once, and counts as incomplete if it became shorter',
    async (...given) => {
      const [, changes, asked, listsCut] = given
      expect(await read(changes)).toEqual({ asked, listsCut })
    },
  )

  it('is requested for no more pages than allowed, and counts as incomplete', async () => {
    expect(await read({}, 3)).toEqual({ asked: [1, 2, 3], listsCut: 1 })
    expect(await read({}, 4)).toEqual({ asked: [1, 2, 3, 4], listsCut: 0 })
  })
})

const stops = fc.array(
  fc.record({ how: fc.constantFrom('kill' as const, 'budget' as const), after: fc.nat(6) }),
  { maxLength: 3 },
)
const SCHEDULES = rounds('JOBTIDE_SCHEDULES', 50, 2_000)

it(`${SCHEDULES} lists, kills and budgets: every item is bought, and no page twice`, async () => {
  const property = fc.asyncProperty(fc.nat(60), stops, async (items, ends) => {
    const list = Array.from({ length: items }, (_, id) => id)
    const service = aListService(PAGE, () => list)
    const run = aCollection(service, companySearch)
    for (const { how, after } of ends) {
      const options =
        how === 'budget'
          ? { creditsLimit: run.ledger() + after * 10 }
          : { onProgress: ({ pages }: { pages: number }) => pages === after && run.kill() }
      const error = await run.collect(options).then(
        () => null,
        (one: Error) => one,
      )
      if (error === null) break
      if (how === 'budget') expect(error).toBeInstanceOf(BudgetReachedError)
      else expect(error.message).toContain('killed')
    }
    await run.collect({})
    expect(run.items().toSorted((a, b) => a - b)).toEqual(list)
    expect(run.ledger()).toBeGreaterThanOrEqual(service.charged())
    expect(run.ledger()).toBeLessThanOrEqual(service.charged() + 10 * ends.length)
    if (ends.length === 0) expect(run.ledger()).toBe(service.charged())
  })
  await fc.assert(property, { numRuns: SCHEDULES })
}, 600_000)
