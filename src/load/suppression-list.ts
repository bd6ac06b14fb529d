/**
 * The suppression list as a file, and its key. Losing either would bring erased people back, so both prove each other (the
 * list holds a keyed hash of itself), and the journal and the certificates are witnesses that there was a list, and how new
 * it was. Only who loses all of them at once is not told.
 */

import { createHmac, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Journal } from '../journal/journal.ts'
import { newestSuppression } from '../journal/read-history.ts'
import type { SuppressionChanged } from '../journal/records.ts'
import { fsyncDirectory, readIfThere } from '../support/atomic-file.ts'
import { StorageError, asStorageError, messageOf } from '../support/errors.ts'
import { stableJson } from '../support/json.ts'
import { writePrivateFile } from '../support/private-file.ts'

/** Name of the list below a data directory. */
export const SUPPRESSED_FILE = 'suppressed.json'
/** Name of the key of its hashes; never published, never copied anywhere. */
export const SUPPRESSION_KEY_FILE = 'suppression.key'

const KEY_BYTES = 32
const HASH = /^[0-9a-f]{64}$/
// Until the first list is on the disk: so a key without a list is always a list that was lost.
const NEW_KEY_FILE = `${SUPPRESSION_KEY_FILE}.new`
const CERTIFICATE = /^forget-.+\.json$/

const listSchema = z.strictObject({
  format_version: z.literal(2),
  /** Rises by 1 with each change. */
  generation: z.int().min(1),
  people: z.array(
    z.strictObject({
      /** HMAC-SHA-256 of the profile_id under suppression.key, in hex. */
      hmac: z.string().regex(HASH),
      since: z.iso.datetime(),
    }),
  ),
  /** Events that changed and were detected before this are not kept; null keeps all. */
  events_before: z.iso.datetime().nullable(),
  /** HMAC-SHA-256 of all the rest under suppression.key, in hex. */
  mac: z.string().regex(HASH),
})

type StoredList = z.infer<typeof listSchema>

/** What is not kept, as the list says. */
export type SuppressionList = Pick<StoredList, 'people' | 'events_before'>

/** A list that was proved. */
export interface ProvedList extends SuppressionList {
  readonly generation: number
  readonly mac: string
  /** Of the hashes, in hex. */
  readonly key: string
}

/**
 * Reads the list of the data directory that a journal lies in; null where nobody was ever put on one.
 * @throws StorageError when the list or its key is missing, changed, or older than the journal knows
 */
export function readList(journal: Journal): ProvedList | null {
  const folder = dirname(journal.folder)
  const path = join(folder, SUPPRESSED_FILE)
  const witness = newestSuppression(journal)
  const bytes = readIfThere(path)
  if (bytes === null) {
    const evidence = evidenceOfList(folder, witness)
    if (evidence !== null) throw lost(`${path} is missing, and ${evidence} that there was one`)
    return null
  }
  const list = listIn(path, bytes)
  const key = readKey(folder, list)
  const { generation, mac } = list
  if (witness !== null && generation < witness.generation) {
    const age = `it is number ${generation}, and the journal knows of number ${witness.generation}`
    throw lost(`${path} is an older list: ${age}`)
  }
  if (witness?.generation === generation && witness.mac !== mac) {
    throw lost(`${path} is not the list that the journal knows`)
  }
  return { ...list, key }
}

/**
 * Puts a list in the place of the one before. The first one brings its key with it.
 * @param change given the key, says what is on it
 * @throws StorageError when the disk refuses
 */
export function replaceList(
  journal: Journal,
  before: ProvedList | null,
  change: (key: string) => SuppressionList,
): void {
  const folder = dirname(journal.folder)
  const key = before?.key ?? makeKey(folder)
  const { people, events_before } = change(key)
  const generation = (before?.generation ?? 0) + 1
  const content = { format_version: 2 as const, generation, people, events_before }
  const list: StoredList = { ...content, mac: macOf(key, content) }
  writePrivateFile(join(folder, SUPPRESSED_FILE), `${stableJson(list, 2)}\n`)
  if (before === null) useNewKey(folder)
}

/**
 * Notes the newest list in the journal, so that its loss, or an older one in its place, is noticed from here on. A journal
 * without records is left so: it holds nobody.
 * @throws StorageError when the disk refuses
 */
export async function noteList(journal: Journal, nowMs: number): Promise<void> {
  const list = readList(journal)
  const witness = newestSuppression(journal)
  if (list === null || journal.segments().length === 0) return
  if (witness?.generation === list.generation) return
  const { generation, mac } = list
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
function macOf(key: string, content: Omit<StoredList, 'mac'>): string {
  return personHash(key, `suppression list\n${stableJson(content)}`)
}

function listIn(path: string, bytes: Buffer): StoredList {
  try {
    return listSchema.parse(JSON.parse(bytes.toString()))
  } catch (error) {
    throw lost(`${path} is not a list of this Jobtide: ${messageOf(error)}`, error)
  }
}

function evidenceOfList(folder: string, witness: SuppressionChanged | null): string | null {
  if (witness !== null) return 'the journal says'
  if (existsSync(join(folder, SUPPRESSION_KEY_FILE))) return `${SUPPRESSION_KEY_FILE} says`
  return hasCertificates(join(folder, 'certificates')) ? 'certificates/ says' : null
}

function hasCertificates(folder: string): boolean {
  try {
    return existsSync(folder) && readdirSync(folder).some((name) => CERTIFICATE.test(name))
  } catch (error) {
    throw asStorageError(error, folder)
  }
}

function readKey(folder: string, { mac, ...content }: StoredList): string {
  const path = join(folder, SUPPRESSION_KEY_FILE)
  const key = keyIn(path)
  const fits = (one: string | null): one is string => one !== null && macOf(one, content) === mac
  if (fits(key)) return key
  const newKey = keyIn(join(folder, NEW_KEY_FILE))
  // Its process was killed between the list and the key.
  if (key === null && fits(newKey)) {
    useNewKey(folder)
    return newKey
  }
  throw lost(
    key === null
      ? `${path} is missing or damaged, and ${SUPPRESSED_FILE} cannot be read without it`
      : `${path} and ${SUPPRESSED_FILE} do not belong together: one of them was changed`,
  )
}

function keyIn(path: string): string | null {
  const key = readIfThere(path)?.toString().trim() ?? ''
  return HASH.test(key) ? key : null
}

function makeKey(folder: string): string {
  const key = randomBytes(KEY_BYTES).toString('hex')
  writePrivateFile(join(folder, NEW_KEY_FILE), `${key}\n`)
  return key
}

function useNewKey(folder: string): void {
  try {
    renameSync(join(folder, NEW_KEY_FILE), join(folder, SUPPRESSION_KEY_FILE))
    fsyncDirectory(folder)
  } catch (error) {
    throw asStorageError(error, join(folder, SUPPRESSION_KEY_FILE))
  }
}

function lost(sentence: string, cause?: unknown): StorageError {
  return new StorageError(sentence, {
    hint: `Restore the newest ${SUPPRESSED_FILE} and ${SUPPRESSION_KEY_FILE} from a backup: without them people who were forgotten would come back. Nothing was loaded.`,
    ...(cause === undefined ? {} : { cause }),
  })
}
