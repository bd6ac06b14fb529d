/**
 * Short marks of the events of a page: enough to see that an event appeared before on another page, and whether it was
 * corrected since. The header of a page holds them, because paging must not need the bodies.
 */

import { sha256Hex } from '../support/hash.ts'
import { SECOND } from '../support/units.ts'

export interface EventMark {
  /** 32 bits of a hash of the event's key, equal for all its versions; 0 for an erased event. */
  readonly key: number
  /** When this version was detected, in whole seconds as milliseconds since 1970 UTC; 0 when it does not say. */
  readonly detectedAt: number
}

export interface MarkedEvent {
  /** Equal for all versions of one event, and for no other. */
  readonly identity: string
  /** Milliseconds since 1970 UTC; null when the event does not say. */
  readonly detectedAt: number | null
}

// Four bytes of hash, four of seconds since 1970, which last until 2106.
const MARK_BYTES = 8
const SECONDS_MAX = 2 ** 32 - 1

/** The marks of a page as text, in the order of its events. */
export function encodeMarks(events: readonly MarkedEvent[]): string {
  const bytes = Buffer.alloc(events.length * MARK_BYTES)
  for (const [index, { identity, detectedAt }] of events.entries()) {
    const key = Number.parseInt(sha256Hex(identity).slice(0, 8), 16)
    bytes.writeUInt32BE(key || 1, index * MARK_BYTES)
    const seconds = Math.floor((detectedAt ?? 0) / SECOND)
    bytes.writeUInt32BE(Math.min(Math.max(seconds, 0), SECONDS_MAX), index * MARK_BYTES + 4)
  }
  return bytes.toString('base64')
}

export function decodeMarks(text: string): EventMark[] {
  const bytes = Buffer.from(text, 'base64')
  const marks: EventMark[] = []
  for (let at = 0; at + MARK_BYTES <= bytes.length; at += MARK_BYTES) {
    marks.push({ key: bytes.readUInt32BE(at), detectedAt: bytes.readUInt32BE(at + 4) * SECOND })
  }
  return marks
}

/**
 * The marks of a page with empty keys at `places` (from 0, counted over the events that have one): a key reveals the
 * event's presence to anyone who knows it. The time at which it leaves the window stays known.
 * @returns the text as it is where it has not one key for each of `events`
 */
export function cutMarks(text: string, places: readonly number[], events: number): string {
  const bytes = Buffer.from(text, 'base64')
  const kept = decodeMarks(text).flatMap(({ key }, index) => (key === 0 ? [] : index))
  if (kept.length !== events) return text
  for (const place of places) bytes.writeUInt32BE(0, (kept[place] ?? 0) * MARK_BYTES)
  return bytes.toString('base64')
}
