/** The shapes in which services say how long to wait, found in the wild and made up. */

import type { Headers } from '../../src/api/retry-after.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'

/** The service's clock; ours is 1 h ahead of it, so that a wait measured by ours is wrong by an hour. */
export const SERVER = Date.UTC(2026, 10, 20, 10)
export const OURS = SERVER + HOUR
export const DATE = new Date(SERVER).toUTCString()
export const epochSeconds = SERVER / SECOND

const after = (value: string): Headers => ({ date: DATE, 'retry-after': value })
const reset = (value: string): Headers => ({ date: DATE, 'x-ratelimit-reset': value })
const both = (retryAfter: string, resetAt: string): Headers => ({
  ...after(retryAfter),
  ...reset(resetAt),
})

/** What a service says, and the wait that it means, in milliseconds; undefined for none. */
type Row = readonly [what: string, headers: Headers, waitMs: number | undefined]

const RETRY_AFTER: readonly Row[] = [
  ['60 seconds', after('60'), MINUTE],
  ['0 seconds: a moment, no storm', after('0'), SECOND],
  ['blanks around', after('  60 '), MINUTE],
  ['31 days: cut to 30', after('2678400'), 30 * DAY],
  ['10^12 seconds: cut to 30 days', after('1000000000000'), 30 * DAY],
  ['an epoch in seconds is seconds here, cut', after(String(epochSeconds + 60)), 30 * DAY],
  ['negative', after('-5'), undefined],
  ['a fraction', after('1.5'), undefined],
  ['a duration', after('6m0s'), undefined],
  ['a sentence with a number', after('wait 2030'), undefined],
  ['a list', after('60, 120'), undefined],
  ['empty', after(''), undefined],
  ['digits that are not ASCII', after('６０'), undefined],
  ['20 digits', after('9'.repeat(20)), undefined],
  ['IMF-fixdate 90 s ahead', after('Fri, 20 Nov 2026 10:01:30 GMT'), 90 * SECOND],
  ['RFC 850 date', after('Friday, 20-Nov-26 10:01:30 GMT'), 90 * SECOND],
  ['asctime, which has no zone', after('Fri Nov 20 10:01:30 2026'), 90 * SECOND],
  ['lower case', after('fri, 20 nov 2026 10:01:30 gmt'), 90 * SECOND],
  ['a date with an offset', after('Fri, 20 Nov 2026 11:01:30 +0100'), 90 * SECOND],
  ['ISO 8601', after('2026-11-20T10:01:30Z'), 90 * SECOND],
  ['ISO 8601 with milliseconds', after('2026-11-20T10:01:30.250Z'), 90_250],
  ['ISO 8601 without a zone', after('2026-11-20T10:01:30'), 90 * SECOND],
  ['a day', after('2026-11-21'), 14 * HOUR],
  ['this very second', after(DATE), SECOND],
  ['a date in the past', after('Fri, 20 Nov 2026 09:59:59 GMT'), undefined],
  ['a date 31 days ahead: cut', after('Mon, 21 Dec 2026 10:00:00 GMT'), 30 * DAY],
  ['no such hour', after('Fri, 20 Nov 2026 25:01:30 GMT'), undefined],
  ['a date with words behind it', after('Fri, 20 Nov 2026 10:01:30 GMT or so'), undefined],
]

const RESET: readonly Row[] = [
  ['seconds from now', reset('45'), 45 * SECOND],
  ['a fraction of seconds', reset('45.5'), 45_500],
  ['0', reset('0'), SECOND],
  ['just under 10^7 s, cut to 30 days', reset('9999999'), 30 * DAY],
  ['10^7: neither', reset('10000000'), undefined],
  ['just under 10^9: neither', reset('999999999'), undefined],
  ['epoch seconds', reset(String(epochSeconds + 45)), 45 * SECOND],
  ['epoch seconds with a fraction', reset(`${epochSeconds + 45}.5`), 45_500],
  ['epoch seconds in the past', reset(String(epochSeconds - 1)), undefined],
  ['10^10: neither', reset('10000000000'), undefined],
  ['epoch milliseconds', reset(String(SERVER + 45_250)), 45_250],
  ['10^13: neither', reset('10000000000000'), undefined],
  ['epoch microseconds: neither', reset(String(SERVER * 1_000)), undefined],
  ['an HTTP date', reset('Fri, 20 Nov 2026 10:00:45 GMT'), 45 * SECOND],
  ['what JavaScript prints', reset('Fri Nov 20 2026 11:00:45 GMT+0100 (CET)'), 45 * SECOND],
  ['ISO 8601', reset('2026-11-20T10:00:45Z'), 45 * SECOND],
  ['negative', reset('-45'), undefined],
]

const TOGETHER: readonly Row[] = [
  ['Retry-After wins when longer', both('60', '5'), MINUTE],
  ['Retry-After wins when shorter', both('5', '60'), 5 * SECOND],
  ['garbage in Retry-After leaves the reset', both('soon', '60'), MINUTE],
  ['a past Retry-After leaves the reset', both('2026-01-01', '60'), MINUTE],
  ['nothing at all', { date: DATE }, undefined],
  ['a repeated header: the first counts', { date: DATE, 'retry-after': ['60', '5'] }, MINUTE],
  ['other headers only', { date: DATE, 'ratelimit-reset': '60', 'retry-after-ms': '5' }, undefined],
]

export const ALL = [...RETRY_AFTER, ...RESET, ...TOGETHER]
