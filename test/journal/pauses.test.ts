import { describe, expect, it } from 'vitest'
import { addPause, holdOf, pausedUntil } from '../../src/journal/pauses.ts'
import type { Paused } from '../../src/journal/records.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'

const AT = Date.UTC(2026, 10, 20, 2, 15)
const MINUTE_ASKED: Paused = {
  kind: 'paused',
  run_id: null,
  reason: '503',
  at: AT,
  not_before: AT + 60 * SECOND,
  uptime: { boot: 'a', ms: 1_000 },
}

describe('a pause of 60 s that the service ordered', () => {
  it.each([
    { what: 'our clock jumps 1 hour ahead', now: AT + HOUR, boot: 'a', left: 50 },
    { what: 'our clock jumps 3 days back', now: AT - 3 * DAY, boot: 'a', left: 50 },
    { what: 'all clocks are right', now: AT + 10 * SECOND, boot: 'a', left: 50 },
    { what: 'the machine was started again', now: AT + 20 * SECOND, boot: 'b', left: 40 },
  ])('still takes $left s where 10 s later $what', ({ now, boot, left }) => {
    const until = pausedUntil({ pauses: [MINUTE_ASKED] }, now, { boot, ms: 11_000 })
    expect(until - now).toBe(left * SECOND)
  })

  it('is not ended by a shorter one, and is replaced by a longer one', () => {
    const after = (...seconds: number[]) =>
      seconds
        .map((one) => ({ ...MINUTE_ASKED, not_before: AT + one * SECOND }))
        .reduce(addPause, [])
        .map((one) => (one.not_before - AT) / SECOND)
    expect(after(60, 30)).toEqual([60, 30])
    expect(after(60, 30, 40)).toEqual([60, 40])
    expect(after(60, 30, 90)).toEqual([90])
  })
})

describe('a pause of 30 days that version 0.12 stored', () => {
  const month: Paused = { ...MINUTE_ASKED, not_before: AT + 30 * DAY }

  it.each(['a', 'b'])('holds for an hour from when it was received, in boot %s', (boot) => {
    const left = (minutes: number) => {
      const now = AT + minutes * MINUTE
      return pausedUntil({ pauses: [month] }, now, { boot, ms: 1_000 + minutes * MINUTE }) - now
    }
    expect([left(0), left(50), left(60), left(90) <= 0]).toEqual([HOUR, 10 * MINUTE, 0, true])
  })

  it('is replaced by a later one of 2 hours; one of 24 hours does not count', () => {
    const later = { ...MINUTE_ASKED, not_before: AT + 2 * HOUR, reason: '429' }
    const held = holdOf({ pauses: [month, later].reduce(addPause, []) }, AT, null)
    expect([held.until, held.pause?.reason]).toEqual([AT + 2 * HOUR, '429'])
    expect(pausedUntil({ pauses: [{ ...month, not_before: AT + DAY }] }, AT, null)).toBe(AT + DAY)
  })

  it('ends once the operator lifts it', () => {
    const lifted = { ...MINUTE_ASKED, not_before: AT, lifts_earlier: true } as const
    expect([month, lifted].reduce(addPause, [])).toEqual([])
  })
})
