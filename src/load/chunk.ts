/**
 * Records of the journal → rows to be staged, gathered until a chunk is worth a transaction. Everything here is in
 * memory; only load.ts talks to the warehouse.
 */

import { parseEvent, parsePage, unknownFields } from '../api/schemas.ts'
import { coveredBy } from '../journal/coverage.ts'
import { addedBatches, payloadOf, refuseUnknown } from '../journal/history.ts'
import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import type { PlacedFrame } from '../journal/reader.ts'
import {
  organizationName,
  type PageReceived,
  type RequestFailed,
  type RequestSent,
  type RunFinished,
  type RunStarted,
  type BatchFinished,
  type BatchRecord,
  type BatchSplit,
  type SplitPayload,
} from '../journal/records.ts'
import { receivedJson } from '../support/json.ts'
import type { SqlValue } from '../warehouse/warehouse.ts'
import { SightingColumns } from './event-row.ts'
import { OrganizationRows } from './organization-rows.ts'
import type { Suppression } from './suppression.ts'

type Row = Readonly<Record<string, SqlValue>>

/** How a run looks while it has no end. */
const UNFINISHED: Row = { finished_at: null, outcome: 'unfinished', exit_code: null, message: null }

/** Why an event is refused whose organisation is none of those that its batch asked for. */
const NOT_ASKED_FOR = 'organisation was not asked for'

/** Rows waiting to be merged; by key where a later record replaces an earlier one. */
export class Chunk {
  readonly sightings = new SightingColumns()
  readonly organizations = new OrganizationRows()
  readonly rejects: Row[] = []
  readonly coverage: Row[] = []
  readonly runs = new Map<string, Row>()
  readonly batches = new Map<string, Row>()
  readonly pages = new Map<string, Row>()
  readonly unknownFields = new Map<string, Row>()
  readonly snapshots = new Map<string, Row>()
  /** Events that were left out because they are not kept. */
  suppressed = 0
  /** Runs as the warehouse and this chunk know them. */
  readonly #knownRuns: Map<string, Row>
  readonly #suppression: Suppression
  readonly #isRead: (record: BatchFinished) => boolean

  /** @param isRead whether the journal holds what a batch is said to be finished by: else it covers nothing */
  constructor(
    knownRuns: Map<string, Row>,
    suppression: Suppression,
    isRead: (record: BatchFinished) => boolean,
  ) {
    this.#knownRuns = knownRuns
    this.#suppression = suppression
    this.#isRead = isRead
  }

  /** Rows gathered, roughly: what decides when to merge. */
  get size(): number {
    const rows = this.sightings.length + this.pages.size + this.coverage.length + this.batches.size
    return rows + this.organizations.size
  }

  /** Adds one record. */
  add(frame: PlacedFrame): void {
    const { record } = frame
    switch (record.kind) {
      case 'run_started':
        this.startRun(record, payloadOf<BatchRecord[]>(frame))
        return
      case 'run_resumed': {
        const resumed = Number(this.#knownRuns.get(record.run_id)?.['resumed'] ?? 0) + 1
        this.#changeRun(record.run_id, { ...UNFINISHED, resumed })
        for (const batch of addedBatches(frame)) {
          this.#setBatch(record.run_id, batch, { state: 'planned' })
        }
        return
      }
      case 'run_finished':
        this.finishRun(record)
        return
      case 'request_sent':
      case 'request_failed':
        this.#addRequest(record)
        return
      case 'page_received':
        this.#addPage(record, frame.payload())
        return
      case 'batch_finished':
        this.#finishBatch(record, payloadOf<BatchRecord>(frame))
        return
      case 'batch_split':
        this.#splitBatch(record, payloadOf<SplitPayload>(frame))
        return
      case 'organization_quarantined':
        this.organizations.leaveOut(record)
        return
      case 'organization_learnt':
        this.organizations.learn(record)
        return
      case 'snapshot_published':
        this.snapshots.set(record.snapshot_id, {
          snapshot_id: record.snapshot_id,
          run_id: record.run_id,
          destination: record.destination,
          published_at: new Date(record.at),
          tables: record.tables,
          files: record.files,
          new_files: record.new_files,
          row_count: BigInt(record.rows),
          bytes: BigInt(record.bytes),
          new_bytes: BigInt(record.new_bytes),
        })
        return
      case 'paused':
      case 'suppression_changed':
      case 'seal':
        return
      default:
        refuseUnknown(record)
    }
  }

  /** Adds the beginning of a run. */
  startRun(record: RunStarted, batches: readonly BatchRecord[]): void {
    this.#changeRun(record.run_id, {
      run_id: record.run_id,
      pipeline: record.pipeline,
      kind: record.command,
      started_at: new Date(record.at),
      ...UNFINISHED,
      organizations: record.organizations,
      batches: record.batches,
      credits_limit: record.credits_limit,
      resumed: 0,
    })
    for (const batch of batches) this.#setBatch(record.run_id, batch, { state: 'planned' })
  }

  /** Adds the end of a run. */
  finishRun(record: RunFinished): void {
    this.#changeRun(record.run_id, {
      finished_at: new Date(record.at),
      outcome: record.outcome,
      exit_code: record.exit_code,
      message: record.message,
    })
  }

  #changeRun(runId: string, change: Row): void {
    const row = { ...this.#knownRuns.get(runId), ...change }
    this.#knownRuns.set(runId, row)
    this.runs.set(runId, row)
  }

  #finishBatch(record: BatchFinished, batch: BatchRecord): void {
    if (!this.#isRead(record)) {
      this.#setBatch(record.run_id, batch, { state: 'planned' })
      return
    }
    this.organizations.addBatch(record, batch)
    const { from, to } = coveredBy(record)
    const covered = {
      covered_from: from === null ? null : new Date(from),
      covered_to: new Date(to),
    }
    this.#setBatch(record.run_id, batch, {
      state: 'finished',
      pages: record.pages,
      events: record.events,
      ...covered,
      finished_at: new Date(record.at),
    })
    for (const organization of batch.organizations) {
      this.coverage.push({
        organization_id: organizationName(organization),
        event_types: batch.event_types.join(),
        ...covered,
      })
    }
  }

  #splitBatch(record: BatchSplit, { batch, instead }: SplitPayload): void {
    this.#setBatch(record.run_id, batch, { state: 'split', finished_at: new Date(record.at) })
    for (const smaller of instead) this.#setBatch(record.run_id, smaller, { state: 'planned' })
  }

  #setBatch(runId: string, batch: BatchRecord, state: Row): void {
    this.batches.set(`${runId} ${batch.batch_id}`, {
      run_id: runId,
      batch_id: batch.batch_id,
      organizations: batch.organizations.length,
      days_ago: batch.days_ago,
      event_types: batch.event_types.join(),
      pages: null,
      events: null,
      covered_from: null,
      covered_to: null,
      finished_at: null,
      ...state,
    })
  }

  #addRequest(record: RequestSent | RequestFailed): void {
    const failed = record.kind === 'request_failed'
    const inDoubt = !failed || record.in_doubt
    // What became of a request says more than that it was sent, in whatever order the two come.
    if (!failed && this.pages.has(record.request_id)) return
    this.pages.set(record.request_id, {
      ...requestColumns(record),
      requested_at: new Date(failed ? record.requested_at : record.at),
      received_at: failed ? new Date(record.at) : null,
      status: failed ? record.status : null,
      outcome: inDoubt ? 'in_doubt' : 'failed',
      events: null,
      credits_used: inDoubt ? CREDITS_PER_PAGE : 0,
      credits_sent: null,
      has_more: null,
      body_sha256: null,
      error: failed ? record.error : 'no answer was recorded',
    })
  }

  #addPage(record: PageReceived, body: Buffer): void {
    this.pages.set(record.request_id, {
      ...requestColumns(record),
      requested_at: new Date(record.requested_at),
      received_at: new Date(record.at),
      status: record.status,
      outcome: 'received',
      events: record.events,
      credits_used: record.credits_used,
      credits_sent: record.credits_sent ?? null,
      has_more: record.has_more,
      body_sha256: record.body_sha256,
      error: null,
    })
    const page = parsePage(body)
    // The same reading accepted this body when it was bought.
    if (typeof page === 'string') throw new TypeError(`page in the journal is no page: ${page}`)
    this.organizations.addPage(record, () => page.events)
    const foreign = new Set(record.foreign)
    page.events.forEach((value, index) => this.#addEvent(record, value, index + 1, foreign))
  }

  #addEvent(
    record: PageReceived,
    value: unknown,
    position: number,
    foreign: ReadonlySet<string>,
  ): void {
    if (!this.#suppression.isEmpty && this.#suppression.coversEvent(value)) {
      this.suppressed += 1
      return
    }
    const parsed = parseEvent(value)
    const isForeign = typeof parsed !== 'string' && foreign.has(parsed.organization.organization_id)
    const event = isForeign ? NOT_ASKED_FOR : parsed
    if (typeof event === 'string') {
      this.rejects.push({
        run_id: record.run_id,
        batch_id: record.batch_id,
        page: record.page,
        request_id: record.request_id,
        position,
        reason: event,
        event: receivedJson(value),
        received_at: new Date(record.at),
      })
      return
    }
    this.sightings.add({ event, receivedAt: record.at, runId: record.run_id })
    for (const field of unknownFields(value)) {
      if (this.unknownFields.has(field)) continue
      this.unknownFields.set(field, { field, first_seen_at: new Date(record.at) })
    }
  }
}

function requestColumns(record: RequestSent | RequestFailed | PageReceived): Row {
  const { run_id, batch_id, page, request_id } = record
  return { run_id, batch_id, page, request_id }
}
