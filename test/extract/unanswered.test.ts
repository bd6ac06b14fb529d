/** Items that are never answered among items that are: how a run treats them, and with how many requests. */

import { describe, expect, it } from 'vitest'
import { companySearch } from '../../src/api/endpoints/companies.ts'
import { jobDetails } from '../../src/api/endpoints/job-details.ts'
import { Pacer } from '../../src/api/pacer.ts'
import { MINUTE, SECOND } from '../../src/support/units.ts'
import { aCollection } from './collect-fixture.ts'
import { aService, errorOf, type Answered } from './extract-fixture.ts'

const idsOf = (count: number) => Array.from({ length: count }, (_, n) => String(n + 1))

const found = (id: unknown): Answered => ({
  text: JSON.stringify({ success: true, data: { job_posting_id: id }, credit_used: 1 }),
  charge: 1,
})

/** A run over postings 1 to `count`; some of them always get the answer `bad`. */
function postings(count: number, isBad: (id: number) => boolean, bad: Answered) {
  const service = aService(({ body }) =>
    isBad(Number(body['job_id']))
      ? { takesMs: 100, ...bad }
      : { takesMs: 100, ...found(body['job_id']) },
  )
  const run = aCollection(service, jobDetails, ...idsOf(count).map((job_id) => ({ job_id })))
  const answered = () => run.answers().map(({ subject }) => subject)
  const asked = (id: string) => service.account.filter(({ body }) => body['job_id'] === id).length
  return { service, run, answered, asked }
}

const FREE = { success: false, message: 'try again', data: null, credit_used: 0 }
const NEVER: readonly (readonly [
  what: string,
  Answered,
  exit: number,
  says: string,
  most: number,
])[] = [
  ['502', { status: 502, message: 'not retrieved' }, 5, '502: not retrieved', 5],
  ['500', { status: 500, message: 'no' }, 5, '500: no', 5],
  ['410', { status: 410, message: 'gone' }, 2, '410: gone', 1],
  ['422', { status: 422, message: 'odd' }, 2, '422: odd', 1],
  ['200 and success: false', { text: JSON.stringify(FREE) }, 5, '200: no success: try again', 5],
  ['200 and no posting', { text: '{"data":{},"credit_used":1}' }, 5, 'no posting', 2],
  ['a connection that breaks', { status: null }, 5, 'connection reset', 5],
]

describe.each(NEVER)('%s forever', (_, bad, exitCode, says, most) => {
  it.each([1, 4])(
    `by 1 of 19 postings, requested first by %i workers: the other 18 are answered, and it is requested ${most} times and recorded`,
    async (concurrency) => {
      const { run, answered, asked, service } = postings(19, (id) => id === 1, bad)
      const { quarantined, batchesDone } = await run.collect({ concurrency })
      expect(answered().toSorted()).toEqual(idsOf(19).slice(1).toSorted())
      expect(quarantined).toEqual([
        {
          organization: { by: 'url', value: '1' },
          reason: expect.stringContaining(says) as string,
        },
      ])
      expect(batchesDone).toBe(18)
      expect(asked('1')).toBeLessThanOrEqual(most)
      expect(service.clock.monotonic()).toBeLessThan(5 * MINUTE)
      expect(run.ledger()).toBeLessThanOrEqual(18 + most)
    },
  )

  it('by 4 of 19 postings, the first ones: the other 15 are answered by 1 worker', async () => {
    const { run, answered } = postings(19, (id) => id <= 4, bad)
    const work = run.collect({ concurrency: 1 })
    // Five consecutive unreadable answers, each perhaps billed, still end a run without any answer.
    if (most === 2) expect(await errorOf(work)).toMatchObject({ exitCode })
    else {
      expect((await work).quarantined).toHaveLength(4)
      expect(answered()).toHaveLength(15)
    }
  })

  it(`by all of 40: exit ${exitCode}, with the message of the service, after at most 20 of them`, async () => {
    const { run, service } = postings(40, () => true, bad)
    const error = await errorOf(run.collect({ concurrency: 1 }))
    expect(error).toMatchObject({ exitCode })
    expect(error.message).toContain(says.replace(/^\d+: /, ''))
    expect(new Set(service.account.map(({ body }) => body['job_id'])).size).toBeLessThanOrEqual(20)
  })

  it(`by the only one: exit ${exitCode}`, async () => {
    const { run } = postings(1, () => true, bad)
    expect(await errorOf(run.collect())).toMatchObject({ exitCode })
  })
})

it('names 6 attempts where the only one fails 6 times, and does not say that others were answered', async () => {
  const { run, asked } = postings(1, () => true, { status: null })
  const { message } = await errorOf(run.collect())
  expect(message).toBe('page 1 of batch 000001 failed in 6 attempts: connection reset')
  expect(asked('1')).toBe(6)
})

it('does not say that the service named a time where a run of 20 s would wait for its own trial', async () => {
  const { run, service } = postings(12, () => true, { status: 500, message: 'down', takesMs: 100 })
  const maxWaitMs = 20 * SECOND
  const pacer = new Pacer(service.clock, null, maxWaitMs)
  const { message, hint } = await errorOf(run.collect({ maxWaitMs, pacer }))
  expect(message).toBe('the service gave no usable answer: down')
  expect(hint).toContain('Run the same command again later')
})

it('a run waits for the end of an outage of 8 minutes in the middle of 30 postings: all are answered', async () => {
  const service = aService(({ body, afterMs }) =>
    afterMs > SECOND && afterMs < 8 * MINUTE
      ? { status: 500, message: 'down' }
      : { takesMs: 100, ...found(body['job_id']) },
  )
  const run = aCollection(service, jobDetails, ...idsOf(30).map((job_id) => ({ job_id })))
  const { quarantined } = await run.collect({ concurrency: 1 })
  expect(run.answers()).toHaveLength(30)
  expect(quarantined).toEqual([])
})

it('an endless outage in the middle of 60 postings ends the run with exit 5', async () => {
  const service = aService(({ body, afterMs }) =>
    afterMs > SECOND
      ? { status: 500, message: 'down' }
      : { takesMs: 100, ...found(body['job_id']) },
  )
  const run = aCollection(service, jobDetails, ...idsOf(60).map((job_id) => ({ job_id })))
  expect(await errorOf(run.collect({ concurrency: 4 }))).toMatchObject({ exitCode: 5 })
  expect(run.answers().length).toBeGreaterThan(4)
})

it('a key that is refused, and an order to wait, end the run at the first posting', async () => {
  for (const [status, exitCode] of [
    [401, 3],
    [402, 4],
    [403, 3],
  ] as const) {
    const { run, service } = postings(19, (id) => id === 1, { status, message: 'no' })
    expect(await errorOf(run.collect({ concurrency: 1 }))).toMatchObject({ exitCode })
    expect(service.account).toHaveLength(1)
  }
  const wait = { status: 503, message: 'full', headers: { 'retry-after': '3600' } }
  const { run, service } = postings(19, (id) => id === 1, wait)
  expect(await errorOf(run.collect({ concurrency: 1 }))).toMatchObject({ exitCode: 5 })
  expect(service.account).toHaveLength(1)
})

const LATER = { error: 'not yet', retryable: true, credit_used: 0 }

it.each<[string, Answered, string]>([
  ['fails for ever', { status: 502, message: 'no' }, '502: no'],
  ['is for later for ever', { text: JSON.stringify(LATER) }, 'the service has no answer yet'],
])(
  'page 2 of 1 of 3 lists %s: the others are read, exit 5, and the resumed run buys no page again',
  async (_, bad, says) => {
    let isWell = false
    const service = aService(({ page, body }) => {
      if (body['keyword'] === 'a' && page === 2 && !isWell) return bad
      const items = [{ id: page }, { id: page + 10 }]
      const data = { items, total: 4, total_pages: 2 }
      return { text: JSON.stringify({ status: 'ok', data, credit_used: 5 }), charge: 5 }
    })
    const run = aCollection(
      service,
      companySearch,
      ...['a', 'b', 'c'].map((keyword) => ({ keyword })),
    )
    const error = await errorOf(run.collect({ concurrency: 1 }))
    expect(error).toMatchObject({ exitCode: 5, message: `page 2 of a: ${says}` })
    expect(run.answers().filter(({ outcome }) => outcome === 'found')).toHaveLength(5)
    isWell = true
    expect((await run.collect()).quarantined).toEqual([])
    expect(service.charged()).toBe(30)
  },
)
