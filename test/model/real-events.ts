/** The real job changes next to the repository; absent on most machines. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { packageRoot } from '../../src/support/assets.ts'
import { naturalKey, type GivenEvent } from '../helpers/warehouse.ts'

/** 131,811 events, one JSON object a line, gzipped. */
export const realEventsPath = join(packageRoot, '..', 'shared', 'data', 'oss-job-changes.ndjson.gz')

interface EventAsSent {
  readonly event_type: string
  readonly changed_at: string
  readonly detected_at: string
  readonly detection_lag_days: number
  readonly title: { readonly current: string | null; readonly previous: string | null }
  readonly person: { readonly profile_id: string }
  readonly organization: {
    readonly organization_id: string
    readonly name: string
    readonly slug: string
    readonly network_url: string
  }
}

/** The real events, each once: of two with the same key the one detected later. */
export function realEvents(): GivenEvent[] {
  const lines = gunzipSync(readFileSync(realEventsPath)).toString('utf8').trim().split('\n')
  const events = lines.map((line): GivenEvent => {
    const sent = JSON.parse(line) as EventAsSent
    return {
      profile_id: sent.person.profile_id,
      organization_id: sent.organization.organization_id,
      event_type: sent.event_type,
      changed_at: sent.changed_at,
      detected_at: sent.detected_at,
      detection_lag_days: sent.detection_lag_days,
      title_current: sent.title.current,
      title_previous: sent.title.previous,
      organization_name: sent.organization.name,
      organization_slug: sent.organization.slug,
      organization_network_url: sent.organization.network_url,
    }
  })
  const byDetection = events.toSorted((a, b) => (detected(a) < detected(b) ? -1 : 1))
  return [...new Map(byDetection.map((one) => [naturalKey(one), one])).values()]
}

function detected({ detected_at: at = '' }: GivenEvent): string {
  return at
}
