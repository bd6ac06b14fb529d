import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { anEvent, manyEvents, NOW, simulate } from './simulator-fixture.ts'

describe('the rate limit of the plan', () => {
  const rateLimit = { requests: 3, windowMs: MINUTE }
  const ratesOf = (answer: { headers: Record<string, unknown> }) =>
    ['limit', 'remaining', 'reset'].map((name) => answer.headers[`x-ratelimit-${name}`])

  it('lets in 3 requests a minute, counts down in the headers, and answers 429 to the fourth', async () => {
    const simulator = await simulate([anEvent()], { rateLimit })
    expect(ratesOf(await simulator.post({}))).toEqual(['3', '2', '60'])
    expect(ratesOf(await simulator.post({}))).toEqual(['3', '1', '60'])
    simulator.clock.nowMs += 20 * SECOND
    expect(ratesOf(await simulator.post({}))).toEqual(['3', '0', '40'])
    const refused = await simulator.post({})
    expect([refused.status, ...ratesOf(refused)]).toEqual([429, '3', '0', '40'])
    expect(refused.body.credit_used).toBe(0)
    expect(simulator.account()).toMatchObject({ by_status: { 200: 3, 429: 1 }, credits: 30 })
  })

  it('slides: each request makes room a minute after it was let in, to the millisecond', async () => {
    const simulator = await simulate([anEvent()], { rateLimit })
    const status = async (atMs: number) => {
      simulator.clock.nowMs = NOW + atMs
      return (await simulator.post({})).status
    }
    expect([await status(0), await status(30_000), await status(30_000)]).toEqual([200, 200, 200])
    const later = []
    for (const at of [59_999, 60_000, 60_000, 89_999, 90_000, 90_000, 90_000]) {
      later.push(await status(at))
    }
    expect(later).toEqual([429, 200, 429, 429, 200, 200, 429])
  })
})

describe('the control paths', () => {
  it('show the account without a key, and are not in the account', async () => {
    const simulator = await simulate(manyEvents(2))
    await simulator.post({})
    const account = await simulator.send('GET', '/_simulator/account')
    expect(account.body).toEqual(JSON.parse(JSON.stringify(simulator.account())))
    expect(account.body).toMatchObject({ requests: 1, credits: 10 })
  })

  it('move the clock', async () => {
    const simulator = await simulate([anEvent({ detectedAt: NOW + HOUR })])
    expect((await simulator.post({})).body.data).toHaveLength(0)
    const moved = await simulator.send('POST', '/_simulator/clock', `{"advance_ms":${HOUR}}`)
    expect(moved.body).toEqual({ now: '2026-06-15T13:00:00.000Z' })
    const clock = await simulator.send('GET', '/_simulator/clock')
    expect(clock.body).toEqual({ jobtide_simulator: true, now: '2026-06-15T13:00:00.000Z' })
    expect((await simulator.post({})).body.data).toHaveLength(1)
  })

  it.each([
    ['POST', 'clock', '{"advance_ms":-1}', 400],
    ['POST', 'clock', 'soon', 400],
    ['GET', 'nothing', undefined, 404],
  ] as const)('%s /_simulator/%s %s: %i', async (method, path, body, status) => {
    const simulator = await simulate([anEvent()])
    expect((await simulator.send(method, `/_simulator/${path}`, body)).status).toBe(status)
  })
})
