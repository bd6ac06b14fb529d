/** Journals written record by record, for tests of `load`: no HTTP, times as the test says. */

import { onTestFinished } from 'vitest'
import { eventFacts } from '../../src/extract/page-record.ts'
import { openJournal, type Journal, type JournalWriter } from '../../src/journal/journal.ts'
import type { BatchRecord, PageReceived, SeenOrganization } from '../../src/journal/records.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { sha256Hex } from '../../src/support/hash.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import {
  aFinish,
  aStart,
  aBatch as batchRecord,
  aPage as pageRecord,
} from '../journal/journal-fixture.ts'
import { anEvent, standingClock } from '../simulator/simulator-fixture.ts'

export const START = Date.UTC(2026, 2, 1)

/** A clock that only the test moves. */
export const handClock = (nowMs = START) => standingClock(nowMs)

/** The fields of an event that a test of `load` cares about. */
export interface EventChoices {
  person?: string
  organization?: string
  type?: JobChangeEvent['event_type']
  changedAt?: number
  detectedAt?: number
  lagDays?: number
  title?: string | null
  previousTitle?: string | null
  name?: string | null
  headline?: string | null
  organizationName?: string | null
}

/** One event as the service sends it. */
export function wireEvent(choices: EventChoices = {}): JobChangeEvent {
  const { changedAt = START - 30 * DAY, detectedAt = START - DAY, lagDays = 29 } = choices
  const { title = 'Engineer', previousTitle = null, headline = null } = choices
  const { name = 'Ada Adams', organizationName = 'One' } = choices
  const { person = 'per_1', organization = 'org_1', type = 'joined' } = choices
  const event = anEvent({ person, organization, type, detectedAt, lagDays, slug: null })
  return {
    ...event,
    changed_at: new Date(changedAt).toISOString(),
    title: { current: title, previous: previousTitle },
    person: { ...event.person, full_name: name, first_name: null, last_name: null, headline },
    organization: { ...event.organization, name: organizationName },
  }
}

/** The position of a page and its time of receipt. */
export interface PageChoices {
  runId?: string
  batchId?: string
  page?: number
  requestId?: string
  at?: number
  hasMore?: boolean
  credits?: number
}

let requests = 0

/** The record of a received page, and its body. */
export function aPage(
  events: readonly unknown[],
  choices: PageChoices = {},
): { record: PageReceived; body: string } {
  const { page = 1, hasMore = false, at = START } = choices
  const credits = choices.credits ?? (events.length === 0 ? 0 : 10)
  requests += 1
  const body = JSON.stringify({
    success: true,
    message: 'ok',
    data: events,
    pagination: { page, limit: 50, has_more: hasMore },
    credit_used: credits,
  })
  const record = pageRecord(page, {
    run_id: choices.runId ?? 'run_1',
    batch_id: choices.batchId ?? '0001',
    request_id: choices.requestId ?? `request_${requests}`,
    requested_at: at - 200,
    at,
    server_at: at - 100,
    events: events.length,
    credits_used: credits,
    has_more: hasMore,
    body_sha256: sha256Hex(body),
    seen: seenIn(events),
  })
  return { body, record }
}

function seenIn(events: readonly unknown[]): SeenOrganization[] {
  const counts = new Map<string, number>()
  for (const id of events.flatMap((one) => eventFacts(one).organization?.organization_id ?? [])) {
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return [...counts].map(([id, count]) => [id, count, count])
}

/** A batch of one organisation over everything. */
export const aBatch = (fields: Partial<BatchRecord> = {}): BatchRecord =>
  batchRecord({ batch_id: '0001', days_ago: null, ...fields })

/** Writes the start of a run. */
export function startRun(
  writer: JournalWriter,
  batches: readonly BatchRecord[],
  run_id = 'run_1',
  at = START,
): void {
  const organizations = batches.reduce((sum, batch) => sum + batch.organizations.length, 0)
  const record = aStart({ run_id, at, organizations, batches: batches.length })
  writer.write(record, JSON.stringify(batches))
}

/** A journal with the start of these runs, each with a batch of one organisation. */
export async function journalOfRuns(
  folder: string,
  runIds: readonly string[] = ['run_1'],
  clock = handClock(),
): Promise<Journal> {
  const journal = openJournal(folder, clock)
  await segment(journal, (writer) => {
    for (const runId of runIds) startRun(writer, [aBatch()], runId)
  })
  return journal
}

/** A journal with one segment for each list of pages, after one with the start of their run. */
export async function journalOfPages(
  folder: string,
  segments: readonly (readonly ReturnType<typeof aPage>[])[],
): Promise<Journal> {
  const clock = handClock()
  const journal = await journalOfRuns(folder, ['run_1'], clock)
  for (const pages of segments) {
    clock.nowMs += 1_000
    await writePages(journal, pages)
  }
  return journal
}

/** Adds one segment with `pages`. */
export function writePages(
  journal: Journal,
  pages: readonly ReturnType<typeof aPage>[],
): Promise<void> {
  return segment(journal, (writer) => {
    for (const { record, body } of pages) writer.write(record, body)
  })
}

/** Tables that describe the file itself, or hold the id of a build. */
const OF_THE_FILE = ['ops.builds', 'ops.checks', 'ops.schema_files', 'ops.journal_positions']

/** Dumps everything else that `load` and `build` keep; equal dumps mean equal warehouses. */
export async function dumpTables(
  warehouse: Warehouse,
  leftOut: readonly string[] = OF_THE_FILE,
): Promise<Record<string, unknown[]>> {
  const tables = await warehouse.all<{ name: string }>(
    `select case schema_name when 'main' then table_name else schema_name || '.' || table_name end as name
     from duckdb_tables() where not temporary and database_name = current_database() order by 1`,
  )
  const dump: Record<string, unknown[]> = {}
  for (const { name } of tables) {
    if (leftOut.includes(name)) continue
    dump[name] = [...(await warehouse.table(`select * from ${name} order by all`)).rows]
  }
  return dump
}

/** A warehouse in memory that closes with the test. */
export async function memory(): Promise<Warehouse> {
  const warehouse = await memoryWarehouse({ threads: 1 })
  onTestFinished(() => warehouse.close())
  return warehouse
}

/** Writes one segment. */
export async function segment(
  journal: Journal,
  write: (writer: JournalWriter) => void,
): Promise<void> {
  const writer = journal.writer()
  write(writer)
  await writer.close()
}

/** Writes the end of a batch; a batch that names pages counts as read only if the journal holds them. */
export function finishBatch(
  writer: JournalWriter,
  batch: BatchRecord,
  { from, to }: { readonly from: number | null; readonly to: number },
  run_id = 'run_1',
  at = to,
  pages = 0,
): void {
  const covered = { covered_from: from, covered_to: to }
  const record = aFinish({ run_id, batch_id: batch.batch_id, at, pages, ...covered })
  writer.write(record, JSON.stringify(batch))
}
