/** Journals written record by record, for tests of `load`: no HTTP, times as the test says. */

import { createHash } from 'node:crypto'
import { eventOrganizations } from '../../src/api/schemas.ts'
import type { Journal, JournalWriter } from '../../src/journal/journal.ts'
import { openJournal } from '../../src/journal/journal.ts'
import type {
  BatchRecord,
  JournalRecord,
  PageReceived,
  SeenOrganization,
} from '../../src/journal/records.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import type { Clock } from '../../src/support/clock.ts'
import { DAY } from '../../src/support/units.ts'
import { onTestFinished } from 'vitest'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'

export const START = Date.UTC(2026, 2, 1)

/** A clock that only the test moves. */
export function handClock(nowMs = START): Clock & { nowMs: number } {
  const clock = {
    nowMs,
    now: () => clock.nowMs,
    monotonic: () => clock.nowMs,
    sleep: () => Promise.resolve(),
  }
  return clock
}

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
  const changedAt = choices.changedAt ?? START - 30 * DAY
  const given = <T>(value: T | undefined, fallback: T) => (value === undefined ? fallback : value)
  return {
    event_type: choices.type ?? 'joined',
    detected_at: new Date(choices.detectedAt ?? START - DAY).toISOString(),
    changed_at: new Date(changedAt).toISOString(),
    detection_lag_days: choices.lagDays ?? 29,
    title: {
      current: given(choices.title, 'Engineer'),
      previous: given(choices.previousTitle, null),
    },
    person: {
      profile_id: choices.person ?? 'per_1',
      handle: null,
      full_name: given(choices.name, 'Ada Adams'),
      first_name: null,
      last_name: null,
      headline: given(choices.headline, null),
      network_url: null,
    },
    organization: {
      organization_id: choices.organization ?? 'org_1',
      name: given(choices.organizationName, 'One'),
      slug: null,
      network_url: null,
    },
  }
}

/** Where a page stands and when it came. */
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

/** A record of a page that was received, and its body. */
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
  return {
    body,
    record: {
      kind: 'page_received',
      run_id: choices.runId ?? 'run_1',
      batch_id: choices.batchId ?? '0001',
      page,
      request_id: choices.requestId ?? `request_${requests}`,
      requested_at: at - 200,
      at,
      server_at: at - 100,
      status: 200,
      events: events.length,
      credits_used: credits,
      has_more: hasMore,
      body_sha256: createHash('sha256').update(body).digest('hex'),
      seen: seenIn(events),
    },
  }
}

function seenIn(events: readonly unknown[]): SeenOrganization[] {
  const counts = new Map<string, number>()
  for (const { organization_id: id } of eventOrganizations(events)) {
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return [...counts].map(([id, count]) => [id, count, count])
}

/** A batch of one organisation over everything. */
export function aBatch(fields: Partial<BatchRecord> = {}): BatchRecord {
  return {
    batch_id: '0001',
    organizations: [{ by: 'id', value: 'org_1' }],
    days_ago: null,
    event_types: ['joined', 'left', 'title_change'],
    ...fields,
  }
}

/** Writes the start of a run. */
export function startRun(
  writer: JournalWriter,
  batches: readonly BatchRecord[],
  runId = 'run_1',
  at = START,
): void {
  const record: JournalRecord = {
    kind: 'run_started',
    run_id: runId,
    at,
    pipeline: 'nightly',
    command: 'run',
    organizations: batches.reduce((sum, { organizations }) => sum + organizations.length, 0),
    batches: batches.length,
    credits_limit: null,
    question_sha256: 'question',
  }
  writer.write(record, JSON.stringify(batches))
}

/** A journal in which these runs have begun, with a batch of one organisation. */
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

/** A journal with one segment for each list of pages, after one with the beginning of their run. */
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
export async function writePages(
  journal: Journal,
  pages: readonly ReturnType<typeof aPage>[],
): Promise<void> {
  const writer = journal.writer()
  for (const { record, body } of pages) writer.write(record, body)
  await writer.close()
}

/** Everything that `load` and `build` keep, except what describes the file itself; equal dumps are equal warehouses. */
export async function dumpTables(
  warehouse: Warehouse,
  leftOut: readonly string[] = ['ops.checks', 'ops.schema_files', 'ops.journal_positions'],
): Promise<Record<string, unknown[]>> {
  const tables = await warehouse.all<{ name: string }>(
    `select case schema_name when 'main' then table_name else schema_name || '.' || table_name end as name
     from duckdb_tables() where not temporary order by 1`,
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

/** Writes that a batch was read to its end. */
export function finishBatch(
  writer: JournalWriter,
  batch: BatchRecord,
  covered: { readonly from: number | null; readonly to: number },
  runId = 'run_1',
  at = covered.to,
  // A chunk of no pages: one that names pages is read only where the journal holds them.
  pages = 0,
): void {
  writer.write(
    {
      kind: 'batch_finished',
      run_id: runId,
      batch_id: batch.batch_id,
      at,
      pages,
      events: 0,
      covered_from: covered.from,
      covered_to: covered.to,
    },
    JSON.stringify(batch),
  )
}
