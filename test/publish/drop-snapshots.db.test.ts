import { join } from 'node:path'
import { expect, it } from 'vitest'
import { dropSnapshots } from '../../src/publish/drop-snapshots.ts'
import { listSnapshots } from '../../src/publish/read-snapshot.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { verifySnapshot } from '../../src/publish/verify/verify.ts'
import { realClock } from '../../src/support/clock.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { newFolder, publish, smallWarehouse } from './fixtures.ts'

it('drops 1 of 3 snapshots with its files and the history of the logs, and never the one that readers see', async () => {
  const store = openFolderStore(newFolder(), realClock)
  const warehouse = await smallWarehouse()
  for (const name of ['first', 'second', 'third']) {
    await warehouse.run(`update job_change_events set person_full_name = '${name}'`)
    await publish(warehouse, store)
  }
  warehouse.close()
  const ids = (await listSnapshots(store)).map(({ snapshot_id: id }) => id)
  const engine = await memoryWarehouse()
  const scratchFolder = join(newFolder(), 'scratch')
  const options = { store, warehouse: engine, scratchFolder, logger: silentLogger }
  await dropSnapshots(options, [ids[1]!, ids[2]!])
  expect((await listSnapshots(store)).map(({ snapshot_id: id }) => id)).toEqual([ids[0], ids[2]])
  const keys = (await store.list('')).map(({ key }) => key)
  expect(keys.filter((key) => key.includes(ids[1]!))).toEqual([])
  expect(keys.filter((key) => /_delta_log\/0+[01]\.json/.test(key))).toEqual([])
  for (const snapshotId of [ids[0]!, ids[2]!]) {
    expect((await verifySnapshot({ store, snapshotId, scratchFolder })).findings).toEqual([])
  }
  await dropSnapshots(options, [])
  expect((await store.list('')).map(({ key }) => key)).toEqual(keys)
  engine.close()
})
