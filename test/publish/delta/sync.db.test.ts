/** The Delta log of a table over many nights: what it shows, also if others write to it, die or damage it. */

import { describe, expect, it } from 'vitest'
import {
  formatActions,
  parseActions,
  type Action,
  checkpointKey,
  commitKey,
  lastCheckpointKey,
  isBefore,
  logFolder,
  versionsOf,
  readStoredLog,
  forgetLogHistory,
} from '../../../src/publish/delta.ts'
import type { Manifest } from '../../../src/publish/manifest.ts'
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

/** Fails unless the log shows every reader the current files of the lake. */
async function expectLogShows(lake: MadeLake): Promise<void> {
  const state = await stateOf(lake)
  const shown = [...state.files.values()].map(({ path, size }) => {
    return { key: `tables/${lake.table}/${path}`, size }
  })
  const wanted = lake.files.map(({ key, bytes }) => ({ key, size: bytes }))
  const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
  expect(shown.toSorted(byKey)).toEqual(wanted.toSorted(byKey))
  expect(state.protocol).toEqual({ minReaderVersion: 1, minWriterVersion: 2 })
}

/** A lake that gets a file of `rows` rows on each of this many nights. */
async function publishedLake(rows = 20, nights = 1): Promise<MadeLake> {
  const lake = await madeLake()
  for (let night = 0; night < nights; night += 1) {
    await lake.add(night * rows, rows)
    await lake.publish()
  }
  return lake
}

const everyVersion = (count: number) => Array.from({ length: count }, (_, version) => version)

describe('a Delta log', () => {
  it('of 4 nights records 2 files, a replaced one, a new column, and nothing for a night without news', async () => {
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
    await expectLogShows(lake)

    lake.drop(key)
    await lake.add(0, 4_990, 'changed_year=2019')
    await lake.publish()
    await expectLogShows(lake)
    expect(await kindsOf(lake, 1)).toEqual(['commitInfo', 'txn', 'remove', 'add'])

    lake.columns = [...lake.columns, YOUNG_COLUMN]
    await lake.add(6_000, 10)
    await lake.publish()
    await expectLogShows(lake)
    expect(await kindsOf(lake, 2)).toEqual(['commitInfo', 'txn', 'metaData', 'add'])
    const { metaData } = await stateOf(lake)
    expect(metaData?.id).toBe(actions[3]?.metaData?.id)
    expect(metaData?.['schemaString']).toContain('"young","type":"integer"')

    await lake.publish()
    expect((await stateOf(lake)).version).toBe(2)
  })

  it('shows snapshot 1 of a destination that was reset after 5 nights instead of that of a slow publisher', async () => {
    const lake = await publishedLake(10, 5)
    await lake.add(1_000, 10)
    const again = { ...(await lake.manifest()), sequence: 1 }
    await lake.sync(again)
    expect((await stateOf(lake)).version).toBe(4)
    await putPointer(lake.store, again)
    for (let time = 0; time < 2; time += 1) {
      await lake.sync(again)
      expect((await stateOf(lake)).version).toBe(5)
      await expectLogShows(lake)
    }
  })

  it('shows the newest of 3 snapshots when 6 publishers sync at once, each version whole', async () => {
    const lake = await madeLake()
    const manifests: Manifest[] = []
    for (const row of [1, 2, 3]) {
      await lake.add(100 * row, 100)
      manifests.push(await lake.manifest(), await lake.manifest())
    }
    await Promise.all(manifests.map((manifest) => lake.sync(manifest)))
    await expectLogShows(lake)
    const { commits } = versionsOf(await logKeys(lake))
    expect(commits).toEqual(everyVersion(commits.length))
    const sequences: number[] = []
    for (const version of commits) {
      const actions = await commitOf(lake, version)
      sequences.push(actions.find(({ txn }) => txn)?.txn?.version ?? 0)
    }
    expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b))
  })

  it('is finished by the next sync, whichever operation its publisher died at', async () => {
    const lake = await publishedLake(100, 9)
    let deaths = 0
    let nights = 0
    for (const when of ['before', 'after'] as const) {
      for (let at = 1, isDying = true; isDying; at += 1) {
        lake.drop(lake.files[0]?.key ?? '')
        nights += 1
        await lake.add(1_000 + 100 * nights, 100)
        const manifest = await lake.manifest()
        const dying = dyingStore(lake.store, at, when)
        isDying = await lake.sync(manifest, dying.store).then(
          () => false,
          (error: unknown) => (error as Error).message === 'killed',
        )
        if (isDying) deaths += 1
        await lake.sync(manifest)
        await expectLogShows(lake)
      }
    }
    expect(deaths).toBeGreaterThan(16)
    const { commits, checkpoints } = versionsOf(await logKeys(lake))
    expect(commits).toEqual(everyVersion(commits.length))
    expect(checkpoints).toEqual([10, 20, 30].slice(0, checkpoints.length))
  })
})

describe.each(folderAndS3())('checkpoints in $place', ({ open }) => {
  it('come every 10 versions, are read without earlier ones, and are rewritten if one is missing', async () => {
    const lake = await madeLake(await open())
    await lake.add(0, 3_000)
    let manifest = await lake.publish()
    for (let night = 1; night <= 25; night += 1) {
      if (night === 13) lake.columns = [...lake.columns, YOUNG_COLUMN]
      if (night % 6 === 0) lake.drop(lake.files[0]?.key ?? '')
      await lake.add(3_000 + night * 10, 10)
      manifest = await lake.publish()
    }
    expect(versionsOf(await logKeys(lake)).checkpoints).toEqual([10, 20])
    await expectLogShows(lake)
    const hint = await lake.store.get(lastCheckpointKey('events'))
    const path = `${lake.scratchFolder}/checkpoint.parquet`
    await lake.store.download(checkpointKey('events', 20), path)
    const rows = await lake.warehouse.all<{ n: bigint; removed: bigint }>(
      'select count(*) as n, count(remove) as removed from read_parquet($1)',
      [path],
    )
    expect(JSON.parse(String(hint?.bytes))).toEqual({ version: 20, size: Number(rows[0]?.n) })
    // Removed files are named for 7 days.
    expect(rows[0]?.removed).toBe(1n)

    await lake.store.remove([checkpointKey('events', 20), lastCheckpointKey('events')])
    await lake.sync(manifest)
    expect(versionsOf(await logKeys(lake)).checkpoints).toEqual([10, 25])
    await lake.store.remove((await logKeys(lake)).filter((key) => isBefore(key, 25)))
    expect(versionsOf(await logKeys(lake)).commits).toEqual([25])
    await expectLogShows(lake)
    expect((await stateOf(lake)).metaData?.['schemaString']).toContain('"young"')

    await lake.add(9_000, 10)
    manifest = await lake.publish()
    await forgetLogHistory({ ...lake.source, manifest, logger: silentLogger })
    const kept = [checkpointKey('events', 26), commitKey('events', 26), lastCheckpointKey('events')]
    expect(await logKeys(lake)).toEqual(kept)
    await expectLogShows(lake)
    await lake.publish()
    await expectLogShows(lake)
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
  it('shows the snapshot again after the next publish, even one that changes nothing', async () => {
    const lake = await publishedLake()
    const path = lake.files[0]?.key.split('/').slice(2).join('/') ?? ''
    const actions = [foreignFile, { remove: { path, dataChange: false } }]
    await lake.store.put(commitKey('events', 1), Buffer.from(formatActions(actions)))
    const same = { ...(await lake.manifest()), sequence: 1 }
    for (let time = 0; time < 2; time += 1) {
      await lake.sync(same)
      await expectLogShows(lake)
      expect((await stateOf(lake)).version).toBe(2)
    }
  })

  it.each([
    ['rowTracking', { minReaderVersion: 3, minWriterVersion: 7, writerFeatures: ['rowTracking'] }],
    ['version 4', { minReaderVersion: 1, minWriterVersion: 4 }],
  ])('begins again if that engine requires %s from writers', async (_, protocol) => {
    const lake = await publishedLake()
    const text = `${JSON.stringify({ protocol })}\n`
    await lake.store.put(commitKey('events', 1), Buffer.from(text))
    await expect(stateOf(lake)).rejects.toThrow(/asks for reader version \d and writer version \d/)
    await lake.publish()
    await expectLogShows(lake)
    expect(versionsOf(await logKeys(lake)).commits).toEqual([0])
  })
})

describe('a damaged Delta log', () => {
  it.each([1, 0])(
    'that lost its version %i begins again with the next publish',
    async (version) => {
      const lake = await publishedLake(5, 3)
      await lake.store.remove([commitKey('events', version)])
      await expect(stateOf(lake)).rejects.toThrow(`lost its version ${version}`)
      await lake.publish()
      await expectLogShows(lake)
      expect((await stateOf(lake)).version).toBe(0)
    },
  )

  it.each([
    ['empty', () => Buffer.alloc(0)],
    ['of zeros', (bytes: Uint8Array) => Buffer.alloc(bytes.length)],
    ['longer by a byte', (bytes: Uint8Array) => Buffer.concat([bytes, Buffer.from('x')])],
  ])('with a checkpoint that is %s begins again', async (_, damage) => {
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
    await lake.publish()
    await expectLogShows(lake)
    expect(versionsOf(await logKeys(lake))).toEqual({ commits: [0], checkpoints: [] })
  })

  it('with an invalid line begins again', async () => {
    const lake = await publishedLake()
    await lake.store.put(commitKey('events', 1), Buffer.from('{"txn":{}}\n'))
    await expect(stateOf(lake)).rejects.toThrow(/json, line 1, is not a line of a Delta log/)
    await lake.publish()
    await expectLogShows(lake)
  })
})
