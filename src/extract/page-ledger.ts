/**
 * What the journal is told about requests: that one leaves, what came of it, and when nobody may ask. The ledger in the
 * warehouse is a projection of exactly these records.
 */

import type { PageEnvelope } from '../api/schemas.ts'
import type { Answer } from '../api/transport.ts'
import type { JournalWriter } from '../journal/journal.ts'
import type { BatchRecord } from '../journal/records.ts'
import type { TakenPage } from '../journal/batch-history.ts'
import { chargeOfPage } from '../journal/spending.ts'
import { sha256Hex } from '../support/hash.ts'
import { eventFacts, foreignOrganizations, pagingFacts, seenOrganizations } from './page-facts.ts'
import type { ServiceClock } from './service-clock.ts'

/** One request for one page. */
export interface PageRequest {
  readonly batch: BatchRecord
  readonly page: number
  /** It only asks whether the companies are tracked. */
  readonly isTest: boolean
  readonly requestId: string
  /** Milliseconds since 1970 UTC. */
  readonly requestedAt: number
}

/** Writes the records of requests of one run. */
export interface PageLedger {
  /** Notes that a request is about to leave: handed to the operating system, which a killed process survives. */
  sent(request: PageRequest): void
  /** Keeps a page. When it resolves the page is on the disk, and bought. Returns what paging has to know of it. */
  received(request: PageRequest, answer: Answer, envelope: PageEnvelope): Promise<TakenPage>
  /** Notes a request that brought no page, and puts what was noted before on the disk, too. */
  failed(
    request: PageRequest,
    at: number,
    what: {
      readonly status: number | null
      readonly error: string
      readonly inDoubt: boolean
    },
  ): Promise<void>
  /** Notes a time before which nobody may ask; the record of the failure that follows puts it on the disk. */
  paused(at: number, notBefore: number, reason: string): void
}

/** The ledger of one run. */
export function createPageLedger(
  runId: string,
  writer: JournalWriter,
  serviceClock: Pick<ServiceClock, 'read'>,
): PageLedger {
  const namesOf = ({ batch, page, requestId }: PageRequest) => ({
    run_id: runId,
    batch_id: batch.batch_id,
    page,
    request_id: requestId,
  })
  /** Rises with every record of a request or a page, as it does when the journal is read again. */
  let order = 0
  const sent = new Map<string, number>()
  return {
    sent(request) {
      order += 1
      sent.set(request.requestId, order)
      writer.write({ kind: 'request_sent', ...namesOf(request), at: request.requestedAt })
    },
    async received(request, answer, envelope) {
      const { page, batch, requestId } = request
      const { hasMore } = envelope
      const events = envelope.events.map(eventFacts)
      const { at: serverAt, dispute } = serviceClock.read(answer.headers, answer.receivedAt)
      const clocks = dispute === null ? {} : { clocks: dispute }
      const charge = chargeOfPage(envelope.creditsSent, events.length)
      const foreign = foreignOrganizations(events, batch)
      // Of a page that is the only one, paging needs to know nothing.
      const facts = page > 1 || hasMore ? pagingFacts(events, batch.days_ago, serverAt) : null
      order += 1
      const received = order
      await writer.append(
        {
          kind: 'page_received',
          ...namesOf(request),
          requested_at: request.requestedAt,
          at: answer.receivedAt,
          server_at: serverAt,
          ...clocks,
          status: answer.status,
          events: events.length,
          credits_used: charge.credits,
          ...(charge.sent === null ? {} : { credits_sent: charge.sent }),
          has_more: hasMore,
          body_sha256: sha256Hex(answer.body),
          ...(request.isTest ? { test: true } : {}),
          leaving: facts?.leaving ?? [],
          ...(facts === null ? {} : { leaving_until: facts.leavingUntil, keys: facts.keys }),
          seen: seenOrganizations(
            events.filter(({ organizationId: id }) => id === null || !foreign.has(id)),
            serverAt,
          ),
          ...(foreign.size === 0 ? {} : { foreign: [...foreign] }),
        },
        answer.body,
      )
      const asked = sent.get(requestId) ?? received
      sent.delete(requestId)
      return {
        page,
        events: events.length,
        hasMore,
        serverAt,
        ...clocks,
        leaving: facts?.leaving ?? [],
        leavingUntil: facts?.leavingUntil ?? Infinity,
        keys: facts?.keys ?? null,
        asked,
        received,
      }
    },
    async failed(request, at, { status, error, inDoubt }) {
      sent.delete(request.requestId)
      await writer.append({
        kind: 'request_failed',
        ...namesOf(request),
        requested_at: request.requestedAt,
        at,
        status,
        error,
        in_doubt: inDoubt,
      })
    },
    paused(at, notBefore, reason) {
      writer.write({ kind: 'paused', run_id: runId, at, not_before: notBefore, reason })
    },
  }
}
