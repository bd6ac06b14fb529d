/** A list of thousands of pages is read to its end. */

import { expect, it } from 'vitest'
import { rounds } from '../helpers/tier.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'
import { aRun, aService, batchOf, expectSameCredits } from './extract-fixture.ts'

const PAGES = rounds('JOBTIDE_HOT_PAGES', 1_500, 5_000)

/** A full page of new events, the same for the same number. */
const fullPage = (number: number) =>
  Array.from({ length: 50 }, (_, i) => anEvent({ person: `per_${number}_${i}` }))

it(`a list of ${PAGES} pages where 1 was expected is read to its end, each page once`, async () => {
  const service = aService(({ page, daysAgo }) =>
    daysAgo === 1 || page > PAGES ? {} : { data: fullPage(page), hasMore: page < PAGES },
  )
  const run = aRun(service, [batchOf(['org_a'], { expected_pages: 1 })])
  expect(await run.extract()).toMatchObject({ batchesDone: 1, events: PAGES * 50 })
  expect(run.bought().size).toBe(PAGES * 50)
  expect(service.charged()).toBe(PAGES * 10)
  expectSameCredits(run, service)
})
