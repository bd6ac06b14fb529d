import { describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../src/support/units.ts'
import { anEvent, NOW, simulate } from './simulator-fixture.ts'

describe('the rate limit of the plan', () => {
  const rateLimit = { requests: 3, windowMs: MINUTE }
  const ratesOf = (answer: { headers: Record<string, unknown> }) =>
    ['limit', 'remaining', 'reset'].map((name) => answer.headers[`x-ratelimit-${name}`])

  it('accepts 3 requests a minute, counts down in the headers, and answers 429 to the fourth', async () => {
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

  it('slides: each request is free again a minute after it was accepted, to the millisecond', async () => {
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
