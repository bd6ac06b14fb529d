import { describe, expect, it } from 'vitest'
import type { Obstacle } from '../../src/api/unreachable.ts'
import { MINUTE, SECOND } from '../../src/support/units.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import type { ScriptedAnswer } from './buying-fixture.ts'
import { errorOf } from './extract-fixture.ts'
import {
  START,
  aPage,
  aStorm,
  inDoubtOf,
  isPage,
  pagesOf,
  weather,
  type Weather,
} from './weather.ts'

/** Each kind as often as the others; a connection that breaks, a cut body and HTML may be billed. */
const kinds: ScriptedAnswer[] = [
  { takesMs: 200, status: 503, headers: { 'retry-after': '1' } },
  { takesMs: 200, status: 429, headers: { 'retry-after': '1' } },
  { takesMs: 200, status: 502 },
  { takesMs: 200, status: 500 },
  { takesMs: 200, status: null, charge: 10 },
  { takesMs: 200, status: null, charge: 0 },
  { takesMs: 200, status: 200, charge: 0, text: '<html>Please wait' },
]

/** A service that fails by chance, the same each time. */
function flaky(seed: number, share: number, of: readonly ScriptedAnswer[] = kinds): Weather {
  const random = seededRandom(seed)
  return weather(() => (random() < share ? of[Math.floor(random() * of.length)]! : aPage))
}

const RUNS = Number(process.env['JOBTIDE_WORLDS'] ?? 2)
const seeds = Array.from({ length: RUNS }, (_, i) => i + 1)

describe('a service that fails by chance slows a run down and does not end it', () => {
  it.each([{ workers: 1 }, { workers: 8 }])(
    'at 15 % of all kinds and with $workers workers buys 400 pages in one attempt with at most 520 requests',
    async ({ workers }) => {
      for (const seed of seeds) {
        const run = flaky(seed, 0.15)
        await run.buy(400, { workers, seed })
        expect(pagesOf(run)).toBe(400)
        expect(run.service.account.length).toBeLessThanOrEqual(520)
        // 80 s at 5 requests a second, and the waits.
        expect(run.clock.now() - START).toBeLessThanOrEqual(
          workers === 1 ? 15 * MINUTE : 8 * MINUTE,
        )
        // To the credit: a connection that broke and HTML are counted as if they were billed.
        const doubtful = run.service.account.filter(
          (request) => !isPage(request) && (request.status === null || request.status === 200),
        )
        expect(inDoubtOf(run)).toBe(10 * doubtful.length)
      }
    },
  )

  it.each([
    ['50 % of 502', 0.5, { takesMs: 200, status: 502 }],
    [
      '50 % of 503 with Retry-After: 1',
      0.5,
      { takesMs: 200, status: 503, headers: { 'retry-after': '1' } },
    ],
  ] as const)('at %s: 300 pages in one attempt', async (_, share, answer) => {
    const run = flaky(7, share, [answer])
    await run.buy(300, { seed: 7 })
    expect(pagesOf(run)).toBe(300)
  })

  it('begins each attempt with nothing counted: after an outage of 20 min the next attempt reads on at once', async () => {
    const run = aStorm({ takesMs: 200, status: 500 }, 2 * SECOND, 20 * MINUTE)
    await errorOf(run.buy(200))
    const before = pagesOf(run)
    await run.clock.advance(10 * MINUTE)
    const beganAt = run.clock.now()
    await run.buy(200, { from: before + 1 })
    expect(pagesOf(run)).toBe(200)
    expect(run.clock.now() - beganAt).toBeLessThanOrEqual(2 * MINUTE)
  })
})

describe('a page that always fails while others are answered', () => {
  it.each([
    ['500: 20 attempts, 0 credits in doubt', { takesMs: 200, status: 500 }, 20, 0],
    [
      'a broken connection: 6 attempts, 60 credits in doubt',
      { takesMs: 200, status: null, charge: 10 },
      6,
      60,
    ],
    [
      'HTML with 200: 6 attempts, 60 credits in doubt',
      { takesMs: 200, status: 200, charge: 0, text: '<html>' },
      6,
      60,
    ],
  ] as const)('%s; then exit 5 names it', async (_, answer, attempts, inDoubt) => {
    const run = weather(({ page }) => (page === 17 ? answer : { ...aPage, takesMs: 3_000 }))
    const error = await errorOf(run.buy(1_000, { workers: 2 }))
    expect(error).toMatchObject({ exitCode: 5 })
    expect(error.message).toMatch(
      new RegExp(
        `^page 17 of batch 0001 could not be had in ${attempts} attempts, while other requests`,
      ),
    )
    expect(run.service.account.filter(({ body }) => body['page'] === 17)).toHaveLength(attempts)
    expect(inDoubtOf(run)).toBe(inDoubt)
    expect(run.clock.now() - START).toBeLessThanOrEqual(10 * MINUTE)
  })
})

describe('a service that answers everything with HTML and 200', () => {
  it('ends the run with exit 5 after 5 answers, or 12 with 8 workers: each may be billed', async () => {
    const html: ScriptedAnswer = { takesMs: 200, status: 200, charge: 0, text: '<html>Sign in' }
    for (const [workers, most] of [
      [1, 5],
      [8, 12],
    ] as const) {
      const run = weather(() => html)
      const error = await errorOf(run.buy(400, { workers }))
      expect(error).toMatchObject({ exitCode: 5 })
      expect(error.message).toContain('something that is no page')
      expect(run.service.account.length).toBeLessThanOrEqual(most)
      expect(inDoubtOf(run)).toBe(10 * run.service.account.length)
    }
  })
})

describe('a service that cannot be reached', () => {
  const noWay = (obstacle: Obstacle, takesMs = 20): ScriptedAnswer => ({
    takesMs,
    status: null,
    charge: 0,
    obstacle,
  })

  it.each([
    ['refused', 5],
    ['name', 5],
    ['route', 5],
    ['proxy', 5],
    ['certificate', 2],
  ] as const)(
    'from the beginning (%s) ends the run with exit %i within 15 s, 0 credits',
    async (obstacle, exitCode) => {
      for (const workers of [1, 8]) {
        const run = weather(() => noWay(obstacle))
        // A second attempt ends as quickly: the first one opened no circuit breaker.
        for (const attempt of [1, 2]) {
          const beganAt = run.clock.now()
          const error = await errorOf(run.buy(400, { workers }))
          expect(error, `attempt ${attempt}`).toMatchObject({ exitCode, context: { obstacle } })
          expect(error['hint']).toMatch(
            obstacle === 'certificate' ? /NODE_EXTRA_CA_CERTS/ : /HTTPS_PROXY/,
          )
          expect(run.clock.now() - beganAt).toBeLessThanOrEqual(15 * SECOND)
        }
        expect(inDoubtOf(run)).toBe(0)
      }
    },
  )

  it('because connections time out after 10 s ends it within 30 s', async () => {
    const run = weather(() => noWay('timeout', 10 * SECOND))
    expect(await errorOf(run.buy(400))).toMatchObject({ exitCode: 5 })
    expect(run.clock.now() - START).toBeLessThanOrEqual(30 * SECOND)
  })

  it('for 5 s, as a service that is just being started, does not end it', async () => {
    const run = weather(({ afterMs }) => (afterMs < 5 * SECOND ? noWay('refused') : aPage))
    await run.buy(20)
    expect(pagesOf(run)).toBe(20)
  })

  it.each(['refused', 'certificate'] as const)(
    'for 10 min after a page came (%s) is an outage like any other: the run goes on',
    async (obstacle) => {
      const run = aStorm(noWay(obstacle), 2 * SECOND, 10 * MINUTE)
      await run.buy(100)
      expect(pagesOf(run)).toBe(100)
      expect(run.service.account.length - 100).toBeLessThanOrEqual(21 + 8)
    },
  )
})
