/**
 * Removes events from sealed segments permanently: the one exception to an append-only journal. A segment is rewritten
 * next to the old one, with every record unchanged except the pages that held such events, and replaces it by rename,
 * so a reader finds the old one or the new one. src/run/forget/erase.ts has the whole way of an erasure. The caller is
 * the only process that writes the journal.
 */

import { createHash } from 'node:crypto'
import { closeSync, openSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { placeFileAtomic } from '../support/atomic-file.ts'
import { EXIT, JobtideError, onDisk } from '../support/errors.ts'
import { encodeFrame } from './frame.ts'
import type { Journal } from './journal.ts'
import { cutMarks } from './batch-history.ts'
import { fileState, appendSeal } from './seals.ts'
import { removeCheckpoint } from './read-history.ts'
import { endsWithSeal, readAt, type PlacedFrame } from './reader.ts'
import { NAMING, type JournalRecord } from './records.ts'

export interface CutBody {
  readonly body: Buffer
  /** Positions of the removed events, from 0, in order. */
  readonly places: readonly number[]
  readonly events: number
  /** An answer about a person: its header also names them. */
  readonly isAbout?: boolean
}

/** Removes events from the body of a page, or what names people from another body; null if it contains none of them. */
export type CutPage = (body: Buffer, record: Naming) => CutBody | null

export type Naming = Extract<JournalRecord, { kind: (typeof NAMING)[number] }>

export type SegmentFindings = NonNullable<ReturnType<typeof findInSegment>>

export type ErasedSegment = ReturnType<typeof eraseFromSegment>

/** Finds what `cut` would remove from a segment; null for nothing. Changes nothing. */
export function findInSegment(journal: Journal, segment: string, cut: CutPage) {
  let pages = 0
  let events = 0
  for (const frame of journal.read(segment)) {
    const { record } = frame
    if (!isNaming(record)) continue
    const places = cut(frame.payload(), record)?.places.length ?? 0
    events += places
    if (places > 0) pages += 1
  }
  return pages === 0 ? null : { segment, pages, events }
}

/**
 * Removes what `cut` finds from a segment. If killed at any point, it can be called again.
 * @param found what findInSegment says of it
 * @throws JobtideError when the segment is still open
 * @throws StorageError when the disk refuses
 */
export function eraseFromSegment(journal: Journal, found: SegmentFindings, cut: CutPage) {
  const { folder } = journal
  const { segment } = found
  const path = join(folder, segment)
  if (!endsWithSeal(path)) {
    throw new JobtideError(EXIT.locked, `journal segment ${path} is not closed: it may be in use`, {
      hint: 'Wait until the run ends, then run the same command again.',
    })
  }
  return onDisk(`journal segment ${path}`, () => {
    const before = fileState(path)
    const after = placeFileAtomic(path, rewritten(journal, segment, cut), (temporary) => {
      const state = fileState(temporary)
      // Its positions would point into a record of the new segment, and it holds marks of events.
      removeCheckpoint(folder)
      // The list of seals names both states during the replacement, and then only the new one.
      appendSeal(folder, { segment, ...state, before })
      renameSync(temporary, path)
      return state
    })
    appendSeal(folder, { segment, ...after, before: null })
    return { ...found, sha256_before: before.sha256, sha256_after: after.sha256 }
  })
}

function* rewritten(journal: Journal, segment: string, cut: CutPage): Generator<Buffer> {
  const source = openSync(join(journal.folder, segment), 'r')
  const hash = createHash('sha256')
  let records = 0
  let readTo = 0
  let bytes = 0
  try {
    for (const frame of journal.read(segment)) {
      const seal = { ...frame.record, records, sha256: hash.copy().digest('hex') }
      const written =
        seal.kind === 'seal'
          ? encodeFrame(seal, undefined, bytes)
          : // A record that holds nothing to erase is copied byte for byte.
            (cutFrame(frame, cut) ?? readAt(source, readTo, frame.size))
      yield written
      hash.update(written)
      records += 1
      readTo = frame.end
      bytes += written.length
    }
  } finally {
    closeSync(source)
  }
}

function isNaming(record: JournalRecord): record is Naming {
  return NAMING.some((kind) => kind === record.kind)
}

function cutFrame(frame: PlacedFrame, cut: CutPage): Buffer | null {
  const { record, writer } = frame
  if (!isNaming(record)) return null
  const encoded = (changed: JournalRecord, cutBody: Buffer) =>
    encodeFrame(changed, cutBody, 0, writer)
  const found = cut(frame.payload(), record)
  if (found === null) return null
  const { body, places, events, isAbout } = found
  if (record.kind === 'lookups_planned') return encoded(record, body)
  if (record.kind !== 'page_received') {
    const nameless = isAbout === true ? { subject: '', lookup_key: '' } : {}
    // The body also contains the service's message.
    const wordless = 'reason' in record ? { reason: '' } : {}
    return encoded({ ...record, ...nameless, ...wordless, erased: 1 }, body)
  }
  const keys = record.keys === undefined ? {} : { keys: cutMarks(record.keys, places, events) }
  return encoded({ ...record, ...keys, erased: (record.erased ?? 0) + places.length }, body)
}
