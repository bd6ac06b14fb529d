/**
 * Keeps a computed model up to date: adds the keys that its inputs mention, removes those that nothing mentions. Keys pass
 * through JavaScript in batches, so memory does not grow with the warehouse.
 */

import { taxonomyVersion } from '../titles/version.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { ComputedModel } from './computed-models.ts'

const BATCH_ROWS = 50_000

/**
 * Brings a computed model up to date with all rows of its inputs. Rows of this taxonomy that are there already stay.
 * @returns how many rows it added and removed
 */
export async function computeAll(warehouse: Warehouse, model: ComputedModel): Promise<number> {
  const name = `${model.schema}.${quoteIdentifier(model.name)}`
  if (model.sql === '') {
    const columns = await model.rowsFor({})
    await warehouse.run(`delete from ${name}`)
    await warehouse.append(`${model.schema}.${model.name}`, columns)
    return Object.values(columns)[0]?.length ?? 0
  }
  await warehouse.run(`create or replace temp table mentioned_keys as ${model.sql}`)
  const removed = await warehouse.number(
    `delete from ${name} as known
     where taxonomy_version <> $1
       or not exists (select 1 from mentioned_keys as mentioned where ${sameKey(model, 'known', 'mentioned')})`,
    [taxonomyVersion],
  )
  const key = model.key.map(quoteIdentifier).join(', ')
  await warehouse.run(
    `create or replace temp table missing_keys as
     select ${key}, row_number() over (order by ${key}) as place from mentioned_keys as mentioned
     where not exists (select 1 from ${name} as known where ${sameKey(model, 'known', 'mentioned')})`,
  )
  let added = 0
  for (;;) {
    const keys = await warehouse.columns<string>(
      `select ${key} from missing_keys where place > $1 and place <= $2`,
      [added, added + BATCH_ROWS],
    )
    const count = Object.values(keys)[0]?.length ?? 0
    if (count === 0) break
    await warehouse.append(`${model.schema}.${model.name}`, await model.rowsFor(keys))
    added += count
  }
  await warehouse.run('drop table mentioned_keys; drop table missing_keys')
  return removed + added
}

function sameKey({ key }: ComputedModel, one: string, other: string): string {
  const names = key.map(quoteIdentifier)
  return names.map((column) => `${one}.${column} = ${other}.${column}`).join(' and ')
}
