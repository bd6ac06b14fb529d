import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addInterval, type CoveredInterval } from '../../src/journal/coverage.ts'
import { EVENT_TYPES, type EventType } from '../../src/journal/records.ts'
import {
  coverageOf,
  neededWindow,
  type Window,
  type WindowQuestion,
} from '../../src/plan/window.ts'
import { unreadBetween } from '../../src/plan/coverage-report.ts'
import { DAY } from '../../src/support/units.ts'
import { NOW, aQuestion, covered } from './plan-fixture.ts'

describe('neededWindow', () => {
  const needed = (fields: Partial<WindowQuestion>, ...coverage: CoveredInterval[]): Window =>
    neededWindow({ ...aQuestion(), ...fields }, coverage, NOW)

  it.each([
    { gap: 0.5, overlap: 6, days: 1 },
    { gap: 0.75, overlap: 6, days: 1 },
    { gap: 0.76, overlap: 6, days: 2 },
    { gap: 1, overlap: 0, days: 1 },
    { gap: 1, overlap: 6, days: 2 },
    { gap: 30, overlap: 24, days: 31 },
    { gap: 364.75, overlap: 6, days: 365 },
  ])(
    'since-last, $gap days uncovered, overlap $overlap h: $days days',
    ({ gap, overlap, days }) => {
      expect(needed({ overlapHours: overlap }, covered(999, gap))).toBe(days)
    },
  )

  it('since-last, 2 of 365 days covered because the first read was lost: 365 days, and 1 once they are covered again', () => {
    expect(needed({ overlapHours: 0 }, covered(3, 1))).toBe(1)
    expect(needed({ overlapHours: 0, isAfterLoss: true }, covered(3, 1))).toBe(365)
    expect(needed({ overlapHours: 0, isAfterLoss: true }, covered(366, 1))).toBe(1)
  })

  it('over 365 days, which the service refuses: everything', () => {
    expect(needed({}, covered(null, 364.76))).toBe('all')
  })

  it('a clock before the watermark asks for 1 day', () => {
    expect(needed({ overlapHours: 0 }, covered(30, -2))).toBe(1)
  })

  it('since-last goes back to a gap between two intervals', () => {
    expect(needed({ overlapHours: 0 }, covered(300, 200), covered(100, 0))).toBe(200)
  })

  it('the least covered event type decides; one never asked for gets the initial window', () => {
    const joined = covered(100, 5, ['joined'])
    const left = covered(100, 20, ['left'])
    expect(needed({ eventTypes: ['joined', 'left'], overlapHours: 0 }, joined, left)).toBe(20)
    expect(needed({ initialWindow: 90 }, joined, left)).toBe(90)
  })

  it('an old answer for one type alone leaves no gap once all three were read over it', () => {
    const alone = covered(400, 300, ['joined'])
    expect(needed({ overlapHours: 0 }, alone, covered(365, 1))).toBe(1)
    expect(
      needed({ window: 'all', overlapHours: 0 }, covered(null, 300, ['joined']), covered(365, 1)),
    ).toBe('all')
    const each = EVENT_TYPES.map((type) => covered(null, 300, [type]))
    expect(needed({ window: 'all', overlapHours: 0 }, ...each, covered(365, 1))).toBe(1)
  })

  it.each<[window: Window, coverage: CoveredInterval, asks: Window]>([
    [30, covered(30, 10), 10],
    [30, covered(29, 0), 30],
    [30, covered(90, 40), 30],
    [30, covered(90, 0), 1],
    ['all', covered(365, 0), 'all'],
    ['all', covered(null, 20), 20],
    ['all', covered(null, 400), 'all'],
  ])('of %s days does not buy again what %j covers: %s', (window, coverage, asks) => {
    expect(needed({ window, overlapHours: 0 }, coverage)).toBe(asks)
  })

  it('always asks for the whole uncovered part of the wanted time, for any coverage', () => {
    const anyInterval = fc
      .record({
        from: fc.option(fc.integer({ min: 1, max: 900 }), { nil: null }),
        length: fc.integer({ min: 0, max: 500 }),
        to: fc.integer({ min: 0, max: 899 }),
        types: fc.constantFrom<readonly EventType[]>(EVENT_TYPES, ['joined'], ['left']),
      })
      .map(({ from, length, to, types }) =>
        covered(from === null ? null : Math.max(from, to) + length, to, types),
      )
    const anyWindow = fc.oneof(fc.integer({ min: 1, max: 365 }), fc.constant('all' as const))
    fc.assert(
      fc.property(
        fc.array(anyInterval, { maxLength: 6 }),
        fc.oneof(anyWindow, fc.constant('since-last' as const)),
        anyWindow,
        fc.integer({ min: 0, max: 48 }),
        fc.constantFrom<readonly EventType[]>(EVENT_TYPES, ['joined'], ['joined', 'left']),
        (intervals, window, initialWindow, overlapHours, eventTypes) => {
          const coverage = intervals.reduce<CoveredInterval[]>(addInterval, [])
          const question = { window, initialWindow, overlapHours, eventTypes }
          const asked = neededWindow(question, coverage, NOW)
          for (const type of eventTypes) {
            const own = coverageOf(type, coverage)
            // since-last: from the first instant that was ever covered, or the initial window.
            const wanted = window === 'since-last' ? initialWindow : window
            const [first] = window === 'since-last' ? own : []
            const from = first?.from ?? (first || wanted === 'all' ? null : NOW - wanted * DAY)
            const [unread] = unreadBetween(own, from, NOW)
            if (unread === undefined || asked === 'all') continue
            expect(NOW - asked * DAY).toBeLessThanOrEqual(unread.from ?? -Infinity)
            expect(asked).toBeLessThanOrEqual(365)
          }
          // At most a day and the overlap beyond the wanted time, if that is a window.
          if (window !== 'since-last') {
            expect(asked === 'all' ? Infinity : asked).toBeLessThanOrEqual(
              window === 'all' ? Infinity : window,
            )
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})
