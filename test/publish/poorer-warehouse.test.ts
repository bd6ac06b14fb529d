/** A poorer warehouse, or one in which nothing was read, does not replace what readers see: no object changes. */

import { describe, expect, it } from 'vitest'
import type { PublishOptions } from '../../src/publish/publish.ts'
import { readCurrent } from '../../src/publish/read-snapshot.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { EXIT } from '../../src/support/errors.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { emptyWarehouse, oneJournal, publish, smallWarehouse } from './fixtures.ts'
import { folderAndS3 } from './places.ts'

const OTHER = '01M831ZFCDS2H9RXZ13JAAZES0'

/** How a refused publish ended; nothing in the store is another than before. */
async function refused(
  warehouse: Warehouse,
  store: ObjectStore,
  options: Partial<PublishOptions> = {},
): Promise<unknown> {
  const before = await store.list('')
  const pointer = await store.get('latest.json')
  const error = await publish(warehouse, store, options).catch((thrown: unknown) => thrown)
  expect(await store.list('')).toEqual(before)
  expect(await store.get('latest.json')).toEqual(pointer)
  return error
}

/** Events that readers see, organisations covered, and whose they are. */
async function shown(store: ObjectStore) {
  const manifest = (await readCurrent(store))?.manifest
  return [manifest?.tables[0]?.rows, manifest?.coverage.organizations, manifest?.journal_id]
}

describe.each(folderAndS3())('publishing to $place', ({ open }) => {
  it('10 of 300 events, from another journal or from the same, changes nothing there until it is said', async () => {
    const warehouse = await smallWarehouse()
    const store = await open()
    await publish(warehouse, store)
    await warehouse.run(
      'delete from job_change_events where event_key not in (select event_key from job_change_events order by event_key limit 10)',
    )
    for (const options of [{}, { journalId: OTHER }, { journalId: OTHER, acceptShrink: true }]) {
      expect(await refused(warehouse, store, options)).toMatchObject({
        exitCode: EXIT.publishFailed,
        message: expect.stringMatching(
          /another journal|rows of job_change_events 300 → 10/,
        ) as string,
      })
    }
    await publish(warehouse, store, { journalId: OTHER, adoptDestination: true })
    expect(await shown(store)).toEqual([10, 3, OTHER])
    expect(await refused(warehouse, store)).toMatchObject({ exitCode: EXIT.publishFailed })
    // The same rows: that it is another journal is a snapshot of its own, or the next night would be refused.
    await publish(warehouse, store, { adoptDestination: true })
    expect(await shown(store)).toEqual([10, 3, oneJournal.journalId])
  })

  it('what nobody has read yet makes no snapshot, nor takes the place of another journal’s; an organisation that is covered does', async () => {
    const empty = await emptyWarehouse()
    const store = await open()
    const nothing = { nothingRead: true, snapshotId: null, unchanged: true, rows: 0 }
    expect(await publish(empty, store)).toMatchObject(nothing)
    expect(await store.list('')).toEqual([])
    await empty.run(
      `insert into ops.coverage values ('org_1', 'joined', null, timestamptz '2024-06-01 00:00:00+00')`,
    )
    expect(await publish(empty, store)).toMatchObject({ nothingRead: false, tables: 2, rows: 0 })
    expect(await shown(store)).toEqual([0, 1, oneJournal.journalId])

    await empty.run('delete from ops.coverage')
    const before = await store.list('')
    expect(await publish(empty, store, { journalId: OTHER })).toMatchObject({ nothingRead: true })
    expect(await store.list('')).toEqual(before)
    expect(await refused(empty, store)).toMatchObject({ exitCode: EXIT.publishFailed })
  })
})
