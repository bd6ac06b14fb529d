import { describe, expect, it } from 'vitest'
import {
  checkpointKey,
  commitKey,
  lastCheckpointKey,
  logFilesBefore,
  logFolder,
  versionsOf,
} from '../../../src/publish/delta/log-files.ts'
import { readStoredLog } from '../../../src/publish/delta/log.ts'
import { sequenceOf } from '../../../src/publish/delta/replay.ts'
import { deletionVectorOf } from '../../../src/publish/delta/deletion-vector.ts'
import { parseActions, type Action } from '../../../src/publish/delta/actions.ts'
import { forgetLogHistory } from '../../../src/publish/delta/sync.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import type { Manifest } from '../../../src/publish/manifest.ts'
import { dyingStore } from '../fixtures.ts'
import { YOUNG_COLUMN, madeLake, putPointer, type MadeLake } from './made-lake.ts'

/** The actions of one commit. */
async function commitOf(lake: MadeLake, version: number): Promise<Action[]> {
  const stored = await lake.store.get(commitKey(lake.table, version))
  if (stored === null) throw new Error(`there is no version ${version}`)
  return parseActions(Buffer.from(stored.bytes).toString(), 'log')
}

const kindsOf = (actions: readonly Action[]) => actions.map((action) => Object.keys(action)[0])

async function logKeys(lake: MadeLake): Promise<string[]> {
  return (await lake.store.list(logFolder(lake.table))).map(({ key }) => key)
}

const sourceOf = ({ store, warehouse, scratchFolder }: MadeLake) => {
  return { store, warehouse, scratchFolder }
}

const stateOf = async (lake: MadeLake) => (await readStoredLog(sourceOf(lake), lake.table)).state

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

describe('syncDeltaLogs', () => {
  it('writes a first version of 6 actions for 2 files, which asks nothing new of readers', async () => {
    const lake = await madeLake()
    await lake.add(0, 50, 'changed_year=2019')
    await lake.add(50, 50, 'changed_year=2020')
    const manifest = await lake.publish()
    const actions = await commitOf(lake, 0)
    expect(kindsOf(actions)).toEqual(['commitInfo', 'txn', 'protocol', 'metaData', 'add', 'add'])
    expect(actions[0]?.commitInfo?.snapshot_id).toBe(manifest.snapshot_id)
    expect(actions[1]?.txn).toMatchObject({ appId: 'jobtide', version: 1 })
    expect(actions[2]?.protocol).toEqual({ minReaderVersion: 1, minWriterVersion: 2 })
    expect(actions[3]?.metaData).toMatchObject({ name: 'events', partitionColumns: [] })
    expect(actions[4]?.add?.path).toMatch(/^changed_year=2019\/[0-9a-f]{64}\.parquet$/)
    await expectLogShows(lake, manifest)
  })

  it('tells of deleted rows by a deletion vector, and of more of them by another', async () => {
    const lake = await madeLake()
    const { key } = await lake.add(0, 5_000)
    await lake.publish()
    lake.delete(key, [0, 7, 4_999])
    const second = await lake.publish()
    expect(kindsOf(await commitOf(lake, 1))).toEqual([
      'commitInfo',
      'txn',
      'protocol',
      'metaData',
      'remove',
      'add',
    ])
    await expectLogShows(lake, second)
    lake.delete(key, [8])
    const third = await lake.publish()
    const actions = await commitOf(lake, 2)
    expect(kindsOf(actions)).toEqual(['commitInfo', 'txn', 'remove', 'add'])
    expect(actions[2]?.remove?.deletionVector?.cardinality).toBe(3)
    expect(actions[3]?.add?.deletionVector?.cardinality).toBe(4)
    await expectLogShows(lake, third)
    expect((await stateOf(lake)).protocol).toMatchObject({
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: ['deletionVectors'],
      writerFeatures: ['deletionVectors'],
    })
  })

  it('tells of a new column in the commit that brings its first file', async () => {
    const lake = await madeLake()
    await lake.add(0, 10)
    await lake.publish()
    lake.columns = [...lake.columns, YOUNG_COLUMN]
    await lake.add(10, 10)
    const manifest = await lake.publish()
    const actions = await commitOf(lake, 1)
    expect(kindsOf(actions)).toEqual(['commitInfo', 'txn', 'metaData', 'add'])
    const first = await commitOf(lake, 0)
    expect(actions[2]?.metaData?.id).toBe(first[3]?.metaData?.id)
    expect(actions[2]?.metaData?.schemaString).toContain('"young","type":"integer"')
    await expectLogShows(lake, manifest)
  })

  it('does nothing the second time, nor for a snapshot that a later one has overtaken', async () => {
    const lake = await madeLake()
    await lake.add(0, 10)
    const first = await lake.publish()
    const second = await lake.publish()
    const keys = await logKeys(lake)
    const untouched = { table: 'events', version: 1, committed: false }
    expect(await lake.sync(second)).toEqual([untouched])
    expect(await lake.sync(first)).toEqual([untouched])
    expect(await logKeys(lake)).toEqual(keys)
  })

  it('has a commit for each snapshot although nothing in the table changed', async () => {
    const lake = await madeLake()
    await lake.add(0, 10)
    await lake.publish()
    await lake.publish()
    expect(kindsOf(await commitOf(lake, 1))).toEqual(['commitInfo', 'txn'])
  })

  it('shows snapshot 1 of a destination that was begun again after 5 nights, and not that of a slow publisher', async () => {
    const lake = await madeLake()
    await lake.add(0, 10)
    await lake.add(10, 10)
    for (let night = 0; night < 5; night += 1) await lake.publish()
    lake.drop(lake.files[0]?.key ?? '')
    const again = { ...(await lake.manifest()), sequence: 1 }
    expect(await lake.sync(again)).toMatchObject([{ version: 4, committed: false }])
    await putPointer(lake.store, again)
    expect(await lake.sync(again)).toMatchObject([{ version: 5, committed: true }])
    await expectLogShows(lake, again)
    expect(await lake.sync(again)).toMatchObject([{ version: 5, committed: false }])
  })

  it('shows the newest of 3 snapshots when 6 publishers sync at once, each version whole', async () => {
    const lake = await madeLake()
    const { key } = await lake.add(0, 100)
    const manifests: Manifest[] = []
    for (const row of [1, 2, 3]) {
      lake.delete(key, [row])
      manifests.push(await lake.manifest(), await lake.manifest())
    }
    await Promise.all(manifests.map(async (manifest) => lake.sync(manifest)))
    const newest = manifests.at(-1)
    if (newest === undefined) throw new Error('no manifest')
    await expectLogShows(lake, newest)
    const { commits } = versionsOf(await logKeys(lake))
    expect(commits).toEqual(commits.map((_, index) => index))
    const sequences: number[] = []
    for (const version of commits) {
      const actions = await commitOf(lake, version)
      sequences.push(actions.find(({ txn }) => txn)?.txn?.version ?? 0)
    }
    expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b))
  })
})

/** Publishes until the log has 26 versions: files come and go, rows are deleted, a column comes. */
async function twentyFiveNights(lake: MadeLake): Promise<Manifest> {
  const base = await lake.add(0, 3_000)
  let manifest = await lake.publish()
  for (let night = 1; night <= 25; night += 1) {
    if (night === 13) lake.columns = [...lake.columns, YOUNG_COLUMN]
    const { key } = await lake.add(3_000 + night * 10, 10)
    lake.delete(base.key, [night * 100, night * 100 + 1])
    if (night % 6 === 0) lake.drop(key)
    manifest = await lake.publish()
  }
  return manifest
}

describe('checkpoints', () => {
  it('come every 10 versions, and 16 versions can then be read without what came before', async () => {
    const lake = await madeLake()
    const manifest = await twentyFiveNights(lake)
    expect(versionsOf(await logKeys(lake)).checkpoints).toEqual([10, 20])
    await expectLogShows(lake, manifest)
    await lake.store.remove(logFilesBefore(await logKeys(lake), 20))
    expect(versionsOf(await logKeys(lake)).commits).toEqual([20, 21, 22, 23, 24, 25])
    await expectLogShows(lake, manifest)
    const { metaData, protocol } = await stateOf(lake)
    expect(metaData?.schemaString).toContain('"young"')
    expect(protocol?.readerFeatures).toEqual(['deletionVectors'])
    await lake.publish()
    expect(kindsOf(await commitOf(lake, 26))).toEqual(['commitInfo', 'txn'])
  })

  it('are told of by _last_checkpoint with the number of their actions', async () => {
    const lake = await madeLake()
    await twentyFiveNights(lake)
    const stored = await lake.store.get(lastCheckpointKey('events'))
    const hint = JSON.parse(Buffer.from(stored?.bytes ?? []).toString()) as Record<string, number>
    const path = lake.store.localPath(checkpointKey('events', 20)) ?? ''
    const rows = await lake.warehouse.all<{ all: bigint; adds: bigint; bytes: bigint }>(
      `select count(*) as all, count(add) as adds,
         (select octet_length(content) from read_blob($1)) as bytes from read_parquet($1)`,
      [path],
    )
    expect(rows).toEqual([
      {
        all: BigInt(hint['size'] ?? 0),
        adds: BigInt(hint['numOfAddFiles'] ?? 0),
        bytes: BigInt(hint['sizeInBytes'] ?? 0),
      },
    ])
    expect(hint['version']).toBe(20)
    // Removed files are named for 7 days: 8 nights' versions of the file with deleted rows do not reach that far back.
    const [removed] = await lake.warehouse.all<{ n: bigint }>(
      `select count(remove) as n from read_parquet($1)`,
      [path],
    )
    expect(Number(removed?.n)).toBeLessThanOrEqual(9)
    expect(Number(removed?.n)).toBeGreaterThanOrEqual(7)
  })

  it('are made by the next sync where a publisher died before', async () => {
    const lake = await madeLake()
    const manifest = await twentyFiveNights(lake)
    await lake.store.remove([checkpointKey('events', 20), lastCheckpointKey('events')])
    await lake.sync(manifest)
    expect(versionsOf(await logKeys(lake)).checkpoints).toEqual([10, 25])
    await expectLogShows(lake, manifest)
  })
})

describe('forgetLogHistory', () => {
  it('leaves version 25, its checkpoint and the hint of 26 versions, and the log goes on', async () => {
    const lake = await madeLake()
    const manifest = await twentyFiveNights(lake)
    await forgetLogHistory({ ...sourceOf(lake), manifest, logger: silentLogger })
    expect(await logKeys(lake)).toEqual([
      checkpointKey('events', 25),
      commitKey('events', 25),
      lastCheckpointKey('events'),
    ])
    await expectLogShows(lake, manifest)
    await expectLogShows(lake, await lake.publish())
  })
})

describe('a publisher that dies', () => {
  it('before or after any operation leaves a log that the next sync finishes', async () => {
    const lake = await madeLake()
    const { key } = await lake.add(0, 100)
    for (let night = 1; night < 10; night += 1) await lake.publish()
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
    expect(commits).toEqual(commits.map((_, index) => index))
    expect(checkpoints).toEqual([10, 20, 30].slice(0, checkpoints.length))
  })
})
