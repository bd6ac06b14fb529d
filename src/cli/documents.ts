/**
 * Defines the `--json` documents of every command. `jobtide schema` shows them as JSON Schema, and tests check every printed
 * document against them. Loaded only for these.
 */

import { z } from 'zod'
import {
  text,
  instant,
  count,
  amount,
  list,
  object,
  withVersion,
  anything,
  flag,
  orNull,
  skippedLines,
} from './documents/parts.ts'
import {
  status,
  coverage,
  credits,
  rejects,
  models,
  report,
  digest,
  titles,
} from './documents/reading.ts'
import {
  load,
  build,
  analystCopy,
  runOrFailure,
  demo,
  plan,
  collectionPlan,
  sample,
  publish,
  databases,
} from './documents/running.ts'
import {
  snapshots,
  verifiedJournal,
  verifiedSnapshot,
  restore,
  wouldForget,
  forgotten,
  person,
} from './documents/snapshots.ts'

/** The document of each command, where it ends with a result; in the order of `jobtide --help`. */
export const DOCUMENTS: Readonly<Record<string, z.ZodType>> = {
  demo,
  run: runOrFailure,
  backfill: runOrFailure,
  // It prints none on stdout; its log is on stderr.
  schedule: withVersion({}),
  plan: z.union([plan, collectionPlan, sample]),
  extract: runOrFailure,
  load: withVersion(load),
  build: withVersion(build),
  publish: withVersion({ ...publish, databases, analyst_copy: analystCopy }),
  replay: withVersion({
    load: object(load),
    build: object(build),
    kept: list(text),
    credits: amount,
  }),
  status,
  coverage,
  credits,
  rejects,
  query: list(anything),
  models,
  report,
  digest,
  titles,
  snapshots,
  verify: z.union([verifiedSnapshot, verifiedJournal]),
  restore,
  'restore-journal': withVersion({
    place: text,
    made_at: instant,
    segments: count,
    bytes: count,
    lost: count,
    credits: amount,
    credits_published: orNull(amount),
    load: object(load),
    build: object(build),
  }),
  forget: z.union([wouldForget, forgotten]),
  'export-person': person,
  export: withVersion({
    destination: text,
    schema: text.optional(),
    rows: count,
    tables: list(object({ name: text, rows: count, rows_changed: orNull(count).optional() })),
  }),
  init: withVersion({
    folder: text,
    files: list(object({ path: text, written: flag })),
    organizations: orNull(count),
    skipped_lines: skippedLines,
  }),
  find: z.union([
    collectionPlan,
    withVersion({
      endpoint: text,
      run_id: text,
      credits: amount,
      pages: count,
      filter_errors: list(text),
      output: orNull(text),
      added: orNull(count),
      removed: orNull(count),
      found: list(
        object({
          name: orNull(text),
          about: orNull(text),
          url: orNull(text),
          organization_id: orNull(text),
        }),
      ),
    }),
  ]),
  suggest: withVersion({
    type: orNull(text),
    credits: amount,
    suggestions: list(
      object({
        label: orNull(text),
        value: orNull(text),
        id: orNull(text),
        employees: orNull(text),
        industry: orNull(text),
        location: orNull(text),
      }),
    ).optional(),
    filter_values: list(object({ filter: text, value: text, id: orNull(text) })).optional(),
  }),
  doctor: withVersion({
    ok: flag,
    findings: list(
      object({
        check: text,
        state: z.enum(['ok', 'warning', 'problem']),
        found: text,
        hint: orNull(text),
      }),
    ),
  }),
  simulate: withVersion({ url: text, api_key: text, organizations: count, pid: count }),
  listen: withVersion({ url: text, signed: flag, pid: count }),
  schema: anything,
  // A script, also with --json.
  completion: text,
}
