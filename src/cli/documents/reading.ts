/** Documents of the commands that show what is there. See src/cli/documents.ts. */

import { z } from 'zod'
import {
  text,
  orNull,
  flag,
  count,
  amount,
  instant,
  list,
  object,
  withVersion,
  left,
} from './parts.ts'
import { clocks } from './running.ts'

const covered = { organizations: count, covered_to: orNull(instant), with_gaps: count }
export const status = withVersion({
  data_dir: text,
  fresh: flag,
  judgements: list(
    object({
      id: text,
      pipeline: orNull(text),
      message: text,
      hint: text,
      run_id: orNull(text),
      since: instant,
    }),
  ),
  runs_total: count,
  unread: list(object({ pipeline: text, asked: count, unread: count })),
  coverage: object(covered),
  filtered_coverage: list(object({ filters: text, ...covered })),
  credits: amount,
  credits_this_month: amount,
  credits_in_doubt: amount,
  unexpected_charges: count,
  quarantined: left,
  not_before: orNull(instant),
  inbox_files: count,
  deliveries_refused: count,
  backups: list(
    object({
      place: text,
      backed_up_at: orNull(instant),
      segments: count,
      missing: count,
      problem: orNull(text),
    }),
  ),
  clocks: orNull(object(clocks)),
  warehouse: z.union([
    object({
      events: count,
      rejects: count,
      failed_checks: count,
      snapshot_id: orNull(text),
      snapshot_destination: orNull(text),
      snapshot_published_at: orNull(instant),
    }),
    object({ unavailable: text }),
  ]),
  runs: list(
    object({
      run_id: text,
      pipeline: text,
      started_at: instant,
      outcome: text,
      exit_code: orNull(count),
      batches: count,
      batches_done: count,
      pages: count,
      credits: amount,
      in_doubt: amount,
    }),
  ),
})

const stretch = { event_types: list(text), from: orNull(instant), to: instant }
export const coverage = withVersion({
  data_dir: text,
  pipeline: orNull(text),
  filters: orNull(text),
  at: instant,
  organizations: count,
  read: count,
  never_read: count,
  quarantined: count,
  with_gaps: count,
  oldest_watermark: orNull(instant),
  newest_watermark: orNull(instant),
  without_events: count,
  rows: list(
    object({
      organization_id: text,
      asked_as: text,
      filters: orNull(text),
      name: orNull(text),
      covered_from: orNull(instant),
      covered_to: orNull(instant),
      confirmed_to: orNull(instant),
      gaps: list(object(stretch)),
      events: count,
      last_event_received_at: orNull(instant),
      quarantined: orNull(object({ at: instant, reason: text })),
    }),
  ),
  warehouse: orNull(object({ unavailable: text })),
  not_looked_at: list(
    object({
      ...stretch,
      organization_id: text,
      asked_as: text,
      filters: orNull(text),
      place: text,
    }),
  ).optional(),
})

const cost = {
  credits: amount,
  pages: amount,
  events: amount,
  new_events: amount,
  credits_per_new_event: orNull(amount),
}
const bill = object({
  ...cost,
  name: text,
  pipeline: text,
  in_doubt: amount,
  requests: count,
  rejects: count,
  unexpected_charges: count,
})
export const credits = withVersion({
  data_dir: text,
  pipeline: orNull(text),
  since: orNull(text),
  total: bill,
  this_month: object({ month: text, credits: amount, limit: orNull(amount), renews_on: text }),
  unloaded: amount,
  unexpected_charges: list(
    object({
      requested_at: instant,
      pipeline: text,
      run_id: text,
      batch_id: text,
      page: count,
      request_id: text,
      events: count,
      credits_used: amount,
      credits_sent: orNull(text),
    }),
  ).optional(),
  days: list(bill).optional(),
  rows: list(
    z.union([
      object({ ...cost, organization_id: orNull(text), asked_as: text, name: orNull(text) }),
      bill,
    ]),
  ).optional(),
})

export const rejects = withVersion({
  data_dir: text,
  received: count,
  rejects: count,
  reasons: list(object({ reason: text, events: count, first_at: instant, last_at: instant })),
  rows: list(
    object({
      received_at: instant,
      run_id: text,
      batch_id: text,
      page: count,
      position: count,
      request_id: text,
      reason: text,
      event: z.unknown(),
    }),
  ),
})

export const models = withVersion({
  data_dir: text,
  page: orNull(object({ path: text, bytes: count })),
  tables: list(
    object({
      name: text,
      schema: text,
      kind: text,
      is_own: flag,
      file: orNull(text),
      grain: text,
      purpose: orNull(text),
      key: list(text),
      needs: list(text),
      rows: orNull(count),
      reads: list(text),
      read_by: list(text),
      columns: list(object({ name: text, type: orNull(text), description: orNull(text) })),
      checks: list(text),
    }),
  ),
})

const changeCounts = list(
  object({
    change: text,
    changes: count,
    changes_before: orNull(count),
    executives: count,
    side_roles: count,
  }),
)

const year = object({
  organizations: count,
  month_on: orNull(text),
  months: orNull(count),
  observed_since_on: orNull(text),
  first_rate_on: orNull(text),
  joined: count,
  went: count,
  joined_before: orNull(count),
  went_before: orNull(count),
  rated: count,
  rate: orNull(amount),
  rate_low: orNull(amount),
  rate_high: orNull(amount),
  grade: orNull(z.enum(['A', 'B', 'C', 'D'])),
  compared: count,
  rate_compared: orNull(amount),
  rate_before: orNull(amount),
})

export const report = withVersion({
  path: text,
  bytes: count,
  pages: count,
  from_at: instant,
  to_at: instant,
  year,
  answer: list(text),
  changes: changeCounts,
  unknown_organizations: list(text),
})

export const digest = withVersion({
  from_at: instant,
  to_at: instant,
  changes: changeCounts,
  year,
  answer: list(text),
  executives: list(
    object({
      change: text,
      event_key: text,
      organization_id: text,
      organization: text,
      person_full_name: orNull(text),
      person_network_url: orNull(text),
      level: text,
      is_executive: flag,
      title_before: orNull(text),
      title_after: orNull(text),
      from_organization: orNull(text),
      to_organization: orNull(text),
      changed_on: text,
      precision: z.enum(['day', 'month', 'year']),
      was_announced: flag,
      known_on: text,
    }),
  ),
  organizations: list(
    object({
      organization_id: text,
      organization: text,
      joined: count,
      went: count,
      net: z.int(),
      rose: count,
      executives_joined: count,
      executives_left: count,
      organizations: count,
    }),
  ),
  bursts: list(
    object({
      change: text,
      organization_id: text,
      organization: text,
      month_start_on: text,
      people: count,
      expected: amount,
      score: amount,
      bursts: count,
    }),
  ),
  credits: amount,
})

export const titles = list(
  z.union([
    object({
      title: text,
      level: orNull(text),
      rank: orNull(amount),
      is_management: orNull(flag),
      function: orNull(text),
      core: orNull(text),
      is_side_role: flag,
      is_end_marker: flag,
      is_advisory: flag,
      rule: text,
      confidence: amount,
    }),
    object({ previous: text, current: text, label: text, confidence: amount, rule: text }),
  ]),
)
