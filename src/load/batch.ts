/**
 * Records of the journal → rows to be staged, gathered until a batch is worth a transaction. Everything here is in
 * memory; only load.ts talks to the warehouse.
 */

import { parseEvent, parsePage, unknownFields } from '../api/schemas.ts'
import { coveredBy } from '../journal/coverage.ts'
import { addedSlices, payloadOf, refuseUnknown } from '../journal/history.ts'
import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import type { PlacedFrame } from '../journal/reader.ts'
import {
  organizationName,
  type PageReceived,
  type RequestFailed,
  type RequestSent,
  type RunFinished,
  type RunStarted,
  type SliceFinished,
  type SliceRecord,
  type SliceSplit,
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

/** Why an event is refused whose organisation is none of those that its slice asked for. */
const NOT_ASKED_FOR = 'organisation was not asked for'

/** Rows waiting to be merged; by key where a later record replaces an earlier one. */
export class Batch {
  readonly sightings = new SightingColumns()
  readonly organizations = new OrganizationRows()
  readonly rejects: Row[] = []
  readonly coverage: Row[] = []
  readonly runs = new Map<string, Row>()
  readonly slices = new Map<string, Row>()
  readonly pages = new Map<string, Row>()
  readonly unknownFields = new Map<string, Row>()
  readonly snapshots = new Map<string, Row>()
  /** Events that were left out because they are not kept. */
  suppressed = 0
  /** Runs as the warehouse and this batch know them. */
  readonly #knownRuns: Map<string, Row>
  readonly #suppression: Suppression
  readonly #isRead: (record: SliceFinished) => boolean

  /** @param isRead whether the journal holds what a slice is said to be finished by: else it covers nothing */
  constructor(
    knownRuns: Map<string, Row>,
    suppression: Suppression,
    isRead: (record: SliceFinished) => boolean,
  ) {
    this.#knownRuns = knownRuns
    this.#suppression = suppression
    this.#isRead = isRead
  }

  /** Rows gathered, roughly: what decides when to merge. */
  get size(): number {
    const rows = this.sightings.length + this.pages.size + this.coverage.length + this.slices.size
    return rows + this.organizations.size
  }

  /** Adds one record. */
  add(frame: PlacedFrame): void {
    const { record } = frame
    switch (record.kind) {
      case 'run_started':
        this.startRun(record, payloadOf<SliceRecord[]>(frame))
        return
      case 'run_resumed': {
        const resumed = Number(this.#knownRuns.get(record.run_id)?.['resumed'] ?? 0) + 1
        this.#changeRun(record.run_id, { ...UNFINISHED, resumed })
        for (const slice of addedSlices(frame)) {
          this.#setSlice(record.run_id, slice, { state: 'planned' })
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
      case 'slice_finished':
        this.#finishSlice(record, payloadOf<SliceRecord>(frame))
        return
      case 'slice_split':
        this.#splitSlice(record, payloadOf<SplitPayload>(frame))
        return
      case 'organization_set_aside':
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
  startRun(record: RunStarted, slices: readonly SliceRecord[]): void {
    this.#changeRun(record.run_id, {
      run_id: record.run_id,
      pipeline: record.pipeline,
      kind: record.command,
      started_at: new Date(record.at),
      ...UNFINISHED,
      organizations: record.organizations,
      slices: record.slices,
      credits_limit: record.credits_limit,
      resumed: 0,
    })
    for (const slice of slices) this.#setSlice(record.run_id, slice, { state: 'planned' })
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

  #finishSlice(record: SliceFinished, slice: SliceRecord): void {
    if (!this.#isRead(record)) {
      this.#setSlice(record.run_id, slice, { state: 'planned' })
      return
    }
    this.organizations.addSlice(record, slice)
    const { from, to } = coveredBy(record)
    const covered = {
      covered_from: from === null ? null : new Date(from),
      covered_to: new Date(to),
    }
    this.#setSlice(record.run_id, slice, {
      state: 'finished',
      pages: record.pages,
      events: record.events,
      ...covered,
      finished_at: new Date(record.at),
    })
    for (const organization of slice.organizations) {
      this.coverage.push({
        organization_id: organizationName(organization),
        event_types: slice.event_types.join(),
        ...covered,
      })
    }
  }

  #splitSlice(record: SliceSplit, { slice, instead }: SplitPayload): void {
    this.#setSlice(record.run_id, slice, { state: 'split', finished_at: new Date(record.at) })
    for (const smaller of instead) this.#setSlice(record.run_id, smaller, { state: 'planned' })
  }

  #setSlice(runId: string, slice: SliceRecord, state: Row): void {
    this.slices.set(`${runId} ${slice.slice_id}`, {
      run_id: runId,
      slice_id: slice.slice_id,
      organizations: slice.organizations.length,
      days_ago: slice.days_ago,
      event_types: slice.event_types.join(),
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
        slice_id: record.slice_id,
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
  const { run_id, slice_id, page, request_id } = record
  return { run_id, slice_id, page, request_id }
}
