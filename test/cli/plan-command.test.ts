import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chargeNear, planCommand } from '../../src/cli/plan-command.ts'
import type { OptionsOf } from '../../src/cli/declarations.ts'
import { emptyHistory } from '../../src/journal/history.ts'
import type { OrganizationRef, SeenOrganization } from '../../src/journal/records.ts'
import { makePlan, questionSha256 } from '../../src/plan/plan.ts'
import { readJob } from '../../src/run/job.ts'
import { DAY } from '../../src/support/units.ts'
import { RUN, aBatch, aFinish, aPage, aRequest, aStart } from '../journal/journal-fixture.ts'
import { ledgerSite, type LedgerSite } from './ledger-fixture.ts'

const NOW = Date.UTC(2026, 5, 15, 2)

/** The output of `plan` in this data directory, for a pipeline over org_0, org_1 … */
function plan(
  site: LedgerSite,
  organizations: number,
  options: OptionsOf<'plan'> = {},
  limits = '{credits: 5000, requests_per_second: 5}',
) {
  const ids = Array.from({ length: organizations }, (_, n) => `org_${n}`)
  const pipeline = site.pipeline('nightly', ids, [`limits: ${limits}`])
  return site.show((context) => planCommand(context, pipeline, options))
}

/**
 * A data directory in which these organisations were read for a year, up to a day ago; the even ones have 73 events
 * each.
 */
async function afterAYear(organizations: number): Promise<LedgerSite> {
  const site = ledgerSite(NOW)
  const at = NOW - DAY
  const refs = Array.from({ length: organizations }, (_, n): OrganizationRef => ({
    by: 'id',
    value: `org_${n}`,
  }))
  const batch = aBatch({ organizations: refs, days_ago: 365 })
  const seen = refs.flatMap(({ value }, n): SeenOrganization[] =>
    n % 2 === 0 ? [[value, 73, 73]] : [],
  )
  await site.journal((writer) => {
    writer.write(aStart({ at }), JSON.stringify([batch]))
    writer.write(aRequest(1, { at }))
    writer.write(aPage(1, { at, requested_at: at, server_at: at, seen, has_more: false }), '{}')
    const covered = { covered_from: at - 365 * DAY, covered_to: at }
    writer.write(aFinish({ at, pages: 1, events: 50, ...covered }), JSON.stringify(batch))
  })
  return site
}

describe('plan', () => {
  it('of a list never read says that its bill is unknown, and how to sample it', async () => {
    const { text, document } = await plan(ledgerSite(NOW), 120)
    expect(text).toMatch(/^nightly: 120 organisations in 4 batches; nothing was sent$/m)
    expect(text).toMatch(/^new +120 organisations never asked before$/m)
    expect(text).toMatch(/^bill +not known: none of these organisations was fetched before$/m)
    expect(text).toMatch(
      /^price +40 credits if each batch has 1 to 50 events, 10 more for each further 50$/m,
    )
    expect(text).toMatch(
      /jobtide plan nightly --sample 3: reads 3 of the batches, and keeps them$/m,
    )
    expect(document).toMatchObject({
      organizations: 120,
      batches: 4,
      windows: [{ days_ago: 365, organizations: 120, batches: 4 }],
      never_asked: 120,
      expected_credits: null,
      credits_range: null,
      requests_at_least: 4,
      requests_per_second: 5,
    })
  })

  it('names the lines without an organisation, the first 10 of 12 in text and all 12 for programs', async () => {
    const site = ledgerSite(NOW)
    const pipeline = site.pipeline('nightly', [])
    const named = Array.from({ length: 108 }, (_, n) => `A,acme-${n}`)
    const rows = ['name,company_url', ...Array.from({ length: 12 }, () => 'B,'), ...named]
    writeFileSync(join(site.folder, 'nightly.csv'), rows.join('\n'))
    const { text, document } = await site.show((context) => planCommand(context, pipeline, {}))
    expect(text).toMatch(
      /^skipped +nightly.csv: 12 lines skipped, without an id or URL: 2, 3, .*, 11 and 2 more$/m,
    )
    const lines = Array.from({ length: 12 }, (_, n) => n + 2)
    expect(document['skipped_lines']).toEqual([{ list: 'nightly.csv', count: 12, lines }])
  })

  it('of a known list puts the 50 organisations without events into their own batch', async () => {
    const { text, document } = await plan(await afterAYear(100), 100)
    expect(document).toMatchObject({ batches: 2, without_events: 50, never_asked: 0 })
    expect(document['windows']).toMatchObject([{ days_ago: 2, organizations: 100, batches: 2 }])
    expect(document['expected_credits']).toBe(10)
    expect(document['windows']).toMatchObject([{ expected_credits: 10 }])
    expect(text).toMatch(/^ +2 +100 +2 +10$/m)
    expect(text).toMatch(/^silent +50 organisations asked before, but without an event$/m)
    expect(text).toMatch(/^range +not known before 5 runs of nightly are done$/m)
  })

  it('names a bill of whole pages within its range: 0.4 pages between 10 and 10 credits are 10 credits', () => {
    const range = (low: number, high: number) => ({ low, high, runs: 6 })
    expect(chargeNear(4, range(10, 10))).toBe(10)
    expect(chargeNear(4, range(0, 20))).toBe(10)
    expect(chargeNear(0, range(0, 20))).toBe(0)
    expect(chargeNear(4, null)).toBe(10)
    expect(chargeNear(1_234, null)).toBe(1_230)
    expect(chargeNear(1_234, range(1_000, 1_200))).toBe(1_200)
  })

  it('of a killed run counts its bought pages, and forecasts only the rest', async () => {
    const site = ledgerSite(NOW)
    const { document: before } = await plan(site, 120)
    expect(before['open_run']).toBeNull()
    const { question } = await readJob(join(site.folder, 'nightly.yaml'), {}, site.folder)
    const { batches } = makePlan(question, emptyHistory(), NOW)
    const write = (...records: { page: number; batch: number; hasMore?: boolean }[]) =>
      site.journal((writer) => {
        for (const { page, batch, hasMore = true } of records) {
          const batch_id = batches[batch]!.batch_id
          writer.write(aRequest(page, { at: NOW, batch_id }))
          writer.write(aPage(page, { at: NOW, batch_id, has_more: hasMore }), '{}')
          if (!hasMore) writer.write(aFinish({ at: NOW, batch_id, pages: page }))
        }
      })
    await site.journal((writer) => {
      const start = aStart({ at: NOW, question_sha256: questionSha256(question) })
      writer.write(start, JSON.stringify(batches))
    })
    await write({ page: 1, batch: 0 }, { page: 2, batch: 0 })
    const { text, document } = await plan(site, 120)
    expect(document['open_run']).toEqual({
      run_id: RUN,
      batches_left: 4,
      pages_of_them_bought: 2,
      rest_planned_again: false,
      credits_bought: 20,
      credits_to_come: null,
      pages_at_least: 1,
    })
    expect(text).toMatch(/^bought +20 credits so far, never again$/m)
    expect(text).toMatch(/^to come +not known, at least 1 page: no batch was fetched to its end$/m)
    const open = `${RUN}: the next run continues 4 batches of it; all figures are of what is left`
    expect(text).toMatch(new RegExp(`^open run +${open}$`, 'm'))

    // A finished batch of 3 pages shows how many the others have.
    await write({ page: 1, batch: 1 }, { page: 2, batch: 1 }, { page: 3, batch: 1, hasMore: false })
    const known = await plan(site, 120)
    expect(known.document).toMatchObject({
      batches: 3,
      organizations: 120 - (batches[1]?.organizations.length ?? 0),
      duplicates: 0,
      open_run: { credits_bought: 50 },
    })
    const scale = 3 / Math.max(1, batches[1]?.expected_pages ?? 1)
    const unbegun = [2, 3].map((at) => (batches[at]?.expected_pages ?? 1) * scale)
    const begun = Math.max(1, (batches[0]?.expected_pages ?? 1) * scale - 2)
    const credits = 10 * Math.round(unbegun.reduce((a, b) => a + b) + begun)
    expect(known.document).toMatchObject({ expected_credits: credits, credits_range: null })
  })

  it('shows what is left of the month after 10 of 100 credits, and which limit may be too low', async () => {
    const site = await afterAYear(100)
    const { text, document } = await plan(site, 100, {}, '{credits_per_month: 100}')
    expect(text).toMatch(/^this month +90 of 100 credits left$/m)
    expect(text).toMatch(/^requests +about .*the service sets the pace$/m)
    expect(document).toMatchObject({
      credits_limit: null,
      credits_per_month: 100,
      credits_spent_this_month: 10,
    })
    const little = await plan(site, 100, {}, '{credits: 5000, credits_per_month: 10}')
    expect(little.text).toMatch(/^may spend +5,000 credits$/m)
    expect(little.text).toMatch(/^this month +0 of 10 credits left; that may not be enough$/m)
  })
})
