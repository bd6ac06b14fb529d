/** One event as sent → one sighting as staged. Pure; the natural key is made here and nowhere else. */

import { createHash } from 'node:crypto'
import type { JobChangeEvent } from '../api/schemas.ts'
import type { SqlValue } from '../warehouse/warehouse.ts'

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

/** The columns of `staged_sightings`, in its order: how each is taken from an event. */
const COLUMNS: Readonly<Record<string, (seen: Seen) => SqlValue>> = {
  event_key: ({ event }) => eventKey(event),
  profile_id: ({ event }) => event.person.profile_id,
  organization_id: ({ event }) => event.organization.organization_id,
  event_type: ({ event }) => event.event_type,
  changed_ms: ({ event }) => event.changed_at,
  detected_ms: ({ event }) => event.detected_at,
  detection_lag_days: ({ event }) => event.detection_lag_days,
  title_current: ({ event }) => event.title.current,
  title_previous: ({ event }) => event.title.previous,
  person_handle: ({ event }) => event.person.handle,
  person_full_name: ({ event }) => event.person.full_name,
  person_first_name: ({ event }) => event.person.first_name,
  person_last_name: ({ event }) => event.person.last_name,
  person_headline: ({ event }) => event.person.headline,
  person_network_url: ({ event }) => event.person.network_url,
  organization_name: ({ event }) => event.organization.name,
  organization_slug: ({ event }) => event.organization.slug,
  organization_network_url: ({ event }) => event.organization.network_url,
  received_ms: ({ receivedAt }) => receivedAt,
  run_id: ({ runId }) => runId,
}
const COLUMN_LIST = Object.entries(COLUMNS)

/** An event, when it was received (milliseconds since 1970 UTC), and by which run. */
export interface Seen {
  readonly event: JobChangeEvent
  readonly receivedAt: number
  readonly runId: string
}

/** Sightings waiting to be staged, column by column: half the memory of as many row objects. */
export class SightingColumns {
  readonly columns: Readonly<Record<string, SqlValue[]>> = Object.fromEntries(
    COLUMN_LIST.map(([name]) => [name, []]),
  )
  length = 0

  /** Adds one sighting. */
  add(seen: Seen): void {
    for (const [name, take] of COLUMN_LIST) this.columns[name]?.push(take(seen))
    this.length += 1
  }
}
