/** Lists of thousands of pages: a true one is read to its end, one that is made up is not. */

import { describe, expect, it } from 'vitest'
import { rounds } from '../helpers/tier.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'
import { aRun, aService, batchOf, errorOf, expectSameCredits } from './extract-fixture.ts'

const PAGES = rounds('JOBTIDE_HOT_PAGES', 1_500, 5_000)

/** A full page of new events, the same for the same number. */
const fullPage = (number: number) =>
  Array.from({ length: 50 }, (_, i) => anEvent({ person: `per_${number}_${i}` }))

const aRunOf = (service: ReturnType<typeof aService>) =>
  aRun(service, [batchOf(['org_a'], { expected_pages: 1 })])

describe('a list of pages that were not expected', () => {
  it(`of a hot organisation, ${PAGES} instead of 1, is read to its end, for 1 % more at most`, async () => {
    const service = aService(({ page, daysAgo }) =>
      daysAgo === 1 || page > PAGES ? {} : { data: fullPage(page), hasMore: page < PAGES },
    )
    const run = aRunOf(service)
    expect(await run.extract()).toMatchObject({ batchesDone: 1 })
    expect(run.bought().size).toBe(PAGES * 50)
    // One page to look again. And of 250,000 events some 7 have the mark of another one, which is looked at as an event that came twice.
    expect(service.charged()).toBeLessThanOrEqual(PAGES * 10.1)
    expectSameCredits(run, service)
  })

  it('is not believed where a page shows other events each time: 1,001 pages and exit 5, where it was 5,000 and exit 0', async () => {
    const service = aService(({ page, nth }) =>
      page > 5_000 ? {} : { data: fullPage(nth), hasMore: page < 5_000 },
    )
    const run = aRunOf(service)
    const error = await errorOf(run.extract())
    expect(error['exitCode']).toBe(5)
    expect(error.message).toContain('page 1000, asked for again, shows only other events')
    expect(service.charged()).toBe(10_010)
    expectSameCredits(run, service)
  })
})
