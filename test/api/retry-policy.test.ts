import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  ATTEMPTS_MAX,
  BILLABLE_MAX,
  UNREADABLE_IN_A_ROW_MAX,
  decideRetry,
  outcomeOf,
  type Failure,
  type RetryState,
} from '../../src/api/retry-policy.ts'
import type { Headers } from '../../src/api/retry-after.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'

const NOW = Date.UTC(2026, 10, 20, 10)

function aState(fields: Partial<RetryState> = {}): RetryState {
  return {
    attempts: 1,
    billable: 0,
    unreadableInARow: 0,
    wrongPages: 0,
    pausesInARow: 1,
    outageMs: 0,
    failuresInARow: 3,
    maxWaitMs: 15 * MINUTE,
    nowMs: NOW,
    previousWaitMs: 0,
    random: 0,
    ...fields,
  }
}

const cut = { status: null, headers: {}, reason: 'x', credits: 10, obstacle: null }
const noAnswer: Failure = { ...cut, outcome: 'failed', inDoubt: true, isWrongPage: false }
const refused: Failure = { ...noAnswer, inDoubt: false, obstacle: 'refused' }
const unreachable: Failure = { ...refused, outcome: 'unreachable' }
const notAPage = aStatus(200)

function aStatus(status: number, headers: Headers = {}): Failure {
  return { ...noAnswer, outcome: outcomeOf(status, headers), status, headers }
}

describe('never asked again', () => {
  it.each([400, 401, 402, 403, 301, 308, 404, 405, 410, 413, 422, 451])(
    '%d, even with Retry-After',
    (status) => {
      const decision = { kind: 'refused', waitMs: 0, why: null }
      expect(decideRetry(aStatus(status), aState())).toEqual(decision)
      expect(decideRetry(aStatus(status, { 'retry-after': '5' }), aState())).toEqual(decision)
    },
  )
})

describe('every worker waits', () => {
  it.each([429, 503])('%d: as long as the service says, or 1 and then 2 minutes', (status) => {
    const decision = decideRetry(aStatus(status, { 'retry-after': '60' }), aState())
    expect(decision).toEqual({ kind: 'pause-all', waitMs: MINUTE, why: null })
    for (const [pausesInARow, waitMs] of [
      [1, MINUTE],
      [2, 2 * MINUTE],
    ] as const) {
      expect(decideRetry(aStatus(status), aState({ pausesInARow }))).toMatchObject({ waitMs })
    }
  })

  it('a 200 that is not a page: as long as Retry-After says, else one second', () => {
    const busy = aStatus(200, { 'retry-after': '6' })
    const decision = { kind: 'pause-all', waitMs: 6 * SECOND, why: null }
    expect(decideRetry(busy, aState())).toEqual(decision)
    expect(decideRetry(busy, aState({ unreadableInARow: 5 }))).toMatchObject({ why: 'unreadable' })
    expect(decideRetry(notAPage, aState())).toEqual({ kind: 'retry', waitMs: SECOND, why: null })
  })

  it.each([408, 500, 502, 520])('%d: only with Retry-After', (status) => {
    const ordered = decideRetry(aStatus(status, { 'retry-after': '60' }), aState())
    expect(ordered).toEqual({ kind: 'pause-all', waitMs: MINUTE, why: null })
    expect(decideRetry(aStatus(status), aState())).toEqual({
      kind: 'retry',
      waitMs: SECOND,
      why: null,
    })
  })

  it.each([
    ['the order is longer than max_wait', '901', 0, 'long-wait'],
    ['the order is a day', '86400', 0, 'long-wait'],
    ['the order is longer than a day', '86401', 0, 'mistaken-wait'],
    ['nothing was answered for max_wait', '60', 15 * MINUTE, 'outage'],
    ['neither', '900', 14 * MINUTE, null],
  ] as const)('%s: then (%s s, %i ms) ends the run: %s', (_, seconds, outageMs, why) => {
    const decision = decideRetry(aStatus(503, { 'retry-after': seconds }), aState({ outageMs }))
    expect(decision).toMatchObject({ kind: 'pause-all', why })
  })

  it('is never shorter than the service asked for (property)', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 86_400 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (seconds, random) => {
          const failure = aStatus(429, { 'retry-after': String(seconds) })
          const decision = decideRetry(failure, aState({ random }))
          if (decision.kind !== 'pause-all') throw new Error(decision.kind)
          expect(decision.waitMs).toBeGreaterThanOrEqual(seconds * SECOND)
          expect(decision.waitMs).toBeLessThanOrEqual(seconds * SECOND + 2 * SECOND)
          expect(decision.waitMs).toBeLessThanOrEqual(DAY)
        },
      ),
    )
  })

  it('an hour after an order to wait 30 days, which ends a run that may wait for years', () => {
    const month = aStatus(503, { 'retry-after': '2592000' })
    const decision = decideRetry(month, aState({ maxWaitMs: 1_000 * DAY }))
    expect(decision).toMatchObject({ waitMs: HOUR, why: 'mistaken-wait' })
  })
})

describe('asked again after a backoff', () => {
  const passing = [408, 425, 500, 502, 504, 520, 599]

  const whyOf = (failure: Failure, state: Partial<RetryState>) => {
    const decision = decideRetry(failure, aState(state))
    return decision.kind === 'give-up' ? decision.why : decision.kind
  }

  it.each(passing)('%d: up to 20 attempts while others are answered', (status) => {
    expect(whyOf(aStatus(status), { attempts: ATTEMPTS_MAX - 1 })).toBe('retry')
    expect(whyOf(aStatus(status), { attempts: ATTEMPTS_MAX })).toBe('page')
  })

  it.each([
    ['a connection that broke', noAnswer],
    ['a 200 that is not a page', notAPage],
    ['a 204', aStatus(204)],
    ['a 206', aStatus(206)],
  ])('%s: up to 6 attempts, because each may be paid for', (_what, failure) => {
    expect(whyOf(failure, { attempts: 5, billable: BILLABLE_MAX - 1 })).toBe('retry')
    expect(whyOf(failure, { attempts: 6, billable: BILLABLE_MAX })).toBe('page')
  })

  it('a 200 that is not a page: up to 5 consecutive ones over all requests, because each may be billed', () => {
    const most = UNREADABLE_IN_A_ROW_MAX
    for (const failure of [notAPage, aStatus(204)]) {
      expect(whyOf(failure, { unreadableInARow: most - 1 })).toBe('retry')
      expect(whyOf(failure, { unreadableInARow: most })).toBe('unreadable')
    }
    expect(whyOf(noAnswer, { unreadableInARow: most })).toBe('retry')
  })

  it.each([
    ['500', aStatus(500)],
    ['a broken connection', noAnswer],
    ['a refused connection', refused],
  ])('%s: until max_wait has passed without an answer', (_what, failure) => {
    expect(whyOf(failure, { outageMs: 15 * MINUTE - 1 })).toBe('retry')
    expect(whyOf(failure, { outageMs: 15 * MINUTE })).toBe('outage')
    // The backfill yielded to the nightly run for an hour: two failures say nothing about that time.
    expect(whyOf(failure, { outageMs: 60 * MINUTE, failuresInARow: 2 })).toBe('retry')
  })

  it('no connection from the beginning: 8 s and 2 attempts, and waits of 2 s at most', () => {
    const never = { previousWaitMs: 20 * SECOND, random: 0.9 }
    const short = aState({ ...never, attempts: 9, outageMs: 7_999 })
    expect(decideRetry(unreachable, short)).toMatchObject({ kind: 'retry', waitMs: 2 * SECOND })
    expect(whyOf(unreachable, { ...never, attempts: 1, outageMs: MINUTE })).toBe('retry')
    expect(whyOf(unreachable, { ...never, attempts: 2, outageMs: 8_000 })).toBe('unreachable')
    expect(whyOf(refused, { ...never, attempts: 2, outageMs: 8_000 })).toBe('retry')
  })

  it('of 1 s to 3 times the last wait, and never over 30 s (property)', () => {
    const waits = fc.double({ min: 0, max: 10 * MINUTE, noNaN: true })
    fc.assert(
      fc.property(
        waits,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (previousWaitMs, random) => {
          const decision = decideRetry(noAnswer, aState({ previousWaitMs, random }))
          if (decision.kind !== 'retry') throw new Error(decision.kind)
          expect(decision.waitMs).toBeGreaterThanOrEqual(SECOND)
          expect(decision.waitMs).toBeLessThanOrEqual(
            Math.min(30 * SECOND, Math.max(SECOND, previousWaitMs * 3)),
          )
        },
      ),
    )
  })
})
