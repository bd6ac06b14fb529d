import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import { findInStore, forgetInStore } from '../../../src/publish/forget/forget.ts'
import { thisWriter } from '../../../src/publish/sweep/intent-writer.ts'
import { intentKey } from '../../../src/publish/sweep/intent.ts'
import { LEASE_KEY } from '../../../src/publish/sweep/sweep-lease.ts'
import { liveRowsSql } from '../../../src/publish/live-rows.ts'
import type { Manifest } from '../../../src/publish/manifest.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { listSnapshots, readCurrent } from '../../../src/publish/read-snapshot.ts'
import { verifySnapshot } from '../../../src/publish/verify/verify.ts'
import { realClock } from '../../../src/support/clock.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { newUlid } from '../../../src/support/ulid.ts'
import type { TableDefinition } from '../../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../../helpers/warehouse.ts'
import {
  dyingStore,
  newFolder,
  publish,
  snapshotTables,
  smallWarehouse,
  storeAfter,
} from '../fixtures.ts'

const GONE = 'person_5'
const TITLE = 'Keeper of the only Title'

const table = (name: string, key: readonly string[]): TableDefinition => ({
  name,
  grain: `One row per ${key.join()}.`,
  key,
  partitionByYearOf: null,
  leftOut: [],
})
const tables = [
  ...snapshotTables,
  table('notes', ['profile_id']),
  table('handovers', ['place']),
  table('titles', ['title']),
]

/** Events of six years, 30,000 notes (enough that single rows are listed as deleted), and tables that name people otherwise. */
async function aWarehouse(): Promise<Warehouse> {
  const warehouse = await smallWarehouse()
  onTestFinished(() => warehouse.close())
  await warehouse.run(`
    create table notes as select 'person_' || i as profile_id, md5(cast(i as varchar)) as note from range(30000) n(i);
    create table handovers as
      select 'place_' || i as place, 'person_' || i as profile_id, 'person_' || (i + 1) as successor_profile_id
      from range(10) n(i);
    create table titles as select 'Title ' || i as title from range(9) n(i);
    insert into titles values ('${TITLE}')`)
  return warehouse
}

/** Three nights: single notes change, others' and theirs. */
async function publishThree(store: ObjectStore): Promise<Warehouse> {
  const warehouse = await aWarehouse()
  await publish(warehouse, store, { tables })
  await warehouse.run(
    `update notes set note = 'second ' || note where profile_id in ('${GONE}', 'person_9')`,
  )
  await publish(warehouse, store, { tables })
  await warehouse.run(`update notes set note = 'third ' || note where profile_id = 'person_77'`)
  await publish(warehouse, store, { tables })
  return warehouse
}

async function options(store: ObjectStore) {
  const warehouse = await memoryWarehouse()
  onTestFinished(() => warehouse.close())
  return {
    store,
    forgotten: { profileIds: [GONE], texts: [TITLE] },
    warehouse,
    scratchFolder: join(newFolder(), 'scratch'),
    snapshotId: newUlid(realClock.now()),
    clock: realClock,
    writer: thisWriter(),
    logger: silentLogger,
  }
}

/** Every row of a snapshot that counts, as text, by table. */
async function rowsOf(store: ObjectStore, manifest: Manifest): Promise<Record<string, string[]>> {
  const reader = await memoryWarehouse()
  const rows: Record<string, string[]> = {}
  for (const one of manifest.tables) {
    const sql = liveRowsSql({ table: one, urlOf: (key) => store.urlOf(key) })
    const found = await reader.table(`select * from (${sql}) order by all`)
    rows[one.name] = found.rows.map((row) => JSON.stringify(row))
  }
  reader.close()
  return rows
}

async function expectProved(store: ObjectStore): Promise<void> {
  for (const { snapshot_id: snapshotId } of await listSnapshots(store)) {
    const scratchFolder = join(newFolder(), 'verify')
    const { findings } = await verifySnapshot({
      store,
      snapshotId,
      scratchFolder,
      clock: realClock,
    })
    expect(findings).toEqual([])
  }
}

const names = (row: string) => row.includes(`"${GONE}"`) || row.includes(TITLE)

describe('forgetInStore', () => {
  it('takes somebody out of 3 snapshots, and no row of anybody else', async () => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    await publishThree(store)
    const before = await listSnapshots(store)
    expect(before.at(-1)?.tables.find(({ name }) => name === 'notes')?.deletion_vector?.rows).toBe(
      3,
    )
    const rowsBefore = await Promise.all(before.map((one) => rowsOf(store, one)))

    const found = await findInStore(await options(store))
    expect(found.snapshots).toEqual(before.map(({ snapshot_id: id }) => id))
    const report = await forgetInStore(await options(store))
    expect(report).toMatchObject(found)

    const after = await listSnapshots(store)
    expect(after.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4])
    expect(after.slice(0, 3).map((one) => one.created_at)).toEqual(
      before.map((one) => one.created_at),
    )
    for (const [index, manifest] of after.entries()) {
      const rows = await rowsOf(store, manifest)
      const expected = rowsBefore[Math.min(index, 2)] ?? {}
      for (const { name } of manifest.tables) {
        const others = (expected[name] ?? [])
          .filter((row) => !(name === 'handovers' ? row.includes(`","${GONE}",`) : names(row)))
          .map((row) => row.replace(`,"${GONE}"]`, ',null]'))
        expect(rows[name]).toEqual(others)
      }
      expect(JSON.stringify(manifest)).not.toContain(`"${GONE}"`)
    }
    const current = await readCurrent(store)
    expect(current?.manifest.snapshot_id).toBe(report.current)
    expect(current?.manifest.sequence).toBe(4)
    await expectProved(store)
    // No object of the old snapshots is there, and nothing else of them.
    const keys = (await store.list('')).map(({ key }) => key)
    for (const id of found.snapshots) expect(keys.filter((key) => key.includes(id))).toEqual([])
    expect(keys.filter((key) => report.removedFiles.includes(key))).toEqual([])
    expect(filesNaming(folder)).toEqual([])
  })

  it('does nothing where nobody of them is named, and publishing goes on from what it left', async () => {
    const store = openFolderStore(newFolder(), realClock)
    const warehouse = await publishThree(store)
    await forgetInStore(await options(store))
    const before = await store.list('')
    const again = await forgetInStore(await options(store))
    expect(again).toMatchObject({ files: 0, replaced: [], writtenFiles: [], removedObjects: 0 })
    expect(
      (await store.list('')).filter(({ key }) => key !== LEASE_KEY).map(({ key }) => key),
    ).toEqual(before.filter(({ key }) => key !== LEASE_KEY).map(({ key }) => key))
    await warehouse.run(
      `delete from notes where profile_id = '${GONE}'; delete from job_change_events where profile_id = '${GONE}'`,
    )
    await publish(warehouse, store, { tables })
    await expectProved(store)
    expect((await readCurrent(store))?.manifest.sequence).toBe(5)
  })

  it('refuses to remove anything while a publisher is at work, and says so', async () => {
    const store = openFolderStore(newFolder(), realClock)
    await publishThree(store)
    await store.put(`in-flight/${newUlid(realClock.now())}.json`, Buffer.from('{}'))
    await expect(forgetInStore(await options(store))).rejects.toThrow(/a publisher is at work/)
    // Readers see nobody of them already.
    const current = await readCurrent(store)
    expect(
      Object.values(await rowsOf(store, current!.manifest))
        .flat()
        .filter(names),
    ).toEqual([])
  })

  it('does not disturb a publisher who begins after the sweep: its upload and the logs stay', async () => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    await publishThree(store)
    const upload = join(folder, '.incoming', 'half a file')
    const intent = intentKey(newUlid(realClock.now()))
    const logs = async () => (await store.list('tables/')).filter(({ key }) => isLogFile(key))
    let logsBefore: unknown
    const beside = storeAfter(store, async (name) => {
      // The last thing that a sweep does.
      if (name !== 'abandonUploads') return
      await store.put(intent, Buffer.from('{}'))
      writeFileSync(upload, 'half')
      logsBefore = await logs()
    })
    await expect(forgetInStore(await options(beside))).rejects.toThrow(
      /old files are still in .*: a publisher is at work since .*; one that was killed counts/,
    )
    expect(existsSync(upload)).toBe(true)
    expect(await logs()).toEqual(logsBefore)
    await store.remove([intent])
    const report = await forgetInStore(await options(store))
    expect(report.removedObjects).toBeGreaterThan(0)
    expect(existsSync(upload)).toBe(false)
    await expectProved(store)
  })

  it('removes nothing without the lease, but its intent and old leases', async () => {
    const store = openFolderStore(newFolder(), realClock)
    await publishThree(store)
    const removals: string[] = []
    const seen = storeAfter(store, async (name, keys) => {
      if (name !== 'remove' && name !== 'purge') return
      const lease = Buffer.from((await store.get(LEASE_KEY))?.bytes ?? []).toString()
      const isHeld = lease !== '' && !lease.includes('"expires_at":null')
      removals.push(`${name} ${isHeld ? 'with' : 'without'} the lease: ${String(keys)}`)
    })
    const forgetting = await options(seen)
    await forgetInStore(forgetting)
    expect(removals.filter((removal) => !removal.includes('with the lease'))).toEqual([
      `remove without the lease: ${intentKey(forgetting.snapshotId)}`,
      `purge without the lease: ${LEASE_KEY}`,
    ])
    expect(removals.some(isLogFile)).toBe(true)
    expect(removals).toContain('purge with the lease: ')
  })

  it('loses to a publisher who moves the pointer meanwhile, and says so', async () => {
    const store = openFolderStore(newFolder(), realClock)
    const warehouse = await publishThree(store)
    const racing = storeAfter(store, async (name, key) => {
      if (name !== 'replace' || key !== 'latest.json') return
      await warehouse.run(`update notes set note = 'raced' where profile_id = 'person_1'`)
      await publish(warehouse, store, { tables })
    })
    await expect(forgetInStore(await options(racing))).rejects.toThrow(/another publisher moved/)
    await forgetInStore(await options(store))
    await expectProved(store)
    for (const manifest of await listSnapshots(store)) {
      expect(
        Object.values(await rowsOf(store, manifest))
          .flat()
          .filter(names),
      ).toEqual([])
    }
  })

  it('killed before or after any operation on the store, readers keep a whole snapshot and the next call ends it', async () => {
    const folder = newFolder()
    const pristine = openFolderStore(folder, realClock)
    await publishThree(pristine)
    const counting = dyingStore(await copyOf(pristine), Number.POSITIVE_INFINITY, 'before')
    await forgetInStore(await options(counting.store))
    const operations = counting.operations()
    expect(operations).toBeGreaterThan(40)
    for (let at = 1; at <= operations; at += Math.ceil(operations / 8)) {
      const store = await copyOf(pristine)
      const { store: dying } = dyingStore(store, at, at % 2 === 0 ? 'before' : 'after')
      const killed = await options(dying)
      await expect(forgetInStore(killed)).rejects.toThrow()
      const seen = await readCurrent(store)
      expect((await rowsOf(store, seen!.manifest))['notes']?.length).toBeGreaterThanOrEqual(29_999)
      await forgetInStore({ ...(await options(store)), earlier: [killed.snapshotId] })
      await expectProved(store)
      expect(filesNaming(store.destination)).toEqual([])
    }
  }, 300_000)
})

const isLogFile = (key: string) => key.includes('/_delta_log/')

async function copyOf(store: ObjectStore): Promise<ObjectStore> {
  const copy = openFolderStore(newFolder(), realClock)
  for (const { key } of await store.list('')) {
    const object = await store.get(key)
    await copy.put(key, object?.bytes ?? new Uint8Array())
  }
  return copy
}

/** Text files that name them; Parquet files are read row by row above. */
function filesNaming(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.parquet'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => names(readFileSync(path, 'utf8')))
}
