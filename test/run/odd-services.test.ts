/** A service with endless pages, in a complete run over HTTP: the exit code and the cost of the run. */

import { describe, expect, it } from 'vitest'
import { runValues } from '../../src/cli/run-result.ts'
import type { JobtideError } from '../../src/support/errors.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'
import { jobOver, nightsOf, servePages, type Asked } from './nights-fixture.ts'

/** A server whose pages are all full and promise more, and stay the same; with `isEmpty` all pages are empty. */
async function endless(isEmpty: (asked: Asked) => boolean, pagePrice = 10) {
  const { account, ...service } = await servePages((asked) => {
    const { page, organization_ids: [organization = 'org_1'] = [] } = asked
    const people = Array.from({ length: isEmpty(asked) ? 0 : 50 }, (_, i) => `per_${page}_${i}`)
    const data = people.map((person) => anEvent({ person, organization }))
    return { data, has_more: data.length > 0 }
  }, pagePrice)
  return { ...service, credits: () => account.credits }
}

it('pages that cost 20 exceed a budget of 10 once: the next run knows the price, and sends nothing', async () => {
  const service = await endless(({ page }) => page > 2, 20)
  const nights = nightsOf(service, { ...jobOver(['org_1']), creditsLimit: 10 })
  for (let night = 1; night <= 2; night += 1) {
    const { endedEarly } = await nights.night(service.clock.nowMs)
    expect(endedEarly).toMatchObject({
      exitCode: 4,
      message: expect.stringMatching(
        /of 10 credits is reached \(\d+ spent, and a request may cost 20\)/,
      ),
    })
    expect(service.credits()).toBe(20)
  }
})

const NOTHING_COVERED = /^no organisation could be fetched to its end: org_0: more than 10000 pages/

describe('a run that covered nothing', () => {
  const cases = [
    {
      what: 'all pages are full',
      of: 8,
      isEmpty: () => false,
      credits: 180,
      cause: /one day of org_\d/,
    },
    { what: 'all pages are full', of: 50, isEmpty: () => false, credits: 180, cause: /one day of/ },
    {
      what: 'all pages are full but those of one day',
      of: 1,
      isEmpty: ({ days_ago: days }: Asked) => days === 1,
      credits: 660,
      cause: NOTHING_COVERED,
    },
  ]
  it.each(cases)(
    'does not succeed if $what: $of organisations give exit 5 for at most $credits credits',
    async ({ of, isEmpty, credits, cause }) => {
      const service = await endless(isEmpty)
      const names = Array.from({ length: of }, (_, i) => `org_${i}`)
      const nights = nightsOf(service, jobOver(names))
      const report = await nights.night(service.clock.nowMs)
      expect(runValues(report)).toMatchObject({
        exitCode: 5,
        complete: false,
        extract: { batchesDone: 0 },
      })
      expect(report.endedEarly?.message).toMatch(cause)
      expect(service.credits()).toBeLessThanOrEqual(credits)
      // The second time, uncoverable organisations are left out, so nothing is left to ask.
      const again = await nights.night(service.clock.nowMs).then(
        ({ endedEarly }) => endedEarly,
        (error: JobtideError) => error,
      )
      expect([2, 5]).toContain(again?.exitCode)
      expect(service.credits()).toBeLessThanOrEqual(credits + 30)
    },
  )
})
