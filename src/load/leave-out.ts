/**
 * Takes out of a warehouse what the suppression list does not keep. Loading leaves it out, but a warehouse may have been loaded
 * under an older list: one from a backup, or from a snapshot.
 */

import { StorageError } from '../support/errors.ts'
import { jsonOrNull } from '../support/json.ts'
import { deleteErasable, type RowsByTable } from '../warehouse/erase-rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Suppression } from './suppression.ts'

/** What was taken out. */
export interface LeftOut {
  /** People on the list who were in the warehouse. */
  readonly people: number
  readonly rows: RowsByTable
}

/**
 * Deletes what the list does not keep. The bytes stay in the file until it is written again, which `ops.suppression` notes.
 * @param also people who may stand in tables of the user's own only
 */
export async function leaveOut(
  warehouse: Warehouse,
  suppression: Suppression,
  also: readonly string[] = [],
): Promise<LeftOut> {
  const people: string[] = []
  const known = await warehouse.stream('select distinct profile_id from job_change_events')
  for await (const rows of known.batches) {
    const ids = rows.map(([id]) => String(id))
    people.push(...ids.filter((id) => suppression.coversPerson(id)))
  }
  const rows = await deleteErasable(warehouse, {
    profileIds: [...new Set([...people, ...also])],
    eventsBefore: suppression.eventsBefore,
    // One that was nested too deeply to be kept has a fixed text, which is no JSON and names nobody.
    isErasedReject: (text) => suppression.coversEvent(jsonOrNull(text)),
  })
  const { is_rewritten: wasRewritten } = await followed(warehouse)
  const isRewritten = wasRewritten && Object.keys(rows).length === 0
  await warehouse.run(
    `delete from ops.suppression;
     insert into ops.suppression values (${suppression.generation}, ${isRewritten})`,
  )
  return { people: people.length, rows }
}

/** As {@link leaveOut}, where the warehouse follows another list. */
export async function followList(warehouse: Warehouse, suppression: Suppression): Promise<void> {
  const { generation } = await followed(warehouse)
  if (generation !== suppression.generation) await leaveOut(warehouse, suppression)
}

/** @throws StorageError when a warehouse follows another list, and may show people who were erased */
export async function refuseOlderList(
  warehouse: Warehouse,
  suppression: Suppression,
): Promise<void> {
  const { generation } = await followed(warehouse)
  if (generation === suppression.generation) return
  throw new StorageError(
    `the warehouse follows suppression list number ${generation}, and the list is number ${suppression.generation}: it may hold people who were erased`,
    {
      hint: 'Nothing was published. Run `jobtide load` and `jobtide build`: they take them out.',
    },
  )
}

async function followed(warehouse: Warehouse) {
  const [row] = await warehouse.all<{ generation: number; is_rewritten: boolean }>(
    'select generation, is_rewritten from ops.suppression',
  )
  return row ?? { generation: 0, is_rewritten: true }
}
