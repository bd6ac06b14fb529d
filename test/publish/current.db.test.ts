/** `current/`: what readers see now, under stable names, as whole files, repaired by the next publish. */

import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { currentFiles, updateCurrent } from '../../src/publish/current.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { verifySnapshot } from '../../src/publish/verify.ts'
import { realClock } from '../../src/support/clock.ts'
import { sha256Hex } from '../../src/support/hash.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { through } from '../helpers/through.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { manifestIn, newStore } from './fixtures.ts'
import { aFile, aTable } from './manifests.ts'
import { folderAndS3 } from './places.ts'
import { byYear, manyThings, publishThings } from './things.ts'

/** Fails unless `current/` has exactly the files of the snapshot that readers see, and says so. */
async function expectCurrent(store: ObjectStore): Promise<string[]> {
  const manifest = await manifestIn(store)
  const wanted = currentFiles(manifest)
  const keys = (await store.list('current/')).map(({ key }) => key)
  expect(keys).toEqual([...wanted.keys(), 'current/snapshot.json'].toSorted())
  for (const [key, { sha256 }] of wanted) {
    const stored = await store.get(key)
    expect(sha256Hex(stored?.bytes ?? Buffer.alloc(0)), key).toBe(sha256)
  }
  const record = await store.get('current/snapshot.json')
  const said = JSON.parse(Buffer.from(record?.bytes ?? []).toString()) as { snapshot_id: string }
  expect(said.snapshot_id).toBe(manifest.snapshot_id)
  return keys
}

const findingsIn = async (store: ObjectStore) => {
  const scratchFolder = join(temporaryFolder(), 'scratch')
  const { findings } = await verifySnapshot({ store, snapshotId: null, scratchFolder })
  return findings.map(({ kind, object }) => `${kind} ${object}`)
}

describe.each(folderAndS3())('current/ in $place', ({ open }) => {
  it('is read correctly by a wildcard over nights, even when a table is split by year and joined again', async () => {
    const [warehouse, store] = [await manyThings(730), await open()]
    const tables = [byYear]
    await publishThings(warehouse, store, { tables, splitAboveRows: 20_000 })
    expect(await expectCurrent(store)).toEqual([
      'current/snapshot.json',
      'current/things/things.parquet',
    ])
    await warehouse.run(`update things set text = 'changed' where id = 7`)
    await publishThings(warehouse, store, { tables, splitAboveRows: 20_000 })
    expect(await expectCurrent(store)).toHaveLength(2)
    await publishThings(warehouse, store, { tables, splitAboveRows: 10_000 })
    expect(await expectCurrent(store)).toEqual([
      'current/snapshot.json',
      'current/things/things-2015.parquet',
      'current/things/things-2016.parquet',
    ])
    const folder = temporaryFolder()
    for (const { key } of await store.list('current/things/')) {
      await store.download(key, join(folder, key.split('/').at(-1) ?? ''))
    }
    const reader = await memoryWarehouse()
    const rows = await reader.all(`select * from read_parquet('${folder}/*.parquet') order by id`)
    expect(rows).toEqual(await warehouse.all('select * from things order by id'))
    expect(await findingsIn(store)).toEqual([])
  })

  it('is absent with `current: false`, even if it existed before, and returns without it', async () => {
    const [warehouse, store] = [await manyThings(), await open()]
    for (const hasCurrent of [true, false, true]) {
      await publishThings(warehouse, store, { hasCurrent })
      if (hasCurrent) await expectCurrent(store)
      else expect(await store.list('current/')).toEqual([])
    }
  })

  it('is repaired by a publish without news: a missing file, a changed one, an extra one, no record', async () => {
    const [warehouse, store] = [await manyThings(), await open()]
    await publishThings(warehouse, store)
    const key = 'current/things/things.parquet'
    const bytes = Buffer.from((await store.get(key))?.bytes ?? [])
    const wait = () => realClock.sleep(5)
    const damages = [
      () => store.remove([key]),
      () => store.put(key, Buffer.alloc(bytes.length)),
      () => store.put(key, Buffer.from('short')),
      () => store.put('current/things/mine.parquet', bytes),
      () => store.put('current/gone/gone.parquet', bytes),
      () => store.remove(['current/snapshot.json']),
      () => store.put('current/snapshot.json', Buffer.from('{}')),
    ]
    for (const [nth, damage] of damages.entries()) {
      await wait()
      await damage()
      expect((await findingsIn(store)).length, String(nth)).toBe(1)
      expect(await publishThings(warehouse, store)).toMatchObject({ unchanged: true })
      await expectCurrent(store)
      expect(await findingsIn(store)).toEqual([])
    }
    await store.put('current/read-me.txt', Buffer.from('mine'))
    await publishThings(warehouse, store)
    expect(await store.head('current/read-me.txt')).not.toBeNull()
  })
})

describe('current/', () => {
  it('holds copies instead of links: writing into them changes no snapshot', async () => {
    const [warehouse, store] = [await manyThings(), newStore()]
    await publishThings(warehouse, store)
    const [file] = (await manifestIn(store)).tables[0]!.files
    const path = store.localPath('current/things/things.parquet') ?? ''
    expect(statSync(path).nlink).toBe(1)
    writeFileSync(path, 'mine now', { flag: 'r+' })
    expect(sha256Hex(readFileSync(store.localPath(file?.key ?? '') ?? ''))).toBe(file?.sha256)
  })

  it('names several files of a partition, and rows without a year', () => {
    const files = ['a_year=2024', 'a_year=2024', 'a_year=__HIVE_DEFAULT_PARTITION__'].map(
      (partition) => aFile({ partition }),
    )
    const keys = [...currentFiles({ tables: [aTable({ name: 't', files })] }).keys()]
    expect(keys).toEqual([
      'current/t/t-2024.parquet',
      'current/t/t-2024-part-2.parquet',
      'current/t/t-no-year.parquet',
    ])
  })

  it('never has older files after a slow publisher that was overtaken while it copied', async () => {
    const [warehouse, store] = [await manyThings(), newStore()]
    await publishThings(warehouse, store)
    await warehouse.run(`update things set text = 'second' where id = 1`)
    let isOvertaken = false
    const slow = through(store, async (name, _, work) => {
      if (name === 'copy' && !isOvertaken) {
        isOvertaken = true
        await warehouse.run(`update things set text = 'third' where id = 1`)
        await publishThings(warehouse, store)
        await expectCurrent(store)
      }
      return work()
    })
    await publishThings(warehouse, slow)
    expect(isOvertaken).toBe(true)
    const manifest = await manifestIn(store)
    const [[key = '', file] = []] = currentFiles(manifest)
    expect(sha256Hex((await store.get(key))?.bytes ?? Buffer.alloc(0))).toBe(file?.sha256)
    await publishThings(warehouse, store)
    await expectCurrent(store)
  })

  it('gets every file copied again when an erasure asks', async () => {
    const [warehouse, store] = [await manyThings(), newStore()]
    await publishThings(warehouse, store)
    const copied: string[] = []
    const watched = through(store, (name, from, work) => {
      if (name === 'copy') copied.push(dirname(String(from)))
      return Promise.resolve(work())
    })
    const options = {
      store: watched,
      clock: realClock,
      logger: silentLogger,
      warehouse,
      scratchFolder: temporaryFolder(),
      manifest: await manifestIn(store),
    }
    await updateCurrent(options)
    expect(copied).toEqual([])
    await updateCurrent(options, true)
    expect(copied).toHaveLength(1)
  })
})
