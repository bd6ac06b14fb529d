/**
 * Reads the events of a chunk of pages into `jobtide_load.sightings`, a database in memory that all connections see.
 * The engine reads them in one set. An event that it may read differently from JavaScript, or that does not fit, is
 * read here, by the schema of src/api/schemas.ts. On 131,811 events this took 1.2 s of CPU time, the schema alone 11 s.
 *
 * One thread of the engine reads all pages of a statement, while another one waits busily. So several connections each
 * read their own pages, and the engine gets no other threads: on two cores 2.9 s instead of 3.8 s on one connection.
 */

import { createHash } from 'node:crypto'
import { parseEvent, parsePage, unknownFields, type JobChangeEvent } from '../api/schemas.ts'
import type { PageReceived } from '../journal/records.ts'
import { receivedJson } from '../support/json.ts'
import { appendRows, type Prepared, type Row } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { loadSql } from './rows.ts'
import type { Suppression } from './suppression.ts'

/** A page and its received body. */
export interface PageBody {
  readonly record: PageReceived
  readonly body: Buffer
}

/** Everything that was read, except the events that are kept. */
export class ReadingNotes {
  /** Rows of ops.rejects. */
  readonly rejects: Row[] = []
  /** Fields that the schema does not know, with the time of their first receipt. */
  readonly unknownFields = new Map<string, Date>()
  /** Number of suppressed events. */
  suppressed = 0

  addUnknown(fields: readonly string[], at: Date): void {
    for (const field of fields) {
      const known = this.unknownFields.get(field)
      if (known === undefined || at < known) this.unknownFields.set(field, at)
    }
  }
}

/** Reads the pages of one chunk after another on all connections. */
export class EventReaders {
  readonly #warehouse: Warehouse
  readonly #suppression: Suppression
  readonly #threads: number
  readonly #readers: Promise<Reader>[] = []
  #reading: Promise<void>[] = []
  #turn = 0
  #pages = 0
  #notes = new ReadingNotes()

  private constructor(warehouse: Warehouse, suppression: Suppression, threads: number) {
    this.#warehouse = warehouse
    this.#suppression = suppression
    this.#threads = threads
  }

  /** Reserves the engine's threads for reading, until `close`. */
  static async open(warehouse: Warehouse, suppression: Suppression): Promise<EventReaders> {
    const threads = await warehouse.number(`select current_setting('threads')`)
    await warehouse.run(`attach if not exists ':memory:' as jobtide_load; set threads = 1`)
    await warehouse.run(loadSql('sightings'))
    return new EventReaders(warehouse, suppression, threads)
  }

  /** Begins to read some pages as soon as a connection is free. A later call throws its failure. */
  async read(pages: readonly PageBody[]): Promise<void> {
    const at = this.#turn % this.#threads
    this.#turn += 1
    await this.#reading[at]
    const first = this.#pages
    this.#pages += pages.length
    this.#readers[at] ??= openReader(this.#warehouse)
    const isOfPages = `nth between ${first} and ${first + pages.length - 1}`
    const given = { suppression: this.#suppression, notes: this.#notes, pages, first, isOfPages }
    const reading = this.#readers[at].then((reader) => readPages({ ...reader, ...given }))
    reading.catch(() => undefined)
    this.#reading[at] = reading
  }

  /** Waits until all pages of the chunk are read. Returns the findings other than events. */
  async end(): Promise<ReadingNotes> {
    await Promise.all(this.#reading)
    const notes = this.#notes
    this.#notes = new ReadingNotes()
    return notes
  }

  /** Turns the rows read so far into `jobtide_load.staged_sightings`, for the merge, and makes room for the next chunk. */
  async handOver(): Promise<void> {
    await this.#warehouse.run(loadSql('hand_over'))
  }

  /** All reading has ended here. */
  async giveThreadsBack(): Promise<void> {
    await this.#warehouse.run(`set threads = ${this.#threads}`)
  }

  /** Closes the connections and returns the threads. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#reading)
    for (const opened of await Promise.allSettled(this.#readers)) {
      if (opened.status === 'fulfilled') opened.value.connection.close()
    }
    // After a failure of the engine both may fail, but that first failure is the one to report.
    await this.#warehouse
      .run(`detach jobtide_load; set threads = ${this.#threads}`)
      .catch(() => undefined)
  }
}

/** A connection that only reads, with prepared statements: planning one takes longer than reading a page. */
interface Reader {
  readonly connection: Warehouse
  readonly insertPages: Prepared<never>
  readonly selectNotRead: Prepared<number>
}

async function openReader(warehouse: Warehouse): Promise<Reader> {
  const connection = await warehouse.connect()
  try {
    await connection.run(loadSql('reading'))
    const insertPages = await connection.prepare<never>(loadSql('read_events'))
    return { connection, insertPages, selectNotRead: await connection.prepare(loadSql('not_read')) }
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Pages that one connection reads at once. */
interface Reading extends Reader {
  readonly suppression: Suppression
  readonly notes: ReadingNotes
  readonly pages: readonly PageBody[]
  /** The number of the first of these pages in `jobtide_load.sightings`; no other pages have their numbers. */
  readonly first: number
  /** Which rows of `jobtide_load.sightings` belong to these pages; SQL. */
  readonly isOfPages: string
}

/** Reads some pages. Meanwhile the engine holds several times the size of their bodies. */
async function readPages(reading: Reading): Promise<void> {
  const { connection, pages, first, isOfPages, suppression } = reading
  await readInEngine(reading)
  const unknown = await judgeFields(reading)
  // Before suppressed events are removed, because a page without events would count as not read.
  const unread = await unreadIn(reading)
  if (!suppression.isEmpty) await leaveOutErased(reading)
  if (unknown.size > 0) await noteUnknownFields(reading, unknown)
  if (unread.size === 0) return
  await connection.run(`delete from jobtide_load.sightings where ${isOfPages} and not is_read`)
  const others = [...unread].flatMap(([nth, positions]) => {
    const page = pages[nth - first]
    return page === undefined ? [] : readPage(reading, page, positions)
  })
  await appendRows(connection, 'others', others)
  await connection.run('insert into jobtide_load.sightings by name from others; truncate others')
}

async function readInEngine({ pages, first, insertPages }: Reading): Promise<void> {
  // The page has events of organisations that were not requested, which become rejects.
  const numbered = pages
    .map(({ record, body }, index) => ({ nth: first + index, record, body }))
    .filter(({ record }) => (record.foreign?.length ?? 0) === 0)
  if (numbered.length === 0) return
  await insertPages([
    numbered.map(({ nth }) => nth),
    numbered.map(({ record }) => record.run_id),
    numbered.map(({ record }) => new Date(record.at)),
    numbered.map(({ body }) => body),
  ])
}

/**
 * Checks the names of members, once for each distinct list of them. An event with a repeated name is not read by the
 * engine, which uses the first one.
 * @returns unknown fields, by list of names
 */
async function judgeFields({ connection, isOfPages }: Reading): Promise<Map<string, string[]>> {
  const { fields: lists = [] } = await connection.columns<string>(
    `select distinct fields from jobtide_load.sightings where ${isOfPages} and is_read and fields is not null`,
  )
  const unknown = new Map<string, string[]>()
  const repeated: string[] = []
  for (const fields of lists) {
    const names = JSON.parse(fields) as [string[], string[], string[], string[]]
    if (names.some((list) => new Set(list).size < list.length)) repeated.push(fields)
    const [event, title, person, organization] = names.map(withMembers)
    const found = unknownFields({ ...event, title, person, organization })
    if (found.length > 0) unknown.set(fields, found)
  }
  if (repeated.length > 0) {
    await connection.append('repeated_fields', { fields: repeated })
    await connection.run(
      `update jobtide_load.sightings set is_read = false
       where ${isOfPages} and fields in (from repeated_fields);
       truncate repeated_fields`,
    )
  }
  return unknown
}

async function noteUnknownFields(
  { connection, isOfPages, notes }: Reading,
  unknown: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const rows = await connection.all<{ fields: string; at: Date }>(
    `select fields, min(received_at) as at
     from jobtide_load.sightings
     where ${isOfPages} and is_read and fields is not null
     group by fields`,
  )
  for (const { fields, at } of rows) notes.addUnknown(unknown.get(fields) ?? [], at)
}

/** Removes suppressed events that the engine has read. */
async function leaveOutErased({ connection, isOfPages, suppression, notes }: Reading) {
  const { profile_id: people = [] } = await connection.columns<string>(
    `select distinct profile_id from jobtide_load.sightings where ${isOfPages} and is_read`,
  )
  await connection.append('erased_people', {
    profile_id: people.filter((person) => suppression.coversPerson(person)),
  })
  const { eventsBefore } = suppression
  notes.suppressed += await connection.number(
    `delete from jobtide_load.sightings
     where ${isOfPages} and is_read
       and (profile_id in (from erased_people) or (changed_at < $1 and detected_at < $1))`,
    [eventsBefore === null ? null : new Date(eventsBefore)],
  )
  await connection.run('truncate erased_people')
}

/** The events that the engine has not read, as positions by page; a page without positions means all its events. */
async function unreadIn({
  pages,
  first,
  selectNotRead,
}: Reading): Promise<Map<number, Set<number>>> {
  const { nth = [], position = [] } = await selectNotRead([first, first + pages.length - 1])
  const unread = new Map<number, Set<number>>()
  for (const [index, page] of nth.entries()) {
    const positions = unread.get(page) ?? new Set()
    const at = position[index] ?? null
    if (at !== null) positions.add(at)
    unread.set(page, positions)
  }
  return unread
}

/** The sightings on a page that the engine has not read. @param positions the events; none for all of them */
function readPage(
  { suppression, notes }: Reading,
  { record, body }: PageBody,
  positions: ReadonlySet<number>,
): Row[] {
  const read = parsePage(body)
  // The same check accepted this body when it was bought.
  if (typeof read === 'string') throw new TypeError(`not a page in the journal: ${read}`)
  const { run_id, batch_id, page, request_id } = record
  const received_at = new Date(record.at)
  return read.events.flatMap((value, index): Row[] => {
    const position = index + 1
    if (positions.size > 0 && !positions.has(position)) return []
    if (suppression.coversEvent(value)) {
      notes.suppressed += 1
      return []
    }
    const parsed = parseEvent(value)
    const isForeign =
      typeof parsed !== 'string' &&
      record.foreign?.includes(parsed.organization.organization_id) === true
    const event = isForeign ? 'organisation was not asked for' : parsed
    if (typeof event !== 'string') {
      notes.addUnknown(unknownFields(value), received_at)
      return [{ ...eventColumns(event), is_read: true, received_at, run_id }]
    }
    const where = { run_id, batch_id, page, request_id, position, received_at }
    notes.rejects.push({ ...where, reason: event, event: receivedJson(value) })
    return []
  })
}

/** An object with members of these names. */
function withMembers(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, true]))
}

const KEY_HEX_DIGITS = 32

/**
 * The stable 128-bit key of an event: person, organisation, type and time of the change; for a change of title also the
 * new title, because several can fall on the same (month-precise) day. Equal instants in different spellings are equal.
 * The same rule is in sql/load/read_events.sql, in `identityOf` of src/extract/page-record.ts (page drift) and in
 * src/model/checks.ts (the check).
 */
export function eventKey(event: JobChangeEvent): string {
  const { person, organization, event_type, changed_at, title } = event
  const parts = [person.profile_id, organization.organization_id, event_type, changed_at]
  if (event_type === 'title_change') parts.push(title.current ?? '')
  const hash = createHash('sha256').update(JSON.stringify(parts))
  return hash.digest('hex').slice(0, KEY_HEX_DIGITS)
}

/** The columns of `jobtide_load.sightings` that an event fills. sql/load/read_events.sql makes the same of ordinary events. */
export function eventColumns(event: JobChangeEvent): Row {
  const { title, person, organization } = event
  return {
    event_key: eventKey(event),
    profile_id: person.profile_id,
    organization_id: organization.organization_id,
    event_type: event.event_type,
    changed_at: new Date(event.changed_at),
    detected_at: new Date(event.detected_at),
    detection_lag_days: event.detection_lag_days,
    title_current: title.current,
    title_previous: title.previous,
    person_handle: person.handle,
    person_full_name: person.full_name,
    person_first_name: person.first_name,
    person_last_name: person.last_name,
    person_headline: person.headline,
    person_network_url: person.network_url,
    organization_name: organization.name,
    organization_slug: organization.slug,
    organization_network_url: organization.network_url,
  }
}
