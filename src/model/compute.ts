/**
 * Keeps a computed model up to date: adds the keys that its inputs mention, removes those that nothing mentions. Keys pass
 * through JavaScript in batches, so memory does not grow with the warehouse.
 */

import { taxonomyVersion } from '../titles/taxonomy.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { ComputedModel } from './computed-models.ts'
import { DIFF_SIGN } from './difference.ts'
import type { TableDelta } from './table-delta.ts'
import type { Temporaries } from './temporaries.ts'

const BATCH_ROWS = 50_000

/** Makes a computed model from all rows of its inputs. Rows of this taxonomy that are there already stay. */
export async function computeAll(warehouse: Warehouse, model: ComputedModel): Promise<void> {
  const name = quoteIdentifier(model.name)
  if (model.sql === '') {
    await warehouse.run(`delete from ${name}`)
    await warehouse.append(model.name, await model.rowsFor({}))
    return
  }
  await warehouse.run(`create or replace temp table mentioned_keys as ${model.sql}`)
  await warehouse.run(
    `delete from ${name} as known
     where taxonomy_version <> $1
       or not exists (select 1 from mentioned_keys as mentioned where ${sameKey(model, 'known', 'mentioned')})`,
    [taxonomyVersion],
  )
  await warehouse.run('drop table mentioned_keys')
  await addMissing(warehouse, model)
}

/**
 * Adds the rows that the inputs, as they are seen now, mention and the table does not have.
 * @returns their number
 */
export async function addMissing(warehouse: Warehouse, model: ComputedModel): Promise<number> {
  if (model.sql === '') return 0
  const key = model.key.map(quoteIdentifier).join(', ')
  await warehouse.run(
    `create or replace temp table missing_keys as
     select ${key}, row_number() over (order by ${key}) as place from (${model.sql}) as mentioned
     where not exists (
         select 1 from ${quoteIdentifier(model.name)} as known where ${sameKey(model, 'known', 'mentioned')}
     )`,
  )
  let inserted = 0
  for (;;) {
    const keys = await warehouse.columns<string>(
      `select ${key} from missing_keys where place > $1 and place <= $2`,
      [inserted, inserted + BATCH_ROWS],
    )
    const count = Object.values(keys)[0]?.length ?? 0
    if (count === 0) break
    await warehouse.append(model.name, await model.rowsFor(keys))
    inserted += count
  }
  await warehouse.run('drop table missing_keys')
  return inserted
}

/**
 * Removes the rows whose key was mentioned only by rows of `read`, the only input, that are gone.
 * @returns their number
 */
export async function removeUnmentioned(
  temporaries: Temporaries,
  model: ComputedModel,
  read: TableDelta,
): Promise<number> {
  const mentionedIn = async (rows: string): Promise<string> => {
    await temporaries.shadow(read.name, rows)
    const keys = await temporaries.keep(model.sql)
    await temporaries.unshadow()
    return keys
  }
  const before = await mentionedIn(`select * from ${read.delta} where ${DIFF_SIGN} < 0`)
  const now = await mentionedIn(
    `select kept.* from ${temporaries.stored(read.name)} as kept semi join ${before} as before on ${sameKey(model, 'kept', 'before')}`,
  )
  const removed = await temporaries.warehouse.number(
    `delete from ${temporaries.stored(model.name)} as known
     using (select * from ${before} as before anti join ${now} as now on ${sameKey(model, 'before', 'now')}) as gone
     where ${sameKey(model, 'known', 'gone')}`,
  )
  for (const kept of [before, now]) await temporaries.drop(kept)
  return removed
}

function sameKey({ key }: ComputedModel, one: string, other: string): string {
  const names = key.map(quoteIdentifier)
  return names.map((column) => `${one}.${column} = ${other}.${column}`).join(' and ')
}
