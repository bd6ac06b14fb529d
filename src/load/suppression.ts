/**
 * Whose events are not kept: people who were forgotten, and events from before a day. The list stands in the data
 * directory beside the journal, and names nobody: it holds a keyed hash of each person's id, which nobody can test without
 * the key (suppression-list.ts). The service goes on sending those events; `load` leaves them out, so no re-pull and no replay brings a person
 * back.
 */

import { eventSchema } from '../api/schemas.ts'
import type { Journal } from '../journal/journal.ts'
import { isoInstant } from '../support/clock.ts'
import { personHash, readList, replaceList } from './suppression-list.ts'

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
 * Reads what is not kept in the data directory that a journal lies in.
 * @throws StorageError when the list or its key is lost or was changed: then it is not known whose events to leave out
 */
export function readSuppression(journal: Journal): Suppression {
  const list = readList(journal)
  const hashes = new Set(list?.people.map(({ hmac }) => hmac))
  const key = hashes.size === 0 ? null : (list?.key ?? null)
  const before = list?.events_before ?? null
  const eventsBefore = before === null ? null : Date.parse(before)
  const coversPerson = (profileId: string) => key !== null && hashes.has(personHash(key, profileId))
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
 * @throws StorageError when the list is lost, or the disk refuses
 */
export function suppressPeople(
  journal: Journal,
  profileIds: readonly string[],
  nowMs: number,
): string[] {
  const list = readList(journal)
  const known = new Set(list?.people.map(({ hmac }) => hmac))
  const hashesBy = (key: string) => profileIds.map((id) => personHash(key, id))
  if (list !== null && hashesBy(list.key).every((hmac) => known.has(hmac))) {
    return hashesBy(list.key)
  }
  let hashes: string[] = []
  replaceList(journal, list, (key) => {
    hashes = hashesBy(key)
    const since = isoInstant(nowMs)
    const added = [...new Set(hashes)].filter((hmac) => !known.has(hmac))
    const people = [...(list?.people ?? []), ...added.map((hmac) => ({ hmac, since }))]
    return { people, events_before: list?.events_before ?? null }
  })
  return hashes
}

/**
 * Lets no event be kept that changed and was detected before `beforeMs` (milliseconds since 1970 UTC). A later day replaces
 * an earlier one, never the other way round: what was erased would come back with the next read of everything.
 * @throws StorageError when the list is lost, or the disk refuses
 */
export function suppressEventsBefore(journal: Journal, beforeMs: number): void {
  const list = readList(journal)
  const before = list?.events_before ?? null
  if (before !== null && Date.parse(before) >= beforeMs) return
  const events_before = isoInstant(beforeMs)
  replaceList(journal, list, () => ({ people: list?.people ?? [], events_before }))
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
