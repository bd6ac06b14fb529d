/**
 * The journal: a folder of segments, each written by one process from its start to its end. It is the source of truth:
 * a page counts as bought when its record is on the disk, and everything else can be rebuilt from here for 0 credits.
 * Knows nothing of HTTP or of DuckDB.
 */

import { createHash, type Hash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fsyncDirectory } from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { StorageError, asStorageError } from '../support/errors.ts'
import { newUlid } from '../support/ulid.ts'
import { MIB } from '../support/units.ts'
import { encodeFrame } from './frame.ts'
import { endsWithSeal, readSegment, validPrefix, type PlacedFrame } from './reader.ts'
import type { JournalRecord } from './records.ts'

const SUFFIX = '.journal'
const LARGEST_SEGMENT_BYTES = 256 * MIB
const fdatasyncAsync = promisify(fdatasync)

/** The journal of one data directory. */
export interface Journal {
  readonly folder: string
  /** Names of the segments, oldest first. */
  segments(): string[]
  /** The records of one segment from byte `from` on; see readSegment. */
  read(segment: string, from?: number): Generator<PlacedFrame>
  /**
   * Closes what a killed process left open: cuts torn ends off and seals. Call it only while holding the data
   * directory's lock, when no other process can be writing.
   */
  recover(): void
  /** Starts a new segment. Nothing is on the disk until the first record. */
  writer(): JournalWriter
}

/** Writes records in order. */
export interface JournalWriter {
  /**
   * Hands a record to the operating system: a killed process keeps it, a power cut may not.
   * @throws StorageError when the disk refuses; the record is then not in the journal, earlier ones are
   */
  write(record: JournalRecord, payload?: string | Uint8Array): void
  /**
   * Writes a record and resolves when it is on the disk. Concurrent callers share one fsync.
   * @throws StorageError when the disk refuses; after a failed fsync every later call fails too
   */
  append(record: JournalRecord, payload?: string | Uint8Array): Promise<void>
  /** Seals the segment and closes it. A writer that wrote nothing leaves no file. */
  close(): Promise<void>
}

/** Opens the journal below `folder`; the folder is made when the first record is written. */
export function openJournal(folder: string, clock: Clock): Journal {
  return {
    folder,
    segments: () => listSegments(folder),
    read: (segment, from) => readSegment(join(folder, segment), from),
    recover: () => recoverSegments(folder, clock),
    writer: () => new SegmentWriter(folder, clock),
  }
}

function listSegments(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith(SUFFIX))
    .toSorted()
}

function recoverSegments(folder: string, clock: Clock): void {
  for (const name of listSegments(folder)) {
    const path = join(folder, name)
    if (endsWithSeal(path)) continue
    const { bytes, records, torn } = validPrefix(path)
    try {
      if (records === 0) {
        rmSync(path)
        continue
      }
      if (torn) truncateSync(path, bytes)
      sealFile(path, records, clock)
    } catch (error) {
      throw asStorageError(error, `journal segment ${path}`)
    }
  }
}

function sealFile(path: string, records: number, clock: Clock): void {
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
  const file = openSync(path, 'a')
  try {
    writeSync(file, encodeFrame({ kind: 'seal', at: clock.now(), records, sha256 }))
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}

class SegmentWriter implements JournalWriter {
  readonly #folder: string
  readonly #clock: Clock
  #file: number | null = null
  #path = ''
  #bytes = 0
  #records = 0
  #hash: Hash = createHash('sha256')
  #syncing: Promise<void> | null = null
  #nextSync: Promise<void> | null = null
  #closing: Promise<void> | null = null
  #broken: Error | null = null

  constructor(folder: string, clock: Clock) {
    this.#folder = folder
    this.#clock = clock
  }

  write(record: JournalRecord, payload?: string | Uint8Array): void {
    if (this.#broken !== null) throw this.#broken
    const frame = encodeFrame(record, payload)
    try {
      const file = this.#file ?? this.#start()
      this.#writeWhole(file, frame)
    } catch (error) {
      throw asStorageError(error, `journal ${this.#folder}`)
    }
    this.#bytes += frame.length
    this.#records += 1
    this.#hash.update(frame)
  }

  async append(record: JournalRecord, payload?: string | Uint8Array): Promise<void> {
    this.write(record, payload)
    await this.#sync()
    if (this.#bytes >= LARGEST_SEGMENT_BYTES) await this.close()
  }

  async close(): Promise<void> {
    const file = this.#file
    if (file === null) return
    if (this.#broken === null) {
      const sha256 = this.#hash.copy().digest('hex')
      this.write({ kind: 'seal', at: this.#clock.now(), records: this.#records, sha256 })
    }
    // From here on records go to a new segment, also those written while this one is still being synced.
    this.#file = null
    this.#bytes = 0
    this.#records = 0
    this.#hash = createHash('sha256')
    this.#closing = this.#finish(file)
    await this.#closing
  }

  async #finish(file: number): Promise<void> {
    await this.#syncing?.catch(() => undefined)
    try {
      if (this.#broken === null) await this.#syncFile(file)
    } finally {
      closeSync(file)
    }
  }

  #start(): number {
    mkdirSync(this.#folder, { recursive: true })
    this.#path = join(this.#folder, `${newUlid(this.#clock.now())}${SUFFIX}`)
    const file = openSync(this.#path, 'wx')
    this.#file = file
    fsyncDirectory(this.#folder)
    return file
  }

  // A disk that fills up in the middle of a record leaves half of it. It is cut off again, so that records written
  // after room was made do not stand behind a torn one.
  #writeWhole(file: number, frame: Buffer): void {
    let written = 0
    try {
      while (written < frame.length) written += writeSync(file, frame, written)
    } catch (error) {
      try {
        ftruncateSync(file, this.#bytes)
      } catch (truncateError) {
        this.#broken = brokenBy(truncateError, this.#path)
      }
      throw error
    }
  }

  // Group commit: callers that arrive while an fsync runs share the next one. A failed fsync is never tried again: the
  // kernel may already have dropped the pages that it could not write.
  #sync(): Promise<void> {
    if (this.#syncing === null) {
      this.#syncing = this.#syncOnce().finally(() => {
        this.#syncing = null
      })
      return this.#syncing
    }
    this.#nextSync ??= this.#syncing
      .catch(() => undefined)
      .then(() => {
        this.#nextSync = null
        return this.#sync()
      })
    return this.#nextSync
  }

  async #syncOnce(): Promise<void> {
    await this.#closing
    if (this.#broken !== null) throw this.#broken
    if (this.#file !== null) await this.#syncFile(this.#file)
  }

  async #syncFile(file: number): Promise<void> {
    try {
      await fdatasyncAsync(file)
    } catch (error) {
      this.#broken = brokenBy(error, this.#path)
      throw this.#broken
    }
  }
}

function brokenBy(cause: unknown, path: string): Error {
  const known = asStorageError(cause, `journal ${path}`)
  return known instanceof StorageError
    ? known
    : new StorageError(`journal ${path}: the disk did not confirm a write`, { cause })
}
