import { describe, expect, it } from 'vitest'
import { addPause, pausedUntil, type Pause } from '../../src/journal/pauses.ts'
import { DAY, HOUR, SECOND } from '../../src/support/units.ts'

const AT = Date.UTC(2026, 10, 20, 2, 15)
const MINUTE_ASKED: Pause = {
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

  it('is not ended by a shorter one, and is forgotten with a longer one', () => {
    const ofSeconds = (seconds: number) => ({ ...MINUTE_ASKED, not_before: AT + seconds * SECOND })
    const shorter = addPause([MINUTE_ASKED], ofSeconds(30))
    expect(shorter).toEqual([MINUTE_ASKED, ofSeconds(30)])
    expect(addPause(shorter, ofSeconds(40))).toEqual([MINUTE_ASKED, ofSeconds(40)])
    expect(addPause(shorter, ofSeconds(90))).toEqual([ofSeconds(90)])
  })
})
