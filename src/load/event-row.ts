/** One event as sent → the columns of a sighting, in JavaScript. sql/load/read_events.sql makes the same of ordinary events. */

import { createHash } from 'node:crypto'
import type { JobChangeEvent } from '../api/schemas.ts'
import type { SqlValue } from '../warehouse/rows.ts'

const KEY_HEX_DIGITS = 32

/**
 * The stable 128-bit key of an event: person, organisation, type and time of the change; for a change of title also the
 * new title, because several can fall on the same (month-precise) day. Equal instants written differently are equal.
 * The same rule is in sql/load/read_events.sql, in `identityOf` of src/extract/page-record.ts (page drift) and in
 * NATURAL_KEY of src/model/checks.ts (the check).
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

/** The columns of `jobtide_load.sightings` that an event fills. */
export function eventColumns(event: JobChangeEvent): Readonly<Record<string, SqlValue>> {
  const { title, person, organization } = event
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
  }
}
