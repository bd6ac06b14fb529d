/** The Delta log of a table over many nights: what it shows, also when others write to it, die or damage it. */

import { describe, expect, it } from 'vitest'
import { formatActions, parseActions, type Action } from '../../../src/publish/delta/actions.ts'
import { deletionVectorOf } from '../../../src/publish/delta/inline-vector.ts'
import {
  checkpointKey,
  commitKey,
  lastCheckpointKey,
  logFilesBefore,
  logFolder,
  versionsOf,
} from '../../../src/publish/delta/log-files.ts'
import { readStoredLog, sequenceOf } from '../../../src/publish/delta/log.ts'
import { forgetLogHistory } from '../../../src/publish/delta/sync.ts'
import type { Manifest } from '../../../src/publish/manifest.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { dyingStore } from '../fixtures.ts'
import { folderAndS3 } from '../places.ts'
import { YOUNG_COLUMN, madeLake, putPointer, type MadeLake } from './made-lake.ts'

/** The actions of one commit. */
async function commitOf(lake: MadeLake, version: number): Promise<Action[]> {
  const stored = await lake.store.get(commitKey(lake.table, version))
  if (stored === null) throw new Error(`there is no version ${version}`)
  return parseActions(Buffer.from(stored.bytes).toString(), 'log')
}

const kindsOf = async (lake: MadeLake, version: number) =>
  (await commitOf(lake, version)).map((action) => Object.keys(action)[0])

const logKeys = async (lake: MadeLake) =>
  (await lake.store.list(logFolder(lake.table))).map(({ key }) => key)

const stateOf = async (lake: MadeLake) => (await readStoredLog(lake.source, lake.table)).state

/** Fails unless the log shows the files and deleted rows of the lake as it is now. */
async function expectLogShows(lake: MadeLake, manifest: Manifest): Promise<void> {
  const state = await stateOf(lake)
  const shown = [...state.files.values()].map(({ path, size, deletionVector }) => {
    return { key: `tables/${lake.table}/${path}`, size, vector: deletionVector?.pathOrInlineDv }
  })
  const wanted = lake.files.map(({ key, bytes }) => {
    const rows = lake.deletedRowsOf(key)
    return { key, size: bytes, vector: rows ? deletionVectorOf(rows).pathOrInlineDv : undefined }
  })
  const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
  expect(shown.toSorted(byKey)).toEqual(wanted.toSorted(byKey))
  expect(sequenceOf(state)).toBe(manifest.sequence)
}

/** A lake of one file of `rows` rows, published `nights` times. */
async function publishedLake(rows = 20, nights = 1): Promise<MadeLake> {
  const lake = await madeLake()
  await lake.add(0, rows)
  for (let night = 0; night < nights; night += 1) await lake.publish()
  return lake
}

const everyVersion = (count: number) => Array.from({ length: count }, (_, version) => version)

describe('a Delta log', () => {
  it('of 5 nights tells of 2 files, of deleted rows, of more of them, of a new column, and of nothing new', async () => {
    const lake = await madeLake()
    const { key } = await lake.add(0, 5_000, 'changed_year=2019')
    await lake.add(5_000, 50, 'changed_year=2020')
    const first = await lake.publish()
    const actions = await commitOf(lake, 0)
    expect(actions).toMatchObject([
      { commitInfo: { snapshot_id: first.snapshot_id } },
      { txn: { appId: 'jobtide', version: 1 } },
      { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
      { metaData: { name: 'events', partitionColumns: [] } },
      { add: { path: expect.stringMatching(/^changed_year=2019\/[0-9a-f]{64}\.parquet$/) } },
      { add: {} },
    ])
    await expectLogShows(lake, first)

    lake.delete(key, [0, 7, 4_999])
    await expectLogShows(lake, await lake.publish())
    const asked = ['commitInfo', 'txn', 'protocol', 'metaData', 'remove', 'add']
    expect(await kindsOf(lake, 1)).toEqual(asked)

    lake.delete(key, [8])
    await expectLogShows(lake, await lake.publish())
    const third = await commitOf(lake, 2)
    expect(third.slice(2)).toMatchObject([
      { remove: { deletionVector: { cardinality: 3 } } },
      { add: { deletionVector: { cardinality: 4 } } },
    ])
    expect((await stateOf(lake)).protocol).toEqual({
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: ['deletionVectors'],
      writerFeatures: ['deletionVectors'],
    })

    lake.columns = [...lake.columns, YOUNG_COLUMN]
    await lake.add(6_000, 10)
    await expectLogShows(lake, await lake.publish())
    expect(await kindsOf(lake, 3)).toEqual(['commitInfo', 'txn', 'metaData', 'add'])
    const { metaData } = await stateOf(lake)
    expect(metaData?.id).toBe(actions[3]?.metaData?.id)
    expect(metaData?.schemaString).toContain('"young","type":"integer"')

    await expectLogShows(lake, await lake.publish())
    expect(await kindsOf(lake, 4)).toEqual(['commitInfo', 'txn'])
  })

  it('shows snapshot 1 of a destination that was begun again after 5 nights, and not that of a slow publisher', async () => {
    const lake = await publishedLake(10, 5)
    await lake.add(10, 10)
    const again = { ...(await lake.manifest()), sequence: 1 }
    await lake.sync(again)
    expect((await stateOf(lake)).version).toBe(4)
    await putPointer(lake.store, again)
    for (let time = 0; time < 2; time += 1) {
      await lake.sync(again)
      expect((await stateOf(lake)).version).toBe(5)
      await expectLogShows(lake, again)
    }
  })

  it('shows the newest of 3 snapshots when 6 publishers sync at once, each version whole', async () => {
    const lake = await madeLake()
    const { key } = await lake.add(0, 100)
    const manifests: Manifest[] = []
    for (const row of [1, 2, 3]) {
      lake.delete(key, [row])
      manifests.push(await lake.manifest(), await lake.manifest())
    }
    await Promise.all(manifests.map((manifest) => lake.sync(manifest)))
    await expectLogShows(lake, manifests.at(-1)!)
    const { commits } = versionsOf(await logKeys(lake))
    expect(commits).toEqual(everyVersion(commits.length))
    const sequences: number[] = []
    for (const version of commits) {
      const actions = await commitOf(lake, version)
      sequences.push(actions.find(({ txn }) => txn)?.txn?.version ?? 0)
    }
    expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b))
  })

  it('is finished by the next sync, before or after whatever operation its publisher died', async () => {
    const lake = await publishedLake(100, 9)
    const { key } = lake.files[0]!
    let deaths = 0
    for (const when of ['before', 'after'] as const) {
      for (let at = 1, isDying = true; isDying; at += 1) {
        lake.delete(key, [deaths])
        const manifest = await lake.manifest()
        const dying = dyingStore(lake.store, at, when)
        isDying = await lake.sync(manifest, dying.store).then(
          () => false,
          (error: unknown) => (error as Error).message === 'killed',
        )
        if (isDying) deaths += 1
        await lake.sync(manifest)
        await expectLogShows(lake, manifest)
      }
    }
    expect(deaths).toBeGreaterThan(16)
    const { commits, checkpoints } = versionsOf(await logKeys(lake))
    expect(commits).toEqual(everyVersion(commits.length))
    expect(checkpoints).toEqual([10, 20, 30].slice(0, checkpoints.length))
  })
})

describe.each(folderAndS3())('checkpoints in $place', ({ open }) => {
  it('come every 10 versions, are read without what came before, and are made again where one is missing', async () => {
    const lake = await madeLake(await open())
    const base = await lake.add(0, 3_000)
    let manifest = await lake.publish()
    for (let night = 1; night <= 25; night += 1) {
      if (night === 13) lake.columns = [...lake.columns, YOUNG_COLUMN]
      const { key } = await lake.add(3_000 + night * 10, 10)
      lake.delete(base.key, [night * 100, night * 100 + 1])
      if (night % 6 === 0) lake.drop(key)
      manifest = await lake.publish()
    }
    expect(versionsOf(await logKeys(lake)).checkpoints).toEqual([10, 20])
    await expectLogShows(lake, manifest)
    const hint = await lake.store.get(lastCheckpointKey('events'))
    const path = `${lake.scratchFolder}/checkpoint.parquet`
    await lake.store.download(checkpointKey('events', 20), path)
    const rows = await lake.warehouse.all<{ n: bigint; removed: bigint }>(
      'select count(*) as n, count(remove) as removed from read_parquet($1)',
      [path],
    )
    expect(JSON.parse(String(hint?.bytes))).toEqual({ version: 20, size: Number(rows[0]?.n) })
    // Removed files are named for 7 days, one a night and those that were dropped.
    expect([7n, 8n, 9n]).toContain(rows[0]?.removed)

    await lake.store.remove([checkpointKey('events', 20), lastCheckpointKey('events')])
    await lake.sync(manifest)
    expect(versionsOf(await logKeys(lake)).checkpoints).toEqual([10, 25])
    await lake.store.remove(logFilesBefore(await logKeys(lake), 25))
    expect(versionsOf(await logKeys(lake)).commits).toEqual([25])
    await expectLogShows(lake, manifest)
    const { metaData, protocol } = await stateOf(lake)
    expect(metaData?.schemaString).toContain('"young"')
    expect(protocol?.readerFeatures).toEqual(['deletionVectors'])

    manifest = await lake.publish()
    await forgetLogHistory({ ...lake.source, manifest, logger: silentLogger })
    const kept = [checkpointKey('events', 26), commitKey('events', 26), lastCheckpointKey('events')]
    expect(await logKeys(lake)).toEqual(kept)
    await expectLogShows(lake, manifest)
    await expectLogShows(lake, await lake.publish())
  })
})

const foreignFile: Action = {
  add: {
    path: 'part-0.parquet',
    partitionValues: {},
    size: 9,
    modificationTime: 1,
    dataChange: false,
    stats: '{"numRecords":20}',
  },
}

describe('a Delta log that another engine wrote to', () => {
  it('shows the snapshot again after the next publish, also of one that changes nothing', async () => {
    const lake = await publishedLake()
    const path = lake.files[0]?.key.split('/').slice(2).join('/') ?? ''
    const actions = [foreignFile, { remove: { path, dataChange: false } }]
    await lake.store.put(commitKey('events', 1), Buffer.from(formatActions(actions)))
    const same = { ...(await lake.manifest()), sequence: 1 }
    for (let time = 0; time < 2; time += 1) {
      await lake.sync(same)
      await expectLogShows(lake, same)
      expect((await stateOf(lake)).version).toBe(2)
    }
  })

  it.each([
    ['rowTracking', { minReaderVersion: 3, minWriterVersion: 7, writerFeatures: ['rowTracking'] }],
    ['version 4', { minReaderVersion: 1, minWriterVersion: 4 }],
  ])('is refused where that engine asks of writers for %s', async (what, protocol) => {
    const lake = await publishedLake()
    const text = formatActions([{ protocol }])
    await lake.store.put(commitKey('events', 1), Buffer.from(text))
    await expect(lake.publish()).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining(what),
      hint: expect.stringContaining('Remove the folder tables/events/_delta_log'),
    })
  })
})

describe('a damaged Delta log', () => {
  it.each([1, 0])(
    'that has lost its version %i is begun again by the next publish',
    async (version) => {
      const lake = await publishedLake(5, 3)
      await lake.store.remove([commitKey('events', version)])
      await expect(stateOf(lake)).rejects.toThrow(`lost its version ${version}`)
      await expectLogShows(lake, await lake.publish())
      expect((await stateOf(lake)).version).toBe(0)
    },
  )

  it.each([
    ['empty', () => Buffer.alloc(0)],
    ['of zeros', (bytes: Uint8Array) => Buffer.alloc(bytes.length)],
    ['longer by a byte', (bytes: Uint8Array) => Buffer.concat([bytes, Buffer.from('x')])],
  ])('with a checkpoint that is %s is made again from its versions', async (_, damage) => {
    const lake = await madeLake()
    for (let nth = 0; nth < 12; nth += 1) {
      await lake.add(nth * 5, 5)
      await lake.publish()
    }
    const key = checkpointKey('events', 10)
    const stored = await lake.store.get(key)
    await lake.store.remove([key])
    await lake.store.put(key, damage(stored?.bytes ?? Buffer.alloc(0)))
    await lake.add(60, 5)
    await expectLogShows(lake, await lake.publish())
    expect((await stateOf(lake)).version).toBe(12)
    expect(versionsOf(await logKeys(lake)).checkpoints).toEqual([12])
  })

  it('is refused by a line that is none', async () => {
    const lake = await madeLake()
    await lake.store.put(commitKey('events', 0), Buffer.from('{"txn":{}}\n'))
    await expect(lake.publish()).rejects.toThrow(/json, line 1, is no line of a Delta log/)
  })

  it('is not made from a file of deleted rows with 1 row too few or a row that is not there', async () => {
    const lake = await madeLake()
    const { key } = await lake.add(0, 5)
    lake.delete(key, [1, 4])
    const manifest = await lake.manifest()
    const [table] = manifest.tables
    for (const wrong of [{ deletes: 3 }, { rows: 4 }]) {
      const files = table!.files.map((file) => ({ ...file, ...wrong }))
      const sync = lake.sync({ ...manifest, tables: [{ ...table!, files }] })
      await expect(sync).rejects.toThrow(/does not name [23] rows/)
    }
    expect((await stateOf(lake)).version).toBe(-1)
  })
})
