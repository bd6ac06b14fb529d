import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { rateReport, unsaidWait, waitWanted, type Headers } from '../../src/api/retry-after.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { obeyedWait } from '../../src/support/waits.ts'

// The service's clock; ours is 1 h ahead of it, so that a wait measured by ours is wrong by an hour.
const SERVER = Date.UTC(2026, 10, 20, 10)
const OURS = SERVER + HOUR
const DATE = new Date(SERVER).toUTCString()
const epochSeconds = SERVER / SECOND

const after = (value: string): Headers => ({ date: DATE, 'retry-after': value })
const reset = (value: string): Headers => ({ date: DATE, 'x-ratelimit-reset': value })
const both = (retryAfter: string, resetAt: string): Headers => ({
  ...after(retryAfter),
  ...reset(resetAt),
})

/** What a service says, and the wait that it asks for, in milliseconds; undefined for none. */
const WAITS: readonly (readonly [what: string, headers: Headers, waitMs: number | undefined])[] = [
  ['60 seconds', after('  60 '), MINUTE],
  ['0 seconds: a moment, no storm', after('0'), SECOND],
  ['31 days', after('2678400'), 31 * DAY],
  ['10^7: neither seconds nor an epoch', after('10000000'), undefined],
  ['epoch seconds', after(String(epochSeconds + 60)), MINUTE],
  ['epoch seconds with a fraction', after(`${epochSeconds + 60}.5`), 60_500],
  ['epoch milliseconds', after(String(SERVER + 45_250)), 45_250],
  ['epoch seconds in the past leave the reset', both(String(epochSeconds - 1), '60'), MINUTE],
  ['seconds and an epoch that a gateway joined', after(`60, ${epochSeconds + 90}`), 90 * SECOND],
  ['negative', after('-5'), undefined],
  ['a duration', after('6m0s'), 6 * MINUTE],
  ['a duration in hours', after('1h'), HOUR],
  ['a duration of ISO 8601', after('PT1H30M'), 90 * MINUTE],
  ['seconds with their unit', after('3600s'), HOUR],
  ['a unit without a number', after('PT'), undefined],
  ['milliseconds, which are no minutes', after('500ms'), undefined],
  ['a reset as a duration', reset('1.5s'), 1_500],
  ['a sentence with a number', after('wait 2030'), undefined],
  ['two that a gateway joined', after('60, 120'), 120 * SECOND],
  ['a part of a second', after('119.5'), 119_500],
  ['empty', after(''), undefined],
  ['20 digits', after('9'.repeat(20)), undefined],
  ['IMF-fixdate 90 s ahead', after('Fri, 20 Nov 2026 10:01:30 GMT'), 90 * SECOND],
  ['RFC 850 date', after('Friday, 20-Nov-26 10:01:30 GMT'), 90 * SECOND],
  ['asctime, which has no zone', after('Fri Nov 20 10:01:30 2026'), 90 * SECOND],
  ['a date with an offset', after('fri, 20 nov 2026 11:01:30 +0100'), 90 * SECOND],
  ['ISO 8601 with milliseconds', after('2026-11-20T10:01:30.250Z'), 90_250],
  ['ISO 8601 without a zone', after('2026-11-20T10:01:30'), 90 * SECOND],
  ['a day', after('2026-11-21'), 14 * HOUR],
  ['this very second', after(DATE), SECOND],
  ['a date in the past', after('Fri, 20 Nov 2026 09:59:59 GMT'), undefined],
  ['no such hour', after('Fri, 20 Nov 2026 25:01:30 GMT'), undefined],
  ['a date with words behind it', after('Fri, 20 Nov 2026 10:01:30 GMT or so'), undefined],
  ['a reset in seconds from now', reset('45.5'), 45_500],
  ['a reset in 10^7: neither seconds nor an epoch', reset('10000000'), undefined],
  ['a reset at epoch seconds', reset(String(epochSeconds + 45)), 45 * SECOND],
  ['a reset at epoch seconds in the past', reset(String(epochSeconds - 1)), undefined],
  ['a reset at epoch milliseconds', reset(String(SERVER + 45_250)), 45_250],
  ['a reset at epoch microseconds: neither', reset(String(SERVER * 1_000)), undefined],
  ['a reset at what JavaScript prints', reset('Fri Nov 20 2026 11:00:45 GMT+0100 (CET)'), 45_000],
  ['Retry-After wins when longer', both('60', '5'), MINUTE],
  ['Retry-After wins when shorter', both('5', '60'), 5 * SECOND],
  ['garbage in Retry-After leaves the reset', both('soon', '60'), MINUTE],
  ['a past Retry-After leaves the reset', both('2026-01-01', '60'), MINUTE],
  ['nothing at all', { date: DATE }, undefined],
  [
    'a repeated header: the longest counts',
    { date: DATE, 'retry-after': ['5', '60', 'x'] },
    MINUTE,
  ],
]

describe('the wait that headers ask for', () => {
  afterEach(() => {
    process.env['TZ'] = 'UTC'
  })

  it.each(WAITS)('%s', (_what, headers, waitMs) => {
    expect(waitWanted(headers, OURS)).toBe(waitMs)
  })

  it('is the same in any time zone and with a clock that is off by 1 day either way', () => {
    for (const zone of ['America/New_York', 'Asia/Kolkata']) {
      process.env['TZ'] = zone
      expect(new Date(SERVER).getTimezoneOffset()).not.toBe(0)
      for (const ours of [SERVER - DAY, SERVER + DAY]) {
        for (const [what, headers, waitMs] of WAITS)
          expect([what, waitWanted(headers, ours)]).toEqual([what, waitMs])
      }
    }
  })

  it('is measured from our clock if the answer has no readable Date', () => {
    const until = String(epochSeconds + 45)
    for (const date of [undefined, '', '5', 'yesterday', 'Fri, 20 Nov 2026']) {
      expect(waitWanted({ date, 'x-ratelimit-reset': until }, SERVER)).toBe(45 * SECOND)
    }
  })

  it('is undefined or at least 1 s, and at most a day is obeyed, for any two headers (property)', () => {
    const text = fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String))
    fc.assert(
      fc.property(text, text, text, (date, retryAfter, resetAt) => {
        const headers = { date, 'retry-after': retryAfter, 'x-ratelimit-reset': resetAt }
        const waitMs = waitWanted(headers, OURS) ?? SECOND
        expect(waitMs).toBeGreaterThanOrEqual(SECOND)
        expect(obeyedWait(waitMs)).toBeLessThanOrEqual(DAY)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is 60 s and then 2 min each after a 429 or 503 that names none', () => {
    expect([1, 2, 3, 20].map(unsaidWait)).toEqual(
      [60, 120, 120, 120].map((seconds) => seconds * SECOND),
    )
  })
})

describe('rateReport', () => {
  it.each([
    ['all three', ['100', '7', '30'], { limit: 100, remaining: 7, resetMs: 30_000 }],
    ['an epoch', ['1', '0', String(epochSeconds + 9)], { limit: 1, remaining: 0, resetMs: 9_000 }],
    [
      '30 days: a mistake, asked again after an hour',
      ['1', '0', '2592000'],
      { limit: 1, remaining: 0, resetMs: HOUR },
    ],
    ['nothing', [], { limit: null, remaining: null, resetMs: null }],
    ['garbage', ['many', '-1', 'x'], { limit: null, remaining: null, resetMs: null }],
    ['a policy', ['100, 100;w=60', '1.5', '0'], { limit: null, remaining: null, resetMs: 0 }],
  ])('reads %s', (_what, [limit, remaining, resetAt], expected) => {
    const headers = {
      date: DATE,
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': remaining,
      'x-ratelimit-reset': resetAt,
    }
    expect(rateReport(headers, OURS)).toEqual(expected)
  })
})
