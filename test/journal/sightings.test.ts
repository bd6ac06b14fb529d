import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RATE_HALF_LIFE_MS, addSightings, type Sightings } from '../../src/journal/sightings.ts'
import { DAY } from '../../src/support/units.ts'

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

  it('begins with what was added first', () => {
    const first = of({ total: 3, events: 2, days: 1, at: 9, lastAt: 9 })
    expect(addSightings(undefined, first)).toEqual(first)
  })

  it('gives the same for any order of 20 observations', () => {
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
