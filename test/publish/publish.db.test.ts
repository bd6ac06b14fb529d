/** The promises of a publish, on a folder and on a strict S3: whole snapshots, nothing written twice, one winner. */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dropSnapshots } from '../../src/publish/retention.ts'
import type { PublishOptions } from '../../src/publish/publish.ts'
import { listSnapshots } from '../../src/publish/manifest.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { verifySnapshot } from '../../src/publish/verify.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT } from '../../src/support/errors.ts'
import { silentLogger } from '../../src/support/logger.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { IS_SOAK, rounds } from '../helpers/tier.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import {
  dyingStore,
  emptyWarehouse,
  expectReadersToSee,
  manifestIn,
  meetAtPointer,
  newStore,
  oneJournal,
  parquetKeys,
  publish,
  readByHand,
  smallWarehouse,
  snapshotTables,
} from './fixtures.ts'
import { folderAndS3 } from './places.ts'

async function expectPointerToBeWhole(store: ObjectStore): Promise<void> {
  for (const file of (await manifestIn(store)).tables.flatMap((table) => table.files)) {
    expect(await store.head(file.key)).toEqual({ bytes: file.bytes })
  }
}

const OTHER = '01M831ZFCDS2H9RXZ13JAAZES0'

/** The error of a refused publish; checks that the store is unchanged. */
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

/** The events that readers see, the organisations covered, and their owner. */
async function shown(store: ObjectStore) {
  const { tables, coverage, journal_id: journal } = await manifestIn(store)
  return [tables[0]?.rows, coverage.organizations, journal]
}

// Every third operation; all of them in the soak tier.
const STEP = 4 - rounds('JOBTIDE_DYING_PUBLISHES', 1, 3)

describe.each(folderAndS3())('publishing to $place', ({ place, open }) => {
  it('gives readers of views.sql the 300 events and 20 pairs of the warehouse, row for row', async () => {
    const warehouse = await smallWarehouse()
    const store = await open()
    const report = await publish(warehouse, store)
    expect(report).toMatchObject({ unchanged: false, tables: 2, files: 7, newFiles: 7, rows: 320 })
    await expectReadersToSee(warehouse, store)
    // Another reader than DuckDB finds the same.
    const [events] = (await manifestIn(store)).tables
    const left = snapshotTables[0]?.leftOut.join(', ')
    const expected = await warehouse.all(
      `select * exclude (${left}) from job_change_events order by year(changed_at), profile_id, organization_id, event_type, changed_at, event_key`,
    )
    expect(events && (await readByHand(store, events))).toEqual(expected)
  })

  it('writes nothing when it is run twice, 1 file when 1 row changed, and only a manifest when coverage is newer', async () => {
    const warehouse = await smallWarehouse()
    const store = await open()
    const first = await publish(warehouse, store)
    const before = await store.list('')
    const second = await publish(warehouse, store, { runId: null })
    expect(second).toEqual({ ...first, unchanged: true, newFiles: 0, newBytes: 0 })
    expect(await store.list('')).toEqual(before)

    const keys = await parquetKeys(store)
    await warehouse.run(`update job_change_events set title_current = 'Corrected'
      where event_key = (select min(event_key) from job_change_events where year(changed_at) = 2021)`)
    const third = await publish(warehouse, store)
    expect(third).toMatchObject({ unchanged: false, files: 7, newFiles: 1 })
    const added = (await parquetKeys(store)).filter((key) => !keys.includes(key))
    expect(added).toEqual([expect.stringContaining('/changed_year=2021/')])
    await expectReadersToSee(warehouse, store)

    await warehouse.run(`update ops.coverage set covered_to = timestamptz '2024-06-03 00:00:00+00'
      where organization_id = 'org_2'`)
    const fourth = await publish(warehouse, store)
    expect(fourth).toMatchObject({ unchanged: false, newFiles: 0, newBytes: 0 })
    expect(fourth.snapshotId).not.toBe(third.snapshotId)
    expect((await manifestIn(store)).coverage.covered_to.max).toBe('2024-06-03T00:00:00.000Z')
  })

  it('lets one of two publishers win, and names it to the other', async () => {
    const store = await open()
    const [first, second] = [await smallWarehouse(), await smallWarehouse()]
    const meeting = meetAtPointer(2)(store)
    const outcomes = await Promise.allSettled([publish(first, meeting), publish(second, meeting)])
    const winner = outcomes.find((outcome) => outcome.status === 'fulfilled')
    const loser = outcomes.find((outcome) => outcome.status === 'rejected')
    expect(loser?.reason).toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringMatching(
        `another publisher moved .*latest.json from no snapshot to ${winner?.value.snapshotId}$`,
      ),
      hint: expect.stringContaining('Run publish again.'),
    })
    expect((await manifestIn(store)).snapshot_id).toBe(winner?.value.snapshotId)
    await expectPointerToBeWhole(store)
  })

  // A death looks the same for every store: s3-store.db.test.ts tests S3 itself.
  const deaths = IS_SOAK || place === 'a folder' ? (['before', 'after'] as const) : []
  it.each(deaths)(
    'never points to a missing object when it dies %s any store operation, and the next publish finishes',
    async (when) => {
      const warehouse = await smallWarehouse()
      const store = await open()
      await publish(warehouse, store)
      const died: number[] = []
      for (let at = 1; ; at += STEP) {
        await warehouse.run(`update job_change_events set detection_lag_days = ${at}
          where event_type = 'left'`)
        const dying = dyingStore(store, at, when)
        const dead = publish(warehouse, dying.store)
        const outcome = await dead.catch((error: unknown) => error)
        await expectPointerToBeWhole(store)
        if (!(outcome instanceof Error)) break
        died.push(at)
        await publish(warehouse, store)
        // Also the Delta logs and current/.
        const proof = { store, snapshotId: null, scratchFolder: join(temporaryFolder(), 'scratch') }
        expect((await verifySnapshot(proof)).findings).toEqual([])
      }
      await expectReadersToSee(warehouse, store)
      // Listing, 7 files, views, manifest, pointer, and 2 Delta logs of several steps.
      expect(died.at(-1)).toBeGreaterThanOrEqual(16)
    },
  )

  it('reports a pointer that Jobtide did not write, and leaves it alone', async () => {
    const store = await open()
    await store.replace('latest.json', Buffer.from('{"snapshot": 1}'), null)
    await expect(publish(await smallWarehouse(), store)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining('latest.json was not written by this Jobtide'),
    })
    expect(await store.list('tables/')).toEqual([])
  })

  it('with 10 of 300 events, from another journal or the same one, changes nothing without an option', async () => {
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
    // The same rows: another journal still makes a new snapshot, or the next night would be refused.
    await publish(warehouse, store, { adoptDestination: true })
    expect(await shown(store)).toEqual([10, 3, oneJournal.journalId])
  })

  it('without any read data makes no snapshot and replaces none of another journal; one covered organisation is enough', async () => {
    const empty = await emptyWarehouse()
    const store = await open()
    const nothing = { nothingRead: true, snapshotId: null, unchanged: true, rows: 0 }
    expect(await publish(empty, store)).toMatchObject(nothing)
    const made = (await store.list('')).map(({ key }) => key)
    expect(made.filter((key) => key !== 'conditional-write-probe')).toEqual([])
    await empty.run(
      `insert into ops.coverage values ('org_1', 'joined', null, timestamptz '2024-06-01 00:00:00+00')`,
    )
    const covered = { nothingRead: false, tables: 2, files: 2, rows: 0 }
    expect(await publish(empty, store)).toMatchObject(covered)
    await expectReadersToSee(empty, store)
    expect(await shown(store)).toEqual([0, 1, oneJournal.journalId])

    await empty.run('delete from ops.coverage')
    const before = await store.list('')
    expect(await publish(empty, store, { journalId: OTHER })).toMatchObject({ nothingRead: true })
    expect(await store.list('')).toEqual(before)
    expect(await refused(empty, store)).toMatchObject({ exitCode: EXIT.publishFailed })
  })
})

it('drops 1 of 3 snapshots with its files and the history of the logs, and never the one that readers see', async () => {
  const store = newStore()
  const warehouse = await smallWarehouse()
  for (const name of ['first', 'second', 'third']) {
    await warehouse.run(`update job_change_events set person_full_name = '${name}'`)
    await publish(warehouse, store)
  }
  warehouse.close()
  const ids = (await listSnapshots(store)).map(({ snapshot_id: id }) => id)
  const engine = await memoryWarehouse()
  const scratchFolder = join(temporaryFolder(), 'scratch')
  const options = {
    store,
    warehouse: engine,
    scratchFolder,
    clock: realClock,
    logger: silentLogger,
  }
  await dropSnapshots(options, [ids[1]!, ids[2]!])
  expect((await listSnapshots(store)).map(({ snapshot_id: id }) => id)).toEqual([ids[0], ids[2]])
  const keys = (await store.list('')).map(({ key }) => key)
  expect(keys.filter((key) => key.includes(ids[1]!))).toEqual([])
  expect(keys.filter((key) => /events\/_delta_log\/0+[01]\.json/.test(key))).toEqual([])
  for (const snapshotId of [ids[0]!, ids[2]!]) {
    expect((await verifySnapshot({ store, snapshotId, scratchFolder })).findings).toEqual([])
  }
  await dropSnapshots(options, [])
  expect((await store.list('')).map(({ key }) => key)).toEqual(keys)
  engine.close()
})
