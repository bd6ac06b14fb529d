/**
 * The events of a received page, as its record in the journal says them: enough that paging and planning never need the
 * body. Pure.
 */

import { instantOf, isIdentifier } from '../api/schemas.ts'
import type { MarkedEvent } from '../journal/batch-history.ts'
import type { BatchRecord, SeenOrganization } from '../journal/records.ts'
import { RATE_DAYS } from '../journal/coverage.ts'
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

/** The events of each organisation on a page, and how many of these were detected in the 365 days before `serverAt`. */
export function seenOrganizations(
  events: readonly EventFacts[],
  serverAt: number,
): SeenOrganization[] {
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
