import { describe, expect, it } from 'vitest'
import { Workload, pagesToBuy } from '../../src/extract/workload.ts'
import { closeBatch, newBatchHistory } from '../../src/journal/batch-history.ts'
import { takeRecord } from '../../src/journal/page-drift.ts'
import { aBatch, aPage } from '../journal/journal-fixture.ts'

/** A batch with its first pages read. */
function begun(expected: number, pages: number, id = String(expected)) {
  const history = newBatchHistory(
    aBatch({ batch_id: id, days_ago: null, expected_pages: expected }),
  )
  for (let page = 1; page <= pages; page += 1) takeRecord(history, aPage(page))
  return history
}

function workloadOf(...batches: ReturnType<typeof begun>[]) {
  const work = new Workload()
  for (const history of batches) work.add(history)
  return work
}

describe('a workload of a batch of 9 pages and one that may be empty', () => {
  it('is 30 % done after 3 pages, and 90 % when the large one is finished', () => {
    const small = begun(0.2, 0)
    expect(workloadOf(begun(9, 0), small).fraction()).toBe(0)
    const large = begun(9, 3)
    const work = workloadOf(large, small)
    expect(work.fraction()).toBeCloseTo(0.3)
    closeBatch(large, 'finished')
    expect(work.fraction()).toBeCloseTo(0.9)
    expect(work.batchesDone).toBe(1)
    work.remove(small)
    expect(work.fraction()).toBe(1)
  })

  it('is not done while a batch has more pages than expected', () => {
    expect(workloadOf(begun(9, 40), begun(0.2, 0)).fraction()).toBeLessThan(0.9)
  })

  it('is done when it is empty', () => {
    expect(new Workload().fraction()).toBe(1)
  })
})

describe('what a batch of 9 expected pages still costs', () => {
  it('is 9 pages at first, 6 after 3, as many as were read once it is longer than expected, and 1 at least', () => {
    expect([0, 3, 9, 20].map((pages) => pagesToBuy(begun(9, pages)))).toEqual([9, 6, 9, 20])
    expect(pagesToBuy(begun(0.2, 0))).toBe(1)
  })
})
