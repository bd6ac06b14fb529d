/**
 * Removes what the suppression list excludes: from received bodies, and from a warehouse. A load leaves such rows out, but
 * the warehouse may have been loaded under an older list, from a backup or from a snapshot.
 */

import { parseJson } from '../api/schemas.ts'
import type { CutBody, CutPage } from '../journal/erase-events.ts'
import { jsonOrNull } from '../support/json.ts'
import { sha256Hex } from '../support/hash.ts'
import { StorageError } from '../support/errors.ts'
import { buildAfterErasure, countErasable, deleteErasable } from '../warehouse/erase-rows.ts'
import { SIGNAL_DELIVERY } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { IsNamed, Suppression } from './suppression.ts'

/**
 * Deletes the rows that the list excludes. The bytes stay in the file until it is rewritten, which `ops.suppression`
 * records.
 */
export async function leaveOut(warehouse: Warehouse, suppression: Suppression) {
  const before = await followed(warehouse)
  await follow(warehouse, before.list, false)
  const found = await excluded(warehouse, suppression, 'delete')
  const isClean = Object.keys(found.rows).length === 0
  await follow(warehouse, suppression.list, isClean && before.is_rewritten)
  return found
}

/** Counts the rows that the list excludes, or deletes them. */
export async function excluded(
  warehouse: Warehouse,
  suppression: Suppression,
  how: 'count' | 'delete',
) {
  const people: string[] = []
  const known = await warehouse.stream('select distinct profile_id from job_change_events')
  for await (const rows of known.batches) {
    const ids = rows.map(([id]) => String(id))
    people.push(...ids.filter((id) => suppression.coversPerson(id)))
  }
  const rows = await (how === 'count' ? countErasable : deleteErasable)(warehouse, {
    profileIds: [...new Set([...people, ...suppression.profileIds])],
    eventsBefore: suppression.eventsBefore,
    // A value that was nested too deeply to be kept is a fixed text, which is not JSON and names no person.
    isErasedReject: (text) => suppression.coversEvent(jsonOrNull(text)),
  })
  const answers = suppression.people === 0 ? [] : await answersNaming(warehouse, suppression)
  if (how === 'delete' && answers.length > 0) await cutAnswers(warehouse, answers)
  return {
    /** Listed people who are in the warehouse. */
    people: people.length,
    rows: answers.length === 0 ? rows : { ...rows, 'main.answers': answers.length },
  }
}

async function cutAnswers(
  warehouse: Warehouse,
  named: Awaited<ReturnType<typeof answersNaming>>,
): Promise<void> {
  await warehouse.transaction(async () => {
    for (const { id, body, isAbout } of named) {
      const nameless = isAbout ? `, subject = '', lookup_key = ''` : ''
      await (body === null
        ? warehouse.run('delete from answers where request_id = $1', [id])
        : warehouse.run(`update answers set body = $2${nameless} where request_id = $1`, [
            id,
            body,
          ]))
    }
    await buildAfterErasure(warehouse)
  })
}

/** The answers of a warehouse that name people, without these people; `body` is null if nothing is left. */
async function answersNaming(warehouse: Warehouse, { coversText }: Suppression) {
  const named: { id: string; body: string | null; isAbout: boolean }[] = []
  const { batches } = await warehouse.stream(
    'select request_id, body, subject, endpoint from answers',
  )
  for await (const rows of batches) {
    for (const [id, whole, subject, endpoint] of rows) {
      const cut = cutAnswer(Buffer.from(String(whole)), coversText, String(subject))
      if (cut === null) continue
      const body = cut.body.toString('utf8')
      const isEmpty = endpoint === SIGNAL_DELIVERY && rowsOfDelivery(String(id), body).length === 0
      named.push({ id: String(id), body: isEmpty ? null : body, isAbout: cut.isAbout === true })
    }
  }
  return named
}

/** Like {@link leaveOut}, if the warehouse follows another list. */
export async function followList(warehouse: Warehouse, suppression: Suppression): Promise<void> {
  const { list } = await followed(warehouse)
  if (list !== suppression.list) await leaveOut(warehouse, suppression)
}

/** @throws StorageError if a warehouse follows another list, so that it may show erased people */
export async function refuseOlderList(warehouse: Warehouse, suppression: Suppression) {
  const { list } = await followed(warehouse)
  if (list === suppression.list) return
  throw new StorageError(
    'the warehouse follows another suppression list than suppressed.json, so it may hold erased people',
    {
      hint: 'Nothing was published. Run `jobtide load` and `jobtide build`: they remove these people.',
    },
  )
}

async function follow(warehouse: Warehouse, list: string | null, isRewritten: boolean) {
  await warehouse.transaction(async () => {
    await warehouse.run('delete from ops.suppression')
    await warehouse.run('insert into ops.suppression values ($1, $2)', [list, isRewritten])
  })
}

async function followed(warehouse: Warehouse) {
  const [row] = await warehouse.all<{ list: string | null; is_rewritten: boolean }>(
    'select list, is_rewritten from ops.suppression',
  )
  return row ?? { list: null, is_rewritten: true }
}

// From a page go the events of erased people; from a list of an answer the item that names them, such as one of 25 people
// found by a search; if an answer names them outside a list, all of it.

/** Removes what the list excludes: events from pages, and what names its people from answers. */
export function cutting(suppression: Suppression): CutPage {
  return (body, record) => {
    if (record.kind === 'page_received')
      return cutEvents(body, (event) => suppression.coversEvent(event))
    const subject = record.kind === 'answer_received' ? record.subject : ''
    return cutAnswer(body, suppression.coversText, subject)
  }
}

/** The events on a page, each as sent. */
export function eventsOn(body: Buffer): readonly unknown[] {
  return eventsIn(parseJson(body))
}

function eventsIn(page: unknown): readonly unknown[] {
  const { data } = Object(page) as { readonly data?: unknown }
  return Array.isArray(data) ? data : []
}

/** Cuts the events for which `isCut` returns true out of the body of a page; null if there are none. */
export function cutEvents(body: Buffer, isCut: (event: unknown) => boolean): CutBody | null {
  const parsed = parseJson(body)
  const events = eventsIn(parsed)
  if (!events.some(isCut)) return null
  // A value that is nested too deeply can be read but not written, so it goes as well.
  const goes = events.map((event) => isCut(event) || !isWritable(event))
  const page = { ...Object(parsed), data: events.filter((_, at) => goes[at] === false) }
  const members = Object.entries(page).filter(([, value]) => isWritable(value))
  return {
    body: Buffer.from(JSON.stringify(Object.fromEntries(members))),
    places: [...goes.keys()].filter((at) => goes[at]),
    events: events.length,
  }
}

function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value)
    return true
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/**
 * Cuts the parts of an answer that name people who are not kept.
 * @param subject the request: if it names them, the whole answer goes
 * @returns null if the answer names none of them
 */
export function cutAnswer(body: Buffer, isNamed: IsNamed, subject = ''): CutBody | null {
  const emptied = { body: Buffer.from('{}'), places: [0], events: 1 }
  if (subject !== '' && isNamed(subject)) return { ...emptied, isAbout: true }
  const { answer, taken } = taking(body, isNamed)
  if (answer.isNamed) return emptied
  if (taken.length === 0) return null
  const text = JSON.stringify(answer.value)
  return { body: Buffer.from(text), places: [...taken.keys()], events: taken.length }
}

/** The parts of an answer that name such a person: items of lists, or all of it. */
export function partsNaming(body: Buffer, isNamed: IsNamed, subject: string): readonly unknown[] {
  const { answer, taken } = taking(body, isNamed)
  const isAll = answer.isNamed || (subject !== '' && isNamed(subject))
  return isAll ? [jsonOrNull(body.toString('utf8'))] : taken
}

/**
 * An answer without the items that name such a person, these items, and whether it names the person outside its lists.
 */
function taking(body: Buffer, isNamed: IsNamed) {
  const taken: unknown[] = []

  function cut(value: unknown, member = ''): { isNamed: boolean; value: unknown } {
    if (Array.isArray(value)) {
      const kept = value.flatMap((item: unknown) => {
        const left = cut(item, member)
        if (!left.isNamed) return [left.value]
        taken.push(item)
        return []
      })
      return { isNamed: false, value: kept }
    }
    if (value === null) return { isNamed: false, value }
    if (typeof value !== 'object') {
      return { isNamed: isNamed(`${value as string | number | boolean}`, member), value }
    }
    const members = Object.entries(value).map(([name, inner]) => [name, cut(inner, name)] as const)
    return {
      isNamed: members.some(([name, inner]) => inner.isNamed || isNamed(name)),
      value: Object.fromEntries(members.map(([name, inner]) => [name, inner.value])),
    }
  }

  try {
    return { answer: cut(jsonOrNull(body.toString('utf8'))), taken }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    // An answer that is nested deeper than the stack cannot be read.
    return { answer: { isNamed: true, value: null }, taken }
  }
}

/**
 * Makes a row for each of the `changes` of a delivery, with the fields around them; a delivery without such a list makes
 * one row. The engine holds several times the bytes of up to 2,048 documents at once to read a list, and a delivery of
 * 1,200 activities has 1.4 MB. An id depends on the content rather than its position, so that rows are the same whatever
 * else was erased.
 * @param id the delivery, or a row of it
 */
export function rowsOfDelivery(id: string, body: string): { request_id: string; body: string }[] {
  const whole = [{ request_id: id, body }]
  const delivery = jsonOrNull(body)
  if (delivery === null || typeof delivery !== 'object' || !('changes' in delivery)) return whole
  const { changes } = delivery
  // A delivery with both is not the service's.
  if (!Array.isArray(changes) || 'profiles' in delivery) return whole
  const bodyOf = (list: readonly unknown[]) => JSON.stringify({ ...delivery, changes: list })
  try {
    // Each row repeats the fields around them. If these are longer than the changes, the delivery is not the service's
    // either.
    if (bodyOf([]).length * changes.length > body.length) return whole
    const [ofDelivery] = id.split('-', 1)
    return changes.map((change: unknown) => {
      const text = bodyOf([change])
      return { request_id: `${ofDelivery}-${sha256Hex(text).slice(0, 16)}`, body: text }
    })
  } catch (error) {
    // A value that is nested deeper than the stack can be read but not written.
    if (error instanceof RangeError) return whole
    throw error
  }
}
