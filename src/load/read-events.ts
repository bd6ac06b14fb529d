/**
 * Reads the events of some pages into `staged_sightings`. The engine reads them in one set. An event that it may read
 * differently from JavaScript, or that does not fit, is read here, by the schema of src/api/schemas.ts. On 131,811
 * events this took 1.2 s of CPU time, the schema alone 11 s.
 */

import { createHash } from 'node:crypto'
import { parseEvent, parsePage, unknownFields, type JobChangeEvent } from '../api/schemas.ts'
import type { PageReceived } from '../journal/records.ts'
import { sqlText } from '../support/assets.ts'
import { receivedJson } from '../support/json.ts'
import { appendRows, type Row } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Suppression } from './suppression.ts'

export interface PageBody {
  readonly record: PageReceived
  readonly body: Buffer
}

/** Findings on pages, except the events that are kept. */
export class ReadingNotes {
  /** Rows of ops.rejects. */
  readonly rejects: Row[] = []
  /** Fields that the schema does not know, with the time of their first receipt. */
  readonly unknownFields = new Map<string, Date>()
  /** Events, and items of answers, that were left out because they name people who are not kept. */
  suppressed = 0

  addUnknown(fields: readonly string[], at: Date): void {
    for (const field of fields) {
      const known = this.unknownFields.get(field)
      if (known === undefined || at < known) this.unknownFields.set(field, at)
    }
  }
}

/** Reads some pages, one or more. Meanwhile the engine holds several times the size of their bodies. */
export async function readPages(
  warehouse: Warehouse,
  pages: readonly PageBody[],
  suppression: Suppression,
  notes: ReadingNotes,
): Promise<void> {
  await warehouse.run(sqlText('load/read_events.sql'), [
    [...pages.keys()],
    pages.map(({ record }) => record.run_id),
    pages.map(({ record }) => new Date(record.at)),
    // A page with events of organisations that were not requested is read here: these events become rejects.
    pages.map(({ record, body }) => (record.foreign?.length ? Buffer.alloc(0) : body)),
  ])
  const unknown = await judgeFields(warehouse)
  // Before suppressed events are removed, because a page without events would count as not read.
  const unread = await unreadOf(warehouse, pages.length)
  if (!suppression.isEmpty) notes.suppressed += await leaveOutErased(warehouse, suppression)
  if (unknown.size > 0) {
    const rows = await warehouse.all<{ fields: string; at: Date }>(
      'select fields, min(received_at) as at from page_events where is_read group by fields',
    )
    for (const { fields, at } of rows) notes.addUnknown(unknown.get(fields) ?? [], at)
  }
  await warehouse.run(
    `insert into staged_sightings by name
     select * exclude (nth, position, is_read, fields) from page_events where is_read`,
  )
  const others = [...unread].flatMap(([nth, positions]) => {
    const page = pages[nth]
    return page === undefined ? [] : readPage(page, positions, suppression, notes)
  })
  await appendRows(warehouse, 'staged_sightings', others)
}

/**
 * Checks the names of members, once for each distinct list of them. An event with a repeated name is not read by the
 * engine, which uses the first one.
 * @returns unknown fields, by list of names
 */
async function judgeFields(warehouse: Warehouse): Promise<Map<string, string[]>> {
  const { fields: lists = [] } = await warehouse.columns<string>(
    'select distinct fields from page_events where is_read and fields is not null',
  )
  const unknown = new Map<string, string[]>()
  const repeated: string[] = []
  for (const fields of lists) {
    const names = JSON.parse(fields) as [string[], string[], string[], string[]]
    if (names.some((list) => new Set(list).size < list.length)) repeated.push(fields)
    const [event, title, person, organization] = names.map((list) =>
      Object.fromEntries(list.map((name) => [name, true])),
    )
    const found = unknownFields({ ...event, title, person, organization })
    if (found.length > 0) unknown.set(fields, found)
  }
  if (repeated.length > 0) {
    await warehouse.run(
      'update page_events set is_read = false where fields in (select unnest($1))',
      [repeated],
    )
  }
  return unknown
}

/** Removes suppressed events that the engine has read. @returns how many */
async function leaveOutErased(warehouse: Warehouse, suppression: Suppression): Promise<number> {
  const { profile_id: people = [] } = await warehouse.columns<string>(
    'select distinct profile_id from page_events where is_read',
  )
  const { eventsBefore } = suppression
  return warehouse.number(
    `delete from page_events
     where is_read
       and (profile_id in (select unnest($1)) or (changed_at < $2 and detected_at < $2))`,
    [
      ['', ...people.filter((person) => suppression.coversPerson(person))],
      eventsBefore === null ? null : new Date(eventsBefore),
    ],
  )
}

/** The events that the engine has not read, as positions by page; a page without positions means all its events. */
async function unreadOf(warehouse: Warehouse, pages: number): Promise<Map<number, Set<number>>> {
  const { nth = [], position = [] } = await warehouse.columns<number>(
    sqlText('load/not_read.sql'),
    [pages],
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

/** The sightings on a page that the engine has not read. @param positions the events; none for all of them */
function readPage(
  { record, body }: PageBody,
  positions: ReadonlySet<number>,
  suppression: Suppression,
  notes: ReadingNotes,
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
      return [{ ...eventColumns(event), received_at, run_id }]
    }
    const where = { run_id, batch_id, page, request_id, position, received_at }
    notes.rejects.push({ ...where, reason: event, event: receivedJson(value) })
    return []
  })
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

/**
 * The columns of `staged_sightings` that an event fills. sql/load/read_events.sql makes the same of ordinary events.
 */
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
