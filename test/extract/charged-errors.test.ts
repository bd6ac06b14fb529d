/** Answers that should be free, and name a charge: the ledger books it, for every endpoint and every status. */

import { describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../src/api/endpoints/endpoints.ts'
import { load } from '../../src/load/load.ts'
import { aJournal } from '../journal/journal-fixture.ts'
import { memory } from '../load/load-fixture.ts'
import { aCollection } from './collect-fixture.ts'
import { aRun, aService, batchOf, type Service } from './extract-fixture.ts'

const STATUSES = [400, 402, 404, 410, 422, 500, 502, 503] as const

const body = (charge: unknown) =>
  JSON.stringify({ success: false, message: 'no', data: null, credit_used: charge })

/** A service that answers everything with this status, and charges for it. */
function charging(status: number, charge: number, text: string): Service {
  const service = aService(() => ({ status, text, charge, takesMs: 1000 }))
  // A GET request has no body.
  return { ...service, send: (path, asked, signal) => service.send(path, asked ?? {}, signal) }
}

describe.each(STATUSES)('%i with a charge', (status) => {
  it.each([...ENDPOINTS.values()])('counts in the ledger of $name', async (endpoint) => {
    const service = charging(status, 3, body(3))
    const run = aCollection(service, endpoint, { [endpoint.subject]: 'one' })
    await run.collect().catch(() => undefined)
    expect(service.charged()).toBeGreaterThan(0)
    expect(run.ledger()).toBe(service.charged())
  })

  it('counts in the ledger of job changes', async () => {
    const service = charging(status, 20, body(20))
    const run = aRun(service, [batchOf(['org_1'])])
    await run.extract({ creditsLimit: 1_000 }).catch(() => undefined)
    expect(service.charged()).toBeGreaterThan(0)
    expect(run.ledger().total).toBe(service.charged())
  })
})

const jobDetails = ENDPOINTS.get('job-details')
if (jobDetails === undefined) throw new Error('no job-details')

describe('404 of a posting', () => {
  it.each([
    ['no charge', { success: false }, 0, undefined],
    ['0', { credit_used: 0 }, 0, undefined],
    ['null', { credit_used: null }, 0, undefined],
    ['1', { credit_used: 1 }, 1, undefined],
    ['10', { credit_used: 10 }, 10, undefined],
    ['a fraction', { credit_used: 0.5 }, 1, '0.5'],
    ['a text', { credit_used: '1' }, 1, '"1"'],
    ['a sum that is no price', { credit_used: 1e9 }, 1, '1000000000'],
    ['a negative', { credit_used: -1 }, 0, '-1'],
  ])('with %s', async (_, said, credits, sent) => {
    const service = aService(() => ({ status: 404, text: JSON.stringify(said) }))
    const run = aCollection(service, jobDetails, { job_id: '7' })
    const { unexpectedCharges } = await run.collect()
    expect(run.ledger()).toBe(credits)
    expect(run.answers()).toMatchObject([{ outcome: 'absent', credits_used: credits }])
    expect(run.answers()[0]?.credits_sent).toBe(sent)
    expect(unexpectedCharges).toBe(credits > 0 || sent !== undefined ? 1 : 0)
  })

  it('counts in the budget: 3 of 20 leave with a limit of 15 credits', async () => {
    const service = charging(404, 5, body(5))
    const ids = Array.from({ length: 20 }, (_, n) => ({ job_id: String(n + 1) }))
    const run = aCollection(service, jobDetails, ...ids)
    const error = await run
      .collect({ creditsLimit: 15, concurrency: 1 })
      .catch((caught: unknown) => caught)
    expect(error).toMatchObject({ exitCode: 4 })
    expect([service.account.length, run.ledger()]).toEqual([3, 15])
  })
})

it('an error with a charge has that charge in ops.pages, as credits that may have been billed', async () => {
  const service = aService(({ nth }) =>
    nth === 1
      ? { status: 500, text: body(30), charge: 30 }
      : nth === 2
        ? { status: 500, text: body(4), charge: 4 }
        : { data: [], charge: 0 },
  )
  const extraction = aRun(service, [batchOf(['org_1'])])
  await extraction.extract({ creditsLimit: null })
  const journal = aJournal()
  const writer = journal.writer()
  for (const { record, payload } of extraction.frames) writer.write(record, payload())
  await writer.close()
  const warehouse = await memory()
  await load({ warehouse, journal })
  const rows = 'select outcome, credits_used from ops.pages order by requested_at, request_id'
  expect(await warehouse.all(rows)).toEqual([
    { outcome: 'in_doubt', credits_used: 30 },
    { outcome: 'in_doubt', credits_used: 4 },
    { outcome: 'received', credits_used: 0 },
  ])
})
