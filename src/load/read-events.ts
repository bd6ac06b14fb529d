/**
 * Reads the events of a chunk of pages. The engine reads them in one set; an event that it may read otherwise than
 * JavaScript, or that does not fit, is read here, by the schema of src/api/schemas.ts. Measured on 131,811 events: 1.2 s of
 * processor time, where the schema takes 11 s.
 */

import { parseEvent, parsePage, unknownFields } from '../api/schemas.ts'
import type { PageReceived } from '../journal/records.ts'
import { receivedJson } from '../support/json.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { eventColumns } from './event-row.ts'
import { appendRows, loadSql, type Row } from './rows.ts'
import type { Suppression } from './suppression.ts'

/** A page and its body as received. */
export interface PageBody {
  readonly record: PageReceived
  readonly body: Buffer
}

/** Why an event is refused whose organisation is none of those that its batch asked for. */
const NOT_ASKED_FOR = 'organisation was not asked for'

/** Stages the events of the pages of one chunk, some pages at a time, in `staged_sightings`. */
export class EventReader {
  /** Rows of ops.rejects. */
  readonly rejects: Row[] = []
  /** Fields that the schema does not know, and when each was first received. */
  readonly unknownFields = new Map<string, Date>()
  /** Events left out because they are not kept. */
  suppressed = 0
  readonly #warehouse: Warehouse
  readonly #suppression: Suppression
  /** Pages read before those that are being read. */
  #pagesBefore = 0

  constructor(warehouse: Warehouse, suppression: Suppression) {
    this.#warehouse = warehouse
    this.#suppression = suppression
  }

  /** Reads some pages. The engine holds several times the size of their bodies meanwhile. */
  async read(pages: readonly PageBody[]): Promise<void> {
    const first = this.#pagesBefore
    this.#pagesBefore += pages.length
    await this.#readInEngine(pages, first)
    const sightings: Row[] = []
    const unread = await this.#unread()
    for (const [nth, positions] of unread) {
      const page = pages[nth - first]
      if (page !== undefined) sightings.push(...this.#readPage(page, nth, positions))
    }
    if (unread.size === 0) return
    await this.#warehouse.run('delete from staged_sightings where not is_read')
    await appendRows(this.#warehouse, 'staged_sightings', sightings)
  }

  async #readInEngine(pages: readonly PageBody[], first: number): Promise<void> {
    await this.#warehouse.run(loadSql('stage_bodies'))
    await this.#warehouse.append('staged_bodies', {
      nth: pages.map((_, index) => first + index),
      run_id: pages.map(({ record }) => record.run_id),
      received_at: pages.map(({ record }) => new Date(record.at)),
      has_foreign: pages.map(({ record }) => (record.foreign?.length ?? 0) > 0),
      body: pages.map(({ body }) => body),
    })
    await this.#warehouse.run(loadSql('read_events'))
    const unknown = await this.#judgeFields(first)
    if (!this.#suppression.isEmpty) await this.#suppress(this.#suppression, first)
    if (unknown.size > 0) await this.#noteUnknownFields(unknown, first)
  }

  /**
   * Looks at the names of members, once for each distinct list of them. An event that has a name twice is not read in the
   * engine, which takes the first of the two.
   * @returns unknown fields, by list of names
   */
  async #judgeFields(first: number): Promise<Map<string, string[]>> {
    const { fields: lists = [] } = await this.#warehouse.columns<string>(
      'select distinct fields from staged_sightings where is_read and nth >= $1',
      [first],
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
      await this.#warehouse.append('staged_repeated_fields', { fields: repeated })
      await this.#warehouse.run(
        'update staged_sightings set is_read = false where nth >= $1 and fields in (from staged_repeated_fields)',
        [first],
      )
    }
    return unknown
  }

  async #noteUnknownFields(
    unknown: ReadonlyMap<string, readonly string[]>,
    first: number,
  ): Promise<void> {
    const rows = await this.#warehouse.all<{ fields: string; at: Date }>(
      `select fields, min(received_at) as at
       from staged_sightings
       where is_read and nth >= $1
       group by fields`,
      [first],
    )
    for (const { fields, at } of rows) this.#addUnknown(unknown.get(fields) ?? [], at)
  }

  #addUnknown(fields: readonly string[], at: Date): void {
    for (const field of fields) {
      const known = this.unknownFields.get(field)
      if (known === undefined || at < known) this.unknownFields.set(field, at)
    }
  }

  async #suppress(suppression: Suppression, first: number): Promise<void> {
    const before = await this.count()
    const { profile_id: people = [] } = await this.#warehouse.columns<string>(
      'select distinct profile_id from staged_sightings where is_read and nth >= $1',
      [first],
    )
    await this.#warehouse.append('staged_erased_people', {
      profile_id: people.filter((person) => suppression.coversPerson(person)),
    })
    await this.#warehouse.run(
      'delete from staged_sightings where is_read and profile_id in (from staged_erased_people)',
    )
    const { eventsBefore } = suppression
    if (eventsBefore !== null) {
      await this.#warehouse.run(
        'delete from staged_sightings where is_read and changed_at < $1 and detected_at < $1',
        [new Date(eventsBefore)],
      )
    }
    this.suppressed += before - (await this.count())
  }

  /** What the engine has not read: places by page; all of a page where there are none. */
  async #unread(): Promise<Map<number, Set<number>>> {
    const { nth = [], position = [] } = await this.#warehouse.columns<number>(
      `select nth, position from staged_sightings where not is_read
       union all
       select nth, null from staged_bodies where nth not in (select nth from pages_read)
       order by nth, position`,
    )
    const unread = new Map<number, Set<number>>()
    for (const [index, page] of nth.entries()) {
      const positions = unread.get(page) ?? new Set()
      const at = position[index] ?? null
      if (at !== null) positions.add(at)
      unread.set(page, positions)
    }
    return unread
  }

  #readPage({ record, body }: PageBody, nth: number, positions: ReadonlySet<number>): Row[] {
    const page = parsePage(body)
    // The same reading accepted this body when it was bought.
    if (typeof page === 'string') throw new TypeError(`page in the journal is no page: ${page}`)
    return page.events.flatMap((event, index) => {
      if (positions.size > 0 && !positions.has(index + 1)) return []
      const columns = this.#readEvent(record, event, index + 1)
      return columns === null ? [] : [{ nth, ...columns }]
    })
  }

  /** The columns of a sighting; null where an event is refused or not kept. */
  #readEvent(record: PageReceived, value: unknown, position: number): Row | null {
    if (!this.#suppression.isEmpty && this.#suppression.coversEvent(value)) {
      this.suppressed += 1
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
    this.rejects.push({
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

  /** Sightings staged so far. */
  async count(): Promise<number> {
    const [row] = await this.#warehouse.all<{ n: number }>(
      'select cast(count(*) as integer) as n from staged_sightings',
    )
    return row?.n ?? 0
  }
}

/** An event with members of these names. */
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
