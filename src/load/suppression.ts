/**
 * Whose events are not kept: people who were forgotten, and events from before a day. The list stands in the data
 * directory beside the journal, and names nobody: it holds a keyed hash of each person's id, which nobody can test without
 * the key. The service goes on sending those events; `load` leaves them out, so no re-pull and no replay brings a person
 * back.
 */

import { createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { eventSchema } from '../api/schemas.ts'
import { readIfThere } from '../support/atomic-file.ts'
import { isoInstant } from '../support/clock.ts'
import { StorageError, messageOf } from '../support/errors.ts'
import { stableJson } from '../support/json.ts'
import { createPrivateFile, writePrivateFile } from '../support/private-file.ts'

/** Name of the list below a data directory. */
export const SUPPRESSED_FILE = 'suppressed.json'
/** Name of the key of its hashes; never published, never copied anywhere. */
export const SUPPRESSION_KEY_FILE = 'suppression.key'

const KEY_BYTES = 32

const listSchema = z.strictObject({
  format_version: z.literal(1),
  people: z.array(
    z.strictObject({
      /** HMAC-SHA-256 of the profile_id under suppression.key, in hex. */
      hmac: z.string().regex(/^[0-9a-f]{64}$/),
      since: z.iso.datetime(),
    }),
  ),
  /** Events that changed and were detected before this are not kept; null keeps all. */
  events_before: z.iso.datetime().nullable(),
})

type SuppressionList = z.infer<typeof listSchema>

const NOBODY: SuppressionList = { format_version: 1, people: [], events_before: null }

/** What is not kept in one data directory. */
export interface Suppression {
  /** True when everything is kept. */
  readonly isEmpty: boolean
  /** How many people are on the list. */
  readonly people: number
  /** Events that changed and were detected before this are not kept, milliseconds since 1970 UTC; null keeps all. */
  readonly eventsBefore: number | null
  /** Whether events of this person are not kept. */
  readonly coversPerson: (profileId: string) => boolean
  /** Whether an event, as sent, is not kept; also one that fits no schema. */
  readonly coversEvent: (event: unknown) => boolean
}

/**
 * Reads what is not kept in a data directory.
 * @throws StorageError when the list or its key cannot be read: then it is not known whose events to leave out
 */
export function readSuppression(dataDir: string): Suppression {
  const list = readList(dataDir)
  const hashes = new Set(list.people.map(({ hmac }) => hmac))
  const key = hashes.size === 0 ? null : readKey(dataDir)
  const eventsBefore = list.events_before === null ? null : Date.parse(list.events_before)
  const coversPerson = (profileId: string) => key !== null && hashes.has(hashOf(key, profileId))
  return {
    isEmpty: key === null && eventsBefore === null,
    people: hashes.size,
    eventsBefore,
    coversPerson,
    coversEvent: (event) =>
      (key !== null && peopleIn(event).some(coversPerson)) || isOlder(event, eventsBefore),
  }
}

/**
 * Adds people to the list; those on it stay as they are.
 * @param nowMs milliseconds since 1970 UTC
 * @returns the hash of each, in the order of `profileIds`
 * @throws StorageError when the disk refuses
 */
export function suppressPeople(
  dataDir: string,
  profileIds: readonly string[],
  nowMs: number,
): string[] {
  const list = readList(dataDir)
  const known = new Set(list.people.map(({ hmac }) => hmac))
  const key = list.people.length === 0 ? makeKey(dataDir) : readKey(dataDir)
  const hashes = profileIds.map((id) => hashOf(key, id))
  const added = [...new Set(hashes)].filter((hmac) => !known.has(hmac))
  if (added.length > 0) {
    const since = isoInstant(nowMs)
    const people = [...list.people, ...added.map((hmac) => ({ hmac, since }))]
    writeList(dataDir, { ...list, people })
  }
  return hashes
}

/**
 * Lets no event be kept that changed and was detected before `beforeMs` (milliseconds since 1970 UTC). A later day replaces
 * an earlier one, never the other way round: what was erased would come back with the next read of everything.
 * @throws StorageError when the disk refuses
 */
export function suppressEventsBefore(dataDir: string, beforeMs: number): void {
  const list = readList(dataDir)
  if (list.events_before !== null && Date.parse(list.events_before) >= beforeMs) return
  writeList(dataDir, { ...list, events_before: isoInstant(beforeMs) })
}

/**
 * The people that an event names. One that does not say whose it is may hold the id anywhere, and it is kept as a reject
 * with all its text: so there every text counts.
 */
export function peopleIn(event: unknown): string[] {
  const person = event !== null && typeof event === 'object' && 'person' in event && event.person
  const id = person !== null && typeof person === 'object' && 'profile_id' in person
  if (id && typeof person.profile_id === 'string') return [person.profile_id]
  return textsIn(event)
}

// Not by recursion: what was sent can be nested deeper than the stack.
function textsIn(value: unknown): string[] {
  const texts: string[] = []
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string') texts.push(next)
    if (typeof next === 'number') texts.push(String(next))
    if (next === null || typeof next !== 'object') continue
    // One by one: a spread of very many would overflow the stack.
    for (const inner of Object.values(next)) open.push(inner)
  }
  return texts
}

const timesSchema = eventSchema.pick({ changed_at: true, detected_at: true })

/** Whether an event as sent changed and was detected before `beforeMs`, milliseconds since 1970 UTC; null: never. */
export function isOlder(event: unknown, beforeMs: number | null): boolean {
  if (beforeMs === null) return false
  const times = timesSchema.safeParse(event).data
  return times !== undefined && times.changed_at < beforeMs && times.detected_at < beforeMs
}

function hashOf(key: string, profileId: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(profileId).digest('hex')
}

function readList(dataDir: string): SuppressionList {
  const path = join(dataDir, SUPPRESSED_FILE)
  const bytes = readIfThere(path)
  if (bytes === null) return NOBODY
  try {
    return listSchema.parse(JSON.parse(bytes.toString()))
  } catch (error) {
    throw new StorageError(`${path} is not a list of this Jobtide: ${messageOf(error)}`, {
      hint: 'Restore it from a backup: without it people who were forgotten would come back. Nothing was loaded.',
      cause: error,
    })
  }
}

function writeList(dataDir: string, list: SuppressionList): void {
  writePrivateFile(join(dataDir, SUPPRESSED_FILE), `${stableJson(list, 2)}\n`)
}

function makeKey(dataDir: string): string {
  const path = join(dataDir, SUPPRESSION_KEY_FILE)
  createPrivateFile(path, `${randomBytes(KEY_BYTES).toString('hex')}\n`)
  return readKey(dataDir)
}

function readKey(dataDir: string): string {
  const path = join(dataDir, SUPPRESSION_KEY_FILE)
  const key = readIfThere(path)?.toString().trim() ?? ''
  if (/^[0-9a-f]{64}$/.test(key)) return key
  throw new StorageError(
    `${path} is missing or damaged, and ${SUPPRESSED_FILE} cannot be read without it`,
    {
      hint: 'Restore it from a backup: without it people who were forgotten would come back. Nothing was loaded.',
    },
  )
}
