/** The journal's record of a page that was received. Pure. */

import type { PageEnvelope } from '../api/schemas.ts'
import type { Answer } from '../api/transport.ts'
import { encodeMarks } from '../journal/page-keys.ts'
import type { BatchRecord, PageReceived } from '../journal/records.ts'
import type { ServiceTime } from '../journal/service-time.ts'
import { chargeOfPage } from '../journal/spending.ts'
import { sha256Hex } from '../support/hash.ts'
import { foreignOrganizations, seenOrganizations, type EventFacts } from './event-facts.ts'

/** A page as it came, and what it was asked for. */
export interface ReceivedPage {
  readonly runId: string
  readonly batch: BatchRecord
  readonly page: number
  readonly isFreeProbe: boolean
  readonly requestId: string
  /** Milliseconds since 1970 UTC. */
  readonly requestedAt: number
  readonly answer: Answer
  readonly envelope: PageEnvelope
  /** What its events say, in their order. */
  readonly events: readonly EventFacts[]
  /** The service's time when it was read. */
  readonly time: ServiceTime
}

/** The record; the body of the answer is its payload. */
export function pageRecord(received: ReceivedPage): PageReceived {
  const { batch, page, answer, envelope, events, time } = received
  const charge = chargeOfPage(envelope.creditsSent, events.length)
  const foreign = foreignOrganizations(events, batch)
  const isOnlyPage = page === 1 && !envelope.hasMore
  const own = events.filter(({ organization }) => !foreign.has(organization?.organization_id ?? ''))
  return {
    kind: 'page_received',
    run_id: received.runId,
    batch_id: batch.batch_id,
    page,
    request_id: received.requestId,
    requested_at: received.requestedAt,
    at: answer.receivedAt,
    server_at: time.at,
    ...(time.dispute === null ? {} : { clocks: time.dispute }),
    status: answer.status,
    events: events.length,
    credits_used: charge.credits,
    ...(charge.sent === null ? {} : { credits_sent: charge.sent }),
    has_more: envelope.hasMore,
    body_sha256: sha256Hex(answer.body),
    ...(received.isFreeProbe ? { free_probe: true } : {}),
    // Of a page that is the only one, paging needs to know nothing.
    ...(isOnlyPage ? {} : { keys: encodeMarks(events) }),
    seen: seenOrganizations(own, time.at),
    ...(foreign.size === 0 ? {} : { foreign: [...foreign] }),
  }
}
