/**
 * Merges new records of the journal into the warehouse, chunk by chunk, and moves the position in the journal in the
 * same transaction. Loading twice, or in any order, gives the same tables.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { History } from '../journal/history.ts'
import type { Journal } from '../journal/journal.ts'
import { readIntervals, type CoveredInterval } from '../journal/coverage.ts'
import { readHistory } from '../journal/read-history.ts'
import { JournalDamagedError } from '../journal/reader.ts'
import type { RunFinished } from '../journal/records.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { sqlText } from '../support/assets.ts'
import { collectGarbage } from '../support/memory.ts'
import { sum } from '../support/numbers.ts'
import { MIB } from '../support/units.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { CHANGES_WITH_EVERY_RUN, loadedTable } from '../warehouse/catalog.ts'
import { areChangesNoted, noteChange } from '../warehouse/changed-tables.ts'
import { appendRows, type Row } from '../warehouse/rows.ts'
import { Chunk, type AnswerRow } from './chunk.ts'
import { followList } from './remove-suppressed.ts'
import { readSuppression, type Suppression } from './suppression.ts'

export interface LoadOptions {
  readonly warehouse: Warehouse
  readonly journal: Journal
  /**
   * The history of the journal before this load; read from the journal by default. After another load of the same run
   * the runs are enough, because the end of the run is the only new fact.
   */
  readonly history?: History | RunsOfHistory | undefined
  /** Roughly the events merged in one transaction, 1 or more; default: as many as fit in memory. */
  readonly chunkEvents?: number
  /** The record that is about to close the run: ops.runs shows it, so that closing can be the last step of a run. */
  readonly closing?: RunFinished
  readonly onProgress?: (progress: LoadProgress) => void
}

/** The progress of a load, in bytes of the journal. */
export interface LoadProgress {
  readonly bytesDone: number
  readonly bytes: number
}

// Each chunk looks its events up among all known ones, so an engine with more memory gets larger chunks. Larger chunks
// would delay a stop and the progress line.
const MEMORY_PER_EVENT = 4_000
const MOST_EVENTS = 200_000
// The engine holds up to twenty times the bodies while it reads them. With half as many at once, 131,811 events took a
// fifth longer.
const MEMORY_PER_BYTE = 64
const MOST_BYTES = 8 * MIB

/**
 * The loaded position of a segment that an erasure rewrote: past the end of any segment, because a sealed one never
 * grows.
 */
export const ANY_END = 2n ** 53n

/** A segment of the journal that is not completely loaded; `from` is the number of loaded bytes. */
interface OpenSegment {
  readonly name: string
  readonly from: number
  readonly size: number
}

export type RunsOfHistory = Pick<History, 'runs' | 'notRead' | 'suppression'>

/**
 * Merges new records of the journal into the warehouse.
 * @throws JournalLossError if sealed segments are lost and the loss was not accepted
 */
export async function load(options: LoadOptions): Promise<LoadReport> {
  const { warehouse, journal, closing } = options
  // Taken before the segments are read, because coverage must not be ahead of the events.
  const history = options.history ?? readHistory(journal)
  // Not an option, so that no caller can forget it and bring a person back.
  const suppression = readSuppression(journal, history.suppression)
  await followList(warehouse, suppression)
  const report = nothingLoaded()
  await loadSegments(options, history, suppression, report)
  // In a copy: the caller's history must not say what the journal does not have yet.
  const runs = new Map(history.runs)
  const run = runs.get(closing?.run_id ?? '')
  if (closing !== undefined && run !== undefined)
    runs.set(closing.run_id, { ...run, finished: closing })
  await storeFacts(warehouse, { ...history, runs })
  return report
}

export type LoadReport = ReturnType<typeof nothingLoaded>

/** The counts of a load. */
function nothingLoaded() {
  return {
    pages: 0,
    /** Rows of table answers: answers of other endpoints, and what deliveries brought. */
    answers: 0,
    /** Events received, including repeats. */
    sightings: 0,
    inserted: 0,
    /** Known events that a newer sighting changed. */
    updated: 0,
    /** Events that did not fit and became rejects. */
    rejected: 0,
    /** Suppressed events, of erased people or from before a day. */
    suppressed: 0,
    newUnknownFields: [] as string[],
  }
}

async function loadSegments(
  { warehouse, journal, chunkEvents, onProgress }: LoadOptions,
  { notRead }: RunsOfHistory,
  suppression: Suppression,
  report: LoadReport,
): Promise<void> {
  const segments = await openSegments(warehouse, journal)
  if (segments.length === 0) return
  const memory = await warehouse.memoryLimit()
  const most = {
    events: chunkEvents ?? Math.min(memory / MEMORY_PER_EVENT, MOST_EVENTS),
    bytes: Math.min(memory / MEMORY_PER_BYTE, MOST_BYTES),
  }
  const bytes = sum(segments.map(({ from, size }) => size - from))
  let bytesDone = 0
  onProgress?.({ bytesDone, bytes })
  // Most nights write a small segment, and each chunk costs 0.04 s. But merging notes the segments that hold events of
  // erased people.
  for (const group of suppression.isEmpty ? [segments] : segments.map((segment) => [segment])) {
    const frames = framesOf(journal, group)
    try {
      for (;;) {
        const chunk = new Chunk(notRead, suppression)
        await fillChunk(warehouse, chunk, most, frames)
        if (chunk.bytes === 0) break
        // More of a delivery was parsed than is kept, and its rows are in memory several times.
        if (chunk.answers.length > 0) collectGarbage()
        await mergeChunk(warehouse, chunk, report)
        if (chunk.answers.length > 0) collectGarbage()
        bytesDone += chunk.bytes
        onProgress?.({ bytesDone, bytes })
      }
    } finally {
      frames.return(undefined)
    }
  }
}

function* framesOf(journal: Journal, segments: readonly OpenSegment[]) {
  for (const { name: segment, from } of segments) {
    for (const frame of journal.read(segment, from)) yield { segment, frame }
  }
}

async function fillChunk(
  warehouse: Warehouse,
  chunk: Chunk,
  most: { readonly events: number; readonly bytes: number },
  frames: ReturnType<typeof framesOf>,
): Promise<void> {
  while (chunk.size < most.events) {
    const next = frames.next()
    if (next.done === true) break
    if (chunk.bytes === 0) await warehouse.run(sqlText('load/staging.sql'))
    chunk.add(next.value.segment, next.value.frame)
    if (chunk.waiting >= most.bytes) await chunk.readBodies(warehouse)
  }
  await chunk.readBodies(warehouse)
}

async function openSegments(warehouse: Warehouse, journal: Journal): Promise<OpenSegment[]> {
  const rows = await warehouse.all<{ segment: string; bytes: bigint }>(
    'select segment, bytes from ops.journal_positions',
  )
  const loaded = new Map(rows.map(({ segment, bytes }) => [segment, Number(bytes)]))
  const open: OpenSegment[] = []
  for (const name of journal.segments()) {
    const from = loaded.get(name) ?? 0
    const { size } = statSync(join(journal.folder, name))
    if (from === size || from >= Number(ANY_END)) continue
    open.push({ name, from: await placeIn(warehouse, journal, { name, from, size }), size })
  }
  return open.filter(({ from, size }) => size > from)
}

/**
 * The position at which to continue in a segment. If the warehouse is older than an erasure that rewrote the segment,
 * the loaded position may lie within a record or past the end. Then loading continues after the last loaded page.
 */
async function placeIn(warehouse: Warehouse, journal: Journal, { name, from, size }: OpenSegment) {
  if (from === 0 || (from < size && isRecordAt(journal, name, from))) return from
  const { request_id: ids = [] } = await warehouse.columns<string>(
    'select request_id from ops.pages where body_sha256 is not null',
  )
  const loaded = new Set(ids)
  let end = 0
  for (const frame of journal.read(name)) {
    const { record } = frame
    if (record.kind !== 'page_received') continue
    if (!loaded.has(record.request_id)) break
    end = frame.end
  }
  return end
}

function isRecordAt(journal: Journal, name: string, from: number): boolean {
  const frames = journal.read(name, from)
  try {
    frames.next()
    return true
  } catch (error) {
    if (error instanceof JournalDamagedError) return false
    throw error
  } finally {
    // This process has the file open.
    frames.return(undefined)
  }
}

const ANSWERS_AT_ONCE = MIB

/**
 * Merges a chunk and moves the position in the journal, in one transaction.
 * @param report gets the counts of the chunk
 */
async function mergeChunk(warehouse: Warehouse, chunk: Chunk, report: LoadReport): Promise<void> {
  const { ends, answers, notes } = chunk
  const { rejects, suppressed } = notes
  await warehouse.transaction(async () => {
    await mergeAll(warehouse, chunk, report)
    const segment = [...ends.keys()]
    await warehouse.run('delete from ops.journal_positions where segment in (select unnest($1))', [
      segment,
    ])
    const bytes = [...ends.values()].map(BigInt)
    await warehouse.append('ops.journal_positions', { segment, bytes })
    if (suppressed > 0) {
      await warehouse.run(
        `insert into ops.segments_to_erase
         select segment from (select unnest($1) as segment) anti join ops.segments_to_erase using (segment)`,
        [segment],
      )
    }
    await warehouse.run(sqlText('load/unstage.sql'))
  })
  report.pages += chunk.received
  report.answers += answers.length
  report.rejected += rejects.length
  report.suppressed += suppressed
}

async function mergeAll(warehouse: Warehouse, chunk: Chunk, report: LoadReport): Promise<void> {
  const { batches, pages, snapshots, answers, notes } = chunk
  const unknown = [...notes.unknownFields].map(([field, first_seen_at]) => ({
    field,
    first_seen_at,
  }))
  await appendRows(warehouse, 'staged_batches', [...batches.values()])
  await appendRows(warehouse, 'staged_pages', [...pages.values()])
  await appendRows(warehouse, 'staged_snapshots', [...snapshots.values()])
  await appendRows(warehouse, 'staged_unknown_fields', unknown)
  const { field: newFields = [] } = await warehouse.columns<string>(
    'select field from staged_unknown_fields where field not in (select field from ops.unknown_fields)',
  )
  // One by one, because spreading 200,000 fields would overflow the stack.
  for (const field of newFields) report.newUnknownFields.push(field)
  const isNoted = await areChangesNoted(warehouse)
  await mergeEvents(warehouse, isNoted, report)
  // Snapshots have no coverage, but some models are made from it. A note of a build that has not ended makes the
  // publisher read them.
  const changed = [
    ...(batches.size > 0 ? CHANGES_WITH_EVERY_RUN : []),
    ...(answers.length > 0 ? ['answers'] : []),
  ]
  for (const name of isNoted ? changed : []) await noteChange(warehouse, loadedTable(name), null)
  await warehouse.run(sqlText('load/merge_ops.sql'))
  await mergeAnswers(warehouse, answers)
  await appendRows(warehouse, 'ops.rejects', notes.rejects)
  await warehouse.append('ops.page_organizations', chunk.pageOrganizations)
}

/** A few at a time, because the engine's memory limit does not count the rows that it holds for a comparison. */
async function mergeAnswers(warehouse: Warehouse, answers: readonly AnswerRow[]): Promise<void> {
  for (let from = 0, to = 0; from < answers.length; from = to) {
    for (let bytes = 0; to < answers.length && bytes < ANSWERS_AT_ONCE; to += 1) {
      bytes += answers[to]?.body.length ?? 0
    }
    await appendRows(warehouse, 'staged_answers', answers.slice(from, to))
    await warehouse.run(sqlText('load/merge_answers.sql'))
  }
}

async function mergeEvents(warehouse: Warehouse, isNoted: boolean, report: LoadReport) {
  const sightings = await warehouse.number('select count(*) from staged_sightings')
  if (sightings === 0) return
  await warehouse.run(sqlText('load/compare_events.sql'))
  const [changes] = await warehouse.all<Record<'inserted' | 'updated' | 'known', number>>(
    sqlText('load/count_changes.sql'),
  )
  if (isNoted) await noteChangedEvents(warehouse)
  await warehouse.run(sqlText('load/merge_events.sql'))
  if ((changes?.known ?? 0) > 0) await warehouse.run(sqlText('load/update_events.sql'))
  report.sightings += sightings
  report.inserted += changes?.inserted ?? 0
  report.updated += changes?.updated ?? 0
}

/** Records for the publisher which years have new events, or events that change in a snapshot. */
async function noteChangedEvents(warehouse: Warehouse): Promise<void> {
  const changed = `(select changed_at from single_sightings union all
    select staged.changed_at
    from repeated_events as staged left join known_events as known on known.event_key = staged.event_key
    where is_new or is_changed
      or row(staged.first_seen_at, staged.first_run_id) < row(known.first_seen_at, known.first_run_id))`
  await noteChange(warehouse, loadedTable('job_change_events'), changed)
  const versions = await warehouse.number('select count(*) from repeated_versions')
  if (versions === 0) return
  await noteChange(warehouse, loadedTable('job_change_event_versions'), null)
}

/** Replaces the rows of the tables of facts by those of `history`. Tables that it does not mention are left alone. */
async function storeFacts(warehouse: Warehouse, history: History | Pick<History, 'runs'>) {
  const runs = [...history.runs.values()].map(runRow)
  const facts = { runs, ...('coverage' in history ? factsOf(history) : {}) }
  await warehouse.transaction(async () => {
    for (const [name, rows] of Object.entries(facts)) {
      await warehouse.run(`delete from ops.${name}`)
      await appendRows(warehouse, `ops.${name}`, rows)
    }
  })
}

function factsOf(history: History): Readonly<Record<string, Row[]>> {
  const { ids, asked, quarantined } = history
  return {
    coverage: [...history.coverage].flatMap(([organization_id, intervals]) =>
      readIntervals(intervals).map(({ eventTypes, from, to }) => ({
        organization_id,
        event_types: eventTypes.join(),
        covered_from: from === null ? null : new Date(from),
        covered_to: new Date(to),
      })),
    ),
    organization_filters: [...history.filtered].flatMap(([filters, { planned, coverage }]) =>
      [...planned].map(([organization_id, firstAskedAt]) => ({
        organization_id,
        filters,
        first_asked_at: new Date(firstAskedAt),
        covered_to: coveredTo(coverage.get(organization_id)),
      })),
    ),
    organization_ids: [...ids].map(([asked_as, organization_id]) => ({
      asked_as,
      organization_id,
      learnt_at: new Date(history.learntAt.get(asked_as) ?? 0),
    })),
    organizations_asked: [...asked].map(([organization_id, { first, last }]) => ({
      organization_id,
      first_asked_at: new Date(first),
      last_asked_at: new Date(last),
    })),
    organizations_quarantined: [...quarantined].map(([organization_id, { at, reason }]) => ({
      organization_id,
      reason,
      quarantined_at: new Date(at),
    })),
  }
}

/** The time up to which all requested event types were read; null if never. */
function coveredTo(intervals: readonly CoveredInterval[] = []): Date | null {
  const ends = new Map<string, number>()
  for (const { eventTypes, to } of intervals) {
    for (const type of eventTypes) ends.set(type, Math.max(ends.get(type) ?? 0, to))
  }
  return ends.size === 0 ? null : new Date(Math.min(...ends.values()))
}

function runRow({ started, finished, resumed }: RunHistory): Row {
  return {
    run_id: started.run_id,
    pipeline: started.pipeline,
    kind: started.command,
    started_at: new Date(started.at),
    finished_at: finished === null ? null : new Date(finished.at),
    outcome: finished?.outcome ?? 'unfinished',
    exit_code: finished?.exit_code ?? null,
    message: finished?.message ?? null,
    organizations: started.organizations,
    batches: started.batches,
    credits_limit: started.credits_limit,
    resumed,
  }
}
