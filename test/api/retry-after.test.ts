import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { rateReport, unsaidWait, waitWanted } from '../../src/api/retry-after.ts'
import { DAY, SECOND } from '../../src/support/units.ts'
import { ALL, DATE, epochSeconds, OURS, SERVER } from './wait-headers.ts'

describe('the wait that headers ask for', () => {
  afterEach(() => {
    process.env['TZ'] = 'UTC'
  })

  it.each(ALL)('%s', (_what, headers, waitMs) => {
    expect(waitWanted(headers, OURS)).toBe(waitMs)
  })

  it('is the same on a machine in any time zone whose clock is wrong by 1 day either way', () => {
    for (const zone of ['America/New_York', 'Asia/Kolkata']) {
      process.env['TZ'] = zone
      expect(new Date(SERVER).getTimezoneOffset()).not.toBe(0)
      for (const ours of [SERVER - DAY, SERVER + DAY]) {
        for (const [what, headers, waitMs] of ALL)
          expect([what, waitWanted(headers, ours)]).toEqual([what, waitMs])
      }
    }
  })

  it('is measured from our clock when the answer has no Date that can be read', () => {
    const until = String(epochSeconds + 45)
    for (const date of [undefined, '', '5', 'yesterday', 'Fri, 20 Nov 2026']) {
      expect(waitWanted({ date, 'x-ratelimit-reset': until }, SERVER)).toBe(45 * SECOND)
    }
  })

  it('is undefined or 1 s to 30 days for any two headers (property)', () => {
    const text = fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String))
    fc.assert(
      fc.property(text, text, text, (date, retryAfter, resetAt) => {
        const headers = { date, 'retry-after': retryAfter, 'x-ratelimit-reset': resetAt }
        const waitMs = waitWanted(headers, OURS)
        if (waitMs === undefined) return
        expect(waitMs).toBeGreaterThanOrEqual(SECOND)
        expect(waitMs).toBeLessThanOrEqual(30 * DAY)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('the wait after a 429 or 503 that says nothing', () => {
  it('is 60 s, then 2 min each', () => {
    expect([0, 1, 2, 3, 20].map(unsaidWait)).toEqual(
      [60, 60, 120, 120, 120].map((seconds) => seconds * SECOND),
    )
  })
})

describe('rateReport', () => {
  const report = (limit?: string, remaining?: string, resetAt?: string) =>
    rateReport(
      {
        date: DATE,
        'x-ratelimit-limit': limit,
        'x-ratelimit-remaining': remaining,
        'x-ratelimit-reset': resetAt,
      },
      OURS,
    )

  it.each([
    ['all three', report('100', '7', '30'), { limit: 100, remaining: 7, resetMs: 30_000 }],
    [
      'an epoch',
      report('1', '0', String(epochSeconds + 9)),
      { limit: 1, remaining: 0, resetMs: 9_000 },
    ],
    ['nothing', report(), { limit: null, remaining: null, resetMs: null }],
    ['garbage', report('many', '-1', 'x'), { limit: null, remaining: null, resetMs: null }],
    ['a policy', report('100, 100;w=60', '1.5', '0'), { limit: null, remaining: null, resetMs: 0 }],
    ['ten digits', report('1000000000', '5', '1'), { limit: null, remaining: 5, resetMs: 1_000 }],
  ])('reads %s', (_what, found, expected) => {
    expect(found).toEqual(expected)
  })
})
