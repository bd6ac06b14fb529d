/**
 * One record as bytes: a line `J1 <header bytes> <payload bytes> <crc32>`, the header as JSON, the payload gzipped, a
 * line feed. The checksum covers header and payload, so a torn or changed record is always seen. `J1` is the format's
 * version; a newer Jobtide that writes another one is refused, not guessed at.
 */

import { crc32, gunzipSync, gzipSync } from 'node:zlib'
import type { JournalRecord } from './records.ts'

const MAGIC = 'J1'
// The longest first line: magic, two ten-digit lengths, eight hex digits, separators.
const LONGEST_PREFIX = 36
const LINE_FEED = 0x0a
// A page is at most 32 MiB before compression (the API client refuses more); anything larger is a damaged length.
const LARGEST_PART = 64 * 1024 * 1024

/** Turns a record into bytes. */
export function encodeFrame(record: JournalRecord, payload?: string | Uint8Array): Buffer {
  const header = Buffer.from(JSON.stringify(record))
  const body = payload === undefined ? Buffer.alloc(0) : gzipSync(payload, { level: 1 })
  const checksum = crc32(body, crc32(header)).toString(16).padStart(8, '0')
  const prefix = Buffer.from(`${MAGIC} ${header.length} ${body.length} ${checksum}\n`)
  return Buffer.concat([prefix, header, body, Buffer.from('\n')])
}

/** A record as found in a segment. */
export interface Frame {
  readonly record: JournalRecord
  /** Bytes of the whole frame. */
  readonly size: number
  /** The payload, decompressed; empty when the record has none. */
  payload(): Buffer
}

/** What stands at a place of a segment. */
export type FrameRead =
  | { readonly kind: 'frame'; readonly frame: Frame }
  /** The buffer ends before the frame does; `needed` bytes from `at` would do, as far as is known. */
  | { readonly kind: 'short'; readonly needed: number }
  | { readonly kind: 'broken'; readonly reason: string }

/** Reads the frame that begins at `at`. */
export function decodeFrame(buffer: Buffer, at: number): FrameRead {
  const lineEnd = buffer.indexOf(LINE_FEED, at)
  if (lineEnd < 0 || lineEnd - at > LONGEST_PREFIX) {
    return buffer.length - at < LONGEST_PREFIX
      ? { kind: 'short', needed: LONGEST_PREFIX }
      : { kind: 'broken', reason: 'no record begins here' }
  }
  const [magic, headerText, bodyText, checksum] = buffer.toString('latin1', at, lineEnd).split(' ')
  const headerBytes = Number(headerText)
  const bodyBytes = Number(bodyText)
  if (magic !== MAGIC || !isLength(headerBytes) || !isLength(bodyBytes)) {
    return { kind: 'broken', reason: 'no record begins here' }
  }
  const headerAt = lineEnd + 1
  const bodyAt = headerAt + headerBytes
  const end = bodyAt + bodyBytes + 1
  if (end > buffer.length) return { kind: 'short', needed: end - at }
  const header = buffer.subarray(headerAt, bodyAt)
  const body = buffer.subarray(bodyAt, end - 1)
  const found = crc32(body, crc32(header)).toString(16).padStart(8, '0')
  if (found !== checksum || buffer[end - 1] !== LINE_FEED) {
    return { kind: 'broken', reason: 'checksum does not match' }
  }
  return {
    kind: 'frame',
    frame: {
      record: JSON.parse(header.toString('utf8')) as JournalRecord,
      size: end - at,
      payload: () => (body.length === 0 ? Buffer.alloc(0) : gunzipSync(body)),
    },
  }
}

function isLength(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= LARGEST_PART
}
