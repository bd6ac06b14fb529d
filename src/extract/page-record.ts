/**
 * The journal's record of a received page. Its header says enough about the events that paging and planning never need
 * the body. Pure.
 */

import { instantOf, isIdentifier, type PageEnvelope } from '../api/schemas.ts'
import type { Answer } from '../api/transport.ts'
import { PAGE_EVENTS } from '../journal/batch-history.ts'
import { encodeMarks, type MarkedEvent } from '../journal/page-drift.ts'
import type { BatchRecord, PageReceived, SeenOrganization } from '../journal/records.ts'
import type { ServiceTime } from '../journal/clock-history.ts'
import { RATE_DAYS } from '../journal/coverage.ts'
import { chargeOfPage } from '../journal/spending.ts'
import { sha256Hex } from '../support/hash.ts'
import { receivedJson } from '../support/json.ts'
import { companySlug } from '../support/text.ts'
import { DAY } from '../support/units.ts'

export interface EventFacts extends MarkedEvent {
  /** Null if the event does not name it properly. */
  readonly organization: {
    readonly organization_id: string
    readonly slug: string | null
    readonly network_url: string | null
  } | null
}

/** What a value says as an event. Not by the schema of events, which takes ten times as long, and is for the load. */
export function eventFacts(value: unknown): EventFacts {
  const event = membersOf(value)
  const { organization_id, slug, network_url } = membersOf(event['organization'])
  const organization = isIdentifier(organization_id)
    ? { organization_id, slug: textOf(slug), network_url: textOf(network_url) }
    : null
  return {
    identity: identityOf(event, organization_id) ?? receivedJson(value),
    detectedAt: timeOf(event['detected_at']),
    organization,
  }
}

/** The natural key, which is the same in all versions of an event; null if it is malformed. */
function identityOf({ person, event_type, changed_at, title }: Members, company: unknown) {
  const { profile_id } = membersOf(person)
  const changedAt = timeOf(changed_at)
  if (!isIdentifier(profile_id) || !isIdentifier(company) || changedAt === null) return null
  const newTitle = event_type === 'title_change' ? textOf(membersOf(title)['current']) : null
  return JSON.stringify([profile_id, company, event_type, changedAt, newTitle])
}

type Members = Readonly<Record<string, unknown>>

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {}
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function timeOf(value: unknown): number | null {
  const at = typeof value === 'string' ? instantOf(value) : null
  return typeof at === 'number' ? at : null
}

export interface ReceivedPage {
  readonly runId: string
  readonly batch: BatchRecord
  readonly page: number
  readonly isFreeProbe: boolean
  readonly requestId: string
  readonly requestedAt: number
  readonly answer: Answer
  readonly envelope: PageEnvelope
  readonly events: readonly EventFacts[]
  readonly shown: Readonly<ReturnType<typeof shownIn>>
  /** The service's time when it was read. */
  readonly time: ServiceTime
}

export function pageRecord(received: ReceivedPage): PageReceived {
  const { batch, page, answer, envelope, events, time } = received
  const { own, foreign } = received.shown
  const charge = chargeOfPage(envelope.creditsSent, events.length)
  const isOnlyPage = page === 1 && !envelope.hasMore
  // Some services state the number of events only on the last page.
  const isOwnCount = !envelope.hasMore && envelope.limit === events.length
  const isUsual = envelope.limit === null || envelope.limit === PAGE_EVENTS || isOwnCount
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
    ...(isUsual ? {} : { counted_by: envelope.limit }),
    body_sha256: sha256Hex(answer.body),
    ...(received.isFreeProbe ? { free_probe: true } : {}),
    // Paging needs to know nothing about a page that is the only one.
    ...(isOnlyPage ? {} : { keys: encodeMarks(events) }),
    seen: seenOrganizations(own, time.at),
    ...(foreign.size === 0 ? {} : { foreign: [...foreign] }),
  }
}

/** The events of each organisation on a page, and how many of these were detected in the 365 days before `serverAt`. */
function seenOrganizations(events: readonly EventFacts[], serverAt: number): SeenOrganization[] {
  const seen = new Map<string, { all: number; recent: number }>()
  for (const { organization, detectedAt } of events) {
    if (organization === null) continue
    const count = seen.get(organization.organization_id) ?? { all: 0, recent: 0 }
    count.all += 1
    if (detectedAt !== null && detectedAt >= serverAt - RATE_DAYS * DAY) count.recent += 1
    seen.set(organization.organization_id, count)
  }
  return [...seen].map(([id, { all, recent }]) => [id, all, recent])
}

/**
 * The ids on a page that belong to its batch, and those that it did not ask for. Until the id of a company requested by
 * URL is known, any id may be its own, even under another name, because companies are renamed. But a URL means one
 * company: if a page has more ids with other names than there are URLs, some companies were not requested, and no rule
 * can tell which.
 */
export function shownIn({ organizations }: BatchRecord, events: readonly EventFacts[]) {
  const ids = new Set(organizations.flatMap(({ by, value }) => (by === 'id' ? value : [])))
  const urls = organizations.filter(({ by }) => by === 'url')
  const slugs = new Set(urls.map(({ value }) => companySlug(value)))
  const others = events.flatMap(({ organization }) => {
    if (organization === null || ids.has(organization.organization_id)) return []
    const { organization_id: id, slug, network_url: url } = organization
    return [slug, url].some((name) => slugs.has(companySlug(name ?? ''))) ? [] : id
  })
  const unknown = new Set(others)
  const foreign = unknown.size > urls.length ? unknown : new Set<string>()
  const own = events.filter(({ organization }) => !foreign.has(organization?.organization_id ?? ''))
  return { own, foreign }
}
