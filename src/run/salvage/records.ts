/** What a warehouse knows, as records of a new journal: the opposite of a load. */

import type { JournalWriter } from '../../journal/journal.ts'
import {
  isResumable,
  type AnswerReceived,
  type LookupRecord,
  type LookupsPlanned,
  type EventType,
  type RunFinished,
  type RunOutcome,
  type RunStarted,
  type SalvagedOrganization,
} from '../../journal/records.ts'
import { NOT_ASKED_FOR } from '../../load/read-events.ts'
import type { EXIT } from '../../support/errors.ts'
import { jsonOrNull } from '../../support/json.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { readLedgerRows, readPages, type KnownPage, type LedgerRow } from './events.ts'

type Reject = { readonly request_id: string; readonly reason: string; readonly event: string }

const PAGES_AT_ONCE = 500
const ms = (column: string) => `epoch_ms(${column})::double as ${column}`

interface RunRow {
  readonly run_id: string
  readonly pipeline: string
  readonly kind: RunStarted['command']
  readonly started_at: number
  readonly finished_at: number | null
  readonly outcome: RunOutcome | 'unfinished'
  readonly exit_code: (typeof EXIT)[keyof typeof EXIT] | null
  readonly message: string | null
  readonly organizations: number
  readonly batches: number
  readonly credits_limit: number | null
  readonly resumed: number
}

/**
 * Writes all that the warehouse knows into an empty journal.
 * @param onPage called with pages written, and of how many
 */
export async function writeRecords(
  warehouse: Warehouse,
  writer: JournalWriter,
  nowMs: number,
  onPage: (done: number, total: number) => void,
): Promise<void> {
  const runs = await warehouse.all<RunRow>(
    `select * replace (${ms('started_at')}, ${ms('finished_at')}) from ops.runs order by run_id`,
  )
  for (const run of runs) beginRun(writer, run)
  await writeLookups(warehouse, writer)
  await writePages(warehouse, writer, onPage)
  await writeDeliveries(warehouse, writer)
  await writeBatches(warehouse, writer)
  for (const run of runs) if (isOpen(run) && run.outcome !== 'unfinished') writer.write(endOf(run))
  await writeOrganizations(warehouse, writer, nowMs)
  await writeSnapshots(warehouse, writer)
}

async function writeDeliveries(warehouse: Warehouse, writer: JournalWriter): Promise<void> {
  const deliveries = await warehouse.all<{ id: string; at: number; body: string }>(
    `select request_id as id, epoch_ms(received_at)::double as at, body from answers
     where run_id is null order by received_at, request_id`,
  )
  for (const { id, at, body } of deliveries) {
    writer.write({ kind: 'delivery_received', at, delivery_id: id }, body)
  }
}

/** What was asked of other endpoints: the requests themselves are not known, and not needed any more. */
async function writeLookups(warehouse: Warehouse, writer: JournalWriter): Promise<void> {
  const rows = await warehouse.all<LookupRecord & LookupsPlanned>(
    `select distinct answers.run_id, endpoint, batch_id, lookup_key, subject
     from answers join ops.pages as pages on pages.request_id = answers.request_id
     order by all`,
  )
  for (const [run_id, lookups] of grouped(rows, (row) => row.run_id)) {
    const planned = lookups.map(({ batch_id, lookup_key, subject }) => {
      return { batch_id, lookup_key, subject, request: {} } satisfies LookupRecord
    })
    const endpoint = lookups[0]?.endpoint ?? ''
    writer.write({ kind: 'lookups_planned', run_id, at: 0, endpoint }, JSON.stringify(planned))
  }
}

// A run is closed before its pages: nobody knows what else it was to ask for, so that it is not resumed.
function beginRun(writer: JournalWriter, run: RunRow): void {
  const { run_id, pipeline, started_at: at, organizations, batches, credits_limit, resumed } = run
  const about = { pipeline, command: run.kind, organizations, batches, credits_limit }
  writer.write({ kind: 'run_started', run_id, at, ...about, question_sha256: '' }, '[]')
  for (let nth = 0; nth < resumed; nth += 1) writer.write({ kind: 'run_resumed', run_id, at })
  writer.write(isOpen(run) ? { ...endOf(run), outcome: 'abandoned' } : endOf(run))
}

function isOpen({ outcome }: RunRow): boolean {
  return outcome === 'unfinished' || isResumable(outcome)
}

function endOf({
  run_id,
  started_at,
  finished_at,
  outcome,
  exit_code,
  message,
}: RunRow): RunFinished {
  return {
    kind: 'run_finished',
    run_id,
    at: finished_at ?? started_at,
    outcome: outcome === 'unfinished' ? 'abandoned' : outcome,
    exit_code: exit_code ?? 0,
    message,
  }
}

async function writePages(
  warehouse: Warehouse,
  writer: JournalWriter,
  onPage: (done: number, total: number) => void,
): Promise<void> {
  const ledger = await readLedgerRows(warehouse)
  const rejects = grouped(
    await warehouse.all<Reject>(
      'select request_id, reason, event from ops.rejects order by request_id, position',
    ),
    ({ request_id: id }) => id,
  )
  for (let from = 0; from < ledger.length; from += PAGES_AT_ONCE) {
    const pages = await readPages(warehouse, from, from + PAGES_AT_ONCE)
    for (const row of ledger.slice(from, from + PAGES_AT_ONCE)) {
      writeRequest(writer, row, pages.get(row.nth), rejects.get(row.request_id) ?? [])
    }
    onPage(Math.min(ledger.length, from + PAGES_AT_ONCE), ledger.length)
    // Segments of a size that is quickly read.
    if ((from / PAGES_AT_ONCE) % 100 === 99) await writer.close()
  }
}

function writeRequest(
  writer: JournalWriter,
  row: LedgerRow,
  known: KnownPage = { events: '', count: 0, seen: [] },
  refused: readonly Reject[],
): void {
  const { run_id, batch_id, page, request_id, requested_at, received_at: at, status } = row
  const about = { run_id, batch_id, page, request_id }
  writer.write({ kind: 'request_sent', ...about, at: requested_at })
  if (at === null) return
  if (row.outcome !== 'received') {
    const in_doubt = row.outcome === 'in_doubt'
    const error = row.error ?? ''
    writer.write({ kind: 'request_failed', ...about, requested_at, at, status, error, in_doubt })
    return
  }
  if (row.endpoint !== null) return writeAnswer(writer, row, { ...about, requested_at, at })
  // One that was nested too deeply to be kept stands there as a text.
  const rejects = refused.filter(({ event }) => jsonOrNull(event) !== null)
  const foreign = new Set(rejects.flatMap(foreignId))
  const events = row.events ?? 0
  const missing = events - known.count - rejects.length
  writer.write(
    {
      kind: 'page_received',
      ...about,
      requested_at,
      at,
      server_at: at,
      status: status ?? 200,
      events,
      credits_used: row.credits_used ?? 0,
      ...(row.credits_sent === null ? {} : { credits_sent: row.credits_sent }),
      has_more: row.has_more === true,
      body_sha256: row.body_sha256 ?? '',
      seen: known.seen,
      ...(foreign.size === 0 ? {} : { foreign: [...foreign] }),
      ...(missing > 0 ? { erased: missing } : {}),
    },
    bodyOf(row, [
      ...(known.events === '' ? [] : [known.events]),
      ...rejects.map(({ event }) => event),
    ]),
  )
}

function writeAnswer(
  writer: JournalWriter,
  row: LedgerRow,
  about: Pick<
    AnswerReceived,
    'run_id' | 'batch_id' | 'page' | 'request_id' | 'requested_at' | 'at'
  >,
): void {
  writer.write(
    {
      kind: 'answer_received',
      ...about,
      endpoint: row.endpoint ?? '',
      lookup_key: row.lookup_key ?? '',
      subject: row.subject ?? '',
      status: row.status ?? 200,
      outcome: row.answer_outcome ?? 'found',
      items: row.events ?? 0,
      credits_used: row.credits_used ?? 0,
      ...(row.credits_sent === null ? {} : { credits_sent: row.credits_sent }),
      ...(row.is_unexpected === true ? { is_unexpected: true } : {}),
      // Where it ended is not known; a list that is asked for again is read from page 1.
      next: row.has_more === true ? '' : null,
      body_sha256: row.body_sha256 ?? '',
    },
    row.body ?? '',
  )
}

function foreignId({ reason, event }: Reject): string[] {
  if (reason !== NOT_ASKED_FOR) return []
  const { organization } = jsonOrNull(event) as { organization: { organization_id: string } }
  return [organization.organization_id]
}

function bodyOf({ page, has_more, credits_used }: LedgerRow, events: readonly string[]): string {
  const pagination = JSON.stringify({ page, limit: 50, has_more: has_more === true })
  return `{"success":true,"message":"salvaged","data":[${events.join()}],"pagination":${pagination},"credit_used":${credits_used ?? 0}}`
}

// Who was asked is not known of a batch; what was covered, the record of organisations says.
async function writeBatches(warehouse: Warehouse, writer: JournalWriter): Promise<void> {
  const batches = await warehouse.all<{
    run_id: string
    batch_id: string
    days_ago: number | null
    event_types: string
    pages: number
    events: number
    covered_from: number | null
    covered_to: number
    finished_at: number
  }>(
    `select * replace (${ms('covered_from')}, ${ms('covered_to')}, ${ms('finished_at')})
     from ops.batches where state = 'finished' order by finished_at, run_id, batch_id`,
  )
  for (const { run_id, batch_id, days_ago, event_types, finished_at: at, ...read } of batches) {
    const { pages, events, covered_from, covered_to } = read
    writer.write(
      { kind: 'batch_finished', run_id, batch_id, at, pages, events, covered_from, covered_to },
      JSON.stringify({ batch_id, organizations: [], days_ago, event_types: typesOf(event_types) }),
    )
  }
}

function typesOf(text: string): EventType[] {
  return text.split(',') as EventType[]
}

async function writeOrganizations(
  warehouse: Warehouse,
  writer: JournalWriter,
  nowMs: number,
): Promise<void> {
  const runId = await warehouse.all<{ run_id: string }>(
    'select max(run_id) as run_id from ops.pages',
  )
  const run_id = runId[0]?.run_id ?? ''
  for (const { asked_as: value, organization_id, learnt_at: at } of await warehouse.all<{
    asked_as: string
    organization_id: string
    learnt_at: number
  }>(
    `select * replace (${ms('learnt_at')}) from ops.organization_ids order by learnt_at, asked_as`,
  )) {
    const organization = { by: 'url' as const, value }
    writer.write({ kind: 'organization_learnt', run_id, at, organization, organization_id })
  }
  const covered = grouped(
    await warehouse.all<{
      id: string
      types: string
      covered_from: number | null
      covered_to: number
    }>(
      `select organization_id as id, event_types as types, ${ms('covered_from')}, ${ms('covered_to')}
       from ops.coverage order by all`,
    ),
    ({ id }) => id,
  )
  const asked = await warehouse.all<{ id: string; first_asked_at: number; last_asked_at: number }>(
    `select organization_id as id, ${ms('first_asked_at')}, ${ms('last_asked_at')}
     from ops.organizations_asked order by all`,
  )
  const salvaged = asked.map(({ id, first_asked_at, last_asked_at }): SalvagedOrganization => ({
    name: id,
    first_asked: first_asked_at,
    last_asked: last_asked_at,
    covered: (covered.get(id) ?? []).map(({ types, covered_from: from, covered_to: to }) => ({
      event_types: typesOf(types),
      from,
      to,
    })),
  }))
  writer.write({ kind: 'organizations_salvaged', at: nowMs }, JSON.stringify(salvaged))
  for (const { id: value, reason, quarantined_at: at } of await warehouse.all<{
    id: string
    reason: string
    quarantined_at: number
  }>(
    `select organization_id as id, reason, ${ms('quarantined_at')} from ops.organizations_quarantined order by all`,
  )) {
    const organization = { by: 'id' as const, value }
    writer.write({ kind: 'organization_quarantined', run_id, at, organization, reason })
  }
}

function grouped<T, K>(rows: readonly T[], keyOf: (row: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row)) ?? []
    groups.set(keyOf(row), group)
    group.push(row)
  }
  return groups
}

async function writeSnapshots(warehouse: Warehouse, writer: JournalWriter): Promise<void> {
  const rows = await warehouse.all<{
    run_id: string | null
    snapshot_id: string
    destination: string
    at: number
    tables: number
    files: number
    new_files: number
    rows: number
    bytes: number
    new_bytes: number
  }>(
    `select run_id, snapshot_id, destination, epoch_ms(published_at)::double as at, tables, files, new_files,
       row_count::double as rows, bytes::double as bytes, new_bytes::double as new_bytes
     from ops.snapshots order by published_at, snapshot_id`,
  )
  for (const row of rows) writer.write({ kind: 'snapshot_published', ...row })
}
