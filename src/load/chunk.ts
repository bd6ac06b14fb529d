/** Gathers records of the journal as rows for one transaction. load.ts stores the totals (runs, coverage, ids). */

import { coveredBy, filtersText } from '../journal/coverage.ts'
import { addedBatches, payloadOf } from '../journal/history.ts'
import { CREDITS_PER_PAGE, creditsInDoubt, isUnexpectedCharge } from '../journal/spending.ts'
import type { PlacedFrame } from '../journal/reader.ts'
import type {
  AnswerReceived,
  BatchFinished,
  BatchRecord,
  BatchSplit,
  DeliveryReceived,
  PageReceived,
  RequestFailed,
  RequestSent,
  SnapshotPublished,
  SplitPayload,
} from '../journal/records.ts'
import { withoutLoneSurrogates } from '../support/json.ts'
import { SIGNAL_DELIVERY } from '../warehouse/catalog.ts'
import type { Row } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { cutAnswer, rowsOfDelivery } from './remove-suppressed.ts'
import { readPages, ReadingNotes, type PageBody } from './read-events.ts'
import type { Suppression } from './suppression.ts'

// Bytes of an answer that count as one event. A page of job changes has six times as many for an event, but JavaScript
// and the engine hold several copies of an answer until it is merged. With 512 MB, 100,000 activities took 467 MB of
// the process, and 701 MB if this was 600.
const BYTES_OF_AN_EVENT = 100

export type AnswerRow = Row & { readonly body: string }

/** Rows waiting to be merged; keyed if a later record replaces an earlier one. */
export class Chunk {
  readonly batches = new Map<string, Row>()
  readonly pages = new Map<string, Row>()
  readonly snapshots = new Map<string, Row>()
  readonly answers: AnswerRow[] = []
  /** Columns of ops.page_organizations. */
  readonly pageOrganizations = {
    request_id: [] as string[],
    organization_id: [] as string[],
    events: [] as number[],
  }
  /** Pages received, and the events on them. */
  received = 0
  events = 0
  /** By segment of the journal, where the last record added ends. */
  readonly ends = new Map<string, number>()
  /** Bytes of the records. */
  bytes = 0
  /** Bytes of the bodies waiting to be read. */
  waiting = 0
  #bodies: PageBody[] = []
  #answerSize = 0
  readonly notes = new ReadingNotes()
  readonly #notRead: ReadonlySet<string>
  readonly #suppression: Suppression

  constructor(notRead: ReadonlySet<string>, suppression: Suppression) {
    this.#notRead = notRead
    this.#suppression = suppression
  }

  /** Roughly the rows gathered, which decide when to merge. */
  get size(): number {
    return this.events + this.pages.size + this.batches.size + this.#answerSize
  }

  /** Reads the events of the pages added since the last call. */
  async readBodies(warehouse: Warehouse): Promise<void> {
    const bodies = this.#bodies
    this.#bodies = []
    this.waiting = 0
    if (bodies.length > 0) await readPages(warehouse, bodies, this.#suppression, this.notes)
  }

  add(segment: string, frame: PlacedFrame): void {
    this.ends.set(segment, frame.end)
    this.bytes += frame.size
    const { record } = frame
    switch (record.kind) {
      case 'run_started':
        return this.#planBatches(record.run_id, payloadOf<BatchRecord[]>(frame))
      case 'run_resumed':
        return this.#planBatches(record.run_id, addedBatches(frame))
      case 'request_sent':
      case 'request_failed':
        return this.#addRequest(record)
      case 'page_received':
        return this.#addPage(record, frame.payload())
      case 'answer_received':
        return this.#addAnswer(record, frame.payload())
      case 'delivery_received':
        return this.#addDelivery(record, frame.payload())
      case 'batch_finished':
        return this.#finishBatch(record, payloadOf<BatchRecord>(frame))
      case 'batch_split':
        return this.#splitBatch(record, payloadOf<SplitPayload>(frame))
      case 'snapshot_published':
        return this.#addSnapshot(record)
      case 'lookups_planned':
      case 'question_filtered':
      case 'run_finished':
      case 'organization_quarantined':
      case 'organization_learnt':
      case 'organizations_salvaged':
      case 'paused':
      case 'suppression_changed':
      case 'seal':
        return
      default:
        record satisfies never
    }
  }

  #planBatches(runId: string, batches: readonly BatchRecord[]): void {
    for (const batch of batches) this.#setBatch(runId, batch, { state: 'planned' })
  }

  #finishBatch(record: BatchFinished, batch: BatchRecord): void {
    if (this.#notRead.has(`${record.run_id} ${record.batch_id}`)) {
      this.#planBatches(record.run_id, [batch])
      return
    }
    const { from, to } = coveredBy(record)
    this.#setBatch(record.run_id, batch, {
      state: 'finished',
      pages: record.pages,
      events: record.events,
      covered_from: from === null ? null : new Date(from),
      covered_to: new Date(to),
      finished_at: new Date(record.at),
    })
  }

  #splitBatch(record: BatchSplit, { batch, instead }: SplitPayload): void {
    this.#setBatch(record.run_id, batch, { state: 'split', finished_at: new Date(record.at) })
    this.#planBatches(record.run_id, instead)
  }

  #setBatch(runId: string, batch: BatchRecord, state: Row): void {
    this.batches.set(`${runId} ${batch.batch_id}`, {
      run_id: runId,
      batch_id: batch.batch_id,
      organizations: batch.organizations.length,
      days_ago: batch.days_ago,
      event_types: batch.event_types.join(),
      filters: filtersText(batch.filters) || null,
      pages: null,
      events: null,
      covered_from: null,
      covered_to: null,
      finished_at: null,
      ...state,
    })
  }

  #addRequest(record: RequestSent | RequestFailed): void {
    const failed = record.kind === 'request_failed' ? record : null
    // The outcome of a request replaces the record of its sending, whichever comes first.
    if (failed === null && this.pages.has(record.request_id)) return
    const isInDoubt = failed?.in_doubt ?? true
    this.#setPage(record, {
      requested_at: new Date(failed?.requested_at ?? record.at),
      received_at: failed && new Date(failed.at),
      status: failed && failed.status,
      outcome: isInDoubt ? 'in_doubt' : 'failed',
      credits_used: failed ? creditsInDoubt(failed) : (record.price ?? CREDITS_PER_PAGE),
      error: failed ? failed.error : 'no answer was recorded',
    })
  }

  #addReceived(record: PageReceived | AnswerReceived, events: number, hasMore: boolean): void {
    this.#setPage(record, {
      requested_at: new Date(record.requested_at),
      received_at: new Date(record.at),
      status: record.status,
      outcome: 'received',
      credits_used: record.credits_used,
      error: null,
      events,
      credits_sent: record.credits_sent ?? null,
      has_more: hasMore,
      body_sha256: record.body_sha256,
      is_unexpected: isUnexpectedCharge(record),
    })
  }

  #setPage(
    record: RequestSent | RequestFailed | PageReceived | AnswerReceived,
    outcome: Row,
  ): void {
    const { run_id, batch_id, page, request_id } = record
    this.pages.set(request_id, { ...NOT_RECEIVED, run_id, batch_id, page, request_id, ...outcome })
  }

  #addAnswer(record: AnswerReceived, payload: Buffer): void {
    const hasMore = record.next !== null
    this.#addReceived(record, record.items, hasMore)
    const { request_id, run_id, endpoint, page, outcome, at, subject, lookup_key } = record
    const about = { request_id, run_id, endpoint, page, outcome, received_at: new Date(at) }
    const kept = this.#kept(payload, { subject, lookup_key })
    this.answers.push({ ...about, has_more: hasMore, ...kept })
  }

  #addDelivery({ delivery_id: id, at }: DeliveryReceived, payload: Buffer): void {
    const about = { run_id: null, endpoint: SIGNAL_DELIVERY, page: 1, outcome: 'found' }
    const { body, ...kept } = this.#kept(payload, { subject: '', lookup_key: id })
    for (const row of rowsOfDelivery(id, body)) {
      this.answers.push({ ...about, received_at: new Date(at), has_more: null, ...kept, ...row })
    }
  }

  /** The text of a body and its subject, without the parts that name people who are not kept. */
  #kept(payload: Buffer, about: { readonly subject: string; readonly lookup_key: string }) {
    this.#answerSize += payload.length / BYTES_OF_AN_EVENT
    const cut =
      this.#suppression.people === 0
        ? null
        : cutAnswer(payload, this.#suppression.coversText, about.subject)
    this.notes.suppressed += cut?.places.length ?? 0
    const body = withoutLoneSurrogates((cut?.body ?? payload).toString('utf8'))
    return { ...(cut?.isAbout === true ? { subject: '', lookup_key: '' } : about), body }
  }

  #addPage(record: PageReceived, payload: Buffer): void {
    this.#addReceived(record, record.events, record.has_more)
    for (const [organizationId, count] of record.seen) {
      this.pageOrganizations.request_id.push(record.request_id)
      this.pageOrganizations.organization_id.push(organizationId)
      this.pageOrganizations.events.push(count)
    }
    this.received += 1
    if (record.events === 0) return
    this.#bodies.push({ record, body: payload })
    this.events += record.events
    this.waiting += payload.length
  }

  #addSnapshot(record: SnapshotPublished): void {
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
  }
}

const NOT_RECEIVED = {
  events: null,
  credits_sent: null,
  has_more: null,
  body_sha256: null,
  is_unexpected: null,
}
