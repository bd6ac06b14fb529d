/**
 * Merges new records of the journal into the warehouse, chunk by chunk, and moves the position in the journal in the
 * same transaction. Loading twice, or in any order, gives the same tables.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { History } from '../journal/history.ts'
import type { Journal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import { JournalDamagedError, type PlacedFrame } from '../journal/reader.ts'
import type { RunFinished } from '../journal/records.ts'
import { collectGarbage } from '../support/memory.ts'
import { sum } from '../support/numbers.ts'
import { MIB } from '../support/units.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { Chunk } from './chunk.ts'
import { storeFacts } from './facts.ts'
import { followList } from './remove-suppressed.ts'
import { mergeChunk, type LoadReport } from './merge-chunk.ts'
import { ANY_END, loadSql } from './rows.ts'
import { readSuppression } from './suppression.ts'

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
  const report: LoadReport = {
    pages: 0,
    answers: 0,
    sightings: 0,
    inserted: 0,
    updated: 0,
    rejected: 0,
    suppressed: 0,
    newUnknownFields: [],
  }
  const newChunk = () => new Chunk(history.notRead, suppression)
  // Merging notes the segments that hold events of erased people.
  const isEachAlone = !suppression.isEmpty
  await loadSegments(options, { newChunk, isEachAlone }, report)
  const run = history.runs.get(closing?.run_id ?? '')
  if (closing !== undefined && run !== undefined) run.finished = closing
  await storeFacts(warehouse, history)
  return report
}

async function loadSegments(
  { warehouse, journal, chunkEvents, onProgress }: LoadOptions,
  { newChunk, isEachAlone }: { readonly newChunk: () => Chunk; readonly isEachAlone: boolean },
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
  // Most nights write a small segment, and each chunk costs 0.04 s.
  for (const group of isEachAlone ? segments.map((segment) => [segment]) : [segments]) {
    const frames = framesOf(journal, group)
    try {
      for (;;) {
        const chunk = newChunk()
        const read = await readChunk(warehouse, chunk, most, frames)
        if (read.bytes === 0) break
        // More of a delivery was parsed than is kept, and its rows are in memory several times.
        if (chunk.answers.length > 0) collectGarbage()
        await mergeChunk(warehouse, chunk, read.ends, report)
        if (chunk.answers.length > 0) collectGarbage()
        bytesDone += read.bytes
        onProgress?.({ bytesDone, bytes })
      }
    } finally {
      frames.return(undefined)
    }
  }
}

interface FrameOfSegment {
  readonly segment: string
  readonly frame: PlacedFrame
}

function* framesOf(journal: Journal, segments: readonly OpenSegment[]): Generator<FrameOfSegment> {
  for (const { name: segment, from } of segments) {
    for (const frame of journal.read(segment, from)) yield { segment, frame }
  }
}

/**
 * Reads records until the chunk is full.
 * @returns the bytes read, and by segment the position where the last record ends
 */
async function readChunk(
  warehouse: Warehouse,
  chunk: Chunk,
  most: { readonly events: number; readonly bytes: number },
  frames: Generator<FrameOfSegment>,
): Promise<{ readonly bytes: number; readonly ends: ReadonlyMap<string, number> }> {
  const ends = new Map<string, number>()
  let bytes = 0
  while (chunk.size < most.events) {
    const next = frames.next()
    if (next.done === true) break
    const { segment, frame } = next.value
    if (bytes === 0) await warehouse.run(loadSql('staging'))
    chunk.add(frame)
    ends.set(segment, frame.end)
    bytes += frame.size
    if (chunk.waiting >= most.bytes) await chunk.readBodies(warehouse)
  }
  await chunk.readBodies(warehouse)
  return { bytes, ends }
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
async function placeIn(
  warehouse: Warehouse,
  journal: Journal,
  { name, from, size }: OpenSegment,
): Promise<number> {
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
