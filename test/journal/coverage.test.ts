import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addInterval,
  type CoveredInterval,
  RATE_HALF_LIFE_MS,
  addSightings,
  type Sightings,
} from '../../src/journal/coverage.ts'
import { DAY } from '../../src/support/units.ts'

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

  /** Whether each half minute from -1 to 60 is covered. */
  function points(list: readonly CoveredInterval[], types: string): boolean[] {
    return Array.from({ length: 122 }, (_, i) => i / 2 - 1).map((at) =>
      list.some(
        ({ eventTypes, from, to }) =>
          eventTypes.join() === types && (from ?? Number.NEGATIVE_INFINITY) <= at && at <= to,
      ),
    )
  }

  it('covers exactly what its intervals cover, sorted and disjoint, for any intervals in any order', () => {
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
})

const of = (fields: Partial<Sightings>): Sightings => ({
  total: 0,
  lastAt: 0,
  events: 0,
  days: 0,
  at: 0,
  ...fields,
})

describe('addSightings', () => {
  it('halves the weight of what is 90 days old', () => {
    const old = of({ total: 8, events: 8, days: 10, at: 0, lastAt: 5 })
    const known = addSightings(old, of({ total: 1, events: 1, days: 2, at: 90 * DAY }))
    expect(known).toEqual({ total: 9, lastAt: 5, events: 5, days: 7, at: 90 * DAY })
    expect(RATE_HALF_LIFE_MS).toBe(90 * DAY)
  })

  it('gives the same result for any order of 20 observations', () => {
    const observation = fc.record({
      total: fc.nat(50),
      lastAt: fc.nat(400).map((days) => days * DAY),
      events: fc.nat(50),
      days: fc.nat(365),
      at: fc.nat(400).map((days) => days * DAY),
    })
    const lists = fc
      .array(observation, { minLength: 1, maxLength: 20 })
      .chain((list) =>
        fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
      )
    fc.assert(
      fc.property(lists, ([list, shuffled]) => {
        const sum = (observations: readonly Sightings[]) =>
          observations.reduce<Sightings | undefined>(addSightings, undefined)
        const [one, other] = [sum(list), sum(shuffled)]
        expect(other?.events).toBeCloseTo(one?.events ?? Number.NaN, 8)
        expect(other?.days).toBeCloseTo(one?.days ?? Number.NaN, 8)
        expect([other?.total, other?.at, other?.lastAt]).toEqual([one?.total, one?.at, one?.lastAt])
      }),
    )
  })
})
