import { describe, expect, it } from 'vitest'
import type { Fault } from '../../src/simulator/faults.ts'
import { manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import {
  anExtraction,
  expectEqualBooks,
  failuresOf,
  batchesOf,
  watchUnhandledRejections,
  type Extraction,
} from './extract-fixture.ts'

const people = (extraction: Extraction) =>
  extraction.events().map(({ person }) => person.profile_id)

describe('a request that brings no whole page is sent again whole', () => {
  const cases: { name: string; fault: Fault; inDoubt: number }[] = [
    { name: 'status 500', fault: { status: 500 }, inDoubt: 0 },
    { name: 'status 502', fault: { status: 502 }, inDoubt: 0 },
    { name: 'status 504 in HTML', fault: { status: 504, body: '<html>' }, inDoubt: 0 },
    { name: 'a body cut in the middle', fault: { cut: '50%' }, inDoubt: 10 },
    { name: 'a body cut at once', fault: { cut: 0 }, inDoubt: 10 },
    { name: 'a reset connection', fault: { reset: true, charged: true }, inDoubt: 10 },
    { name: 'a gzip body cut in the middle', fault: { gzip_cut: '50%' }, inDoubt: 10 },
    {
      name: 'a body that is no JSON',
      fault: { status: 200, body: '{"data":[}}]', charged: true },
      inDoubt: 10,
    },
    {
      name: 'a web page with status 200',
      fault: { status: 200, body: '<html>', charged: true },
      inDoubt: 10,
    },
    {
      name: 'JSON that is no page',
      fault: { status: 200, body: { data: 1 }, charged: true },
      inDoubt: 10,
    },
  ]
  it.each(cases)(
    '$name: one more request, $inDoubt credits in doubt',
    async ({ fault, inDoubt }) => {
      const simulator = await simulate(manyEvents(120), { faults: [{ page: 2, ...fault }] })
      const extraction = anExtraction({
        simulator,
      })
      await extraction.run({ concurrency: 1 })
      expect(people(extraction)).toEqual(manyEvents(120).map(({ person }) => person.profile_id))
      expect(simulator.account().log.map(({ page }) => page)).toEqual([1, 2, 2, 3])
      expect(failuresOf(extraction)).toMatchObject([{ page: 2, in_doubt: inDoubt > 0 }])
      expect(extraction.ledger()).toEqual({ charged: 30, inDoubt, total: 30 + inDoubt })
      expectEqualBooks(extraction, simulator)
    },
  )

  it('a fifth of all requests failing in every way loses no event and no credit', async () => {
    const rejections = watchUnhandledRejections()
    const organizations = Array.from({ length: 6 }, (_, i) => `org_${i}x`)
    const source = organizations.flatMap((organization) => manyEvents(130, { organization }))
    const kinds: Fault[] = [
      { status: 500 },
      { cut: '30%' },
      { reset: true, charged: true },
      { gzip_cut: '90%' },
      { status: 200, body: '<html>', charged: true },
    ]
    const faults = kinds.map((kind, i) => ({
      ...kind,
      probability: 0.04,
      seed: 40 + i,
      times: 'always' as const,
    }))
    const simulator = await simulate(source, { faults })
    const batches = organizations.flatMap((id, i) => batchesOf([id], { batch_id: `000${i}` }))
    const extraction = anExtraction({ simulator, batches })
    await extraction.run({ concurrency: 3 })
    expect(failuresOf(extraction).length).toBeGreaterThan(0)
    expect(extraction.events()).toHaveLength(6 * 130)
    expectEqualBooks(extraction, simulator)
    expect(rejections()).toEqual([])
  })
})
