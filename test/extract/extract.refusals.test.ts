import { describe, expect, it } from 'vitest'
import type { Fault } from '../../src/simulator/faults.ts'
import { anEvent, manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import {
  anExtraction,
  errorOf,
  expectEqualBooks,
  batchesOf,
  watchUnhandledRejections,
} from './extract-fixture.ts'

const fifty = Array.from({ length: 50 }, (_, i) => `org_${String(i).padStart(2, '0')}x`)
const eachItsBatch = (ids: readonly string[]) =>
  ids.flatMap((id, i) => batchesOf([id], { batch_id: String(i).padStart(4, '0') }))

describe('a refused key stops the run', () => {
  it.each([
    { status: 401, key: 'wrong-key', concurrency: 1, most: 1 },
    { status: 403, key: 'poor-key', concurrency: 8, most: 8 },
  ])(
    '$status: at most $most requests with $concurrency workers, exit 3, 0 credits',
    async ({ status, key, concurrency, most }) => {
      const rejections = watchUnhandledRejections()
      const source = fifty.map((organization) => anEvent({ organization }))
      const simulator = await simulate(source, { keysWithoutPlan: ['poor-key'] })
      const extraction = anExtraction({
        simulator,
        batches: eachItsBatch(fifty),
        key,
      })
      const error = await errorOf(extraction.run({ concurrency }))
      expect(error).toMatchObject({ name: 'RefusedError', exitCode: 3, context: { status } })
      expect(error.message).not.toContain(key)
      expect(simulator.account().requests).toBeLessThanOrEqual(most)
      expect(simulator.account().requests).toBeGreaterThan(0)
      expect(extraction.ledger().total).toBe(0)
      expect(JSON.stringify([extraction.records(), extraction.log])).not.toContain(key)
      expect(rejections()).toEqual([])
    },
  )

  it.each([404, 405, 410, 422, 301])(
    '%i means a wrong address: 1 request, exit 2, the address is named',
    async (status) => {
      const faults: Fault[] = [{ status, times: 'always', message: 'nothing here' }]
      const simulator = await simulate(manyEvents(3), { faults })
      const extraction = anExtraction({
        simulator,
      })
      const error = await errorOf(extraction.run())
      expect(error).toMatchObject({ exitCode: 2 })
      expect(error.message).toContain(`${status} from ${simulator.url}`)
      expect(simulator.account().requests).toBe(1)
    },
  )
})

describe('402: the account is empty', () => {
  it.each([
    { concurrency: 1, most: 11 },
    { concurrency: 8, most: 18 },
  ])(
    'stops the run at once with exit 4 and is not asked again: at most $most requests with $concurrency workers; 10 pages are kept',
    async ({ concurrency, most }) => {
      const source = fifty.map((organization) => anEvent({ organization }))
      const simulator = await simulate(source)
      const extraction = anExtraction({
        simulator,
        batches: eachItsBatch(fifty),
      })
      const message = 'You have used all credits of your plan'
      simulator.setFaults(
        fifty
          .slice(10)
          .map((id) => ({ organization_id: id, status: 402, message, times: 'always' as const })),
      )
      const error = await errorOf(extraction.run({ concurrency }))
      expect(error).toMatchObject({ name: 'PaymentRequiredError', exitCode: 4 })
      expect(error.message).toContain('(402): You have used all credits of your plan')
      expect(error['hint']).toMatch(/Nothing was charged for this request. Top up .* again/)
      expect(simulator.account().requests).toBeLessThanOrEqual(most)
      expect(extraction.ledger()).toEqual({ charged: 100, inDoubt: 0, total: 100 })
      simulator.setFaults([])
      await extraction.run({ concurrency })
      expect(extraction.events()).toHaveLength(50)
      expectEqualBooks(extraction, simulator)
    },
  )
})

describe('the words of the service', () => {
  const ESC = String.fromCharCode(27)
  const CSI = String.fromCharCode(0x9b)
  const forged = `bad ${ESC}[31m thing${CSI}2J\r\n\u2028jobtide: forged \u202eline\u2066`

  it.each([400, 401, 402, 403, 404])(
    'of a %i reach nobody with control characters, line ends or turned writing',
    async (status) => {
      const simulator = await simulate(manyEvents(3), {
        faults: [{ status, message: forged, times: 'always' }],
      })
      const extraction = anExtraction({
        simulator,
      })
      const error = await errorOf(extraction.run())
      expect(error.message).toContain('bad [31m thing 2J jobtide: forged line')
      const kept = JSON.stringify([error.message, extraction.log, extraction.records()])
      expect(kept).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028]|\\u00|\\[rn]/u)
    },
  )
})

describe('400 that is not about a company', () => {
  it('stops the run after 1 request: asking with fewer would not help', async () => {
    const faults: Fault[] = [{ status: 400, message: 'page must be a number', times: 'always' }]
    const simulator = await simulate(manyEvents(3), { faults })
    const extraction = anExtraction({
      simulator,
      batches: batchesOf(['org_a', 'org_b']),
    })
    const error = await errorOf(extraction.run())
    expect(error).toMatchObject({ name: 'BadRequestError', exitCode: 2 })
    expect(error.message).toContain('page must be a number')
    expect(error['hint']).toContain('Nothing was charged')
    expect(simulator.account().requests).toBe(1)
    expect(extraction.ledger().total).toBe(0)
  })
})
