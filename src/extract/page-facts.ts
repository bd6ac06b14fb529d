/** What the journal's headers say about the events of a page, so that paging and planning never need its body. Pure. */

import {
  detectionTimes,
  eventOrganizations,
  parseEvent,
  type JobChangeEvent,
} from '../api/schemas.ts'
import { encodeMarks, type MarkedEvent } from '../journal/page-keys.ts'
import type { SeenOrganization, BatchRecord } from '../journal/records.ts'
import { RATE_DAYS } from '../journal/sightings.ts'
import { LEAVING_KNOWN_MS, leavingSoon } from '../journal/batch-history.ts'
import { receivedJson } from '../support/json.ts'
import { DAY, HOUR } from '../support/units.ts'

// Chosen: what nights overlap by, unless a pipeline says otherwise.
const LATENESS_MS = 6 * HOUR

/** An event as far as headers speak of it. */
export interface EventFacts extends MarkedEvent {
  /** Null when the event does not say properly. */
  readonly organizationId: string | null
}

/** What paging has to know of a page that has others beside it. */
export interface PagingFacts {
  readonly leaving: readonly number[]
  /** Server time. */
  readonly leavingUntil: number
  readonly keys: string
}

/** Reads one event; of one that does not fit, what does. */
export function eventFacts(value: unknown): EventFacts {
  const event = parseEvent(value)
  if (typeof event !== 'string') {
    const { detected_at: detectedAt, organization } = event
    return {
      identity: identityOf(event),
      detectedAt,
      organizationId: organization.organization_id,
    }
  }
  return {
    identity: receivedJson(value),
    detectedAt: detectionTimes([value])[0] ?? null,
    organizationId: eventOrganizations([value])[0]?.organization_id ?? null,
  }
}

/** @param serverAt when the page was read, server time */
export function pagingFacts(
  events: readonly EventFacts[],
  daysAgo: number | null,
  serverAt: number,
): PagingFacts {
  const windowMs = daysAgo === null ? Infinity : daysAgo * DAY
  // Of what comes in later nothing is known, and it may have been detected some hours before.
  const leavingUntil = serverAt + Math.min(LEAVING_KNOWN_MS, windowMs - LATENESS_MS)
  const times = events.flatMap(({ detectedAt }) => detectedAt ?? [])
  const leaving = daysAgo === null ? [] : leavingSoon(times, daysAgo, leavingUntil)
  return { leaving, leavingUntil, keys: encodeMarks(events) }
}

/** The events of each organisation in a page, and how many of these were detected in the 365 days before `serverAt`. */
export function seenOrganizations(
  events: readonly EventFacts[],
  serverAt: number,
): SeenOrganization[] {
  const seen = new Map<string, { events: number; recent: number }>()
  for (const { organizationId, detectedAt } of events) {
    if (organizationId === null) continue
    const count = seen.get(organizationId) ?? { events: 0, recent: 0 }
    count.events += 1
    if (detectedAt !== null && detectedAt >= serverAt - RATE_DAYS * DAY) count.recent += 1
    seen.set(organizationId, count)
  }
  return [...seen].map(([id, { events: all, recent }]) => [id, all, recent])
}

/**
 * Ids in a page that its batch certainly did not ask for. None where it asked for a company by URL: until the id of that one
 * is known any id may be its, also under another name, because companies are renamed and merged.
 */
export function foreignOrganizations(
  events: readonly EventFacts[],
  { organizations }: Pick<BatchRecord, 'organizations'>,
): Set<string> {
  if (organizations.some(({ by }) => by === 'url')) return new Set()
  const asked = new Set(organizations.map(({ value }) => value))
  const found = events.flatMap(({ organizationId }) => organizationId ?? [])
  return new Set(found.filter((id) => !asked.has(id)))
}

// The natural key: the same in all versions of an event.
function identityOf(event: JobChangeEvent): string {
  const { person, organization, event_type: type, changed_at: changedAt, title } = event
  const newTitle = type === 'title_change' ? title.current : null
  return JSON.stringify([
    person.profile_id,
    organization.organization_id,
    type,
    changedAt,
    newTitle,
  ])
}
