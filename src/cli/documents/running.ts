/** Documents of the commands that run the pipeline. See src/cli/documents.ts. */

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
  problem,
  skippedLines,
  totals,
} from './parts.ts'

export const clocks = {
  service: instant,
  here: instant,
  before: orNull(instant),
  void_after: orNull(count),
}
const range = object({ expected: amount, low: amount, high: amount })
const extract = object({
  fraction: amount,
  batches_done: count,
  batches: count,
  pages: count,
  events: count,
  credits: amount,
  projection: orNull(range),
  unexpected_charges: count,
  lists_cut: count,
  filter_errors: list(text),
  clocks: orNull(
    object({ ...clocks, answers: count, not_believed: count, service_ahead_ms: amount }),
  ),
  quarantined: left,
  skipped: left,
})
export const load = {
  events: count,
  pages: count,
  inserted: count,
  updated: count,
  rejected: count,
  suppressed: count,
  new_unknown_fields: list(text),
}
export const build = {
  build_id: text,
  full_refresh_reason: orNull(text),
  selected: orNull(list(text)),
  dropped: list(text),
  skipped: object({ models: count, checks: count }),
  models: list(
    object({ name: text, rows: orNull(count), rows_changed: orNull(count), duration_ms: amount }),
  ),
  duration_ms: amount,
  checks_passed: count,
}
export const publish = {
  snapshot_id: orNull(text),
  nothing_read: flag,
  unchanged: flag,
  replaced_format: orNull(count),
  ...totals,
  new_files: count,
  new_bytes: count,
  destination: text,
  gc: object({
    reason: orNull(text),
    snapshots: list(text),
    objects: count,
    bytes: count,
    uploads: count,
  }),
}
export const loadedTables = list(object({ name: text, rows: count, rows_changed: orNull(count) }))
export const databases = list(
  object({ database: text, schema: text, tables: loadedTables, problem: orNull(text) }),
)
export const analystCopy = object({
  path: text,
  bytes: count,
  duration_ms: amount,
  problem: orNull(text),
})
const run = {
  run_id: text,
  pipeline: text,
  endpoint: orNull(text),
  resumed: flag,
  complete: flag,
  exit_code: count,
  message: orNull(text),
  error: orNull(problem),
  warning: orNull(text),
  organizations: count,
  organizations_unread: count,
  pages_left_behind: count,
  skipped_lines: skippedLines,
  extract,
  load: orNull(object(load)),
  build: orNull(object(build)),
  publish: orNull(object(publish)),
  databases,
  analyst_copy: orNull(analystCopy),
  duration_ms: amount,
}

export const runOrFailure = withVersion(run)
const changes = object({
  count,
  latest: list(object({ what: text, person: text, organization: text, title: orNull(text) })),
})
export const demo = withVersion({
  data_dir: text,
  backfill: object(run),
  nightly: object(run),
  joined: changes,
  left: changes,
  promoted: changes,
  organizations: list(
    object({
      organization: text,
      headcount: count,
      seen: count,
      open_roles: count,
    }),
  ),
  talent_flows: list(object({ from_organization: text, to_organization: text, people: count })),
  service: object({ requests: count, credits: amount }),
})

export const plan = withVersion({
  pipeline: text,
  organizations: count,
  duplicates: count,
  skipped_lines: skippedLines,
  batches: count,
  quarantined: left,
  credits_limit: orNull(amount),
  credits_per_month: orNull(amount),
  credits_spent_this_month: amount,
  snapshot_to: orNull(text),
  requests_at_least: count,
  expected_requests: orNull(amount),
  expected_credits: orNull(amount),
  credits_range: orNull(object({ low: amount, high: amount, runs: count })),
  requests_per_second: orNull(amount),
  never_asked: count,
  without_events: count,
  filters: orNull(text),
  read_without_filters: count,
  open_run: orNull(
    object({
      run_id: text,
      batches_left: count,
      pages_of_them_bought: count,
      rest_planned_again: flag,
      credits_bought: amount,
      credits_to_come: orNull(amount),
      pages_at_least: count,
    }),
  ),
  windows: list(
    object({
      days_ago: orNull(count),
      organizations: amount,
      batches: count,
      expected_credits: orNull(amount),
    }),
  ),
})
export const collectionPlan = withVersion({
  pipeline: text,
  endpoint: text,
  listed: count,
  duplicates: count,
  refused: count,
  skipped_lines: skippedLines,
  requests_at_least: count,
  answered_lately: count,
  absent: count,
  credits_at_least: amount,
  credits_at_most: amount,
  credits_limit: orNull(amount),
  credits_per_month: orNull(amount),
  credits_spent_this_month: amount,
  snapshot_to: orNull(text),
})
export const sample = withVersion({
  run_id: text,
  pipeline: text,
  organizations: count,
  batches: count,
  batches_read: count,
  pages_now: count,
  credits_spent_now: amount,
  pages_left_behind: count,
  skipped_lines: skippedLines,
  expected_credits: orNull(amount),
  credits_90_percent: orNull(object({ low: amount, high: amount })),
  credits_to_buy: orNull(amount),
})
