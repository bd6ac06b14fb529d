/** The body of an answer: the envelope around a page of events, or around an error. */

import type { EventSource, JobChangeEvent } from './events.ts'

/** Credits for a page with at least one event; an empty page is free. */
export const CREDITS_PER_PAGE = 10

/** What goes around the events of a page. */
export interface Envelope {
  readonly page: number
  readonly limit: number
  readonly hasMore: boolean
  readonly creditsUsed: number
}

const HEAD = Buffer.from('{"success":true,"message":"ok","data":[')
const COMMA = 0x2c

/** A page of `events` of `source`, copied together from their ready-made bytes. */
export function pageBody(source: EventSource, events: Uint32Array, envelope: Envelope): Buffer {
  const tail = `],${envelopeTail(envelope)}}`
  let bytes = HEAD.length + Math.max(0, events.length - 1) + tail.length
  for (const event of events) bytes += source.byteLength(event)
  const body = Buffer.allocUnsafe(bytes)
  let offset = HEAD.copy(body)
  for (const [position, event] of events.entries()) {
    if (position > 0) offset = body.writeUInt8(COMMA, offset)
    offset = source.copyJson(event, body, offset)
  }
  body.write(tail, offset, 'latin1')
  return body
}

/** A page of events that are not exactly those of the source. */
export function pageBodyOf(events: readonly JobChangeEvent[], envelope: Envelope): Buffer {
  return Buffer.from(
    `{"success":true,"message":"ok","data":${JSON.stringify(events)},${envelopeTail(envelope)}}`,
  )
}

function envelopeTail({ page, limit, hasMore, creditsUsed }: Envelope): string {
  return `"pagination":{"page":${page},"limit":${limit},"has_more":${hasMore}},"credit_used":${creditsUsed}`
}

/** The body of an error. Errors are never charged. */
export function errorBody(message: string): Buffer {
  return Buffer.from(JSON.stringify({ success: false, message, data: null, credit_used: 0 }))
}
