/** Who was asked, under which name, and what each organisation cost, as `load` keeps it. */

import fc from 'fast-check'
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { CoveredInterval } from '../../src/journal/coverage.ts'
import { openJournal, type JournalWriter } from '../../src/journal/journal.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { createSeals } from '../../src/journal/seals.ts'
import type { JournalRecord, OrganizationRef, BatchRecord } from '../../src/journal/records.ts'
import { load } from '../../src/load/load.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { rounds } from '../helpers/tier.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import {
  START,
  aPage,
  aBatch,
  dumpTables,
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

interface Finish {
  readonly organizations: readonly OrganizationRef[]
  readonly types: BatchRecord['event_types']
  readonly isAll: boolean
  readonly days: number
  readonly to: number
}

describe('coverage, when ids are learnt', () => {
  const IDS: Readonly<Record<string, string>> = {
    acme: 'org_1',
    'acme-inc': 'org_1',
    beta: 'org_2',
  }
  const anyReference = fc.constantFrom(...Object.keys(IDS).map(byUrl), byId('org_1'), byId('org_2'))
  const anyFinish = fc.record({
    organizations: fc.uniqueArray(anyReference, {
      minLength: 1,
      maxLength: 3,
      selector: ({ value }) => value,
    }),
    types: fc.constantFrom(['joined'] as const, ['joined', 'left', 'title_change'] as const),
    isAll: fc.boolean(),
    days: fc.integer({ min: 1, max: 6 }),
    to: fc.integer({ min: 0, max: 20 }),
  })
  const anyStep = fc.oneof(anyFinish, fc.constantFrom(...Object.keys(IDS)))
  const anySteps = fc.array(
    fc.record({ step: anyStep, order: fc.nat(), loadAfter: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 9,
    },
  )

  function write(writer: JournalWriter, step: Finish | string, number: number): void {
    const runId = `run_${number}`
    if (typeof step === 'string') {
      startRun(writer, [], runId)
      writer.write(learnt(step, IDS[step] ?? '', START + number, runId))
      return
    }
    const batch = aBatch({ organizations: step.organizations, event_types: step.types })
    startRun(writer, [batch], runId)
    const from = step.isAll ? null : START + (step.to - step.days) * DAY
    finishBatch(writer, batch, { from, to: START + step.to * DAY }, runId, START + number)
  }

  it('is that of the id, for any order of records and of loading, and equals the history', async () => {
    await fc.assert(
      fc.asyncProperty(anySteps, async (steps) => {
        const folder = mkdtempSync(join(tmpdir(), 'jobtide-test-'))
        const [inOrder, anyOrder] = [await memoryWarehouse(), await memoryWarehouse()]
        try {
          const clock = handClock()
          const journal = openJournal(join(folder, 'journal'), clock)
          for (const [number, { step, loadAfter }] of steps.entries()) {
            clock.nowMs += 1_000
            await segment(journal, (writer) => write(writer, step, number))
            if (loadAfter) await load({ warehouse: inOrder, journal })
          }
          await load({ warehouse: inOrder, journal })
          const { coverage } = readHistory(journal)
          expect(await coverageRows(inOrder)).toEqual(historyRows(coverage))

          const other = openJournal(join(folder, 'other'), clock)
          mkdirSync(other.folder)
          createSeals(other.folder)
          const names = journal.segments()
          const order = names.toSorted(
            (a, b) => (steps[names.indexOf(a)]?.order ?? 0) - (steps[names.indexOf(b)]?.order ?? 0),
          )
          for (const name of order) {
            renameSync(join(journal.folder, name), join(other.folder, name))
            await load({ warehouse: anyOrder, journal: other })
          }
          const leftOut = ['ops.checks', 'ops.schema_files', 'ops.journal_positions']
          expect(await dumpTables(anyOrder, leftOut)).toEqual(await dumpTables(inOrder, leftOut))
        } finally {
          inOrder.close()
          anyOrder.close()
          rmSync(folder, { recursive: true })
        }
      }),
      { numRuns: rounds('JOBTIDE_LOADS', 5, 60) },
    )
  })

  async function coverageRows(warehouse: Warehouse): Promise<unknown[]> {
    const rows = await warehouse.all<{ id: string; types: string; f: Date | null; t: Date }>(
      'select organization_id as id, event_types as types, covered_from as f, covered_to as t from ops.coverage',
    )
    return sorted(rows.map(({ id, types, f, t }) => [id, types, f?.getTime() ?? null, t.getTime()]))
  }

  function historyRows(coverage: ReadonlyMap<string, readonly CoveredInterval[]>): unknown[] {
    return sorted(
      [...coverage].flatMap(([id, intervals]) =>
        intervals.map(({ eventTypes, from, to }) => [id, eventTypes.join(), from, to]),
      ),
    )
  }

  const sorted = (rows: unknown[]) =>
    rows.map((row) => JSON.stringify(row)).toSorted((a, b) => (a < b ? -1 : 1))
})

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
