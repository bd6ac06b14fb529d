import { describe, expect, it } from 'vitest'
import { makeBatches, type RatedNeed } from '../../src/plan/batches.ts'

const choices = { requests: 1, workers: 1, widest: null } as const

/** So many organisations with half an event a day each, and so much doubt about each rate. */
const needs = (count: number, days: number, variance: number): RatedNeed[] =>
  Array.from({ length: count }, () => ({ days, rate: { mean: 0.5, variance, fromList: 0 } }))

describe('makeBatches', () => {
  it('what is not known of the rates makes the number of pages uncertain, not other than expected', () => {
    const [known] = makeBatches(needs(50, 365, 0), choices)
    const [unknown] = makeBatches(needs(50, 365, 0.5), choices)
    expect(known?.pages).toBeCloseTo(183, 0)
    expect(unknown?.pages).toBeCloseTo(183, 0)
    // 365 days, squared, times 50 organisations, of a variance of 0.5, in pages of 50 events.
    expect(unknown?.variance).toBeCloseTo((365 ** 2 * 50 * 0.5) / 50 ** 2, -2)
    expect(known?.variance).toBeLessThan(10)
  })

  it('keeps the order of the list within a batch', () => {
    const [batch] = makeBatches(needs(30, 2, 0), choices)
    expect(batch?.members).toEqual(Array.from({ length: 30 }, (_, n) => n))
  })
})
