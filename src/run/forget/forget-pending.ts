/**
 * What is left of a forgetting that was stopped: `forget.pending.json`, for its owner alone. It names the people, because
 * whoever goes on must know what to look for where the ids are gone already; it is removed when nothing is left.
 */

import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { fsyncDirectory, readIfThere } from '../../support/atomic-file.ts'
import { isoInstant } from '../../support/clock.ts'
import { StorageError, asStorageError, messageOf } from '../../support/errors.ts'
import { stableJson } from '../../support/json.ts'
import { writePrivateFile } from '../../support/private-file.ts'
import type { ForgetRequest } from './forget-world.ts'

/** Name of the file below a data directory. */
export const PENDING_FILE = 'forget.pending.json'

const segmentSchema = z.object({
  segment: z.string(),
  pages: z.int(),
  events: z.int(),
  bytesBefore: z.int(),
  bytesAfter: z.int(),
  sha256Before: z.string(),
  sha256After: z.string(),
})

const pendingSchema = z.strictObject({
  format_version: z.literal(1),
  profile_ids: z.array(z.string()),
  /** Texts of theirs that were found so far: names, headlines, addresses, titles. */
  texts: z.array(z.string()),
  events_before: z.iso.datetime().nullable(),
  /** ULIDs of the attempts, by which stores know them. */
  attempts: z.array(z.string()),
  /** What earlier attempts did, for the certificate. */
  segments: z.array(segmentSchema),
  rows: z.record(z.string(), z.int()),
  warehouse_sha256_before: z.string().nullable(),
})

/** A forgetting that is not done. */
export type Pending = z.infer<typeof pendingSchema>

/** One that has just begun. */
export function newPending(): Pending {
  return {
    format_version: 1,
    profile_ids: [],
    texts: [],
    events_before: null,
    attempts: [],
    segments: [],
    rows: {},
    warehouse_sha256_before: null,
  }
}

/** Reads what is left to do; null when nothing is. @throws StorageError when the file is damaged */
export function readPending(dataDir: string): Pending | null {
  const path = join(dataDir, PENDING_FILE)
  const bytes = readIfThere(path)
  if (bytes === null) return null
  try {
    return pendingSchema.parse(JSON.parse(bytes.toString()))
  } catch (error) {
    throw new StorageError(`${path} is not of this Jobtide: ${messageOf(error)}`, {
      hint: 'Remove it, and name the people to `jobtide forget` again.',
      cause: error,
    })
  }
}

/** Keeps what is left to do. @throws StorageError when the disk refuses */
export function writePending(dataDir: string, pending: Pending): void {
  writePrivateFile(join(dataDir, PENDING_FILE), `${stableJson(pending, 2)}\n`)
}

/** Whether an earlier forgetting has something left to do. @throws StorageError when its file is damaged */
export function isForgettingPending(dataDir: string): boolean {
  return readPending(dataDir) !== null
}

/** Nothing is left. @throws StorageError when the disk refuses */
export function removePending(dataDir: string): void {
  const path = join(dataDir, PENDING_FILE)
  try {
    rmSync(path, { force: true })
    fsyncDirectory(dirname(path))
  } catch (error) {
    throw asStorageError(error, path)
  }
}

/** What an earlier call left, and what is asked for now. */
export function together(pending: Pending, { profileIds, eventsBefore }: ForgetRequest): Pending {
  const days = [
    ...(pending.events_before === null ? [] : [Date.parse(pending.events_before)]),
    ...(eventsBefore === null ? [] : [eventsBefore]),
  ]
  return {
    ...pending,
    profile_ids: [...new Set([...pending.profile_ids, ...profileIds])],
    events_before: days.length === 0 ? null : isoInstant(Math.max(...days)),
  }
}
