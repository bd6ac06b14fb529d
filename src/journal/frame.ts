/**
 * Encodes one record: a line `J2 <header bytes> <payload bytes> <durable bytes> <crc32>`, the header as JSON, the
 * payload gzipped, a line feed. The checksum covers all of it, so a torn or changed record is always detected. `J2` is
 * the version of the format; another version is refused.
 *
 * The durable bytes are those of the segment that were on the disk when the record was written. They distinguish damage
 * from the effects of a power cut on records that were never acknowledged: it may keep a later one of these but lose
 * the one before it.
 */

import { gunzipSync, gzipSync } from 'node:zlib'
import { crc32Hex } from '../support/hash.ts'
import { jsonOrNull } from '../support/json.ts'
import { KIB, MIB } from '../support/units.ts'
import { isKnownKind, type JournalRecord } from './records.ts'

export const VERSION = 2
export const FRAME_MAGIC = `J${VERSION} `
const FIRST_LINE = /^J(\d{1,4}) (\d{1,10}) (\d{1,10}) (\d{1,15}) ([0-9a-f]{8})$/
const FIRST_LINE_1 = /^J1 \d{1,10} \d{1,10} [0-9a-f]{8}$/
// The longest first line: magic, two lengths of ten digits and one of fifteen, eight hex digits, separators.
const LONGEST_PREFIX = 52
const LINE_FEED = 0x0a
// A page is at most 32 MiB before compression (the API client refuses more); anything larger is a damaged length.
const LARGEST_PART = 64 * MIB
// Fits a page of 50 events in one chunk: Node's default chunks, half as large, take twice as long to read. Pages are
// not compressed on another thread: for 3,006 pages that saved 0.1 s here and cost 0.1 s more in total.
const PIECE = { chunkSize: 32 * KIB }

/**
 * Turns a record into bytes.
 * @param durable bytes of the segment that are on the disk
 * @param writer version of Jobtide, which the first record of a segment names for all of it
 * @throws RangeError if header or compressed payload is over 64 MiB: no reader would accept it
 */
export function encodeFrame(
  record: JournalRecord,
  payload?: string | Uint8Array,
  durable = 0,
  writer?: string,
): Buffer {
  const header = Buffer.from(
    JSON.stringify(writer === undefined ? record : { ...record, jobtide: writer }),
  )
  const body = payload === undefined ? Buffer.alloc(0) : gzipSync(payload, { ...PIECE, level: 1 })
  if (header.length > LARGEST_PART || body.length > LARGEST_PART) {
    throw new RangeError(`a ${record.kind} record is over ${LARGEST_PART} bytes`)
  }
  const prefix = Buffer.from(
    `${FRAME_MAGIC}${header.length} ${body.length} ${durable} ${crc32Hex(String(durable), header, body)}\n`,
  )
  return Buffer.concat([prefix, header, body, Buffer.from('\n')])
}

export interface Frame {
  readonly record: JournalRecord
  /** Version of Jobtide that wrote the segment: in its first record, from 0.17 on. */
  readonly writer?: string | undefined
  readonly size: number
  /** The payload, decompressed; empty when the record has none. */
  payload(): Buffer
}

export type FrameRead =
  /** `durable`: bytes of the segment that were on the disk when it was written. */
  | { readonly kind: 'frame'; readonly frame: Frame; readonly durable: number }
  /** The buffer ends before the frame does; `needed` bytes from `at` would do, as far as is known. */
  | { readonly kind: 'short'; readonly needed: number }
  | { readonly kind: 'broken'; readonly reason: string }
  /** A frame of another version of the format: whole or not, this version must neither judge nor truncate it. */
  | { readonly kind: 'foreign'; readonly version: number }
  /** A whole record of a kind that this version does not know; the kind in quotes. */
  | {
      readonly kind: 'unknown'
      readonly name: string
      readonly writer: string | undefined
      readonly durable: number
    }

const NO_RECORD = { kind: 'broken', reason: 'no record begins here' } as const

export function decodeFrame(buffer: Buffer, at: number): FrameRead {
  const lineEnd = buffer.indexOf(LINE_FEED, at)
  if (lineEnd < 0 || lineEnd - at > LONGEST_PREFIX) {
    return buffer.length - at < LONGEST_PREFIX
      ? { kind: 'short', needed: LONGEST_PREFIX }
      : NO_RECORD
  }
  const line = buffer.toString('latin1', at, lineEnd)
  const firstLine = FIRST_LINE.exec(line)
  if (firstLine === null)
    return FIRST_LINE_1.test(line) ? { kind: 'foreign', version: 1 } : NO_RECORD
  const [version = 0, headerBytes = 0, bodyBytes = 0, durable = 0] = firstLine.slice(1).map(Number)
  if (version > VERSION) return { kind: 'foreign', version }
  if (version !== VERSION) return NO_RECORD
  if (headerBytes > LARGEST_PART || bodyBytes > LARGEST_PART) return NO_RECORD
  const headerAt = lineEnd + 1
  const bodyAt = headerAt + headerBytes
  const end = bodyAt + bodyBytes + 1
  if (end > buffer.length) return { kind: 'short', needed: end - at }
  const header = buffer.subarray(headerAt, bodyAt)
  const body = buffer.subarray(bodyAt, end - 1)
  if (crc32Hex(String(durable), header, body) !== firstLine[5] || buffer[end - 1] !== LINE_FEED) {
    return { kind: 'broken', reason: 'checksum does not match' }
  }
  // The checksum does not cover the two lengths: if both change, they split the same bytes elsewhere.
  const record = jsonOrNull(header.toString('utf8'))
  if (record === null) return { kind: 'broken', reason: 'the header is not JSON' }
  const { jobtide: writer, ...known } = record as JournalRecord & { readonly jobtide?: string }
  if (!isKnownKind(known.kind)) {
    return { kind: 'unknown', name: JSON.stringify(known.kind), writer, durable }
  }
  return {
    kind: 'frame',
    durable,
    frame: {
      record: known,
      writer,
      size: end - at,
      payload: () => (body.length === 0 ? Buffer.alloc(0) : gunzipSync(body, PIECE)),
    },
  }
}
