/**
 * The suppression list as a file: keyed hashes of erased people, and the day before which events are not kept. Losing the
 * list would bring people back, so it proves itself (its MAC), and the journal and the certificates are witnesses that
 * there was a list, and how new it was. Only the loss of all of them at once goes unnoticed.
 */

import { createHmac, randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Journal } from '../journal/journal.ts'
import { newestSuppression } from '../journal/read-history.ts'
import { readIfThere } from '../support/atomic-file.ts'
import { StorageError, asStorageError, messageOf } from '../support/errors.ts'
import { stableJson } from '../support/json.ts'
import { writePrivateFile } from '../support/private-file.ts'

/** Name of the list below a data directory. */
export const SUPPRESSED_FILE = 'suppressed.json'

const KEY_BYTES = 32
const hashSchema = z.string().regex(/^[0-9a-f]{64}$/)

const listSchema = z.strictObject({
  format_version: z.literal(3),
  /** Rises by 1 with each change. */
  generation: z.int().min(1),
  /** Of all hashes, so that nobody can test an id without this file. Never published. */
  key: hashSchema,
  /** HMAC-SHA-256 of each profile_id, in hex, and when it was added. */
  people: z.array(z.strictObject({ hmac: hashSchema, since: z.iso.datetime() })),
  /** Events that changed and were detected before this are not kept; null keeps all. */
  events_before: z.iso.datetime().nullable(),
  /** HMAC-SHA-256 of all the rest. */
  mac: hashSchema,
})

/** The list as it is stored. */
export type SuppressionList = z.infer<typeof listSchema>

/** An empty list, with a key of its own; it is not stored yet. */
export function emptyList(): Omit<SuppressionList, 'mac'> {
  const key = randomBytes(KEY_BYTES).toString('hex')
  return { format_version: 3, generation: 0, key, people: [], events_before: null }
}

/**
 * Reads the list of the data directory that a journal lies in; null where there never was one.
 * @param witness what the journal says of the newest list
 * @throws StorageError when it is missing, changed, or older than the journal knows
 */
export function readList(
  journal: Journal,
  witness = newestSuppression(journal),
): SuppressionList | null {
  const folder = dirname(journal.folder)
  const path = join(folder, SUPPRESSED_FILE)
  const bytes = readIfThere(path)
  if (bytes === null) {
    if (witness !== null) throw lost(`${path} is missing, and the journal says that there was one`)
    if (!hasCertificates(join(folder, 'certificates'))) return null
    throw lost(`${path} is missing, and certificates/ says that there was one`)
  }
  const list = parseList(path, bytes)
  if (witness !== null && list.generation < witness.generation) {
    const age = `it is number ${list.generation}, and the journal knows of number ${witness.generation}`
    throw lost(`${path} is an older list: ${age}`)
  }
  if (witness?.generation === list.generation && witness.mac !== list.mac) {
    throw lost(`${path} is not the list that the journal knows`)
  }
  return list
}

/** Replaces the list. @throws StorageError when the disk refuses */
export function writeList(
  journal: Journal,
  { generation, key, people, events_before }: Omit<SuppressionList, 'mac'>,
): void {
  const content = { format_version: 3 as const, generation, key, people, events_before }
  const list: SuppressionList = { ...content, mac: macOf(content) }
  writePrivateFile(join(dirname(journal.folder), SUPPRESSED_FILE), `${stableJson(list, 2)}\n`)
}

/**
 * Notes the newest list in the journal, so that its loss, or an older one in its place, is noticed from here on. A journal
 * without records stays so: it holds nobody.
 * @param nowMs milliseconds since 1970 UTC
 * @throws StorageError when the disk refuses
 */
export async function noteList(journal: Journal, nowMs: number): Promise<void> {
  const witness = newestSuppression(journal)
  const list = readList(journal, witness)
  if (list === null || journal.segments().length === 0) return
  const { generation, mac } = list
  if (witness?.generation === generation) return
  const writer = journal.writer()
  try {
    await writer.append({ kind: 'suppression_changed', at: nowMs, generation, mac })
  } finally {
    await writer.close()
  }
}

/** The keyed hash of a person's id, in hex. */
export function personHash(key: string, profileId: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(profileId).digest('hex')
}

// With a line feed, which no profile_id has: no person's hash is a list's.
function macOf(content: Omit<SuppressionList, 'mac'>): string {
  return personHash(content.key, `suppression list\n${stableJson(content)}`)
}

function parseList(path: string, bytes: Buffer): SuppressionList {
  let list: SuppressionList
  try {
    list = listSchema.parse(JSON.parse(bytes.toString()))
  } catch (error) {
    throw lost(`${path} is not a list of this Jobtide: ${messageOf(error)}`, error)
  }
  const { mac, ...content } = list
  if (macOf(content) === mac) return list
  throw lost(`${path} was changed: its content does not fit its MAC`)
}

function hasCertificates(folder: string): boolean {
  try {
    return existsSync(folder) && readdirSync(folder).some((name) => name.startsWith('forget-'))
  } catch (error) {
    throw asStorageError(error, folder)
  }
}

function lost(sentence: string, cause?: unknown): StorageError {
  return new StorageError(sentence, {
    hint: `Restore the newest ${SUPPRESSED_FILE} from a backup: without it people who were erased would come back. Nothing was loaded.`,
    ...(cause === undefined ? {} : { cause }),
  })
}
