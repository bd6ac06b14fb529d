/**
 * Reads segments back. A segment that was not sealed may end in a torn record (its process was killed while writing):
 * everything before it counts, and the torn record was never acknowledged. Anything else that does not fit is damage
 * and is reported.
 */

import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { packageVersion } from '../support/assets.ts'
import { namesIn } from '../support/atomic-file.ts'
import { EXIT, JobtideError, asStorageError, onDisk } from '../support/errors.ts'
import { MIB } from '../support/units.ts'
import { FRAME_MAGIC, VERSION, decodeFrame, type Frame, type FrameRead } from './frame.ts'
import { noteHeld, type HeldRun } from './spending.ts'

export const SEGMENT_SUFFIX = '.journal'

/** A journal segment holds bytes that are not a record, before its torn end. */
export class JournalDamagedError extends JobtideError {
  constructor(path: string, at: number, reason: string) {
    super(EXIT.storage, `journal segment ${path} is damaged at byte ${at}: ${reason}`, {
      hint: 'Restore that file from a backup, then run the same command again. Nothing from that byte on was read. If there is no backup, add --accept-loss to run, backfill, extract or replay: it continues without the lost pages and buys them again.',
      context: { path, at },
    })
  }
}

/** A journal segment was written by another version of Jobtide, and this one cannot read it. */
export class JournalVersionError extends JobtideError {
  constructor(path: string, at: number, byWhom: string) {
    super(EXIT.usage, `journal segment ${path} was written by ${byWhom}`, {
      hint: 'Use the version that wrote it for this data directory. Nothing was changed.',
      context: { path, at },
    })
  }
}

function ofOtherFormat(path: string, at: number, version: number): JournalVersionError {
  const age = version > VERSION ? 'a newer' : 'an older'
  return new JournalVersionError(
    path,
    at,
    `${age} Jobtide: its format at byte ${at} is ${version}, and this one reads ${VERSION}`,
  )
}

/** The segment's first record says which version wrote it. */
function ofUnknownKind(path: string, file: number, at: number, kind: string): JournalVersionError {
  const first = frameAt(file, 0)
  const frame = first.kind === 'frame' ? first.frame : first
  const writer = 'writer' in frame ? frame.writer : undefined
  const version = writer === undefined ? 'a newer Jobtide' : `Jobtide ${writer}`
  return new JournalVersionError(
    path,
    at,
    `${version}, and this is ${packageVersion()}, which does not know the kind ${kind} of the record at byte ${at}`,
  )
}

export interface PlacedFrame extends Frame {
  /** Where the next record begins, in bytes from the start of the segment. */
  readonly end: number
}

/** Names of the segments below `folder`, oldest first. @throws StorageError when the disk refuses */
export function listSegments(folder: string): string[] {
  return namesIn(folder, /\.journal$/)
}

const READ_BYTES = MIB
// A seal is about 200 bytes; it never has a payload.
const LONGEST_SEAL_BYTES = 1_024

/**
 * Reads the records of one segment from byte `from` on. Ends without an error before a torn record at the end of the
 * file. A payload is valid only until the next record is requested.
 * @throws JournalDamagedError when bytes that are not a record precede later records
 * @throws JournalVersionError at a record of another format, or of a kind that this version does not know
 */
export function* readSegment(path: string, from = 0): Generator<PlacedFrame> {
  const file = openForReading(path)
  try {
    let buffer = readAt(file, from, READ_BYTES)
    let bufferAt = from
    let at = from
    for (;;) {
      let read = decodeFrame(buffer, at - bufferAt)
      if (read.kind === 'short') {
        buffer = readAt(file, at, Math.max(read.needed, READ_BYTES))
        bufferAt = at
        read = decodeFrame(buffer, 0)
      }
      if (read.kind === 'foreign') throw ofOtherFormat(path, at, read.version)
      if (read.kind === 'unknown') throw ofUnknownKind(path, file, at, read.name)
      if (read.kind !== 'frame') {
        const reason = read.kind === 'broken' ? read.reason : 'the record is cut short'
        return refuseDamage(path, file, at, reason)
      }
      at += read.frame.size
      yield { ...read.frame, end: at }
    }
  } catch (error) {
    throw asStorageError(error, `journal segment ${path}`)
  } finally {
    closeSync(file)
  }
}

/**
 * Whether the segment was closed properly: its last record is a seal. Reads the end of the file only.
 * @throws JournalVersionError where that is a record of another format
 */
export function endsWithSeal(path: string): boolean {
  const file = openForReading(path)
  try {
    const end = fstatSync(file).size
    const tailAt = Math.max(0, end - LONGEST_SEAL_BYTES)
    const tail = readAt(file, tailAt, end - tailAt)
    const lastRecordAt = tail.lastIndexOf(`\n${FRAME_MAGIC}`) + 1
    const read = decodeFrame(tail, lastRecordAt)
    for (const { index } of tail.toString('latin1').matchAll(/(?<=^|\n)J\d/g)) {
      const later = decodeFrame(tail, index)
      if (later.kind === 'foreign') throw ofOtherFormat(path, tailAt + index, later.version)
    }
    return (
      read.kind === 'frame' &&
      read.frame.record.kind === 'seal' &&
      lastRecordAt + read.frame.size === tail.length
    )
  } finally {
    closeSync(file)
  }
}

export type Prefix = ReturnType<typeof validPrefix>

/** The whole records at the start of a segment. */
export function validPrefix(path: string) {
  const prefix = {
    bytes: 0,
    records: 0,
    held: [] as HeldRun[],
    sealed: false,
    /** What later records follow; null where at most a torn end follows. */
    damage: null as JournalDamagedError | null,
  }
  try {
    for (const { record, end } of readSegment(path)) {
      prefix.bytes = end
      prefix.records += 1
      prefix.sealed = record.kind === 'seal'
      noteHeld(prefix.held, record)
    }
  } catch (error) {
    if (!(error instanceof JournalDamagedError)) throw error
    prefix.damage = error
  }
  return prefix
}

// A torn end is followed by no record that was written when it was on the disk. If one follows, bytes in the middle
// were changed. The line feed before it does not count, because it may be the changed byte.
function refuseDamage(path: string, file: number, at: number, reason: string): void {
  const size = fstatSync(file).size
  for (let searchAt = at + 1; searchAt < size; searchAt += READ_BYTES) {
    // Windows overlap by the magic, so that none is cut in two.
    const window = readAt(file, searchAt, READ_BYTES + FRAME_MAGIC.length)
    for (
      let hit = window.indexOf(FRAME_MAGIC);
      hit >= 0;
      hit = window.indexOf(FRAME_MAGIC, hit + 1)
    ) {
      const read = decodeFrame(window, hit)
      const isShort = read.kind === 'short'
      const durable = isShort ? durableAt(file, searchAt + hit) : durableOf(read)
      if ((durable ?? 0) <= at) continue
      // Another process may have continued writing: records are only appended, so this record is complete now.
      if (durableAt(file, at) !== null) return
      throw new JournalDamagedError(path, at, reason)
    }
  }
}

/** The durable bytes according to the complete record that now begins at `at`; null when there is none. */
function durableAt(file: number, at: number): number | null {
  return durableOf(frameAt(file, at))
}

function frameAt(file: number, at: number): FrameRead {
  const read = decodeFrame(readAt(file, at, READ_BYTES), 0)
  return read.kind === 'short' ? decodeFrame(readAt(file, at, read.needed), 0) : read
}

function durableOf(read: FrameRead): number | null {
  return read.kind === 'frame' || read.kind === 'unknown' ? read.durable : null
}

function openForReading(path: string): number {
  return onDisk(`journal segment ${path}`, () => openSync(path, 'r'))
}

/** The first bytes of a file, in chunks: a segment may be larger than the memory of a run. */
export function* piecesOf(path: string, bytes = statSync(path).size): Generator<Buffer> {
  const file = openForReading(path)
  try {
    for (let at = 0; at < bytes; at += READ_BYTES) {
      yield readAt(file, at, Math.min(READ_BYTES, bytes - at))
    }
  } finally {
    closeSync(file)
  }
}

/** Up to `bytes` bytes of an open file from `at` on; fewer at its end. */
export function readAt(file: number, at: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  let filled = 0
  while (filled < bytes) {
    const read = readSync(file, buffer, filled, bytes - filled, at + filled)
    if (read === 0) break
    filled += read
  }
  return buffer.subarray(0, filled)
}
