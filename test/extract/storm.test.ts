import { describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../src/support/units.ts'
import type { ScriptedAnswer } from './buying-fixture.ts'
import { errorOf } from './extract-fixture.ts'
import { aStorm, pagesOf } from './weather.ts'

const soon: ScriptedAnswer = { takesMs: 200, status: 500 }
const storms: { name: string; answer: ScriptedAnswer }[] = [
  {
    name: '503 with Retry-After: 60',
    answer: { ...soon, status: 503, headers: { 'retry-after': '60' } },
  },
  {
    name: '503 with Retry-After: 1',
    answer: { ...soon, status: 503, headers: { 'retry-after': '1' } },
  },
  { name: '503 without Retry-After', answer: { ...soon, status: 503 } },
  {
    name: '429 with Retry-After: 1',
    answer: { ...soon, status: 429, headers: { 'retry-after': '1' } },
  },
  { name: '500', answer: soon },
  { name: '502 after 10 s', answer: { takesMs: 10 * SECOND, status: 502 } },
  { name: 'resets, each perhaps charged', answer: { ...soon, status: null, charge: 10 } },
]

describe('a storm of 10 minutes', () => {
  it.each([
    ...storms.map((storm) => ({ ...storm, pages: 100 })),
    { name: '500', answer: soon, pages: 400 },
  ])(
    '$name: $pages pages are bought with a probe each 30 s, 21 at most, and the 8 in flight more; after it none fails',
    async ({ answer, pages }) => {
      const stormy = aStorm(answer, 2 * SECOND, 10 * MINUTE)
      const endsAt = stormy.clock.now() + 2 * SECOND + 10 * MINUTE
      await stormy.buy(pages)
      const { account } = stormy.service
      expect(account.length).toBeLessThanOrEqual(pages + 21 + 8)
      expect(account.filter(({ status }) => status === 200)).toHaveLength(pages)
      // The first probe after it succeeds.
      const after = account.filter(({ sentAt }) => sentAt >= endsAt)
      expect(after.filter(({ status }) => status !== 200)).toEqual([])
      expect((after[0]?.sentAt ?? Infinity) - endsAt).toBeLessThanOrEqual(125 * SECOND)
      // To the credit, what was lost on its way is counted.
      const charged = account.reduce((sum, request) => sum + request.charged, 0)
      expect(stormy.journal.history().runs.get('run_1')?.creditsCommitted).toBe(charged)
    },
  )

  it.each(storms)(
    '$name for hours: exit 5 at 15 to 18 min without an answer (max_wait), at most 45 requests',
    async ({ answer }) => {
      const stormy = aStorm(answer, 2 * SECOND, 1_000 * MINUTE)
      const beganAt = stormy.clock.now()
      const error = await errorOf(stormy.buy(400))
      expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
      expect(error.message).toMatch(
        /^the service gave no usable answer for 15 min, the last time to/,
      )
      const tookMs = stormy.clock.now() - beganAt
      expect(tookMs).toBeGreaterThanOrEqual(15 * MINUTE)
      expect(tookMs).toBeLessThanOrEqual(18 * MINUTE)
      expect(stormy.service.account.length - pagesOf(stormy)).toBeLessThanOrEqual(45)
    },
  )
})
