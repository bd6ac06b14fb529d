import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addInterval, type CoveredInterval } from '../../src/journal/coverage.ts'

describe('addInterval', () => {
  const all = ['joined', 'left', 'title_change'] as const
  const intervals = fc.array(
    fc.record({
      eventTypes: fc.constantFrom(all, ['joined'] as const),
      from: fc.option(fc.nat(40), { nil: null, freq: 8 }),
      length: fc.nat(12),
    }),
    { maxLength: 25 },
  )

  /** Whether each half minute of -1 to 60 is covered. */
  function points(list: readonly CoveredInterval[], types: string): boolean[] {
    return Array.from({ length: 122 }, (_, i) => i / 2 - 1).map((at) =>
      list.some(
        ({ eventTypes, from, to }) =>
          eventTypes.join() === types && (from ?? Number.NEGATIVE_INFINITY) <= at && at <= to,
      ),
    )
  }

  it('covers what its intervals cover and nothing else, sorted and apart, for any of them in any order', () => {
    fc.assert(
      fc.property(intervals, (drawn) => {
        const added = drawn.map(({ eventTypes, from, length }) => ({
          eventTypes,
          from,
          to: (from ?? 0) + length,
        }))
        let joined: CoveredInterval[] = []
        for (const interval of added) joined = addInterval(joined, interval)
        for (const types of [all.join(), 'joined']) {
          expect(points(joined, types)).toEqual(points(added, types))
          const same = joined.filter(({ eventTypes }) => eventTypes.join() === types)
          same.slice(1).forEach((next, i) => {
            expect(next.from ?? Number.NEGATIVE_INFINITY).toBeGreaterThan(same[i]?.to ?? 0)
          })
        }
      }),
      { numRuns: 500 },
    )
  })

  it('does not change the list it was given', () => {
    const known = [{ eventTypes: all, from: 1, to: 5 }]
    addInterval(known, { eventTypes: all, from: 3, to: 9 })
    expect(known).toEqual([{ eventTypes: all, from: 1, to: 5 }])
  })

  it.each([
    ['touch', 5, 9, [[1, 9]]],
    ['overlap', 3, 9, [[1, 9]]],
    [
      'are apart by 1 ms',
      6,
      9,
      [
        [1, 5],
        [6, 9],
      ],
    ],
    ['lie inside', 2, 3, [[1, 5]]],
    ['reach back to the beginning', null, 3, [[null, 5]]],
  ])('of [1, 5] and one that they %s', (_how, from, to, expected) => {
    const joined = addInterval([{ eventTypes: all, from: 1, to: 5 }], { eventTypes: all, from, to })
    expect(joined.map((interval) => [interval.from, interval.to])).toEqual(expected)
  })
})
