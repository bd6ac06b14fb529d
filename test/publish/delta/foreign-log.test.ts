import { describe, expect, it } from 'vitest'
import { formatActions, type Action } from '../../../src/publish/delta/actions.ts'
import { commitKey } from '../../../src/publish/delta/log-files.ts'
import { readStoredLog } from '../../../src/publish/delta/log.ts'
import { sequenceOf } from '../../../src/publish/delta/replay.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { madeLake, type MadeLake } from './made-lake.ts'

/** A lake of one file and one commit, and then a commit of another engine. */
async function lakeWith(...actions: Action[]): Promise<MadeLake> {
  const lake = await madeLake()
  await lake.add(0, 20)
  await lake.publish()
  await lake.store.put(commitKey('events', 1), Buffer.from(formatActions(actions)))
  return lake
}

const stateOf = async (lake: MadeLake) => (await readStoredLog(lake, 'events')).state

const keysIn = async (lake: MadeLake) =>
  [...(await stateOf(lake)).files.keys()].map((path) => `tables/events/${path}`)

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

describe('a log that another engine wrote to', () => {
  it('shows the snapshot again after the next one: 1 file goes and 1 comes back', async () => {
    const lake = await lakeWith(foreignFile, {
      remove: { path: (await pathOfFirst()) ?? '', dataChange: false },
    })
    await lake.publish()
    expect(await keysIn(lake)).toEqual(lake.files.map(({ key }) => key))
    expect((await stateOf(lake)).version).toBe(2)
  })

  it('is mended by a publish that changes nothing', async () => {
    const lake = await lakeWith(foreignFile)
    const manifest = { ...(await lake.manifest()), sequence: 1 }
    expect(await lake.sync(manifest)).toEqual([{ table: 'events', version: 2, committed: true }])
    expect(await keysIn(lake)).toEqual(lake.files.map(({ key }) => key))
    expect(await lake.sync(manifest)).toEqual([{ table: 'events', version: 2, committed: false }])
  })

  it('is refused where that engine asks of writers what we do not know', async () => {
    const protocol = { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: [] }
    const lake = await lakeWith({ protocol: { ...protocol, writerFeatures: ['rowTracking'] } })
    const raised = await lakeWith({ protocol: { minReaderVersion: 1, minWriterVersion: 4 } })
    for (const [changed, what] of [
      [lake, /rowTracking/],
      [raised, /version 4/],
    ] as const) {
      await expect(changed.publish()).rejects.toThrow(what)
      await expect(changed.publish()).rejects.toMatchObject({ exitCode: EXIT.publishFailed })
    }
  })

  it('keeps its properties and the features that ask nothing', async () => {
    const lake = await lakeWith({
      protocol: {
        minReaderVersion: 3,
        minWriterVersion: 7,
        readerFeatures: ['timestampNtz'],
        writerFeatures: ['appendOnly', 'invariants', 'timestampNtz'],
      },
    })
    lake.delete(lake.files[0]?.key ?? '', [1])
    await lake.publish()
    expect((await stateOf(lake)).protocol).toEqual({
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: ['deletionVectors', 'timestampNtz'],
      writerFeatures: ['appendOnly', 'deletionVectors', 'invariants', 'timestampNtz'],
    })
  })
})

describe('a damaged log', () => {
  it('is refused by its missing version, its broken line or its lost data', async () => {
    const missing = await madeLake()
    await missing.add(0, 5)
    for (let night = 0; night < 3; night += 1) await missing.publish()
    await missing.store.remove([commitKey('events', 1)])
    await expect(missing.publish()).rejects.toThrow(/lost its version 1/)
    await missing.store.remove([commitKey('events', 0)])
    await expect(missing.publish()).rejects.toThrow(/lost its version 0/)

    const broken = await madeLake()
    await broken.store.put(commitKey('events', 0), Buffer.from('{"txn":{}}\n'))
    await expect(broken.publish()).rejects.toThrow(/json, line 1, is no line of a Delta log/)
  })

  it('is written again when its folder is removed', async () => {
    const lake = await madeLake()
    await lake.add(0, 5)
    await lake.publish()
    await lake.publish()
    await lake.store.remove([commitKey('events', 0), commitKey('events', 1)])
    await lake.publish()
    const state = await stateOf(lake)
    expect([state.version, sequenceOf(state)]).toEqual([0, 3])
  })

  it('is not made from a file of deleted rows with 1 row too few or a row that is not there', async () => {
    const lake = await madeLake()
    const { key } = await lake.add(0, 5)
    lake.delete(key, [1, 4])
    const manifest = await lake.manifest()
    const [table] = manifest.tables
    const [file] = table?.files ?? []
    if (table === undefined || file === undefined) throw new Error('no file')
    for (const wrong of [{ deletes: 3 }, { rows: 4 }]) {
      const tables = [{ ...table, files: [{ ...file, ...wrong }] }]
      await expect(lake.sync({ ...manifest, tables })).rejects.toThrow(/does not name [23] rows/)
    }
    expect((await stateOf(lake)).version).toBe(-1)
  })
})

/** Files are named by their bytes, so the first file of every lake has the same path. */
async function pathOfFirst(): Promise<string | undefined> {
  const lake = await madeLake()
  const { key } = await lake.add(0, 20)
  return key.split('/').slice(2).join('/')
}
