/**
 * Whose events are not kept: erased people, and events from before a day. The list lies in the data directory beside the
 * journal and names nobody: it holds keyed hashes of ids (suppression-list.ts). The service goes on sending those events;
 * `load` leaves them out, so neither a page bought later nor a replay brings a person back.
 */

import { eventSchema } from '../api/schemas.ts'
import type { Journal } from '../journal/journal.ts'
import type { SuppressionChanged } from '../journal/records.ts'
import { isoInstant } from '../support/clock.ts'
import {
  emptyList,
  noteList,
  personHash,
  readList,
  writeList,
  type SuppressionList,
} from './suppression-list.ts'

/** People, and events by age. */
export interface Erasable {
  readonly profileIds: readonly string[]
  /** Events that changed and were detected before this, milliseconds since 1970 UTC; null for none. */
  readonly eventsBefore: number | null
}

/** What is not kept in one data directory. */
export class Suppression {
  readonly #key: string
  readonly #hashes: ReadonlySet<string>
  /** Events that changed and were detected before this are not kept, milliseconds since 1970 UTC; null keeps all. */
  readonly eventsBefore: number | null

  constructor(list: Pick<SuppressionList, 'key' | 'people' | 'events_before'>) {
    this.#key = list.key
    this.#hashes = new Set(list.people.map(({ hmac }) => hmac))
    this.eventsBefore = list.events_before === null ? null : Date.parse(list.events_before)
  }

  /** How many people are on the list. */
  get people(): number {
    return this.#hashes.size
  }

  /** True when everything is kept. */
  get isEmpty(): boolean {
    return this.people === 0 && this.eventsBefore === null
  }

  /** Whether events of this person are not kept. */
  coversPerson(profileId: string): boolean {
    return this.people > 0 && this.#hashes.has(personHash(this.#key, profileId))
  }

  /** Whether an event, as sent, is not kept; also one that fits no schema. */
  coversEvent(event: unknown): boolean {
    return (
      (this.people > 0 && peopleIn(event).some((id) => this.coversPerson(id))) ||
      isOlder(event, this.eventsBefore)
    )
  }
}

/**
 * Reads what is not kept in the data directory that a journal lies in.
 * @param witness what the journal says of the newest list; read from it unless given
 * @throws StorageError when the list is lost or was changed: then it is not known whose events to leave out
 */
export function readSuppression(
  journal: Journal,
  witness?: SuppressionChanged | null,
): Suppression {
  return new Suppression(readList(journal, witness) ?? emptyList())
}

/**
 * Puts people on the list, and lets no event be kept that is older than `eventsBefore`: a later day replaces an earlier
 * one, never the other way round, because what was erased would come back with the next read of everything.
 * @param nowMs milliseconds since 1970 UTC
 * @returns the keyed hash of each person, in the order of `profileIds`
 * @throws StorageError when the list is lost, or the disk refuses
 */
export async function suppress(
  journal: Journal,
  { profileIds, eventsBefore }: Erasable,
  nowMs: number,
): Promise<string[]> {
  const list = readList(journal) ?? emptyList()
  const hashes = profileIds.map((id) => personHash(list.key, id))
  const known = new Set(list.people.map(({ hmac }) => hmac))
  const added = [...new Set(hashes)]
    .filter((hmac) => !known.has(hmac))
    .map((hmac) => ({ hmac, since: isoInstant(nowMs) }))
  const isLater =
    eventsBefore !== null &&
    (list.events_before === null || Date.parse(list.events_before) < eventsBefore)
  if (added.length > 0 || isLater) {
    writeList(journal, {
      ...list,
      generation: list.generation + 1,
      people: [...list.people, ...added],
      events_before: isLater ? isoInstant(eventsBefore) : list.events_before,
    })
  }
  await noteList(journal, nowMs)
  return hashes
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
