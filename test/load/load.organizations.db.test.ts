/** Who was asked, under which name, and what each organisation cost, as `load` keeps it. */

import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import type { JournalRecord, OrganizationRef } from '../../src/journal/records.ts'
import { load } from '../../src/load/load.ts'
import { DAY } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  START,
  aPage,
  aBatch,
  finishBatch,
  handClock,
  journalOfPages,
  journalOfRuns,
  memory,
  segment,
  startRun,
  wireEvent,
} from './load-fixture.ts'

const byUrl = (value: string): OrganizationRef => ({ by: 'url', value })
const byId = (value: string): OrganizationRef => ({ by: 'id', value })

function learnt(url: string, id: string, at = START, runId = 'run_1'): JournalRecord {
  const organization = byUrl(url)
  return { kind: 'organization_learnt', run_id: runId, at, organization, organization_id: id }
}

function refused(organization: OrganizationRef, at: number, reason: string): JournalRecord {
  return { kind: 'organization_quarantined', run_id: 'run_1', at, organization, reason }
}

describe('ops.page_organizations', () => {
  const events = [
    wireEvent({ organization: 'org_1', person: 'per_1' }),
    wireEvent({ organization: 'org_2', person: 'per_2' }),
    wireEvent({ organization: 'org_1', person: 'per_3' }),
    // Refused, but paid for like the others.
    { organization: { organization_id: 'org_3' } },
    { organization: { organization_id: 7 } },
    'text',
  ]

  it('has for each page 1 row per organisation in it', async () => {
    const warehouse = await memory()
    const page = aPage(events, { requestId: 'full' })
    const empty = aPage([], { requestId: 'empty' })
    await load({ warehouse, journal: await journalOfPages(temporaryFolder(), [[page, empty]]) })
    expect(await warehouse.all('from ops.page_organizations order by all')).toEqual([
      { request_id: 'full', organization_id: 'org_1', events: 2 },
      { request_id: 'full', organization_id: 'org_2', events: 1 },
      { request_id: 'full', organization_id: 'org_3', events: 1 },
    ])
  })

  it('shares the 10 credits of a page by events, so that the sum is the ledger’s', async () => {
    const warehouse = await memory()
    const pages = Array.from({ length: 7 }, (_, page) =>
      aPage(
        Array.from({ length: page * 3 }, (_unused, i) =>
          wireEvent({ organization: `org_${(i * i) % (page + 1)}`, person: `per_${page}_${i}` }),
        ),
        { page: page + 1 },
      ),
    )
    await load({ warehouse, journal: await journalOfPages(temporaryFolder(), [pages]) })
    const [sums] = await warehouse.all<{ ledger: number; shares: number; organizations: number }>(`
      select (select sum(credits_used) from ops.pages) as ledger,
             (select sum(credits) from ops.organization_charges) as shares,
             (select sum(credits) from ops.organizations) as organizations`)
    expect(sums?.ledger).toBe(60)
    expect(sums?.shares).toBeCloseTo(60, 9)
    expect(sums?.organizations).toBeCloseTo(60, 9)
    const [third] = await warehouse.all(
      `select credits from ops.organization_charges
       where organization_id = 'org_0' and events = 2 and credits < 4`,
    )
    // 2 of the 6 events of page 3.
    expect(third).toEqual({ credits: 10 / 3 })
  })
})

describe('ops.pages, in any order', () => {
  it('an answer loaded before its request stays the answer, whether in one load or in two', async () => {
    const { record, body } = aPage([wireEvent()], { requestId: 'a' })
    const sent: JournalRecord = {
      kind: 'request_sent',
      run_id: 'run_1',
      batch_id: '0001',
      page: 1,
      request_id: 'a',
      at: START,
    }
    for (const loads of [1, 2]) {
      const warehouse = await memory()
      const journal = await journalOfRuns(temporaryFolder())
      const writer = journal.writer()
      await writer.append(record, body)
      if (loads === 2) await load({ warehouse, journal })
      await writer.append(sent)
      await writer.close()
      await load({ warehouse, journal })
      expect(
        await warehouse.all('select request_id, outcome, credits_used from ops.pages'),
      ).toEqual([{ request_id: 'a', outcome: 'received', credits_used: 10 }])
    }
  })
})

describe('ops.organizations', () => {
  it('has 1 row per organisation under whatever name, with what an operator asks of it', async () => {
    const warehouse = await memory()
    const journal = openJournal(temporaryFolder(), handClock())
    const first = aBatch({ organizations: [byUrl('acme'), byUrl('quiet'), byId('org_3')] })
    const second = aBatch({ batch_id: '0002', organizations: [byId('org_1')] })
    await segment(journal, (writer) => {
      startRun(writer, [first, second])
      const page = aPage([
        wireEvent({ organization: 'org_1', organizationName: 'Acme', detectedAt: START - 2 * DAY }),
        wireEvent({
          organization: 'org_1',
          person: 'per_2',
          organizationName: 'Acme Inc',
          detectedAt: START - DAY,
        }),
        wireEvent({ organization: 'org_9', organizationName: null }),
        wireEvent({ organization: 'org_9', organizationName: null }),
      ])
      writer.write(page.record, page.body)
      writer.write(learnt('acme', 'org_1', START + 1))
      writer.write(refused(byId('org_3'), START + 2, 'was unknown once'))
      writer.write(refused(byUrl('nobody'), START + 4, 'not tracked'))
      writer.write(refused(byUrl('nobody'), START + 3, 'an older refusal'))
      finishBatch(writer, first, { from: null, to: START }, 'run_1', START + 5)
      finishBatch(writer, second, { from: null, to: START + DAY })
    })
    await load({ warehouse, journal })
    const rows = await warehouse.all('select * from ops.organizations order by organization_id')
    const nothing = {
      name: null,
      learnt_at: null,
      first_asked_at: null,
      last_asked_at: null,
      events: 0n,
      last_event_at: null,
      credits: 0,
      quarantined_at: null,
      quarantined_reason: null,
    }
    const asked = { first_asked_at: new Date(START + 5), last_asked_at: new Date(START + 5) }
    expect(rows).toEqual([
      {
        ...nothing,
        organization_id: 'nobody',
        asked_as: 'nobody',
        quarantined_at: new Date(START + 4),
        quarantined_reason: 'not tracked',
      },
      {
        ...nothing,
        organization_id: 'org_1',
        asked_as: 'acme',
        name: 'Acme Inc',
        learnt_at: new Date(START + 1),
        first_asked_at: new Date(START + 5),
        last_asked_at: new Date(START + DAY),
        events: 2n,
        last_event_at: new Date(START - DAY),
        credits: 5,
      },
      { ...nothing, ...asked, organization_id: 'org_3', asked_as: 'org_3' },
      {
        ...nothing,
        organization_id: 'org_9',
        asked_as: 'org_9',
        events: 1n,
        last_event_at: new Date(START - DAY),
        credits: 5,
      },
      { ...nothing, ...asked, organization_id: 'quiet', asked_as: 'quiet' },
    ])
  })
})
