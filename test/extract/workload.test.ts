import { describe, expect, it } from 'vitest'
import { Workload, pagesToBuy } from '../../src/extract/workload.ts'
import { newBatchHistory } from '../../src/journal/batch-history.ts'
import { takePage } from '../../src/journal/take-page.ts'
import { aBatch, aTakenPage } from '../journal/journal-fixture.ts'

const large = aBatch({ batch_id: 'large', days_ago: null, expected_pages: 9 })
const small = aBatch({ batch_id: 'small', days_ago: null, expected_pages: 0.2 })

function workload() {
  const work = new Workload()
  work.add(large)
  work.add(small)
  return work
}

/** The large batch with its first pages read. */
function begun(pages: number) {
  const history = newBatchHistory(large)
  for (let page = 1; page <= pages; page += 1) takePage(history, aTakenPage(page))
  return history
}

describe('a workload of a batch of 9 pages and one that may be empty', () => {
  it('is 30 % done after 3 pages, and 90 % when the large one is finished', () => {
    const work = workload()
    expect(work.fraction([])).toBe(0)
    expect(work.fraction([begun(3)])).toBeCloseTo(0.3)
    work.finish(large)
    expect(work.fraction([])).toBeCloseTo(0.9)
    work.finish(small)
    expect(work.fraction([])).toBe(1)
  })

  it('is not done while a batch has more pages than expected', () => {
    expect(workload().fraction([begun(40)])).toBeLessThan(0.9)
  })

  it('knows better when the last page is known', () => {
    const history = begun(3)
    takePage(history, aTakenPage(12, { hasMore: false }))
    expect(workload().fraction([history])).toBeCloseTo((0.9 * 4) / 12)
  })

  it('forgets a batch that is replaced', () => {
    const work = workload()
    work.remove(large)
    work.finish(small)
    expect(work.fraction([])).toBe(1)
  })
})

it('a workload of nothing is done', () => {
  expect(new Workload().fraction([])).toBe(1)
})

describe('what a batch of 9 expected pages still costs', () => {
  it('is 9 pages at first, 6 after 3, and as many as were read once it is longer than expected', () => {
    expect([0, 3, 9, 20].map((pages) => pagesToBuy(begun(pages)))).toEqual([9, 6, 9, 20])
  })

  it('is 1 page at least: nobody knows that it is read before its end is here', () => {
    const history = newBatchHistory(small)
    expect(pagesToBuy(history)).toBe(1)
    takePage(history, aTakenPage(1, { hasMore: false }))
    expect(pagesToBuy(history)).toBe(1)
  })
})
