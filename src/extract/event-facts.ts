/** What the journal's header says about the events of a page, so that paging and planning never need its body. Pure. */

import {
  detectionTimes,
  eventOrganizations,
  parseEvent,
  type EventOrganization,
  type JobChangeEvent,
} from '../api/schemas.ts'
import type { MarkedEvent } from '../journal/page-keys.ts'
import type { BatchRecord, SeenOrganization } from '../journal/records.ts'
import { RATE_DAYS } from '../journal/sightings.ts'
import { receivedJson } from '../support/json.ts'
import { DAY } from '../support/units.ts'

/** An event as far as headers speak of it. */
export interface EventFacts extends MarkedEvent {
  /** Null when the event does not name it properly. */
  readonly organization: EventOrganization | null
}

/** Reads one event; of one that does not fit, what does. */
export function eventFacts(value: unknown): EventFacts {
  const event = parseEvent(value)
  if (typeof event !== 'string') {
    const { detected_at: detectedAt, organization } = event
    return { identity: identityOf(event), detectedAt, organization }
  }
  return {
    identity: receivedJson(value),
    detectedAt: detectionTimes([value])[0] ?? null,
    organization: eventOrganizations([value])[0] ?? null,
  }
}

/** The events of each organisation in a page, and how many of these were detected in the 365 days before `serverAt`. */
export function seenOrganizations(
  events: readonly EventFacts[],
  serverAt: number,
): SeenOrganization[] {
  const seen = new Map<string, { events: number; recent: number }>()
  for (const { organization, detectedAt } of events) {
    if (organization === null) continue
    const count = seen.get(organization.organization_id) ?? { events: 0, recent: 0 }
    count.events += 1
    if (detectedAt !== null && detectedAt >= serverAt - RATE_DAYS * DAY) count.recent += 1
    seen.set(organization.organization_id, count)
  }
  return [...seen].map(([id, { events: all, recent }]) => [id, all, recent])
}

/**
 * Ids in a page that its batch certainly did not ask for. None where it asked for a company by URL: until the id of that
 * one is known any id may be its, also under another name, because companies are renamed and merged.
 */
export function foreignOrganizations(
  events: readonly EventFacts[],
  { organizations }: Pick<BatchRecord, 'organizations'>,
): Set<string> {
  if (organizations.some(({ by }) => by === 'url')) return new Set()
  const asked = new Set(organizations.map(({ value }) => value))
  const found = events.flatMap(({ organization }) => organization?.organization_id ?? [])
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
