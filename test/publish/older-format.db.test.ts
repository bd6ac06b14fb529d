/**
 * A destination of Jobtide 0.11 or 0.12: a publish writes one complete new snapshot over it, and reads only the list of
 * its files.
 */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dropSnapshots, collectGarbage, parseKeep } from '../../src/publish/retention.ts'
import {
  POINTER_KEY,
  parseManifest,
  snapshotKeys,
  listSnapshots,
  readCurrent,
} from '../../src/publish/manifest.ts'
import { proveSnapshot } from '../../src/publish/restore.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { verifySnapshot } from '../../src/publish/verify.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT } from '../../src/support/errors.ts'
import { sha256Hex } from '../../src/support/hash.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { expectReadersToSee, manifestIn, newStore } from './fixtures.ts'
import { manyThings, publishThings, things } from './things.ts'

const VECTOR = `tables/things/_deletion_vector/01K0000000000000000000000A/${'d'.repeat(64)}.parquet`
const hash = (text: string) => sha256Hex(Buffer.from(text))

/** Turns the manifest that readers see into one of an older format, with a list of deleted rows. */
async function makeOlder(store: ObjectStore, format: number): Promise<string> {
  const manifest = await manifestIn(store)
  const vector = { key: VECTOR, rows: 2, bytes: 7, sha256: hash('deleted') }
  await store.put(VECTOR, Buffer.from('deleted'))
  const { list, ...erased } = manifest.not_kept
  const older = {
    ...manifest,
    format_version: format,
    not_kept: format === 3 ? erased : { ...erased, list },
    tables: manifest.tables.map((table) => ({
      ...table,
      deletion_vector: vector,
      files: table.files.map((file) => ({ ...file, deletes: 2 })),
    })),
  }
  const text = JSON.stringify(older)
  const { manifest: key } = snapshotKeys(manifest.snapshot_id)
  await store.put(key, Buffer.from(text))
  const pointer = {
    snapshot_id: manifest.snapshot_id,
    manifest_key: key,
    manifest_sha256: hash(text),
  }
  const current = await store.get(POINTER_KEY)
  await store.replace(POINTER_KEY, Buffer.from(JSON.stringify(pointer)), current?.version ?? null)
  await store.remove(['current/snapshot.json', 'current/things/things.parquet'])
  return manifest.snapshot_id
}

async function olderDestination(format: number) {
  const [warehouse, store] = [await manyThings(), newStore()]
  await publishThings(warehouse, store, { hasCurrent: false })
  const id = await makeOlder(store, format)
  return { warehouse, store, id }
}

const scratchFolder = () => join(temporaryFolder(), 'scratch')

describe.each([3, 4])('a destination of format %i', (format) => {
  it('gets one complete new snapshot, which says so and follows the old one', async () => {
    const { warehouse, store, id } = await olderDestination(format)
    const report = await publishThings(warehouse, store)
    expect(report).toMatchObject({ replacedFormat: format, unchanged: false, newFiles: 1 })
    const manifest = await manifestIn(store)
    expect(manifest).toMatchObject({ sequence: 2, previous: { snapshot_id: id } })
    await expectReadersToSee(warehouse, store, [things])
    expect((await publishThings(warehouse, store)).replacedFormat).toBeNull()
    const { findings } = await verifySnapshot({
      store,
      snapshotId: null,
      scratchFolder: scratchFolder(),
    })
    expect(findings).toEqual([])
  })

  it('is still guarded: another journal and fewer events are refused', async () => {
    const { warehouse, store } = await olderDestination(format)
    const journalId = '01M831ZFCDS2H9RXZ13JAAZES0'
    await expect(publishThings(warehouse, store, { journalId })).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining('another journal') as string,
    })
    await warehouse.run('delete from things')
    await expect(publishThings(warehouse, store)).rejects.toMatchObject({
      message: expect.stringMatching(/holds less|another journal/) as string,
    })
  })

  it('must be published first according to verify, and is not restored', async () => {
    const { store, id } = await olderDestination(format)
    const verified = { store, snapshotId: null, scratchFolder: scratchFolder() }
    const { findings } = await verifySnapshot(verified)
    expect(findings).toMatchObject([{ kind: 'format', object: snapshotKeys(id).manifest }])
    expect(findings[0]?.message).toContain('publish first')
    await expect(proveSnapshot(verified)).rejects.toThrow(/it has the older format/)
  })

  it('loses its files only by retention, including its lists of deleted rows', async () => {
    const { warehouse, store, id } = await olderDestination(format)
    const old = (await readCurrent(store))?.manifest.tables[0]?.files.map(({ key }) => key) ?? []
    expect(old).toContain(VECTOR)
    await publishThings(warehouse, store)
    const collect = (keep: number) =>
      collectGarbage({ store, keep: parseKeep(keep), olderThanMs: -1_000, logger: silentLogger })
    expect(await collect(2)).toMatchObject({ reason: null, snapshots: [], objects: 0 })
    expect(await collect(1)).toMatchObject({ reason: null, snapshots: [id] })
    for (const key of old) expect(await store.head(key)).toBeNull()
    await expectReadersToSee(warehouse, store, [things])
  })

  it('is dropped completely once a new snapshot exists, as in an erasure', async () => {
    const { warehouse, store, id } = await olderDestination(format)
    await publishThings(warehouse, store)
    const engine = await memoryWarehouse()
    const options = { store, warehouse: engine, clock: realClock, logger: silentLogger }
    await dropSnapshots({ ...options, scratchFolder: scratchFolder() }, [id])
    expect((await listSnapshots(store)).map(({ format_version: version }) => version)).toEqual([5])
    const keys = (await store.list('')).map(({ key }) => key)
    expect(keys.filter((key) => key.includes(id) || key === VECTOR)).toEqual([])
    await expectReadersToSee(warehouse, store, [things])
  })
})

it('a manifest of an older format that names a file elsewhere is refused', async () => {
  const { store } = await olderDestination(4)
  const { manifest } = (await readCurrent(store))!
  const bad = {
    ...manifest,
    tables: [
      {
        ...manifest.tables[0],
        deletion_vector: null,
        files: [{ key: '../x', bytes: 1, sha256: hash('x') }],
      },
    ],
  }
  const bytes = Buffer.from(JSON.stringify(bad))
  expect(() => parseManifest(bytes, 'm')).toThrow(/was not written by this Jobtide/)
})
