import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expiredSnapshots, parseKeep, type Keep } from '../../../src/publish/retention.ts'
import { isoInstant } from '../../../src/support/clock.ts'
import { DAY } from '../../../src/support/units.ts'

const EXPECTED = 'expected last, daily, weekly, monthly, each once, with a number up to 100000'
const NOTHING: Keep = { last: 0, daily: 0, weekly: 0, monthly: 0 }

describe('what to keep', () => {
  it.each([
    [30, { last: 30 }],
    ['30', { last: 30 }],
    ['last=7,daily=30,weekly=12,monthly=24', { last: 7, daily: 30, weekly: 12, monthly: 24 }],
    [' monthly = 24 , last=1', { last: 1, monthly: 24 }],
    [{ daily: 14, weekly: undefined }, { daily: 14 }],
  ])('is read from %j', (value, keep) => {
    expect(parseKeep(value)).toEqual({ ...NOTHING, ...keep })
  })

  it.each([
    ['last=0', 'at least 1 snapshot must be kept'],
    ['daily=100001', `${EXPECTED}, got "daily=100001"`],
    ['yearly=3', `${EXPECTED}, got "yearly=3"`],
    ['last=7,', `${EXPECTED}, got ""`],
    ['last=7,last=8', `${EXPECTED}, got "last=8"`],
    ['-3', `${EXPECTED}, got "-3"`],
  ])('is refused as %j', (value, message) => {
    expect(() => parseKeep(value)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        message: `which snapshots to keep: ${message}`,
        hint: 'Say how many, such as 30, or by rule: last=7,daily=30,weekly=12,monthly=24.',
      }) as Error,
    )
  })
})

const seventyNights = Array.from({ length: 70 }, (_, night) =>
  isoInstant(Date.UTC(2026, 8, 12, 2, 15) + night * DAY).slice(0, 16),
)

describe('the snapshots that are kept', () => {
  it.each<[string, Partial<Keep>, string, string]>([
    ['the last 2', { last: 2 }, '2026-11-18T02:15', '2026-11-19T02:15 2026-11-20T02:15'],
    [
      'the newest of each of the last 2 days that have one, by UTC',
      { daily: 2 },
      '2026-11-01T23:59 2026-11-02T00:00',
      '2026-11-02T23:59 2026-11-20T02:15',
    ],
    [
      // 2026-12-28 is a Monday: its week is 2026-W53 and ends on Sunday, 2027-01-03.
      'the newest of each of 2 weeks, which begin on Monday, across a new year',
      { weekly: 2 },
      '2026-12-27T23:59 2026-12-28T00:00',
      '2027-01-03T23:59 2027-01-04T00:00',
    ],
    [
      'the newest of each of 3 months, of different lengths',
      { monthly: 3 },
      '2025-12-31T23:59 2026-02-01T00:00',
      '2026-01-31T23:59 2026-02-28T23:59 2026-03-01T00:00',
    ],
    [
      'all that any rule keeps: by 2 last, 3 days and 3 months 5 of 70 nights',
      { last: 2, daily: 3, monthly: 3 },
      seventyNights.join(' '),
      '2026-09-30T02:15 2026-10-31T02:15 2026-11-18T02:15 2026-11-19T02:15 2026-11-20T02:15',
    ],
  ])('are %s', (_, rules, others, kept) => {
    const instants = [...new Set(`${others} ${kept}`.split(' '))].toSorted()
    const snapshots = instants.map((id) => ({ id, createdAt: Date.parse(`${id}:00Z`) }))
    const expired = expiredSnapshots(snapshots, { ...NOTHING, ...rules }, instants.at(-1) ?? '')
    expect(instants.filter((id) => !expired.includes(id)).join(' ')).toBe(kept)
  })

  const number = fc.integer({ min: 0, max: 6 })
  const keeps = fc.record({ last: number, daily: number, weekly: number, monthly: number })
  // Up to 30 snapshots in a year, possibly several on one day or at one moment.
  const quarters = fc.array(fc.integer({ min: 0, max: 4 * 365 }), { minLength: 1, maxLength: 30 })

  it('of any lake are as many as the rules say, never fewer with wider rules, and stay once the rest is gone', () => {
    fc.assert(
      fc.property(quarters, fc.nat(), keeps, keeps, (times, nth, keep, more) => {
        const snapshots = times.map((quarter, index) => {
          return { id: `s${index}`, createdAt: Date.UTC(2026, 0, 1) + (quarter * DAY) / 4 }
        })
        const current = `s${nth % times.length}`
        const expired = expiredSnapshots(snapshots, keep, current)
        expect(expired).not.toContain(current)
        expect(new Set(expired).size).toBe(expired.length)
        const left = snapshots.filter(({ id }) => !expired.includes(id))
        const most = Math.max(1, keep.last + keep.daily + keep.weekly + keep.monthly)
        expect(left.length).toBeLessThanOrEqual(most)
        expect(left.length).toBeGreaterThanOrEqual(
          Math.min(snapshots.length, Math.max(1, keep.last)),
        )
        const generous: Keep = {
          last: keep.last + more.last,
          daily: keep.daily + more.daily,
          weekly: keep.weekly + more.weekly,
          monthly: keep.monthly + more.monthly,
        }
        const fewer = expiredSnapshots(snapshots, generous, current)
        expect(expired).toEqual(expect.arrayContaining(fewer))
        expect(expiredSnapshots(left.toReversed(), keep, current)).toEqual([])
      }),
    )
  })
})
