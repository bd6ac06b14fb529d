/**
 * Takes events out of segments for good. The journal is only appended to, with this one exception: people have a right to
 * be forgotten, and a promise not to show what is still on the disk is none. A segment is written anew beside the old one,
 * every record as it was but the pages that held such events, and takes its place by rename: it is the old one or the new
 * one, whatever happens. Who does this must be the only one that writes the journal or reads on in it.
 */

import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fsyncDirectory } from '../support/atomic-file.ts'
import { EXIT, JobtideError, asStorageError } from '../support/errors.ts'
import { encodeFrame } from './frame.ts'
import type { Journal } from './journal.ts'
import { cutMarks } from './page-keys.ts'
import { removeCheckpoint } from './read-history.ts'
import { endsWithSeal, readAt, type PlacedFrame } from './reader.ts'
import type { JournalRecord, PageReceived } from './records.ts'
import { appendSeal } from './seals.ts'

const REWRITTEN = '.erasing'

/** Takes what is not kept out of the body of a page; null when nothing is. */
export type CutPage = (body: Buffer) => {
  readonly body: Buffer
  /** Places of the events taken out, from 0. */
  readonly places: readonly number[]
  /** Events that there were before. */
  readonly events: number
} | null

/** What a segment holds that is not kept. */
export interface Findings {
  readonly segment: string
  readonly pages: number
  readonly events: number
}

/** What became of a segment. */
export interface ErasedSegment extends Findings {
  readonly bytesBefore: number
  readonly bytesAfter: number
  readonly sha256Before: string
  readonly sha256After: string
}

/** How to erase. */
export interface EraseOptions {
  readonly cut: CutPage
  /**
   * Called with the sizes of a segment and of the one that is about to take its place: whoever keeps a position in it can
   * make it hold for both.
   */
  readonly beforeReplacing: (
    segment: string,
    bytesBefore: number,
    bytesAfter: number,
  ) => Promise<void>
  /** Called after each segment that was looked at. */
  readonly onProgress?: (done: number, total: number) => void
}

/** Looks for what `cut` would take out of a segment; null when it is nothing. Changes nothing. */
export function findInSegment(journal: Journal, segment: string, cut: CutPage): Findings | null {
  let pages = 0
  let events = 0
  for (const frame of journal.read(segment)) {
    const places = pageIn(frame) === null ? 0 : (cut(frame.payload())?.places.length ?? 0)
    events += places
    if (places > 0) pages += 1
  }
  return pages === 0 ? null : { segment, pages, events }
}

/**
 * Takes what `cut` says out of `segments`, which must be sealed; those that hold nothing of it stay as they are. Stopped at
 * any point, it can be called again.
 * @throws JobtideError when one of them is still open
 * @throws StorageError when the disk refuses
 */
export async function eraseFromJournal(
  journal: Journal,
  segments: readonly string[],
  { cut, beforeReplacing, onProgress }: EraseOptions,
): Promise<ErasedSegment[]> {
  removeLeftovers(journal)
  const erased: ErasedSegment[] = []
  for (const [index, segment] of segments.entries()) {
    refuseOpen(journal, segment)
    // Most segments hold nothing of it, and need not be written.
    const found = findInSegment(journal, segment, cut)
    if (found !== null) {
      const rewritten = rewrite(journal, segment, cut)
      await beforeReplacing(segment, rewritten.bytesBefore, rewritten.bytesAfter)
      // Its positions would point into a record of the new one, and it holds marks of events.
      if (erased.length === 0) removeCheckpoint(journal.folder)
      replaceSegment(journal, segment, rewritten)
      erased.push({ ...found, ...rewritten })
    }
    onProgress?.(index + 1, segments.length)
  }
  return erased
}

function refuseOpen(journal: Journal, segment: string): void {
  const path = join(journal.folder, segment)
  if (endsWithSeal(path)) return
  throw new JobtideError(
    EXIT.locked,
    `journal segment ${path} is not closed: its process may still be writing`,
    {
      hint: 'Wait until the run ends, then run the same command again.',
    },
  )
}

function pageIn({ record }: PlacedFrame): PageReceived | null {
  return record.kind === 'page_received' ? record : null
}

/** Writes a segment anew beside the old one, synced. */
function rewrite(
  journal: Journal,
  segment: string,
  cut: CutPage,
): Omit<ErasedSegment, keyof Findings> {
  const path = join(journal.folder, segment)
  const source = openSync(path, 'r')
  const target = openSync(path + REWRITTEN, 'w')
  const before = createHash('sha256')
  const after = createHash('sha256')
  let bytesBefore = 0
  let bytesAfter = 0
  let records = 0
  try {
    for (const frame of journal.read(segment)) {
      const original = readExactly(source, bytesBefore, frame.size)
      before.update(original)
      bytesBefore = frame.end
      const bytes =
        frame.record.kind === 'seal'
          ? encodeFrame({ ...frame.record, records, sha256: after.copy().digest('hex') })
          : (cutFrame(frame, cut) ?? original)
      for (let at = 0; at < bytes.length;) at += writeSync(target, bytes, at)
      after.update(bytes)
      bytesAfter += bytes.length
      records += 1
    }
    fsyncSync(target)
  } catch (error) {
    throw asStorageError(error, `journal segment ${path}`)
  } finally {
    closeSync(source)
    closeSync(target)
  }
  return {
    bytesBefore,
    bytesAfter,
    sha256Before: before.digest('hex'),
    sha256After: after.digest('hex'),
  }
}

// A record that holds nothing to erase is copied byte for byte.
function cutFrame(frame: PlacedFrame, cut: CutPage): Buffer | null {
  const page = pageIn(frame)
  const found = page === null ? null : cut(frame.payload())
  if (page === null || found === null) return null
  const { body, places, events } = found
  const keys = page.keys === undefined ? {} : { keys: cutMarks(page.keys, places, events) }
  const record: JournalRecord = { ...page, ...keys, erased: (page.erased ?? 0) + places.length }
  return encodeFrame(record, body)
}

function readExactly(file: number, at: number, bytes: number): Buffer {
  const found = readAt(file, at, bytes)
  if (found.length === bytes) return found
  throw new RangeError(`${bytes - found.length} bytes are missing at ${at + found.length}`)
}

// The list of seals knows both while the one takes the place of the other, and then only the new one.
function replaceSegment(
  { folder }: Journal,
  segment: string,
  rewritten: Omit<ErasedSegment, keyof Findings>,
): void {
  const path = join(folder, segment)
  const after = { bytes: rewritten.bytesAfter, sha256: rewritten.sha256After }
  const before = { bytes: rewritten.bytesBefore, sha256: rewritten.sha256Before }
  appendSeal(folder, { segment, ...after, before })
  try {
    renameSync(path + REWRITTEN, path)
    fsyncDirectory(folder)
  } catch (error) {
    throw asStorageError(error, `journal segment ${path}`)
  }
  appendSeal(folder, { segment, ...after, before: null })
}

// What a killed process left behind.
function removeLeftovers(journal: Journal): void {
  if (journal.segments().length === 0) return
  try {
    for (const name of readdirSync(journal.folder)) {
      if (name.endsWith(REWRITTEN)) rmSync(join(journal.folder, name), { force: true })
    }
  } catch (error) {
    throw asStorageError(error, journal.folder)
  }
}
