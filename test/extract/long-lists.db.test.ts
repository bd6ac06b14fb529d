/** Lists of thousands of pages: a true one is read to its end, one that is made up is not. */

import { describe, expect, it } from 'vitest'
import { eventFacts } from '../../src/extract/page-record.ts'
import { decodeMarks, encodeMarks } from '../../src/journal/page-keys.ts'
import { rounds } from '../helpers/tier.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'
import { aRun, aService, batchOf, errorOf, expectSameCredits } from './extract-fixture.ts'

const PAGES = rounds('JOBTIDE_HOT_PAGES', 1_500, 5_000)

/** A full page of new events, the same for the same number. */
const fullPage = (number: number) =>
  Array.from({ length: 50 }, (_, i) => anEvent({ person: `per_${number}_${i}` }))

/** Events whose mark another one has, by chance: each looks as if it stood in the list twice. */
function marksOfTwo(): number {
  const marks = new Set<number>()
  for (let number = 1; number <= PAGES; number += 1) {
    for (const { key } of decodeMarks(encodeMarks(fullPage(number).map(eventFacts)))) marks.add(key)
  }
  return PAGES * 50 - marks.size
}

const aRunOf = (service: ReturnType<typeof aService>) =>
  aRun(service, [batchOf(['org_a'], { expected_pages: 1 })])

describe('a list of pages that were not expected', () => {
  it(`of a hot organisation, ${PAGES} instead of 1, is read to its end, for the price of one page more and of five for each mark that two events have`, async () => {
    const service = aService(({ page, daysAgo }) =>
      daysAgo === 1 || page > PAGES ? {} : { data: fullPage(page), hasMore: page < PAGES },
    )
    const run = aRunOf(service)
    const looks = 5 * marksOfTwo()
    expect(await run.extract()).toMatchObject({ batchesDone: 1, events: (PAGES + looks) * 50 })
    expect(run.bought().size).toBe(PAGES * 50)
    expect(service.charged()).toBe((PAGES + looks + 1) * 10)
    expectSameCredits(run, service)
  })

  it('is not believed where a page shows other events each time: 1,001 pages and exit 5, where it was 5,000 and exit 0', async () => {
    const service = aService(({ page, nth }) =>
      page > 5_000 ? {} : { data: fullPage(nth), hasMore: page < 5_000 },
    )
    const run = aRunOf(service)
    const error = await errorOf(run.extract())
    expect(error['exitCode']).toBe(5)
    expect(error.message).toContain('page 1000, requested again, shows only other events')
    expect(service.charged()).toBe(10_010)
    expectSameCredits(run, service)
  })
})
