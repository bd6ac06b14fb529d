import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { coverageCommand } from '../../src/cli/coverage-command.ts'
import type { OptionsOf } from '../../src/cli/declarations.ts'
import type { OrganizationRef } from '../../src/journal/records.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { START, aBatch, finishBatch, startRun, wireEvent } from '../load/load-fixture.ts'
import { buyPage, ledgerSite, type LedgerSite } from './ledger-fixture.ts'

const byId = (value: string): OrganizationRef => ({ by: 'id', value })
const byUrl = (value: string): OrganizationRef => ({ by: 'url', value })

/**
 * acme (with a known id) and org_2 were read twice with a gap of 8 days, org_3 had no events, and `nobody` was refused.
 */
async function twoReads(): Promise<LedgerSite> {
  const site = ledgerSite(START + 6 * HOUR)
  const first = aBatch({ organizations: [byUrl('acme'), byId('org_2'), byId('org_3')] })
  const second = aBatch({ organizations: [byId('org_1'), byId('org_2')], days_ago: 2 })
  await site.journal((writer) => {
    const at = START - 10 * DAY
    startRun(writer, [first], 'run_1', at)
    const events = ['org_1', 'org_1', 'org_2'].map((organization, index) =>
      wireEvent({ organization, person: `per_${index}`, organizationName: `Name ${organization}` }),
    )
    buyPage(writer, events, { at: at + 1_000 })
    writer.write({
      kind: 'organization_learnt',
      run_id: 'run_1',
      at,
      organization: byUrl('acme'),
      organization_id: 'org_1',
    })
    writer.write({
      kind: 'organization_quarantined',
      run_id: 'run_1',
      at,
      organization: byUrl('nobody'),
      reason: 'not tracked',
    })
    finishBatch(writer, first, { from: at - 400 * DAY, to: at })
    startRun(writer, [second], 'run_2', START)
    finishBatch(writer, second, { from: START - 2 * DAY, to: START }, 'run_2')
  })
  await site.load()
  return site
}

function show(site: LedgerSite, options: OptionsOf<'coverage'> = {}, pipeline?: string) {
  return site.show((context) => coverageCommand(context, pipeline, options))
}

const LIST = ['acme', 'org_2', 'org_3', 'nobody', 'org_new']

describe('coverage', () => {
  it('uses another list than the pipeline’s; a list without a pipeline is refused', async () => {
    const site = await twoReads()
    const pipeline = site.pipeline('nightly', LIST)
    const organizations = join(site.folder, 'two.csv')
    writeFileSync(organizations, 'org_3\norg_new\n')
    const { text, document } = await show(site, { organizations }, pipeline)
    expect(text).toMatch(
      /^nightly: 2 organisations, 1 fetched, 1 not fetched to the end, 0 quarantined$/m,
    )
    expect(document).toMatchObject({ organizations: 2, read: 1 })
    await expect(show(site, { organizations })).rejects.toThrow('a list alone')
  })

  it('of a pipeline shows each organisation in its list, the earliest watermark first', async () => {
    const site = await twoReads()
    const { text, document, exitCode } = await show(site, {}, site.pipeline('nightly', LIST))
    expect(exitCode).toBe(0)
    expect(text.split('\n')).toEqual([
      'nightly: 5 organisations, 3 fetched, 1 not fetched to the end, 1 quarantined',
      'oldest watermark  2026-02-19 00:00 UTC (10 days ago)',
      'newest watermark  2026-03-01 00:00 UTC (6 h ago)',
      'gaps              in 2 organisations',
      'no events         1 organisation fetched that never sent one',
      '',
      'organisation  up to (UTC)           age  gaps  events  note',
      'nobody        -                       -     0       0  quarantined: not tracked',
      'org_new       -                       -     0       0  not to the end',
      'org_3         2026-02-19 00:00  10 days     0       0  no event yet',
      'acme          2026-03-01 00:00      6 h     1       2  org_1',
      'org_2         2026-03-01 00:00      6 h     1       1  Name org_2',
    ])
    const gap = { from: '2026-02-19T00:00:00.000Z', to: '2026-02-27T00:00:00.000Z' }
    expect(document).toMatchObject({
      pipeline: 'nightly',
      organizations: 5,
      read: 3,
      never_read: 1,
      quarantined: 1,
      with_gaps: 2,
      without_events: 1,
      oldest_watermark: '2026-02-19T00:00:00.000Z',
      warehouse: null,
    })
    expect((document['rows'] as unknown[])[3]).toEqual({
      organization_id: 'org_1',
      asked_as: 'acme',
      filters: null,
      name: 'Name org_1',
      covered_from: '2025-01-15T00:00:00.000Z',
      covered_to: '2026-03-01T00:00:00.000Z',
      confirmed_to: '2026-03-01T00:00:00.000Z',
      gaps: [{ event_types: ['joined', 'left', 'title_change'], ...gap }],
      events: 2,
      last_event_received_at: '2026-02-19T00:00:01.000Z',
      quarantined: null,
    })
  })

  it('--prove lists unread intervals by organisation and event types, gaps first', async () => {
    const site = await twoReads()
    const pipeline = site.pipeline('nightly', LIST, ['event_types: [joined, left]'])
    const { text, document } = await show(site, { prove: true }, pipeline)
    expect(text.split('\n')).toEqual([
      'not fetched: 7 stretches of 5 of 5 organisations, by 2026-03-01 06:00 UTC',
      '',
      'organisation  event types  from (UTC)        to (UTC)          where',
      'nobody        joined,left  2025-03-01 06:00  now               not to the end',
      'org_new       joined,left  2025-03-01 06:00  now               not to the end',
      'acme          joined,left  2026-02-19 00:00  2026-02-27 00:00  between fetches',
      'org_2         joined,left  2026-02-19 00:00  2026-02-27 00:00  between fetches',
      'org_3         joined,left  2026-02-19 00:00  now               since last fetch',
      'acme          joined,left  2026-03-01 00:00  now               since last fetch',
      'org_2         joined,left  2026-03-01 00:00  now               since last fetch',
    ])
    expect(document['not_looked_at']).toHaveLength(7)
  })

  it('--prove goes back as far as the pipeline, or without one to the first read of each organisation', async () => {
    const site = await twoReads()
    const daysOf = async (...lines: string[]) => {
      const { document } = await show(site, { prove: true }, site.pipeline('one', ['org_3'], lines))
      const unread = document['not_looked_at'] as { from: string | null; to: string }[]
      return unread.map(({ from, to }) => [from?.slice(0, 10) ?? null, to.slice(0, 10)])
    }
    expect(await daysOf()).toEqual([['2026-02-19', '2026-03-01']])
    expect(await daysOf('window: 5')).toEqual([['2026-02-24', '2026-03-01']])
    expect(await daysOf('window: all')).toEqual([
      [null, '2025-01-15'],
      ['2026-02-19', '2026-03-01'],
    ])
    const { text, document } = await show(site, { prove: true })
    expect(document).toMatchObject({ pipeline: null, organizations: 4, with_gaps: 2 })
    // The refused one was not read either.
    expect(text).toMatch(/^not fetched: 6 stretches of 4 of 4 organisations/)
  })

  it('shows each question separately: an organisation has one row for each set of filters', async () => {
    const site = await twoReads()
    const filters = { title: 'Vice President', geo_city: 'London' }
    const batch = aBatch({ organizations: [byId('org_2')], filters })
    await site.journal((writer) => {
      startRun(writer, [batch], 'run_3', START)
      finishBatch(writer, batch, { from: START - 30 * DAY, to: START }, 'run_3')
    })
    const question = 'title="Vice President" geo_city=London'
    const { text, document } = await show(site)
    expect(text).toMatch(
      /^4 organisations, 2 questions: 4 fetched, 0 not fetched to the end, 1 quarantined/,
    )
    const rows = document['rows'] as { organization_id: string; filters: string | null }[]
    expect(rows.filter((row) => row.organization_id === 'org_2')).toMatchObject([
      { filters: null, events: 1 },
      { filters: question, events: 0, covered_from: '2026-01-30T00:00:00.000Z', gaps: [] },
    ])
    const lines = ['title: Vice President', 'geo_city: London', 'window: 20']
    const narrow = await show(site, {}, site.pipeline('narrow', ['org_2', 'org_3'], lines))
    expect(narrow.text).toContain(`asked for         ${question}`)
    expect(narrow.document).toMatchObject({
      filters: question,
      read: 1,
      never_read: 1,
      with_gaps: 0,
    })
    const proved = await show(site, { prove: true })
    expect(proved.text).toMatch(new RegExp(`^org_2 +${question.slice(0, 10)}`, 'm'))
  })

  it('--prove says in one sentence that there is no gap', async () => {
    const site = await twoReads()
    const batch = aBatch({ organizations: [byId('org_3')] })
    await site.journal((writer) => {
      startRun(writer, [batch], 'run_3', START + 6 * HOUR)
      // The service's clock is ahead of this machine's.
      finishBatch(writer, batch, { from: null, to: START + 7 * HOUR }, 'run_3')
    })
    const pipeline = site.pipeline('one', ['org_3'])
    const { text, document } = await show(site, { prove: true }, pipeline)
    expect(text).toBe(
      'nothing was left out: 1 organisation, each fetched without a gap in the window of one, up to 2026-03-01 06:00 UTC',
    )
    expect(document['not_looked_at']).toEqual([])
  })

  it('of a pipeline that never ran says that nothing was read; without a pipeline it is empty', async () => {
    const site = ledgerSite(START)
    const pipeline = site.pipeline('nightly', ['org_1', 'acme'])
    const { text, document } = await show(site, {}, pipeline)
    expect(text).toContain(
      'nightly: 2 organisations, 0 fetched, 2 not fetched to the end, 0 quarantined\ngaps  none in what was fetched',
    )
    expect(text).toMatch(/without names and counts: there is no warehouse at\s/)
    expect(document).toMatchObject({ oldest_watermark: null, without_events: 0 })
    await expect(show(site)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('nothing has run yet') as unknown,
    })
  })
})
