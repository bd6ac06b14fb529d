import { existsSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { creditsCommand } from '../../src/cli/credits-command.ts'
import type { OptionsOf } from '../../src/cli/declarations.ts'
import type { JournalWriter } from '../../src/journal/journal.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { START, aBatch, startRun, wireEvent } from '../load/load-fixture.ts'
import { buyPage, failRequest, ledgerSite, sendRequest, type LedgerSite } from './ledger-fixture.ts'

interface TableDocument {
  readonly rows: readonly { readonly credits: number; readonly new_events: number }[]
  readonly total: { readonly credits: number }
}

const event = (organization: string, person: string) =>
  wireEvent({ organization, person, organizationName: `Name of ${organization}` })

/** January: 10, 12 (2 more than expected), 10 in doubt, 10 unanswered. March: 10 and an empty page. */
async function twoMonths(): Promise<LedgerSite> {
  const site = ledgerSite(START + 6 * HOUR)
  const january = START - 40 * DAY
  await site.journal((writer) => {
    startRun(writer, [aBatch()], 'run_1', january)
    const at = january + 1_000
    const one = ['per_1', 'per_2', 'per_3'].map((person) => event('org_1', person))
    buyPage(writer, [...one, event('org_2', 'per_4')], { at, hasMore: true })
    const odd = [event('org_1', 'per_5'), { bad: true }]
    buyPage(writer, odd, { at, page: 2, credits: 12, hasMore: true })
    failRequest(writer, at, false, { page: 3 })
    failRequest(writer, at, true, { page: 3 })
    sendRequest(writer, at, { page: 3 })
  })
  await site.journal((writer) => {
    startRun(writer, [aBatch()], 'run_2', START)
    const known = Array.from({ length: 9 }, () => event('org_2', 'per_4'))
    const at = START + 1_000
    buyPage(writer, [...known, event('org_1', 'per_6')], { runId: 'run_2', at, hasMore: true })
    buyPage(writer, [], { runId: 'run_2', at, page: 2 })
  })
  return site
}

function show(site: LedgerSite, options: OptionsOf<'credits'> = {}, pipeline?: string) {
  return site.show((context) => creditsCommand(context, pipeline, options))
}

describe('credits', () => {
  it('sums up: charged, in doubt, this month and its limit, new events, odd charges, days, the most expensive', async () => {
    const site = await twoMonths()
    await site.load()
    const pipeline = site.pipeline('nightly', ['org_1'], ['limits: { credits_per_month: 40 }'])
    const { text, document, exitCode } = await show(site, {}, pipeline)
    expect(exitCode).toBe(0)
    expect(text.split('\n')).toEqual([
      'charged      32 credits since 2026-01-20',
      'in doubt     20 credits: sent, no complete answer, perhaps billed',
      'this month   10 of 40 credits (25 %) in 2026-03; starts again on 2026-04-01',
      'new events   6 at 8.67 credits each',
      'a page held  5.3 of 50 events, 3.0 of them known before',
      'unexpected   1 page not charged by the price list',
      '',
      'unexpected (UTC)  pipeline  batch  page  events  credits  sent',
      '2026-01-20 00:00  nightly   0001      2       2       12  -',
      '',
      'day (UTC)   credits  pages  events  new  per new',
      '2026-03-01       10      1      10    1    10.00',
      '2026-01-20       42      2       6    5     8.40',
      '',
      'most expensive in 90 days  credits  events  new  per new',
      'Name of org_2 (org_2)         11.5      10    1    11.50',
      'Name of org_1 (org_1)         20.5       5    5     4.10',
      '',
      'more: jobtide credits --by day, month, pipeline, run or organization',
    ])
    expect(document).toMatchObject({
      pipeline: 'nightly',
      total: {
        credits: 52,
        in_doubt: 20,
        requests: 7,
        pages: 3,
        events: 16,
        new_events: 6,
        rejects: 1,
        unexpected_charges: 1,
      },
      this_month: { month: '2026-03', credits: 10, limit: 40, renews_on: '2026-04-01' },
      unexpected_charges: [{ run_id: 'run_1', page: 2, events: 2, credits_used: 12 }],
      unloaded: 0,
    })
  })

  it('averages only over pages of job changes: a page of another endpoint holds 1 item', async () => {
    const site = await twoMonths()
    await site.load()
    await withWarehouse({ path: site.warehouse, mode: 'write' }, (warehouse) =>
      warehouse.run(
        `insert into ops.pages by name
           select pages.* replace ('a lookup' as batch_id, 'lookup ' || n as request_id, 1 as events)
           from (from ops.pages where events > 0 limit 1) as pages, range(20) as lookups(n)`,
      ),
    )
    const { text, document } = await show(site)
    expect(text).toContain('\na page held  5.3 of 50 events, 3.0 of them known before\n')
    expect(document).toMatchObject({
      total: { pages: 23, events: 36, change_pages: 3, change_events: 16 },
    })
  })

  it('is the same for a journal that was never loaded, and creates no warehouse', async () => {
    const site = await twoMonths()
    const before = await show(site)
    expect(existsSync(join(site.folder, 'jobtide.duckdb'))).toBe(false)
    await site.load()
    expect(before).toEqual(await show(site))
  })

  it('says what is missing if the warehouse is behind the journal', async () => {
    const site = await twoMonths()
    await site.load()
    await site.journal((writer) => {
      startRun(writer, [aBatch()], 'run_3', START + HOUR)
      const at = START + HOUR
      buyPage(writer, [event('org_3', 'per_7')], { runId: 'run_3', at })
    })
    const { text, document } = await show(site)
    expect(document).toMatchObject({ total: { credits: 52 }, unloaded: 10 })
    expect(document).toMatchObject({ this_month: { month: '2026-03', credits: 20 } })
    expect(text).toContain(
      '\nwithout 10 credits in the journal that are not loaded yet: jobtide load\n',
    )
  })

  it('shows rows by organisation, for the last 5 days, and for another pipeline', async () => {
    const site = await twoMonths()
    await site.load()
    expect((await show(site, { by: 'organization' })).text.split('\n')).toEqual([
      'organisation              credits  pages  events  new  per new',
      'Name of org_1 (org_1)        20.5      3       5    5     4.10',
      'Name of org_2 (org_2)        11.5      2      10    1    11.50',
      '(unattributed: in doubt)       20      0       -    0        -',
      'all                            52      3      16    6     8.67',
    ])
    const recent = await show(site, { by: 'organization', days: 5 })
    expect(recent.document).toMatchObject({
      since: '2026-02-25',
      total: { credits: 10, new_events: 1 },
      rows: [
        { organization_id: 'org_2', credits: 9, new_events: 0, credits_per_new_event: null },
        { organization_id: 'org_1', credits: 1, new_events: 1, credits_per_new_event: 1 },
      ],
    })
    expect((await show(site, { days: 5 })).text).toMatch(
      /^nothing new +1 organisation cost 9 credits and gave 0 new events in 5 days: ask less often, or leave out$/m,
    )
    const other = await show(site, {}, site.pipeline('weekly', ['org_1']))
    expect(other.document).toMatchObject({ total: { credits: 0 }, days: [] })
    expect(other.text).toContain('charged     0 credits since never')
  })

  it('says that the journal is missing if there is a warehouse without one', async () => {
    const site = ledgerSite(START)
    await site.load()
    await expect(show(site)).rejects.toMatchObject({
      exitCode: 2,
      message: `there is a warehouse in ${site.folder} and no journal: it was restored from a snapshot`,
      hint: expect.stringContaining('back from a backup') as unknown,
    })
  })
})

describe('the sums of every grouping', () => {
  const anyRequest = fc.record({
    kind: fc.constantFrom('page', 'empty', 'odd', 'failed', 'in doubt', 'unanswered'),
    day: fc.integer({ min: 0, max: 70 }),
    run: fc.integer({ min: 0, max: 2 }),
    // Organisation and person of each event.
    people: fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 9 })), {
      minLength: 1,
      maxLength: 6,
    }),
  })
  type AnyRequest = typeof anyRequest extends fc.Arbitrary<infer Request> ? Request : never

  function writeRequest(writer: JournalWriter, { kind, day, run, people }: AnyRequest): void {
    const at = START + day * DAY + HOUR
    const choices = { runId: `run_${run}`, at }
    const events = people.map(([organization, person]) =>
      event(`org_${organization}`, `per_${organization}_${person}`),
    )
    if (kind === 'page') buyPage(writer, events, choices)
    if (kind === 'empty') buyPage(writer, [], choices)
    if (kind === 'odd') buyPage(writer, events, { ...choices, credits: 7 })
    if (kind === 'failed') failRequest(writer, at, false, choices)
    if (kind === 'in doubt') failRequest(writer, at, true, choices)
    if (kind === 'unanswered') sendRequest(writer, at, choices)
  }

  it('equal those of the journal, whatever was bought', async () => {
    const requestLists = fc.array(anyRequest, { minLength: 1, maxLength: 12 })
    const property = fc.asyncProperty(requestLists, async (requests) => {
      const site = ledgerSite(START + 80 * DAY)
      await site.journal((writer) => {
        for (const run of [0, 1, 2]) {
          startRun(writer, [aBatch()], `run_${run}`, START + run * 25 * DAY)
        }
        for (const request of requests) writeRequest(writer, request)
      })
      await site.load()
      const count = 'select count(*)::int as events from job_change_events'
      const [known] = await withWarehouse({ path: site.warehouse, mode: 'read' }, (warehouse) =>
        warehouse.all<{ events: number }>(count),
      )
      for (const by of ['day', 'month', 'pipeline', 'run', 'organization'] as const) {
        const { document } = await show(site, { by })
        const { rows, total } = document as unknown as TableDocument
        const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
        expect(document).toMatchObject({ unloaded: 0, total: { new_events: known?.events } })
        expect(sum(rows.map(({ credits }) => credits)), by).toBeCloseTo(total.credits, 6)
        expect(sum(rows.map((row) => row.new_events)), by).toBe(known?.events)
      }
    })
    await fc.assert(property, { numRuns: 6 })
  })
})
