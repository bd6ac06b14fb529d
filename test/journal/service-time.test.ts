import { describe, expect, it } from 'vitest'
import { resolveServerTime } from '../../src/journal/clock-history.ts'
import { DAY, MINUTE } from '../../src/support/units.ts'
import { rounds } from '../helpers/tier.ts'
import { clockHistories } from './clock-histories.ts'
import { ClockWorld, NOW } from './clock-world.ts'

// With a Date, two of three clocks decide: see the nights below, and the Date headers in answers.test.ts.
describe('resolveServerTime', () => {
  it.each([
    ['without a Date and before any, our clock is all there is', null, 0, null, 0, null],
    ['without a Date, time may have passed unseen', null, 9 * DAY, 0, 9, [0, 9]],
    ['without a Date, it did not go back', null, -9 * DAY, 0, 0, [-9, 0]],
    ['three clocks, three times: all of them count', 30 * DAY, -5 * DAY, 0, 0, [-5, 30]],
  ] as const)('%s', (_, date, ours, expected, at, days) => {
    const moved = (ms: number | null) => (ms === null ? null : NOW + ms)
    const time = resolveServerTime({
      date: moved(date),
      ours: NOW + ours,
      expected: moved(expected),
    })
    expect(time.at).toBe(NOW + at * DAY)
    const { dispute } = time
    expect(dispute === null).toBe(days === null)
    if (dispute === null || days === null) return
    expect(Math.round((dispute.earliest - NOW) / DAY)).toBe(days[0])
    expect(Math.round((dispute.latest - NOW) / DAY)).toBe(days[1])
  })
})

clockHistories(rounds('JOBTIDE_HISTORIES', 60, 10_000), 20 * MINUTE)

describe('clocks that lie together', () => {
  // Days count from a night with correct clocks; windows do not overlap.
  const lying = (days: number, lie: number | null) => {
    const world = new ClockWorld()
    world.pass(3 * DAY)
    world.night([{ lie: 0 }])
    world.pass(DAY)
    world.oursAhead = 29.5 * DAY
    world.night([{ lie }])
    world.oursAhead = 0
    world.pass((days - 1) * DAY)
    return world
  }

  it.each([
    ['no Date', null],
    ['a Date as wrong', 29.5 * DAY],
  ])(
    '%s: a night 29.5 days ahead, correct again on day 14, voids everything after the night before it, and the next night reads that again',
    (_, lie) => {
      const world = lying(14, lie)
      world.night([{ lie: 0 }])
      expect(world.log).toContain('clocks_went_back')
      expect(coveredDays(world)).toEqual([-3, 0])
      world.pass(DAY)
      expect(world.night([{ lie: 0 }])).toBe(16)
      expect(world.missed()).toBe(0)
      expect(coveredDays(world)).toEqual([-3, 15])
      // Every later night asks for its own day.
      world.pass(DAY)
      expect(world.night([{ lie: 0 }])).toBe(1)
      expect(world.log).toEqual(['clocks_went_back'])
    },
  )

  it('if that time has passed by then, nothing shows it: 29 days are missed', () => {
    const world = lying(31, null)
    world.night([{ lie: 0 }])
    world.pass(DAY)
    world.night([{ lie: 0 }])
    expect(world.log).toEqual([])
    expect(Math.round(world.missed() / 12)).toBe(29)
  })

  it('a night 29.5 days behind covers nothing, and the next one reads again everything after the last consistent time', () => {
    const world = new ClockWorld()
    world.pass(40 * DAY)
    world.night([{ lie: 0 }], 40)
    world.pass(DAY)
    world.oursAhead = -29.5 * DAY
    world.night([{ lie: null }])
    expect(coveredDays(world, 37)).toEqual([-40, -40])
    world.oursAhead = 0
    world.pass(DAY)
    expect(world.night([{ lie: 0 }])).toBe(43)
    expect(world.missed()).toBe(0)
  })
})

/** In days from the first night of a world. */
function coveredDays({ history }: ClockWorld, shift = 0): number[][] | number[] {
  const [only] = history.coverage.get('org_1') ?? []
  return [only?.from ?? 0, only?.to ?? 0].map((at) => Math.round((at - NOW) / DAY) - 3 - shift)
}
