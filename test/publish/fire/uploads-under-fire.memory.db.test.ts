/** Publishing within the memory that a small warehouse is given: the smallest limit there is, 96 MiB. */

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readDeltaLog } from '../../../src/publish/delta/log.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { realClock } from '../../../src/support/clock.ts'
import { openWarehouse } from '../../../src/warehouse/warehouse.ts'
import { newFolder, publish } from '../fixtures.ts'

const cities = {
  name: 'cities',
  grain: 'One row per city.',
  key: ['city_id'],
  partitionByYearOf: null,
  leftOut: [],
}

it('publishes 23 nights, and with them 2 checkpoints of a Delta log, within 96 MiB', async () => {
  const path = join(newFolder(), 'jobtide.duckdb')
  const warehouse = await openWarehouse({ path, mode: 'write', memoryLimit: '96MiB', threads: 2 })
  await warehouse.run('create table cities as select i as city_id from range(100) numbers(i)')
  const store = await openStore(newFolder(), { clock: realClock })
  for (let night = 0; night < 23; night += 1) {
    await warehouse.run(`insert into cities values (${100 + night})`)
    await publish(warehouse, store, { tables: [cities] })
  }
  const source = { store, warehouse, scratchFolder: join(newFolder(), 'log') }
  expect((await readDeltaLog(source, 'cities'))?.version).toBe(22)
  const checkpoints = (await store.list('tables/')).filter(({ key }) =>
    key.includes('.checkpoint.'),
  )
  expect(checkpoints.map(({ key }) => key.slice(-30))).toEqual([
    '00000000010.checkpoint.parquet',
    '00000000020.checkpoint.parquet',
  ])
  warehouse.close()
})
