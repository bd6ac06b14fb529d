/** One event as sent → one sighting as staged. Pure; the natural key is made here and nowhere else. */

import { createHash } from 'node:crypto'
import type { JobChangeEvent } from '../api/schemas.ts'
import type { SqlValue } from '../warehouse/warehouse.ts'

/** A row of `staged_sightings`. */
export type Sighting = Readonly<Record<string, SqlValue>>

const KEY_HEX_DIGITS = 32

/**
 * The stable 128-bit key of an event: person, organisation, type and time of the change; for a change of title also the
 * new title, because several can fall on the same (month-precise) day. Equal instants written differently are equal.
 */
export function eventKey(event: JobChangeEvent): string {
  const parts: (string | number)[] = [
    event.person.profile_id,
    event.organization.organization_id,
    event.event_type,
    event.changed_at,
  ]
  if (event.event_type === 'title_change') parts.push(event.title.current ?? '')
  const hash = createHash('sha256').update(JSON.stringify(parts))
  return hash.digest('hex').slice(0, KEY_HEX_DIGITS)
}

/** Flattens an event that was received at `receivedAt` (milliseconds since 1970 UTC) by run `runId`. */
export function toSighting(event: JobChangeEvent, receivedAt: number, runId: string): Sighting {
  const { person, organization, title } = event
  return {
    event_key: eventKey(event),
    profile_id: person.profile_id,
    organization_id: organization.organization_id,
    event_type: event.event_type,
    changed_at: new Date(event.changed_at),
    detected_at: new Date(event.detected_at),
    detection_lag_days: event.detection_lag_days,
    title_current: title.current,
    title_previous: title.previous,
    person_handle: person.handle,
    person_full_name: person.full_name,
    person_first_name: person.first_name,
    person_last_name: person.last_name,
    person_headline: person.headline,
    person_network_url: person.network_url,
    organization_name: organization.name,
    organization_slug: organization.slug,
    organization_network_url: organization.network_url,
    received_at: new Date(receivedAt),
    run_id: runId,
  }
}
