/** Documents of the commands about snapshots and people. See src/cli/documents.ts. */

import { z } from 'zod'
import {
  text,
  orNull,
  flag,
  count,
  instant,
  list,
  object,
  withVersion,
  anything,
  totals,
  problem,
} from './parts.ts'

const edges = object({ min: orNull(instant), max: orNull(instant) })
export const snapshots = withVersion({
  destination: text,
  current: orNull(text),
  bytes: count,
  snapshots: list(
    object({
      snapshot_id: text,
      url: text,
      is_current: flag,
      sequence: count,
      created_at: instant,
      run_id: orNull(text),
      ...totals,
      new_bytes: count,
      checks: orNull(object({ build_id: text, passed: count, checked_at: instant })),
      coverage: object({
        organizations: count,
        intervals: count,
        covered_from: edges,
        covered_to: edges,
        sha256: text,
      }),
    }),
  ),
})

const journal = object({
  segments: count,
  bytes: count,
  segments_with_accepted_losses: list(text),
})
export const verifiedJournal = withVersion({
  is_proved: flag,
  journal,
  backups: list(object({ place: text, problems: list(text) })),
})
export const verifiedSnapshot = withVersion({
  is_proved: flag,
  journal: orNull(journal),
  snapshot_id: orNull(text),
  destination: text,
  ...totals,
  copied_from: orNull(text),
  findings: list(object({ kind: text, table: orNull(text), object: text, message: text })),
  error: problem.optional(),
})
export const restore = withVersion({
  snapshot_id: text,
  created_at: instant,
  warehouse: text,
  rows: count,
  tables: list(object({ name: text, rows: count })),
  not_restored: list(text),
  erased_people: count,
})

const places = {
  events_before: orNull(text),
  rows: z.record(text, count),
  stores: list(
    object({
      destination: text,
      problem: orNull(text),
      snapshots: list(text),
      tables: list(text).optional(),
    }),
  ),
}
const found = { segment: text, pages: count, events: count }
export const wouldForget = withVersion({
  is_done: z.literal(false),
  people: count,
  not_here: list(text),
  goes_on: flag,
  segments: list(object(found)),
  ...places,
})
export const forgotten = withVersion({
  is_done: z.literal(true),
  not_here: list(text),
  path: text,
  format_version: count,
  id: text,
  made_at: instant,
  jobtide: text,
  is_complete: flag,
  remaining: list(text),
  people: list(text),
  list: orNull(anything),
  segments: list(object({ ...found, sha256_before: text, sha256_after: text })),
  proof: object({ texts: count, files: count, bytes: count, matches: list(text) }),
  ...places,
})
export const person = withVersion({
  profile_id: text,
  exported_at: instant,
  jobtide: text,
  sources: list(text),
  tables: z.record(text, list(anything)),
  events_as_sent: list(z.unknown()),
  answers_as_sent: list(object({ endpoint: text, received_at: instant, parts: list(z.unknown()) })),
  published_to: list(text),
})
