/**
 * What a data directory remembers of erasures. `forget.pending.json` holds one that is not complete, readable by its owner alone:
 * it names the people, because the final search needs their ids, and is removed when nothing is left. Certificates stay.
 */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ErasedSegment } from '../../journal/erase-events.ts'
import { certificatesIn, type Erasable } from '../../load/suppression.ts'
import { readIfThere, readJson } from '../../support/atomic-file.ts'
import { isoInstant } from '../../support/clock.ts'
import { StorageError } from '../../support/errors.ts'
import { refuseOtherFormat } from '../../support/json.ts'

export const PENDING_FILE = 'forget.pending.json'
export const pendingIn = (root: string) => join(root, PENDING_FILE)

export interface Marker {
  readonly text: string
  /** False if longer texts of others contain it, such as `per_12` for `per_1`: then only whole values count. */
  readonly is_unique: boolean
}

export interface StoreFindings {
  readonly destination: string
  /** Why nothing was erased there; null where it was. */
  readonly problem: string | null
  readonly snapshots: readonly string[]
  /** Whether it is out of reach, and said to be gone for good: then nothing is left to do there. */
  readonly is_gone?: true
  /** Of a database: its tables that were loaded without them. */
  readonly tables?: readonly string[]
}

const FORMAT_VERSION = 3
/** Those that this version reads. */
export const PENDING_FORMATS = [FORMAT_VERSION]

const pendingSchema = z.strictObject({
  format_version: z.literal(FORMAT_VERSION),
  profile_ids: z.array(z.string()),
  events_before: z.iso.datetime().nullable(),
  markers: z.array(z.custom<Marker>()),
  /** Whether journal and warehouse are done, so that they are not rewritten for remains elsewhere. */
  is_rebuilt: z.boolean(),
  /** The steps done so far, for the certificate. */
  segments: z.array(z.custom<ErasedSegment>()),
  rows: z.record(z.string(), z.int()),
  stores: z.array(z.custom<StoreFindings>()),
})

export type Pending = z.infer<typeof pendingSchema>

/** Reads what is left to do; null when nothing is. @throws JobtideError when the file is damaged, or of another version */
export function readPending(root: string): Pending | null {
  const path = pendingIn(root)
  if (readIfThere(path) === null) return null
  const value = readJson(path)
  refuseOtherFormat(path, value, PENDING_FORMATS)
  const pending = pendingSchema.safeParse(value).data
  if (pending !== undefined) return pending
  throw new StorageError(`${path} is damaged: it does not say whom an erasure is about`, {
    hint: 'Remove it, and run `jobtide forget` with the same people again.',
  })
}

/** Combines what an earlier erasure left with the current request. */
export function together(earlier: Pending | null, { profileIds, eventsBefore }: Erasable): Pending {
  const asked = eventsBefore === null ? [] : isoInstant(eventsBefore)
  const days = [earlier?.events_before ?? [], asked].flat()
  return {
    format_version: FORMAT_VERSION,
    markers: [],
    segments: [],
    rows: {},
    stores: [],
    ...earlier,
    is_rebuilt: earlier?.is_rebuilt === true && profileIds.length === 0 && eventsBefore === null,
    profile_ids: [...new Set([...(earlier?.profile_ids ?? []), ...profileIds])],
    // The later of the two.
    events_before: days.toSorted().at(-1) ?? null,
  }
}

/** Those of the ids that no earlier erasure was about. */
export function newAmong(ids: readonly string[], earlier: Pending | null): string[] {
  return ids.filter((id) => earlier?.profile_ids.includes(id) !== true)
}

const certificateSchema = z.object({
  made_at: z.iso.datetime(),
  is_complete: z.boolean(),
  stores: z.array(z.object({ destination: z.string(), is_gone: z.boolean().optional() })),
})

/** What certificates say, newest last. A damaged one says nothing. */
function certified(root: string) {
  return certificatesIn(root).flatMap(({ value }) => certificateSchema.safeParse(value).data ?? [])
}

/** Whether the newest certificate about a destination says that it is gone for good. */
export function wasGone(root: string, destination: string): boolean {
  const found = certified(root).flatMap(({ stores }) =>
    stores.filter((store) => store.destination === destination),
  )
  return found.at(-1)?.is_gone === true
}

/** When the erasure that is not complete yet began, milliseconds since 1970 UTC; null where none is. */
export function unfinishedSince(root: string): number | null {
  const pending = pendingIn(root)
  if (!existsSync(pending)) return null
  const all = certified(root)
  const first = all[all.findLastIndex((one) => one.is_complete) + 1]
  return first === undefined ? Math.round(statSync(pending).mtimeMs) : Date.parse(first.made_at)
}
