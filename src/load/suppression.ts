/**
 * The suppression list: erased people, by keyed hashes of their ids, and the day before which events are not kept. The
 * service keeps sending such events: read-events.ts leaves them out, chunk.ts those parts of answers. Losing the list
 * would bring people back, so a MAC proves it, and journal, certificates and snapshots (src/publish/guard.ts) know
 * that there was one, and how new it was.
 */

import { createHmac, randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { HANDLES } from '../api/endpoints/endpoints.ts'
import { eventSchema } from '../api/schemas.ts'
import type { Journal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import { namesIn, readIfThere, readJson, writeJson } from '../support/atomic-file.ts'
import { isoInstant } from '../support/clock.ts'
import { StorageError } from '../support/errors.ts'
import { jsonOrNull, refuseOtherFormat, stableJson } from '../support/json.ts'
import { withoutTrailingSlashes } from '../support/text.ts'

/** The folder with a proof of each erasure, in a data directory. */
export const CERTIFICATES = 'certificates'

/** Name of the list in a data directory. */
export const SUPPRESSED_FILE = 'suppressed.json'

const KEY_BYTES = 32
const hashSchema = z.string().regex(/^[0-9a-f]{64}$/)

const FORMAT_VERSION = 5

const listSchema = z.strictObject({
  format_version: z.literal(FORMAT_VERSION),
  generation: z.int().min(1),
  /** The key of all hashes, without which no id can be tested. Never published. */
  key: hashSchema,
  people: z.array(hashSchema),
  /** HMAC-SHA-256 of each page and handle of these people, by which answers of other endpoints name them. */
  pages: z.array(hashSchema),
  /** Events that changed and were detected before this are not kept; null keeps all. */
  events_before: z.iso.datetime().nullable(),
  /** The MACs of earlier lists, oldest first, which prove that it includes them. */
  earlier: z.array(hashSchema),
  /** HMAC-SHA-256 of all the rest. */
  mac: hashSchema,
})

// Version 0.11 knew people only by their ids. Its MAC covers what it wrote, and still identifies that list.
const FORMAT_WITHOUT_PAGES = 4
/** The formats that this version reads. */
export const LIST_FORMATS = [FORMAT_WITHOUT_PAGES, FORMAT_VERSION]
const storedSchema = z.union([
  listSchema,
  listSchema.omit({ pages: true }).extend({ format_version: z.literal(FORMAT_WITHOUT_PAGES) }),
])

type List = z.infer<typeof listSchema>

const markSchema = listSchema.pick({ generation: true, mac: true })
/** The list, according to the journal and certificates. */
export type ListMark = z.infer<typeof markSchema>
/** The list as a certificate describes it; see src/run/forget/erase.ts. */
const certificateSchema = z.object({ list: markSchema })

export interface Erasable {
  readonly profileIds: readonly string[]
  readonly pages?: readonly string[]
  /** Further texts by which answers name these people. */
  readonly isNamed?: IsNamed
  /** Events that changed and were detected before this, milliseconds since 1970 UTC; null for none. */
  readonly eventsBefore: number | null
}

/** Whether a text, without escapes, names a person who is not kept. @param member the member with this value */
export type IsNamed = (text: string, member?: string) => boolean

/** Everything that one data directory does not keep. */
export class Suppression {
  /** As it is stored; null if there never was one. */
  readonly stored: List | null
  readonly #key: string
  readonly #hashes: ReadonlySet<string>
  readonly #pages: ReadonlySet<string>
  /** Ids on the list, where they are known: these people may only be in the user's own tables. */
  readonly profileIds: readonly string[]
  readonly #isNamed: IsNamed | undefined
  /** Events that changed and were detected before this are not kept, milliseconds since 1970 UTC; null keeps all. */
  readonly eventsBefore: number | null

  constructor(stored: List | null, { profileIds = [], isNamed }: Partial<Erasable> = {}) {
    this.stored = stored
    this.profileIds = profileIds
    this.#isNamed = isNamed
    this.#key = stored?.key ?? randomBytes(KEY_BYTES).toString('hex')
    this.#hashes = new Set(stored?.people)
    this.#pages = new Set(stored?.pages)
    this.eventsBefore = stored?.events_before ? Date.parse(stored.events_before) : null
  }

  /** The MACs of this list and of earlier ones, oldest first; empty if there never was one. */
  get lists(): readonly string[] {
    return this.stored === null ? [] : [...this.stored.earlier, this.stored.mac]
  }

  /** The MAC of the list; null if there never was one. */
  get list(): string | null {
    return this.stored?.mac ?? null
  }

  get people(): number {
    return this.#hashes.size
  }

  get isEmpty(): boolean {
    return this.people === 0 && this.eventsBefore === null
  }

  hashOf(profileId: string): string {
    return personHash(this.#key, profileId)
  }

  /**
   * The list that also has these people, and excludes events older than `eventsBefore`. A later day replaces an earlier
   * one, never the reverse: erased events would come back with the next complete read.
   */
  including(erasable: Erasable): Suppression {
    const { profileIds, pages: written = [], eventsBefore: before } = erasable
    const people = new Set([...this.#hashes, ...profileIds.map((id) => this.hashOf(id))])
    const pages = new Set([...this.#pages, ...written.map((page) => pageHash(this.#key, page))])
    const isLater = before !== null && (this.eventsBefore ?? Number.NEGATIVE_INFINITY) < before
    const isLonger = people.size > this.#hashes.size || pages.size > this.#pages.size
    if (!isLonger && !isLater) return new Suppression(this.stored, erasable)
    const content: Omit<List, 'mac'> = {
      format_version: FORMAT_VERSION,
      generation: this.lists.length + 1,
      key: this.#key,
      people: [...people],
      pages: [...pages],
      events_before: isLater ? isoInstant(before) : (this.stored?.events_before ?? null),
      earlier: [...this.lists],
    }
    return new Suppression({ ...content, mac: macOf(content) }, erasable)
  }

  coversPerson(profileId: string): boolean {
    return this.people > 0 && this.#hashes.has(this.hashOf(profileId))
  }

  /**
   * Whether a text in an answer is the id, page, mail address or handle of a person who is not kept; a handle only
   * where the service writes handles, because some are names of other people. @param member the member with this value
   */
  readonly coversText: IsNamed = (text, member = '') => {
    if (this.people === 0) return false
    if (this.coversPerson(text) || this.#isNamed?.(text, member) === true) return true
    const isPage = /[/@]/.test(text) && !/\s/.test(text) && !COMPANY_PAGE.test(text)
    return (isPage || HANDLES.has(member)) && this.#pages.has(pageHash(this.#key, text))
  }

  /** Whether an event, as sent, is not kept, even if it fits no schema. */
  coversEvent(event: unknown): boolean {
    return (
      (this.people > 0 && peopleIn(event).some((id) => this.coversPerson(id))) ||
      isOlder(event, this.eventsBefore)
    )
  }
}

/**
 * Reads the suppression list next to a journal.
 * @param noted the newest list according to the journal; read from it by default
 * @throws StorageError if the list is lost, older or was changed, so that it is unknown what to leave out
 * @throws ConfigError if this version cannot read its format
 */
export function readSuppression(journal: Journal, noted?: ListMark | null): Suppression {
  return new Suppression(readList(journal, noted))
}

/**
 * Puts people on the list, and excludes events older than `eventsBefore`, as {@link Suppression.including} does.
 * @param nowMs milliseconds since 1970 UTC
 * @returns also the keyed hash of each person, in the order of `profileIds`, and which list they are on; null for none
 * @throws StorageError when the list is lost, or the disk refuses
 */
export async function suppress(journal: Journal, erasable: Erasable, nowMs: number) {
  const noted = readHistory(journal).suppression
  const before = readSuppression(journal, noted)
  const suppression = before.including(erasable)
  const { stored } = suppression
  if (stored !== null && stored !== before.stored) {
    writeJson(join(dirname(journal.folder), SUPPRESSED_FILE), stored)
  }
  const list: ListMark | null = stored && { generation: stored.generation, mac: stored.mac }
  // Recorded in the journal, so that from now on the loss of the list, or an older list in its place, is noticed. An
  // empty journal stays empty, because it names no people.
  if (list !== null && noted?.generation !== list.generation && journal.segments().length > 0) {
    await journal.append({ kind: 'suppression_changed', at: nowMs, ...list })
  }
  const people = erasable.profileIds.map((id) => suppression.hashOf(id))
  return { suppression, people, list }
}

/** The list next to a journal; null if there never was one. */
function readList(
  journal: Journal,
  noted: ListMark | null = readHistory(journal).suppression,
): List | null {
  const folder = dirname(journal.folder)
  const path = join(folder, SUPPRESSED_FILE)
  const ofJournal = noted === null ? [] : [{ by: 'the journal', ...noted }]
  const witnesses = [...ofJournal, ...certified(folder)]
  const bytes = readIfThere(path)
  if (bytes === null) {
    if (witnesses[0] === undefined) return null
    throw lost(`${path} is missing, and ${witnesses[0].by} says that there was one`)
  }
  const list = parseList(path, bytes)
  for (const { by, generation, mac } of witnesses) {
    if (list.generation < generation) {
      const age = `it is number ${list.generation}, and ${by} knows of number ${generation}`
      throw lost(`${path} is an older list: ${age}`)
    }
    if (generation > 0 && [...list.earlier, list.mac][generation - 1] !== mac) {
      throw lost(`${path} is not the list that ${by} knows`)
    }
  }
  return list
}

/** The lists that certificates of a data directory refer to. A damaged certificate only shows that there was a list. */
function certified(root: string): ({ readonly by: string } & ListMark)[] {
  return certificatesIn(root).map(({ name, value }) => {
    const { list } = certificateSchema.safeParse(value).data ?? {}
    return { by: name, generation: 0, mac: '', ...list }
  })
}

/** The certificates of a data directory, oldest first; null for the value of a damaged one. */
export function certificatesIn(root: string): { readonly name: string; readonly value: unknown }[] {
  const names = namesIn(join(root, CERTIFICATES), /^forget-.*\.json$/)
  return names
    .map((name) => join(CERTIFICATES, name))
    .map((name) => ({ name, value: readJson(join(root, name)) }))
}

const COMPANY_PAGE = /\/(?:company|school|showcase)\/[^/]*\/?$/i

function personHash(key: string, profileId: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(profileId).digest('hex')
}

// The last part of a page, or a handle, in lower case, because pages are written with and without the address. With a
// line feed, as below.
function pageHash(key: string, page: string): string {
  const path = withoutTrailingSlashes(page.replace(/[?#].*$/s, ''))
  return personHash(key, `page\n${path.slice(path.lastIndexOf('/') + 1).toLowerCase()}`)
}

// With a line feed, which no profile_id has, so that no person's hash equals a list's.
function macOf(content: { readonly key: string }): string {
  return personHash(content.key, `suppression list\n${stableJson(content)}`)
}

function parseList(path: string, bytes: Buffer): List {
  const value = jsonOrNull(bytes.toString())
  refuseOtherFormat(path, value, LIST_FORMATS)
  const list = storedSchema.safeParse(value).data
  if (list === undefined) throw lost(`${path} is damaged: it does not hold a suppression list`)
  const { mac, ...content } = list
  if (macOf(content) === mac && list.generation === list.earlier.length + 1) {
    return { pages: [], ...list, format_version: FORMAT_VERSION }
  }
  throw lost(`${path} was changed: its content does not fit its MAC`)
}

function lost(sentence: string): StorageError {
  return new StorageError(sentence, {
    hint: `Put the newest ${SUPPRESSED_FILE} back. It fits an older journal as well. Without it, erased people would come back. Nothing was loaded. If only an older one is left, with a journal as old: move the certificates made since out of the data directory, and forget all their people again.`,
  })
}

/**
 * The people that an event names. An event without a proper person may hold the id anywhere, and is kept as a reject
 * with all its text, so every text in it counts.
 */
export function peopleIn(event: unknown): string[] {
  const person = event !== null && typeof event === 'object' && 'person' in event && event.person
  const id = person !== null && typeof person === 'object' && 'profile_id' in person
  if (id && typeof person.profile_id === 'string') return [person.profile_id]
  return textsIn(event)
}

// Without recursion, because the value can be nested deeper than the stack.
function textsIn(value: unknown): string[] {
  const texts: string[] = []
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string') texts.push(next)
    if (typeof next === 'number') texts.push(String(next))
    if (next === null || typeof next !== 'object') continue
    // One by one, because spreading too many would overflow the stack.
    for (const inner of Object.values(next)) open.push(inner)
  }
  return texts
}

const timesSchema = eventSchema.pick({ changed_at: true, detected_at: true })

/**
 * Whether an event as sent changed and was detected before `beforeMs`, milliseconds since 1970 UTC; never if that is
 * null.
 */
function isOlder(event: unknown, beforeMs: number | null): boolean {
  if (beforeMs === null) return false
  const times = timesSchema.safeParse(event).data
  return times !== undefined && times.changed_at < beforeMs && times.detected_at < beforeMs
}
