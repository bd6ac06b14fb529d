/**
 * Reads the events of a chunk of pages. The engine reads them in one set; an event that it may read otherwise than
 * JavaScript, or that does not fit, is read here, by the schema of src/api/schemas.ts. Measured on 131,811 events: 1.2 s of
 * processor time, where the schema takes 11 s.
 */

import { parseEvent, parsePage, unknownFields } from '../api/schemas.ts'
import type { PageReceived } from '../journal/records.ts'
import { receivedJson } from '../support/json.ts'
import type { Prepared } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { eventColumns } from './event-row.ts'
import { appendRows, loadSql, type Row } from './rows.ts'
import type { Suppression } from './suppression.ts'

/** A page and its body as received. */
export interface PageBody {
  readonly record: PageReceived
  readonly body: Buffer
}

/** The reason to refuse an event about an organisation that its batch did not ask for. */
export const NOT_ASKED_FOR = 'organisation was not asked for'

/** Everything that reading found other than the events that are kept. */
export class ReadingNotes {
  /** Rows of ops.rejects. */
  readonly rejects: Row[] = []
  /** Fields that the schema does not know, and when each was first received. */
  readonly unknownFields = new Map<string, Date>()
  /** Events left out because they are not kept. */
  suppressed = 0
}

/** Reads pages on a connection of its own, some at a time, into `jobtide_load.sightings`. */
export class EventReader {
  readonly #connection: Warehouse
  readonly #suppression: Suppression
  // Planning these takes longer than reading a page.
  readonly #insertPages: Prepared<never>
  readonly #selectNotRead: Prepared<number>
  #notes = new ReadingNotes()
  /** The rows of `jobtide_load.sightings` that belong to the pages being read. */
  #rows = ''

  private constructor(
    connection: Warehouse,
    suppression: Suppression,
    insertPages: Prepared<never>,
    selectNotRead: Prepared<number>,
  ) {
    this.#connection = connection
    this.#suppression = suppression
    this.#insertPages = insertPages
    this.#selectNotRead = selectNotRead
  }

  /** Creates the objects that `connection` needs; use it for nothing else. */
  static async on(connection: Warehouse, suppression: Suppression): Promise<EventReader> {
    await connection.run(loadSql('reading'))
    const insertPages = await connection.prepare<never>(loadSql('read_events'))
    const selectNotRead = await connection.prepare<number>(loadSql('not_read'))
    return new EventReader(connection, suppression, insertPages, selectNotRead)
  }

  /**
   * Reads some pages, and adds to `notes`. The engine holds several times the size of their bodies meanwhile.
   * @param first their number in `jobtide_load.sightings`, from this one on; no other pages have these numbers
   */
  async read(pages: readonly PageBody[], first: number, notes: ReadingNotes): Promise<void> {
    this.#notes = notes
    this.#rows = `nth between ${first} and ${first + pages.length - 1}`
    await this.#readInEngine(pages, first)
    const unknown = await this.#judgeFields()
    // Before events are left out: a page without any would count as not read.
    const unread = await this.#unread(first, first + pages.length - 1)
    if (!this.#suppression.isEmpty) await this.#suppress(this.#suppression)
    if (unknown.size > 0) await this.#noteUnknownFields(unknown)
    if (unread.size === 0) return
    await this.#connection.run(
      `delete from jobtide_load.sightings where ${this.#rows} and not is_read`,
    )
    const others = [...unread].flatMap(([nth, positions]) => {
      const page = pages[nth - first]
      return page === undefined ? [] : this.#readPage(page, positions)
    })
    await appendRows(this.#connection, 'others', others)
    await this.#connection.run(
      'insert into jobtide_load.sightings by name from others; truncate others',
    )
  }

  async #readInEngine(pages: readonly PageBody[], first: number): Promise<void> {
    // A page with events of a foreign organisation has rejects.
    const numbered = pages
      .map(({ record, body }, index) => ({ nth: first + index, record, body }))
      .filter(({ record }) => (record.foreign?.length ?? 0) === 0)
    if (numbered.length === 0) return
    await this.#insertPages([
      numbered.map(({ nth }) => nth),
      numbered.map(({ record }) => record.run_id),
      numbered.map(({ record }) => new Date(record.at)),
      numbered.map(({ body }) => body),
    ])
  }

  /**
   * Looks at the names of members, once for each distinct list of them. An event that has a name twice is not read in the
   * engine, which takes the first of the two.
   * @returns unknown fields, by list of names
   */
  async #judgeFields(): Promise<Map<string, string[]>> {
    const { fields: lists = [] } = await this.#connection.columns<string>(
      `select distinct fields from jobtide_load.sightings where ${this.#rows} and is_read and fields is not null`,
    )
    const unknown = new Map<string, string[]>()
    const repeated: string[] = []
    for (const fields of lists) {
      const names = JSON.parse(fields) as [string[], string[], string[], string[]]
      if (names.some((list) => new Set(list).size < list.length)) repeated.push(fields)
      const found = unknownFields(eventOf(names))
      if (found.length > 0) unknown.set(fields, found)
    }
    if (repeated.length > 0) {
      await this.#connection.append('repeated_fields', { fields: repeated })
      await this.#connection.run(
        `update jobtide_load.sightings set is_read = false
         where ${this.#rows} and fields in (from repeated_fields);
         truncate repeated_fields`,
      )
    }
    return unknown
  }

  async #noteUnknownFields(unknown: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const rows = await this.#connection.all<{ fields: string; at: Date }>(
      `select fields, min(received_at) as at
       from jobtide_load.sightings
       where ${this.#rows} and is_read and fields is not null
       group by fields`,
    )
    for (const { fields, at } of rows) this.#addUnknown(unknown.get(fields) ?? [], at)
  }

  #addUnknown(fields: readonly string[], at: Date): void {
    for (const field of fields) {
      const known = this.#notes.unknownFields.get(field)
      if (known === undefined || at < known) this.#notes.unknownFields.set(field, at)
    }
  }

  async #suppress(suppression: Suppression): Promise<void> {
    const before = await this.#count()
    const { profile_id: people = [] } = await this.#connection.columns<string>(
      `select distinct profile_id from jobtide_load.sightings where ${this.#rows} and is_read`,
    )
    await this.#connection.append('erased_people', {
      profile_id: people.filter((person) => suppression.coversPerson(person)),
    })
    await this.#connection.run(
      `delete from jobtide_load.sightings
       where ${this.#rows} and is_read and profile_id in (from erased_people);
       truncate erased_people`,
    )
    const { eventsBefore } = suppression
    if (eventsBefore !== null) {
      await this.#connection.run(
        `delete from jobtide_load.sightings
         where ${this.#rows} and is_read and changed_at < $1 and detected_at < $1`,
        [new Date(eventsBefore)],
      )
    }
    this.#notes.suppressed += before - (await this.#count())
  }

  /** The events that the engine has not read: positions by page; all events of a page without positions. */
  async #unread(first: number, last: number): Promise<Map<number, Set<number>>> {
    const { nth = [], position = [] } = await this.#selectNotRead([first, last])
    const unread = new Map<number, Set<number>>()
    for (const [index, page] of nth.entries()) {
      const positions = unread.get(page) ?? new Set()
      const at = position[index] ?? null
      if (at !== null) positions.add(at)
      unread.set(page, positions)
    }
    return unread
  }

  #readPage({ record, body }: PageBody, positions: ReadonlySet<number>): Row[] {
    const page = parsePage(body)
    // The same reading accepted this body when it was bought.
    if (typeof page === 'string') throw new TypeError(`not a page in the journal: ${page}`)
    return page.events.flatMap((event, index) => {
      if (positions.size > 0 && !positions.has(index + 1)) return []
      const columns = this.#readEvent(record, event, index + 1)
      return columns === null ? [] : [columns]
    })
  }

  /** The columns of a sighting; null where an event is refused or not kept. */
  #readEvent(record: PageReceived, value: unknown, position: number): Row | null {
    if (!this.#suppression.isEmpty && this.#suppression.coversEvent(value)) {
      this.#notes.suppressed += 1
      return null
    }
    const at = new Date(record.at)
    const parsed = parseEvent(value)
    const isForeign =
      typeof parsed !== 'string' &&
      record.foreign?.includes(parsed.organization.organization_id) === true
    const event = isForeign ? NOT_ASKED_FOR : parsed
    if (typeof event !== 'string') {
      this.#addUnknown(unknownFields(value), at)
      return { ...eventColumns(event), is_read: true, received_at: at, run_id: record.run_id }
    }
    this.#notes.rejects.push({
      run_id: record.run_id,
      batch_id: record.batch_id,
      page: record.page,
      request_id: record.request_id,
      position,
      reason: event,
      event: receivedJson(value),
      received_at: at,
    })
    return null
  }

  #count(): Promise<number> {
    return this.#connection.number(
      `select count(*) from jobtide_load.sightings where ${this.#rows}`,
    )
  }
}

/** An event whose members have these names. */
function eventOf([names, ...inner]: readonly [string[], string[], string[], string[]]): object {
  const members = (list: readonly string[]) => Object.fromEntries(list.map((name) => [name, true]))
  const [title, person, organization] = inner
  return {
    ...members(names),
    title: members(title),
    person: members(person),
    organization: members(organization),
  }
}
