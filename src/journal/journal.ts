/**
 * The journal: a folder of segments, each written by one process from its start to its end. It is the source of truth:
 * a page counts as bought when its record is on the disk, and everything else can be rebuilt from here for 0 credits.
 * Knows nothing of HTTP or of DuckDB.
 */

import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  rmSync,
  writeSync,
  type NoParamCallback,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packageVersion } from '../support/assets.ts'
import {
  OWNER_ONLY,
  createFile,
  fsyncDirectory,
  makeFolder,
  readIfThere,
} from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { StorageError, asStorageError, onDisk } from '../support/errors.ts'
import { newUlid, ulidTime } from '../support/ulid.ts'
import { MIB } from '../support/units.ts'
import { encodeFrame } from './frame.ts'
import {
  SealListError,
  appendSeal,
  createSeals,
  markLine,
  removeMarks,
  sealsPath,
  writeDurableOffset,
  checkSegments,
} from './seals.ts'
import { SEGMENT_SUFFIX, listSegments, readSegment } from './reader.ts'
import { recoverSegments } from './recover.ts'
import type { JournalRecord } from './records.ts'
import { noteHeld, type HeldRun } from './spending.ts'

const SEGMENT_BYTES = 256 * MIB
const toDisk = promisify((file: number, done: NoParamCallback) => fdatasync(file, done))

type Payload = string | Uint8Array

export interface JournalWriter extends Pick<SegmentWriter, 'append' | 'close'> {
  write(...of: Parameters<SegmentWriter['write']>): void
}

export type Journal = ReturnType<typeof openJournal>

/**
 * Opens the journal below `folder`; the first record creates the folder.
 * @param segmentBytes the size at which a segment is sealed and the next one begins
 */
export function openJournal(folder: string, clock: Clock, segmentBytes = SEGMENT_BYTES) {
  // Each has its own segment. Nothing is on the disk until the first record.
  const writer = (): JournalWriter => new SegmentWriter(folder, clock, segmentBytes)
  return {
    folder,
    /** Names of the segments, oldest first. */
    segments: () => listSegments(folder),
    /** The records of one segment from byte `from` on; see readSegment. */
    read: (segment: string, from?: number) => readSegment(join(folder, segment), from),
    /** Whether every segment that was sealed is there; see checkSegments. */
    check: (depth: 'ends' | 'bytes' = 'ends') => checkSegments(folder, depth),
    /** Closes what a killed process left open; see recoverSegments. */
    recover: (losses: 'refuse' | 'accept' = 'refuse') => recoverSegments(folder, clock, losses),
    writer,
    /** Appends one record as a whole segment. @throws StorageError when the disk refuses */
    async append(record: JournalRecord) {
      const own = writer()
      try {
        await own.append(record)
      } finally {
        await own.close()
      }
    },
  }
}

type OpenSegment = ReturnType<typeof startSegment>

/**
 * Group commit: records are written at once, and each append waits for the next fsync of that segment to begin and end;
 * all appends that arrive while one runs share the next. Every fsync and every closing of a file goes through one
 * queue, so a segment is closed only after its pending fsyncs, and a new one is confirmed only after the one before it.
 */
class SegmentWriter {
  readonly #folder: string
  readonly #clock: Clock
  readonly #segmentBytes: number
  #segment: OpenSegment | null = null
  /** Settles when all disk work requested so far is done; never rejects. */
  #diskWork: Promise<unknown> = Promise.resolve()
  #broken: StorageError | null = null

  constructor(folder: string, clock: Clock, segmentBytes: number) {
    this.#folder = folder
    this.#clock = clock
    this.#segmentBytes = segmentBytes
  }

  /**
   * Hands a record to the operating system: a killed process keeps it, a power cut may not.
   * @returns the segment that has it
   * @throws StorageError when the disk refuses; the record is then not in the journal, earlier ones are
   */
  write(record: JournalRecord, payload?: Payload): OpenSegment {
    if (this.#broken !== null) throw this.#broken
    return onDisk(`journal ${this.#folder}`, () => {
      this.#segment ??= startSegment(this.#folder, this.#clock)
      return this.#writeInto(this.#segment, record, payload)
    })
  }

  /**
   * Writes a record and resolves when it is on the disk. Concurrent callers share one fsync.
   * @throws StorageError when the disk refuses; after a failed fsync every later call fails too
   */
  async append(record: JournalRecord, payload?: Payload): Promise<void> {
    const segment = this.write(record, payload)
    segment.nextSync ??= this.#afterDiskWork(() => {
      // This fsync may not cover bytes written from here on.
      segment.nextSync = null
      return this.#sync(segment)
    })
    await segment.nextSync
    if (segment === this.#segment && segment.bytes >= this.#segmentBytes) await this.close()
  }

  /**
   * Seals the segment, closes it and lists it; later records begin a new one. A writer that wrote nothing leaves no file.
   * @throws StorageError when the disk refuses; recover() seals the segment later, no acknowledged record is lost
   */
  async close(): Promise<void> {
    const segment = this.#segment
    if (segment === null) {
      await this.#diskWork
      return
    }
    // From here on records go to a new segment, also those written while this one is still being synced.
    this.#segment = null
    await this.#afterDiskWork(() => this.#end(segment))
  }

  async #end(segment: OpenSegment): Promise<void> {
    try {
      // Each writer to a broken segment gets this error: recover() finds what can be saved.
      if (this.#broken === null && segment.records > 0) {
        // The seal states that everything before it is on the disk.
        if (segment.durable < segment.bytes) await this.#sync(segment)
        const { records } = segment
        const sha256 = segment.hash.copy().digest('hex')
        this.#writeInto(segment, { kind: 'seal', at: this.#clock.now(), records, sha256 })
        await this.#sync(segment)
      }
    } finally {
      closeSync(segment.file)
      if (segment.bytes === 0) rmSync(segment.path)
    }
    // Only sealed segments are listed: a process killed before this leaves it to recover().
    if (this.#broken !== null || segment.records === 0) return
    const { name, bytes, hash, held } = segment
    appendSeal(this.#folder, { segment: name, bytes, sha256: hash.digest('hex'), held })
    removeMarks(this.#folder, name)
  }

  #writeInto(segment: OpenSegment, record: JournalRecord, payload?: Payload): OpenSegment {
    const writer = segment.records === 0 ? packageVersion() : undefined
    const frame = encodeFrame(record, payload, segment.durable, writer)
    this.#writeWhole(segment, frame)
    segment.bytes += frame.length
    segment.records += 1
    segment.hash.update(frame)
    noteHeld(segment.held, record)
    return segment
  }

  // A disk that fills up in the middle of a record leaves part of it. The part is removed, so that later records do not
  // follow a torn one.
  #writeWhole(segment: OpenSegment, frame: Buffer): void {
    let written = 0
    // Bytes of a file without a name are lost when it is closed.
    if (fstatSync(segment.file).nlink === 0) {
      throw (this.#broken = new StorageError(
        `journal ${segment.path} was removed while it was written`,
        {
          hint: 'Do not change the journal while Jobtide runs. The next command reports what is lost and what to do.',
        },
      ))
    }
    try {
      while (written < frame.length) written += writeSync(segment.file, frame, written)
    } catch (error) {
      try {
        ftruncateSync(segment.file, segment.bytes)
      } catch (truncateError) {
        this.#broken = brokenBy(truncateError, segment.path)
      }
      throw asStorageError(error, `journal ${segment.path}`)
    }
  }

  #afterDiskWork(work: () => Promise<void>): Promise<void> {
    const done = this.#diskWork.then(work)
    this.#diskWork = done.catch(() => undefined)
    return done
  }

  // A failed fsync is never tried again: the kernel may already have dropped the pages that it could not write.
  async #sync(segment: OpenSegment): Promise<void> {
    if (this.#broken !== null) throw this.#broken
    // It may not cover bytes written while it runs.
    const { name, bytes, held } = segment
    const mark = markLine({ segment: name, bytes, held })
    try {
      await toDisk(segment.file)
      segment.durable = bytes
      writeDurableOffset(this.#folder, name, mark)
    } catch (error) {
      this.#broken = brokenBy(error, segment.path)
      throw this.#broken
    }
  }
}

function startSegment(folder: string, clock: Clock) {
  makeFolder(folder)
  const others = listSegments(folder)
  if (!existsSync(sealsPath(folder))) {
    // The list is created before the first segment: if a segment exists without it, it was lost.
    if (others.length > 0) throw new SealListError(sealsPath(folder), 'is missing')
    createSeals(folder)
  }
  // Segments are read in the order of their names, so a name sorts after all others even when the clock was set back.
  const after = ulidTime(others.at(-1) ?? '') + 1
  const at = Number.isNaN(after) ? clock.now() : Math.max(clock.now(), after)
  const name = `${newUlid(at)}${SEGMENT_SUFFIX}`
  const path = join(folder, name)
  // Append mode: after a partial record was removed, the next one goes to the end of the file.
  const file = openSync(path, 'ax')
  try {
    fsyncDirectory(folder)
  } catch (error) {
    closeSync(file)
    rmSync(path)
    throw error
  }
  return {
    name,
    path,
    file,
    hash: createHash('sha256'),
    held: [] as HeldRun[],
    bytes: 0,
    durable: 0,
    records: 0,
    /** The fsync that will cover the latest writes; null if none is waiting to begin. */
    nextSync: null as Promise<void> | null,
  }
}

function brokenBy(cause: unknown, path: string): StorageError {
  const known = asStorageError(cause, `journal ${path}`)
  return known instanceof StorageError
    ? known
    : new StorageError(`journal ${path}: the disk did not confirm a write`, { cause })
}

export const IDENTITY_FILE = 'identity'

/**
 * The identity of the journal in `folder`: a ULID in a small file next to its segments, made once; when several processes
 * make one, the first wins. It moves with the journal, outlives the warehouse, and is lost when the journal is lost.
 * Snapshots carry it, so that a destination knows whose rows it shows.
 * @param nowMs milliseconds since 1970 UTC
 * @returns a ULID
 * @throws StorageError when the disk refuses, or the file holds something else
 */
export function journalIdentity(folder: string, nowMs: number): string {
  const path = join(folder, IDENTITY_FILE)
  if (readIfThere(path) === null) createFile(path, `${newUlid(nowMs)}\n`, OWNER_ONLY)
  const identity = readIfThere(path)?.toString().trim() ?? ''
  if (/^[0-9A-HJKMNP-TV-Z]{26}$/.test(identity)) return identity
  throw new StorageError(`${path} does not hold the identity of a journal`, {
    hint: 'Restore it from a backup. Or remove it: the next publish makes another, and needs --adopt-destination once.',
  })
}
