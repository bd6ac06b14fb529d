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

/**
 * The rows of `job_change_event_versions` by natural key: the distinct contents of each event that has several.
 * Each is [content, first received, last received].
 */
export function referenceVersions(
  sightings: readonly ReferenceSighting[],
): Map<string, (readonly [string, string, string])[]> {
  const events = new Map<string, Map<string, number[]>>()
  for (const { event, at } of sightings) {
    const versions = events.get(naturalKey(event)) ?? new Map<string, number[]>()
    const content = JSON.stringify([event.detected_at, ...attributes(event)])
    versions.set(content, [...(versions.get(content) ?? []), at])
    events.set(naturalKey(event), versions)
  }
  return new Map(
    [...events]
      .filter(([, versions]) => versions.size > 1)
      .map(([key, versions]) => [
        key,
        [...versions]
          .map(
            ([content, times]) =>
              [content, iso(Math.min(...times)), iso(Math.max(...times))] as const,
          )
          .toSorted(([a], [b]) => (a < b ? -1 : 1)),
      ]),
  )
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
