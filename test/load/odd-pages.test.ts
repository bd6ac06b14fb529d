/** Pages with impossible content: bought, then loaded. */

import { describe, expect, it } from 'vitest'
import type { OrganizationRef } from '../../src/journal/records.ts'
import { chargeOfPage, monthlyCredits } from '../../src/journal/spending.ts'
import { load } from '../../src/load/load.ts'
import { aRun, aService, batchOf, errorOf } from '../extract/extract-fixture.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { aJournal } from '../journal/journal-fixture.ts'
import { START, memory, wireEvent } from './load-fixture.ts'

/** Reads one page with these events from a service that charges `credits` (raw JSON), and loads it. */
async function readAndLoad(
  organizations: readonly (string | OrganizationRef)[],
  events: readonly unknown[],
  credits = '10',
  creditsLimit: number | null = null,
) {
  const data = JSON.stringify(events)
  const date = new Date(START).toUTCString()
  const text = `{"success":true,"data":${data},"pagination":{"page":1,"limit":50,"has_more":false},"credit_used":${credits}}`
  const service = aService(() => ({ headers: { date }, text }), virtualClock(START))
  const extraction = aRun(service, [batchOf(organizations)])
  const progress = await extraction.extract({ creditsLimit })
  const journal = aJournal()
  const writer = journal.writer()
  for (const { record, payload } of extraction.frames) writer.write(record, payload())
  await writer.close()
  const warehouse = await memory()
  const report = await load({ warehouse, journal })
  return { extraction, progress, warehouse, report, history: extraction.history() }
}

const of = (organization: string, person: string) => wireEvent({ organization, person })

describe('an event of an organisation that was not requested', () => {
  it('becomes a reject; the page of 3 keeps its charge, and nothing is learnt or counted from the event', async () => {
    const events = [of('org_1', 'per_1'), of('org_9', 'per_2'), of('org_2', 'per_3')]
    const { warehouse, report, history } = await readAndLoad(['org_1', 'org_2'], events)
    expect(report).toMatchObject({ inserted: 2, rejected: 1 })
    expect(await warehouse.all('select position, reason from ops.rejects')).toEqual([
      { position: 2, reason: 'organisation was not asked for' },
    ])
    expect(
      await warehouse.all('select distinct organization_id from job_change_events order by 1'),
    ).toEqual([{ organization_id: 'org_1' }, { organization_id: 'org_2' }])
    expect(await warehouse.all('select events, credits_used from ops.pages')).toEqual([
      { events: 3, credits_used: 10 },
    ])
    expect(
      await warehouse.all('select organization_id from ops.page_organizations order by 1'),
    ).toEqual([{ organization_id: 'org_1' }, { organization_id: 'org_2' }])
    expect([
      ...history.seen.keys(),
      ...history.coverage.keys(),
      ...history.ids.values(),
    ]).not.toContain('org_9')
  })

  it('is accepted while a company is requested by its URL, because it may have been renamed or merged', async () => {
    const asked: (string | OrganizationRef)[] = [
      { by: 'url', value: 'https://x.example/company/acme' },
      'org_1',
    ]
    const events = [of('org_1', 'per_1'), of('org_77', 'per_2')]
    const { report } = await readAndLoad(asked, events)
    expect(report).toMatchObject({ inserted: 2, rejected: 0 })
  })

  it('becomes a reject next to 1 URL if 2 such ids have other slugs; the company of the URL is accepted', async () => {
    const asked: (string | OrganizationRef)[] = [
      { by: 'url', value: 'https://x.example/company/Acme/' },
      'org_1',
    ]
    const event = of('org_5', 'per_4')
    const acme = { ...event, organization: { ...event.organization, slug: 'acme' } }
    const others = [of('org_77', 'per_2'), of('org_78', 'per_3')]
    const { report, warehouse } = await readAndLoad(asked, [of('org_1', 'per_1'), acme, ...others])
    expect(report).toMatchObject({ inserted: 2, rejected: 2 })
    expect(await warehouse.all('select position from ops.rejects order by 1')).toEqual([
      { position: 3 },
      { position: 4 },
    ])
  })
})

describe('a charge', () => {
  it.each([
    [1e308, 10, '1e+308'],
    [Infinity, 10, 'Infinity'],
    [1e15, 10, '1000000000000000'],
    [10.5, 10, '10.5'],
    [-5, 10, '-5'],
    [101, 10, '101'],
    ['10', 10, '"10"'],
    [null, 10, 'null'],
    [{ amount: 10 }, 10, '{"amount":10}'],
    [20, 20, null],
    [0, 10, '0'],
    [9, 10, '9'],
    [10, 10, null],
  ])('of %j for a page with an event is counted as %i credits', (sent, credits, shown) => {
    expect(chargeOfPage(sent, 1)).toEqual({ credits, sent: shown })
  })

  it.each([
    ['1e999', 10, 'Infinity', 1],
    ['20', 20, null, 1],
    ['5', 10, '5', 1],
    ['0', 10, '0', 1],
    ['10', 10, null, 0],
  ])('of %s is %i in budget, ledger, history and warehouse', async (sent, counted, shown, odd) => {
    const read = await readAndLoad(['org_1'], [of('org_1', 'per_1')], sent, 30)
    const { extraction, progress, warehouse, history } = read
    expect(progress).toMatchObject({ credits: counted, unexpectedCharges: odd })
    const warning = { page: 1, credits_used: shown ?? counted, expected: 10 }
    const warnings = extraction.log.filter(({ msg }) => msg === 'unexpected_charge')
    expect(warnings).toMatchObject(Array(odd).fill(warning))
    expect(extraction.ledger().total).toBe(counted)
    expect([...monthlyCredits(history.spending, 'nightly').values()]).toEqual([counted])
    expect([...history.spending.values()].map(({ unexpected }) => unexpected)).toEqual([odd])
    expect(await warehouse.all('select credits_used, credits_sent from ops.pages')).toEqual([
      { credits_used: counted, credits_sent: shown },
    ])
  })

  it.each([
    ['1e15', 0, 1],
    ['0', 0, 0],
    ['10', 10, 1],
  ])('of %s for an empty page is counted as %i', async (sent, credits, unexpectedCharges) => {
    const { progress } = await readAndLoad(['org_1'], [], sent)
    expect(progress).toMatchObject({ credits, unexpectedCharges })
  })

  it('of 0 for each page of 66 does not get past a budget of 200 credits', async () => {
    const service = aService(({ page }) => ({
      data: [of('org_1', `per_${page}`)].concat(Array(49).fill(of('org_1', `per_0${page}`))),
      hasMore: page < 66,
      charge: 0,
    }))
    const run = aRun(service, [batchOf(['org_1'])])
    expect(await errorOf(run.extract({ creditsLimit: 200 }))).toMatchObject({ exitCode: 4 })
    expect([service.account.length, run.ledger().total]).toEqual([20, 200])
  })
})
