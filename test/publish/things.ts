/** A table of 12,000 things that tests publish night after night, and queries over its snapshot. */

import type { PublishOptions } from '../../src/publish/publish.ts'
import type { ManifestTable } from '../../src/publish/manifest.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { noteChange } from '../../src/warehouse/changed-tables.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { definitionOf, manifestIn, publish } from './fixtures.ts'

export const things = definitionOf('things')
export const byYear = definitionOf('things', { partitionByYearOf: 'on_day' })

/** A table of 12,000 rows over some days, each of about 40 bytes that do not compress. */
export async function manyThings(days = 3650): Promise<Warehouse> {
  const warehouse = await memoryWarehouse()
  await warehouse.run(`
    create table things as
    select i as id, date '2015-01-01' + cast(i % ${days} as integer) as on_day, md5(cast(i as varchar)) || md5('b' || i) as text,
      case when i % 3 = 0 then null else md5(cast(-i as varchar)) end as more
    from range(12000) numbers(i)`)
  return warehouse
}

export async function shown(store: ObjectStore): Promise<ManifestTable> {
  return (await manifestIn(store)).tables[0]!
}

export const filesOf = async (store: ObjectStore) =>
  (await shown(store)).files.map(({ rows }) => rows)

export const publishThings = (
  warehouse: Warehouse,
  store: ObjectStore,
  options: Partial<PublishOptions> = {},
) => publish(warehouse, store, { tables: [things], ...options })

/** Moves the rows of `things` into a table of another name, and makes `things` a view of it. */
export const BEHIND_VIEW =
  'alter table things rename to stored_things; create view things as select * from stored_things'

/** Ends a build, so that the next publish knows what changed. */
export async function endBuild(warehouse: Warehouse, number: number): Promise<void> {
  await warehouse.run(`
    insert into ops.builds values (${number}, 'build ${number}');
    delete from ops.checks;
    insert into ops.checks values ('a_check', 'build ${number}', timestamptz '2024-12-02 03:00:00+00', 0, null)`)
}

/**
 * Notes added or removed rows of `things`.
 * @param which SQL for `where`
 */
export function noteThings(warehouse: Warehouse, which: string): Promise<void> {
  return noteChange(warehouse, byYear, `things where ${which}`)
}
