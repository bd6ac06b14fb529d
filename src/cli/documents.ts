/** The `--json` documents of all commands: `jobtide schema` prints them, tests check all output against them. */

import { z } from 'zod'
import { burstRow, changeRow, countRow, organizationRow, yearRow } from '../report/rows.ts'
import {
  amount,
  count,
  fields,
  flag,
  instant,
  list,
  orNull,
  rows,
  text,
} from '../support/fields.ts'
import { SCHEMA_VERSION } from './report.ts'

const anything = z.record(text, z.unknown())

function withVersion<T extends z.ZodRawShape>(keys: T) {
  return z.object({ schema_version: z.literal(SCHEMA_VERSION), ...keys })
}

const left = rows(fields(text, 'organization reason'))
/** Lines of lists that name nothing. */
const skippedLines = rows({ list: text, count, lines: list(count) })
const totals = fields(count, 'tables files rows bytes')
const range = z.object(fields(amount, 'low high'))

/** A failure, as errorDocument makes it. */
const problem = z.looseObject({ message: text, hint: orNull(text), exit_code: count })
export const failure = withVersion({ error: problem })

const clocks = {
  ...fields(instant, 'service here'),
  ...fields(orNull(instant), 'before void_after'),
}
const extract = z.object({
  ...fields(amount, 'fraction credits'),
  ...fields(count, 'batches_done batches pages events unexpected_charges lists_cut'),
  projection: orNull(z.object(fields(amount, 'expected low high'))),
  filter_errors: list(text),
  clocks: orNull(
    z.object({ ...clocks, ...fields(count, 'answers not_believed'), service_ahead_ms: amount }),
  ),
  ...fields(left, 'quarantined skipped'),
})
const load = {
  ...fields(count, 'events pages answers inserted updated rejected suppressed'),
  new_unknown_fields: list(text),
}
const build = {
  build_id: text,
  full_refresh_reason: orNull(text),
  selected: orNull(list(text)),
  dropped: list(text),
  skipped: z.object(fields(count, 'models checks')),
  models: rows({ name: text, ...fields(orNull(count), 'rows rows_changed'), duration_ms: amount }),
  duration_ms: amount,
  checks_passed: count,
}
const rebuilt = { load: z.object(load), build: z.object(build) }
const publish = {
  snapshot_id: orNull(text),
  ...fields(flag, 'nothing_read unchanged'),
  replaced_format: orNull(count),
  ...totals,
  ...fields(count, 'new_files new_bytes'),
  destination: text,
  gc: z.object({
    reason: orNull(text),
    snapshots: list(text),
    ...fields(count, 'objects bytes uploads'),
  }),
}
/** What a publish makes in addition to the snapshot. */
const copies = {
  databases: rows({
    ...fields(text, 'database schema'),
    tables: rows({ name: text, rows: count, rows_changed: orNull(count) }),
    problem: orNull(text),
  }),
  analyst_copy: z.object({ path: text, bytes: count, duration_ms: amount, problem: orNull(text) }),
}
const erasure = { begun_at: orNull(instant), is_complete: flag, remaining: list(text) }
const run = {
  ...fields(text, 'run_id pipeline'),
  ...fields(orNull(text), 'endpoint message warning'),
  ...fields(flag, 'resumed complete'),
  error: orNull(problem),
  ...fields(count, 'exit_code organizations organizations_unread pages_left_behind'),
  skipped_lines: skippedLines,
  extract,
  load: orNull(rebuilt.load),
  build: orNull(rebuilt.build),
  publish: orNull(z.object(publish)),
  databases: copies.databases,
  analyst_copy: orNull(copies.analyst_copy),
  erasure: orNull(z.object(erasure)),
  duration_ms: amount,
}

const budgets = {
  ...fields(orNull(amount), 'credits_limit credits_per_month'),
  credits_spent_this_month: amount,
  snapshot_to: orNull(text),
}
const plan = withVersion({
  pipeline: text,
  ...fields(count, 'organizations duplicates batches requests_at_least'),
  ...fields(count, 'never_asked without_events read_without_filters'),
  skipped_lines: skippedLines,
  quarantined: left,
  ...budgets,
  ...fields(orNull(amount), 'expected_requests expected_credits requests_per_second'),
  credits_range: orNull(range.extend({ runs: count })),
  filters: orNull(text),
  open_run: orNull(
    z.object({
      run_id: text,
      ...fields(count, 'batches_left pages_of_them_bought pages_at_least'),
      rest_planned_again: flag,
      credits_bought: amount,
      credits_to_come: orNull(amount),
    }),
  ),
  windows: rows({
    days_ago: orNull(count),
    organizations: amount,
    batches: count,
    expected_credits: orNull(amount),
  }),
})
const collectionPlan = withVersion({
  ...fields(text, 'pipeline endpoint'),
  ...fields(count, 'listed duplicates refused requests_at_least answered_lately absent'),
  skipped_lines: skippedLines,
  ...fields(amount, 'credits_at_least credits_at_most'),
  ...budgets,
})

const covered = { organizations: count, covered_to: orNull(instant), with_gaps: count }
const warehouseStatus = z.object({
  ...fields(count, 'events rejects failed_checks'),
  ...fields(orNull(text), 'snapshot_id snapshot_destination'),
  snapshot_published_at: orNull(instant),
})
const unavailable = z.object({ unavailable: text })
const stretch = { event_types: list(text), from: orNull(instant), to: instant }
const company = { ...fields(text, 'organization_id asked_as'), filters: orNull(text) }

const cost = {
  ...fields(amount, 'credits pages events new_events'),
  credits_per_new_event: orNull(amount),
}
const bill = z.object({
  ...cost,
  ...fields(text, 'name pipeline'),
  in_doubt: amount,
  ...fields(count, 'requests change_pages change_events rejects unexpected_charges'),
})
const organizationBill = z.object({
  ...cost,
  ...fields(orNull(text), 'organization_id name'),
  asked_as: text,
})
const thisMonth = z.object({
  ...fields(text, 'month renews_on'),
  credits: amount,
  limit: orNull(amount),
})
const changesOf = {
  ...fields(instant, 'from_at to_at'),
  year: yearRow,
  answer: list(text),
  changes: list(countRow),
}

const journal = z.object({
  ...fields(count, 'segments bytes'),
  segments_with_accepted_losses: list(text),
})
const verifiedJournal = withVersion({
  is_proved: flag,
  journal,
  backups: rows({ place: text, problems: list(text) }),
})
const verifiedSnapshot = withVersion({
  is_proved: flag,
  journal: orNull(journal),
  ...fields(orNull(text), 'snapshot_id copied_from'),
  destination: text,
  ...totals,
  findings: rows({ ...fields(text, 'kind object message'), table: orNull(text) }),
  error: problem.optional(),
})

const places = {
  events_before: orNull(text),
  rows: z.record(text, count),
  stores: rows({
    destination: text,
    problem: orNull(text),
    snapshots: list(text),
    is_gone: flag.optional(),
    tables: list(text).optional(),
  }),
}
const foundIn = { segment: text, ...fields(count, 'pages events') }
const wouldForget = withVersion({
  is_done: z.literal(false),
  people: count,
  not_here: list(text),
  goes_on: flag,
  segments: rows(foundIn),
  ...places,
})
const forgotten = withVersion({
  is_done: z.literal(true),
  ...fields(text, 'path id jobtide'),
  ...fields(list(text), 'not_here people'),
  format_version: count,
  made_at: instant,
  ...erasure,
  list: orNull(anything),
  segments: rows({ ...foundIn, ...fields(text, 'sha256_before sha256_after') }),
  proof: z.object({ ...fields(count, 'texts files bytes'), matches: list(text) }),
  ...places,
})
const sample = withVersion({
  ...fields(text, 'run_id pipeline'),
  ...fields(count, 'organizations batches batches_read pages_now pages_left_behind'),
  skipped_lines: skippedLines,
  credits_spent_now: amount,
  ...fields(orNull(amount), 'expected_credits credits_to_buy'),
  credits_90_percent: orNull(range),
  error: orNull(problem),
})
const find = withVersion({
  ...fields(text, 'endpoint run_id'),
  credits: amount,
  pages: count,
  more: flag,
  filter_errors: list(text),
  output: orNull(text),
  ...fields(orNull(count), 'added removed'),
  found: rows(fields(orNull(text), 'name about url organization_id')),
})
const changed = z.object({
  count,
  latest: rows({ ...fields(text, 'what person organization'), title: orNull(text) }),
})

export type WarehouseStatus = z.infer<typeof warehouseStatus>
export type Bill = z.infer<typeof bill>
export type OrganizationBill = z.infer<typeof organizationBill>
export type ThisMonth = z.infer<typeof thisMonth>

const dueAt = { pipeline: text, at: orNull(text) }

/** The document of each command, where it ends with a result; in the order of `jobtide --help`. */
export const DOCUMENTS: Readonly<Record<string, z.ZodType>> = {
  demo: withVersion({
    data_dir: text,
    ...fields(z.object(run), 'backfill nightly'),
    ...fields(changed, 'joined left promoted'),
    organizations: rows({ organization: text, ...fields(count, 'headcount seen open_roles') }),
    talent_flows: rows({ ...fields(text, 'from_organization to_organization'), people: count }),
    service: z.object({ requests: count, credits: amount }),
  }),
  run: withVersion(run),
  backfill: withVersion(run),
  schedule: withVersion({ pid: count, health_url: orNull(text), due: rows(dueAt) }), // At its start.
  plan: z.union([plan, collectionPlan, sample]),
  extract: withVersion(run),
  load: withVersion(load),
  build: withVersion(build),
  publish: withVersion({ ...publish, ...copies }),
  replay: withVersion({ ...rebuilt, kept: list(text), credits: amount }),
  status: withVersion({
    data_dir: text,
    fresh: flag,
    judgements: rows({
      ...fields(text, 'id message hint'),
      ...fields(orNull(text), 'pipeline run_id'),
      since: instant,
    }),
    ...fields(count, 'runs_total unexpected_charges inbox_files deliveries_refused'),
    unread: rows({ pipeline: text, ...fields(count, 'asked unread') }),
    coverage: z.object(covered),
    filtered_coverage: rows({ filters: text, ...covered }),
    ...fields(amount, 'credits credits_this_month credits_in_doubt'),
    quarantined: left,
    not_before: orNull(instant),
    backups: rows({
      place: text,
      backed_up_at: orNull(instant),
      ...fields(count, 'segments missing'),
      problem: orNull(text),
    }),
    clocks: orNull(z.object(clocks)),
    warehouse: z.union([warehouseStatus, unavailable]),
    runs: rows({
      ...fields(text, 'run_id pipeline outcome'),
      started_at: instant,
      exit_code: orNull(count),
      ...fields(count, 'batches batches_done pages'),
      ...fields(amount, 'credits in_doubt'),
    }),
  }),
  coverage: withVersion({
    data_dir: text,
    ...fields(orNull(text), 'pipeline filters'),
    at: instant,
    ...fields(count, 'organizations read never_read quarantined with_gaps without_events'),
    ...fields(orNull(instant), 'oldest_watermark newest_watermark'),
    rows: rows({
      ...company,
      name: orNull(text),
      ...fields(orNull(instant), 'covered_from covered_to confirmed_to last_event_received_at'),
      gaps: rows(stretch),
      events: count,
      quarantined: orNull(z.object({ at: instant, reason: text })),
    }),
    warehouse: orNull(unavailable),
    not_looked_at: rows({ ...stretch, ...company, place: text }).optional(),
  }),
  credits: withVersion({
    data_dir: text,
    ...fields(orNull(text), 'pipeline since'),
    total: bill,
    this_month: thisMonth,
    unloaded: amount,
    unexpected_charges: rows({
      requested_at: instant,
      ...fields(text, 'pipeline run_id batch_id request_id'),
      ...fields(count, 'page events'),
      credits_used: amount,
      credits_sent: orNull(text),
    }).optional(),
    days: list(bill).optional(),
    rows: list(z.union([organizationBill, bill])).optional(),
  }),
  rejects: withVersion({
    data_dir: text,
    ...fields(count, 'received rejects'),
    reasons: rows({ reason: text, events: count, ...fields(instant, 'first_at last_at') }),
    rows: rows({
      received_at: instant,
      ...fields(text, 'run_id batch_id request_id reason'),
      ...fields(count, 'page position'),
      event: z.unknown(),
    }),
  }),
  query: list(anything),
  models: withVersion({
    data_dir: text,
    page: orNull(z.object({ path: text, bytes: count })),
    tables: rows({
      ...fields(text, 'name schema kind grain'),
      is_own: flag,
      ...fields(orNull(text), 'file purpose'),
      ...fields(list(text), 'key needs reads read_by checks'),
      rows: orNull(count),
      columns: rows({ name: text, ...fields(orNull(text), 'type description') }),
    }),
  }),
  report: withVersion({
    path: text,
    ...fields(count, 'bytes pages'),
    ...changesOf,
    unknown_organizations: list(text),
  }),
  digest: withVersion({
    ...changesOf,
    executives: list(changeRow),
    organizations: list(organizationRow),
    bursts: list(burstRow),
    credits: amount,
  }),
  titles: list(
    z.union([
      z.object({
        ...fields(text, 'title rule'),
        ...fields(orNull(text), 'level function core'),
        rank: orNull(amount),
        is_management: orNull(flag),
        ...fields(flag, 'is_side_role is_end_marker is_advisory'),
        confidence: amount,
      }),
      z.object({ ...fields(text, 'previous current label rule'), confidence: amount }),
    ]),
  ),
  snapshots: withVersion({
    destination: text,
    current: orNull(text),
    bytes: count,
    snapshots: rows({
      ...fields(text, 'snapshot_id url'),
      is_current: flag,
      created_at: instant,
      run_id: orNull(text),
      ...totals,
      ...fields(count, 'sequence new_bytes'),
      checks: orNull(z.object({ build_id: text, passed: count, checked_at: instant })),
      coverage: z.object({
        ...fields(count, 'organizations intervals'),
        ...fields(z.object(fields(orNull(instant), 'min max')), 'covered_from covered_to'),
        sha256: text,
      }),
    }),
  }),
  verify: z.union([verifiedSnapshot, verifiedJournal]),
  restore: withVersion({
    ...fields(text, 'snapshot_id warehouse'),
    created_at: instant,
    ...fields(count, 'rows erased_people'),
    tables: rows({ name: text, rows: count }),
    not_restored: list(text),
  }),
  'restore-journal': withVersion({
    place: text,
    made_at: instant,
    ...fields(count, 'segments bytes lost'),
    credits: amount,
    credits_published: orNull(amount),
    ...rebuilt,
  }),
  forget: z.union([wouldForget, forgotten]),
  'export-person': withVersion({
    ...fields(text, 'profile_id jobtide'),
    exported_at: instant,
    ...fields(list(text), 'sources published_to'),
    tables: z.record(text, list(anything)),
    events_as_sent: list(z.unknown()),
    answers_as_sent: rows({ endpoint: text, received_at: instant, parts: list(z.unknown()) }),
  }),
  export: withVersion({
    destination: text,
    schema: text.optional(),
    rows: count,
    tables: rows({ name: text, rows: count, rows_changed: orNull(count).optional() }),
  }),
  init: withVersion({
    folder: text,
    files: rows({ path: text, written: flag }),
    organizations: orNull(count),
    skipped_lines: skippedLines,
  }),
  find: z.union([collectionPlan, find]),
  suggest: withVersion({
    type: orNull(text),
    credits: amount,
    suggestions: rows(
      fields(orNull(text), 'label value id employees industry location'),
    ).optional(),
    filter_values: rows({ ...fields(text, 'filter value'), id: orNull(text) }).optional(),
  }),
  doctor: withVersion({
    ok: flag,
    findings: rows({
      ...fields(text, 'check found'),
      state: z.enum(['ok', 'warning', 'problem']),
      hint: orNull(text),
    }),
  }),
  simulate: withVersion({ ...fields(text, 'url api_key'), ...fields(count, 'organizations pid') }),
  listen: withVersion({ url: text, signed: flag, pid: count }),
  schema: anything,
}
