import { describe, expect, it } from 'vitest'
import { Budget } from '../../src/extract/budget.ts'
import { SECOND } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import {
  aPageBuyer,
  memoryJournal,
  scriptedService,
  type ScriptedAnswer,
} from './buying-fixture.ts'
import { errorOf, batchesOf } from './extract-fixture.ts'

const batch = batchesOf(['org_a', 'org_b'])[0]!
const aPage: ScriptedAnswer = { takesMs: 100, status: 200, events: 50, hasMore: true }

/** A buyer whose requests are answered as the list says, then with pages. */
function aBuyer(...answers: ScriptedAnswer[]) {
  const clock = virtualClock()
  const journal = memoryJournal([batch], clock.now())
  const service = scriptedService(clock, (_, nth) => answers[nth - 1] ?? aPage)
  const { writer } = journal.open()
  const budget = new Budget({ run: { limit: 1_000, spent: 0 }, now: () => clock.now() })
  const buyer = aPageBuyer({ clock, transport: service, writer, budget })
  return { clock, journal, service, buyer }
}

describe('a charge that is not 10 for a page with events, or 0 for an empty one', () => {
  it('is counted: 3 of 5 pages', async () => {
    const { clock, journal, buyer } = aBuyer(
      { ...aPage, charge: 5 },
      aPage,
      { ...aPage, charge: 20 },
      { ...aPage, events: 0 },
      { ...aPage, events: 0, charge: 10 },
    )
    for (let page = 1; page <= 5; page += 1) await clock.run(buyer.buy(batch, page))
    expect(buyer.unexpectedCharges).toBe(3)
    const history = journal.history()
    expect([...history.spending.values()]).toMatchObject([{ unexpected: 3, charged: 45 }])
  })
})

describe('the record of a pause', () => {
  const pauses = (journal: ReturnType<typeof aBuyer>['journal']) =>
    journal.records.filter(({ kind }) => kind === 'paused')

  const headers = {
    'x-ratelimit-limit': '5',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '30',
  }
  it.each([
    ['a 429', { takesMs: 100, status: 429, headers }, 1, '429'],
    ['a page', { ...aPage, headers }, 2, 'requests of the plan used up'],
  ])('is written once for %s that says 0 requests remain', async (_, answer, pages, reason) => {
    const { clock, journal, service, buyer } = aBuyer(answer)
    for (let page = 1; page <= pages; page += 1) await clock.run(buyer.buy(batch, page))
    expect(pauses(journal)).toMatchObject([{ reason }])
    const [first, second] = service.account
    expect((second?.sentAt ?? 0) - (first?.sentAt ?? 0)).toBeGreaterThanOrEqual(30 * SECOND)
  })
})

describe('accepts', () => {
  it('asks for page 10,000 of the companies named: an empty one is yes, for 0 credits, and no page of the batch', async () => {
    const { clock, journal, service, buyer } = aBuyer({ takesMs: 100, status: 200, events: 0 })
    expect(await clock.run(buyer.accepts(batch, batch.organizations.slice(1)))).toBe('accepted')
    expect(service.account).toMatchObject([
      { charged: 0, body: { organization_ids: ['org_b'], page: 10_000 } },
    ])
    const run = journal.history().runs.get('run_1')
    expect(run).toMatchObject({ pages: 0, requests: 1, creditsCommitted: 0 })
    expect(run?.batches.get(batch.batch_id)).toMatchObject({ state: 'planned', pages: 0 })
  })

  it.each([
    ['no', { status: 400, message: 'company not tracked' }, { name: 'BadRequestError' }],
    ['neither', { status: 400, message: 'page must be at most 500' }, null],
    ['neither, and what it cost is in the ledger', { status: 200, events: 3 }, null],
  ])('%s', async (_, answer, expected) => {
    const { clock, journal, service, buyer } = aBuyer({ takesMs: 100, ...answer })
    const found = await clock.run(buyer.accepts(batch, batch.organizations))
    if (expected === null) expect(found).toBeNull()
    else expect(found).toMatchObject(expected)
    const ledger = journal.history().runs.get('run_1')?.creditsCommitted
    expect(ledger).toBe(service.account[0]?.charged)
  })

  it('asks again when the connection breaks', async () => {
    const { clock, service, buyer } = aBuyer(
      { takesMs: 100, status: null },
      { takesMs: 100, status: 200, events: 0 },
    )
    expect(await clock.run(buyer.accepts(batch, batch.organizations))).toBe('accepted')
    expect(service.account).toHaveLength(2)
  })
})

describe('a journal that cannot be written', () => {
  it('counts the request that was on its way: nobody else spends its 10 credits', async () => {
    const clock = virtualClock()
    const service = scriptedService(clock, () => aPage)
    const budget = new Budget({ run: { limit: 10, spent: 0 }, now: () => clock.now() })
    const full = () => Promise.reject(new Error('disk full'))
    const writer = { write: () => undefined, append: full, close: () => Promise.resolve() }
    const buyer = aPageBuyer({ clock, transport: service, writer, budget })
    const both = [errorOf(buyer.buy(batch, 1)), errorOf(buyer.buy(batch, 2))]
    const [first, second] = await clock.run(Promise.all(both))
    expect(first?.message).toBe('disk full')
    expect(second).toMatchObject({ exitCode: 4 })
    expect(service.account).toHaveLength(1)
  })
})
