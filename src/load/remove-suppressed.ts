/**
 * Removes rows that the suppression list excludes from a warehouse. A load leaves them out, but the warehouse may have
 * been loaded under an older list, from a backup or from a snapshot.
 */

import { StorageError } from '../support/errors.ts'
import { jsonOrNull } from '../support/json.ts'
import { cutAnswer, type IsNamed } from './redact-bodies.ts'
import { rowsOfDelivery } from './chunk.ts'
import { deleteErasable } from '../warehouse/erase-rows.ts'
import { SIGNAL_DELIVERY } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Suppression } from './suppression.ts'

/**
 * Deletes the rows that the list excludes. The bytes stay in the file until it is rewritten, which `ops.suppression`
 * records.
 * @param also people who may only be in the user's own tables, and further texts that name people in answers
 */
export async function leaveOut(
  warehouse: Warehouse,
  suppression: Suppression,
  also: { readonly profileIds: readonly string[]; readonly isNamed: IsNamed } = NO_ONE,
) {
  const people: string[] = []
  const known = await warehouse.stream('select distinct profile_id from job_change_events')
  for await (const rows of known.batches) {
    const ids = rows.map(([id]) => String(id))
    people.push(...ids.filter((id) => suppression.coversPerson(id)))
  }
  const before = await followed(warehouse)
  await follow(warehouse, before.list, false)
  const rows = await deleteErasable(warehouse, {
    profileIds: [...new Set([...people, ...also.profileIds])],
    eventsBefore: suppression.eventsBefore,
    // A value that was nested too deeply to be kept is a fixed text, which is not JSON and names no person.
    isErasedReject: (text) => suppression.coversEvent(jsonOrNull(text)),
  })
  const isNamed: IsNamed = (text, member) =>
    suppression.coversText(text, member) || also.isNamed(text, member)
  const answers = suppression.people === 0 ? 0 : await cutAnswers(warehouse, isNamed)
  const all = answers === 0 ? rows : { ...rows, 'main.answers': answers }
  const isClean = Object.keys(all).length === 0
  await follow(warehouse, suppression.list, isClean && before.is_rewritten)
  return {
    /** Listed people who were in the warehouse. */
    people: people.length,
    rows: all,
  }
}

const NO_ONE = { profileIds: [], isNamed: () => false }

/** Removes the parts of a warehouse's answers that name people. @returns how many answers */
async function cutAnswers(warehouse: Warehouse, isNamed: IsNamed): Promise<number> {
  const named = await answersNaming(warehouse, isNamed)
  for (const { id, body, isAbout } of named) {
    const nameless = isAbout ? `, subject = '', lookup_key = ''` : ''
    await (body === null
      ? warehouse.run('delete from answers where request_id = $1', [id])
      : warehouse.run(`update answers set body = $2${nameless} where request_id = $1`, [id, body]))
  }
  return named.length
}

/** The answers of a warehouse that name people, without these people; `body` is null if nothing is left. */
export async function answersNaming(warehouse: Warehouse, isNamed: IsNamed) {
  const named: { id: string; body: string | null; isAbout: boolean }[] = []
  const { batches } = await warehouse.stream(
    'select request_id, body, subject, endpoint from answers',
  )
  for await (const rows of batches) {
    for (const [id, whole, subject, endpoint] of rows) {
      const cut = cutAnswer(Buffer.from(String(whole)), isNamed, String(subject))
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
