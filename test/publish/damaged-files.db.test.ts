/** A publish over files of the snapshot before that the disk, or someone, has changed: readers see the rows of the warehouse. */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { sha256Hex } from '../../src/support/hash.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { expectReadersToSee, newStore } from './fixtures.ts'
import {
  BEHIND_VIEW,
  endBuild,
  filesOf,
  manyThings,
  noteThings,
  publishThings,
  shown,
  things,
} from './things.ts'

const flip = (at: number) => (path: string) => {
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.with(at, (bytes[at] ?? 0) ^ 1))
}

/** Changes 12 rows, of which the snapshot before has none. */
const CHANGE = `update things set text = 'changed' where id % 1000 = 7`
const CHANGE_BEHIND = CHANGE.replace('things', 'stored_things')

/** Notes what a statement does to rows of `things`, and ends the build that did it. */
async function night(warehouse: Warehouse, number: number, which: string): Promise<void> {
  await noteThings(warehouse, which, -1)
  await warehouse.run(`update things set text = 'night ${number}' where ${which}`)
  await noteThings(warehouse, which, 1)
  await endBuild(warehouse, number)
}

/** Expects every file to have the bytes that the manifest says. */
async function expectWholeFiles(store: ObjectStore): Promise<void> {
  for (const { key, sha256 } of (await shown(store)).files) {
    expect(sha256Hex(readFileSync(store.urlOf(key)))).toBe(sha256)
  }
}

describe('a publish over a damaged snapshot', () => {
  it.each([
    ['a data file is gone', 'files', rmSync],
    ['a list of deleted rows has a wrong bit at its begin', 'vector', flip(4)],
    ['a list of deleted rows has a wrong bit in its footer', 'vector', flip(400)],
  ] as const)('writes a table or a view again where %s', async (_, what, damage) => {
    for (const kind of ['table', 'view'] as const) {
      const [warehouse, store] = [await manyThings(), newStore()]
      await publishThings(warehouse, store)
      await warehouse.run(CHANGE)
      if (kind === 'view') await warehouse.run(BEHIND_VIEW)
      const options = { tables: [{ ...things, kind }] }
      await publishThings(warehouse, store, options)
      const { files, deletion_vector: vector } = await shown(store)
      damage(store.urlOf((what === 'files' ? files[0] : vector)?.key ?? ''))
      const stored = kind === 'view' ? 'stored_things' : 'things'
      await warehouse.run(`update ${stored} set text = 'changed again' where id = 11`)
      await publishThings(warehouse, store, options)
      expect(await filesOf(store)).toEqual([[12_000, 0]])
      await expectReadersToSee(warehouse, store, [things])
    }
  })

  it('puts a file back that was lost, also when nothing changed', async () => {
    const [warehouse, store] = [await manyThings(), newStore()]
    await publishThings(warehouse, store)
    rmSync(store.urlOf((await shown(store)).files[0]?.key ?? ''))
    const report = await publishThings(warehouse, store)
    expect(report).toMatchObject({ unchanged: true, newFiles: 0 })
    await expectReadersToSee(warehouse, store, [things])
  })

  it.each([0.1, 0.5, 0.9])(
    'writes a view again, under new keys, whose file has a wrong bit after %d of its bytes, changed or not',
    async (share) => {
      for (const change of ['select 1', CHANGE_BEHIND]) {
        const [warehouse, store] = [await manyThings(), newStore()]
        await warehouse.run(BEHIND_VIEW)
        const tables = [{ ...things, kind: 'view' as const }]
        await publishThings(warehouse, store, { tables })
        const [file] = (await shown(store)).files
        flip(Math.floor((file?.bytes ?? 0) * share))(store.urlOf(file?.key ?? ''))
        await warehouse.run(change)
        const report = await publishThings(warehouse, store, { tables })
        expect(report).toMatchObject({ unchanged: false, newFiles: 1 })
        await expectWholeFiles(store)
        await expectReadersToSee(warehouse, store, tables)
        expect(await publishThings(warehouse, store, { tables })).toMatchObject({ unchanged: true })
      }
    },
  )

  it('copies no row of a damaged file where builds noted what changed, and 8 files become fewer', async () => {
    const [warehouse, store] = [await manyThings(), newStore()]
    await endBuild(warehouse, 1)
    await publishThings(warehouse, store)
    for (let number = 2; number <= 8; number += 1) {
      await night(warehouse, number, `id % 1000 = ${number}`)
      await publishThings(warehouse, store)
    }
    const files = (await shown(store)).files
    expect(files).toHaveLength(8)
    for (const { key, bytes, rows } of files) {
      if (rows < 12_000) flip(Math.floor(bytes / 4))(store.urlOf(key))
    }
    await night(warehouse, 9, 'id % 1000 = 9')
    await publishThings(warehouse, store)
    await expectWholeFiles(store)
    await expectReadersToSee(warehouse, store, [things])
  })
})
