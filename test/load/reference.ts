/** What `load` must make of a set of sightings, computed without SQL: slow, plain, and from the contract alone. */

import type { JobChangeEvent } from '../../src/simulator/events.ts'

export interface ReferenceSighting {
  event: JobChangeEvent
  at: number
  runId: string
}

/** The natural key as text. */
export function naturalKey(event: JobChangeEvent): string {
  const { profile_id: person } = event.person
  const { organization_id: organization } = event.organization
  const title = event.event_type === 'title_change' ? (event.title.current ?? '') : ''
  return [person, organization, event.event_type, event.changed_at, title].join(' | ')
}

/** The attributes that a newer sighting replaces. */
export function attributes(event: JobChangeEvent): unknown[] {
  return [
    event.detection_lag_days,
    event.title.current,
    event.title.previous,
    event.person.handle,
    event.person.full_name,
    event.person.first_name,
    event.person.last_name,
    event.person.headline,
    event.person.network_url,
    event.organization.name,
    event.organization.slug,
    event.organization.network_url,
  ]
}

function isNewer(a: ReferenceSighting, b: ReferenceSighting): boolean {
  const detected = Date.parse(a.event.detected_at) - Date.parse(b.event.detected_at)
  if (detected !== 0) return detected > 0
  if (a.at !== b.at) return a.at > b.at
  return JSON.stringify(attributes(a.event)) > JSON.stringify(attributes(b.event))
}

/** The rows of `job_change_events` by natural key. */
export function referenceEvents(sightings: readonly ReferenceSighting[]): Map<string, object> {
  const groups = new Map<string, ReferenceSighting[]>()
  for (const sighting of sightings) {
    const key = naturalKey(sighting.event)
    groups.set(key, [...(groups.get(key) ?? []), sighting])
  }
  const rows = new Map<string, object>()
  for (const [key, group] of [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const newest = group.reduce((best, next) => (isNewer(next, best) ? next : best))
    const bySeen = group.toSorted((a, b) => a.at - b.at || (a.runId < b.runId ? -1 : 1))
    rows.set(key, {
      detected_at: newest.event.detected_at,
      attributes: attributes(newest.event),
      attributes_seen_at: iso(newest.at),
      first_seen_at: iso(bySeen[0]!.at),
      last_seen_at: iso(bySeen.at(-1)!.at),
      first_run_id: bySeen[0]!.runId,
      last_run_id: bySeen.at(-1)!.runId,
      times_seen: group.length,
    })
  }
  return rows
}

const RANK = { joined: 1, title_change: 2, left: 3 }

/**
 * The rows of `person_organizations` by person and organisation.
 * @param keyOf `event_key` of a natural key, the last resort between events of one moment
 */
export function referencePairs(
  sightings: readonly ReferenceSighting[],
  keyOf: (naturalKey: string) => string,
): Map<string, object> {
  const newest = new Map<string, ReferenceSighting>()
  for (const sighting of sightings) {
    const key = naturalKey(sighting.event)
    const known = newest.get(key)
    if (known === undefined || isNewer(sighting, known)) newest.set(key, sighting)
  }
  const pairs = new Map<string, JobChangeEvent[]>()
  for (const { event } of newest.values()) {
    const pair = `${event.person.profile_id} ${event.organization.organization_id}`
    pairs.set(pair, [...(pairs.get(pair) ?? []), event])
  }
  const rows = new Map<string, object>()
  for (const [pair, events] of [...pairs].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const ordered = events.toSorted(
      (a, b) =>
        Date.parse(a.changed_at) - Date.parse(b.changed_at) ||
        Date.parse(a.detected_at) - Date.parse(b.detected_at) ||
        RANK[a.event_type] - RANK[b.event_type] ||
        (keyOf(naturalKey(a)) < keyOf(naturalKey(b)) ? -1 : 1),
    )
    const last = ordered.at(-1)!
    const times = (type: string) =>
      events.filter((event) => event.event_type === type).map(({ changed_at }) => changed_at)
    const joined = times('joined').toSorted()
    const left = times('left').toSorted()
    const state = follow(ordered)
    rows.set(pair, {
      is_current: state.isCurrent,
      current_since_at: state.since,
      first_joined_at: joined[0] ?? null,
      last_left_at: left.at(-1) ?? null,
      title: state.title,
      person_full_name: last.person.full_name,
      organization_name: last.organization.name,
      last_event_type: last.event_type,
      last_event_at: last.changed_at,
      last_detected_at: last.detected_at,
      last_event_key: keyOf(naturalKey(last)),
      events: events.length,
    })
  }
  return rows
}

/** The state of a pair after its events, one by one: whoever is met in the middle of a career is there already. */
function follow(ordered: readonly JobChangeEvent[]): {
  isCurrent: boolean
  since: string | null
  title: string | null
} {
  const state: ReturnType<typeof follow> = { isCurrent: true, since: null, title: null }
  for (const { event_type: type, changed_at, title } of ordered) {
    if (type === 'joined') {
      state.isCurrent = true
      state.since ??= changed_at
    }
    if (type === 'left') {
      state.isCurrent = false
      state.since = null
    }
    const named = type === 'left' ? (title.current ?? title.previous) : title.current
    state.title = named ?? state.title
  }
  return state
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
