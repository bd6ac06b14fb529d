/** A night writes complete tables and years whose rows changed, and never a wrong row. */

import fc from 'fast-check'
import { rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { PublishOptions } from '../../src/publish/publish.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { through } from '../helpers/through.ts'
import { rounds } from '../helpers/tier.ts'
import {
  contentKeys,
  definitionOf,
  expectReadersToSee,
  newStore,
  publish,
  readByHand,
} from './fixtures.ts'
import {
  BEHIND_VIEW,
  byYear,
  endBuild,
  filesOf,
  manyThings,
  noteThings,
  publishThings,
  shown,
  things,
} from './things.ts'

const RUNS = rounds('JOBTIDE_WORLDS', 2, 24)

/** Changes 12 rows, removes 12 and adds 12, all still unpublished. */
async function afterChanges() {
  const warehouse = await manyThings()
  const store = newStore()
  await publishThings(warehouse, store)
  await warehouse.run(`
    update things set text = 'changed' where id % 1000 = 7;
    delete from things where id % 500 = 250 and id > 6000;
    insert into things select i + 1000000, date '2026-01-01', 'new', null from range(12) numbers(i)`)
  return { warehouse, store }
}

/** 12,000 rows of two years, built and published: the next publish can rely on the notes of builds. */
async function afterFirstBuild(tables = [byYear], options: Partial<PublishOptions> = {}) {
  const [warehouse, store] = [await manyThings(730), newStore()]
  await endBuild(warehouse, 1)
  await publishThings(warehouse, store, { tables, ...options })
  return { warehouse, store }
}

/** Publishes, and returns the tables or years that were copied. */
async function copiedBy(
  warehouse: Warehouse,
  store: ObjectStore,
  options: Partial<PublishOptions> = {},
): Promise<string[]> {
  const copied: string[] = []
  const watched = through(warehouse, async (_, sql, work) => {
    const [, file] = /^copy [^]*\/([\w.=-]+)\.parquet'/.exec(String(sql)) ?? []
    if (file !== undefined) copied.push(file)
    return work()
  })
  await publishThings(watched, store, { tables: [byYear], ...options })
  return copied.toSorted()
}

describe('a publish after 36 of 12,000 rows changed', () => {
  it('rewrites the table as one file, which any Parquet reader reads correctly', async () => {
    const { warehouse, store } = await afterChanges()
    expect(await publishThings(warehouse, store)).toMatchObject({ newFiles: 1, rows: 12_000 })
    expect(await filesOf(store)).toEqual([12_000])
    await expectReadersToSee(warehouse, store, [things])
    const expected = await warehouse.all('select * from things order by id')
    expect(await readByHand(store, await shown(store))).toEqual(expected)
  })

  it('splits a table or a view above 12,000 rows, and joins it again at 6,000', async () => {
    for (const kind of ['table', 'view'] as const) {
      const [warehouse, store] = [await manyThings(730), newStore()]
      if (kind === 'view') await warehouse.run(BEHIND_VIEW)
      const stored = kind === 'view' ? 'stored_things' : 'things'
      const options = { tables: [{ ...byYear, kind }], splitAboveRows: 12_000, acceptShrink: true }
      const steps = [
        ['select 1', 1],
        [`insert into ${stored} values (1000000, '2015-01-01', 'new', null)`, 2],
        [`delete from ${stored} where id >= 6001`, 2],
        [`delete from ${stored} where id >= 6000`, 1],
      ] as const
      for (const [change, partitions] of steps) {
        await warehouse.run(change)
        await publishThings(warehouse, store, options)
        expect((await shown(store)).partitions, change).toHaveLength(partitions)
        await expectReadersToSee(warehouse, store, [things])
      }
    }
  })

  it('is refused if a table with rows is gone, but not if an empty one is', async () => {
    const { warehouse, store } = await afterChanges()
    const both = { tables: [things, definitionOf('others')] }
    await warehouse.run('create table others (id bigint)')
    await publishThings(warehouse, store, both)
    expect(await store.list('current/others/')).toHaveLength(1)
    await publishThings(warehouse, store)
    expect(await store.list('current/others/')).toEqual([])
    await warehouse.run('insert into others values (1)')
    await publishThings(warehouse, store, both)
    await expect(publishThings(warehouse, store)).rejects.toThrow('table others is gone')
  })
})

describe('night after night', () => {
  const nights = fc.array(
    fc.record({
      update: fc.integer({ min: 0, max: 400 }),
      remove: fc.integer({ min: 0, max: 200 }),
      insert: fc.integer({ min: 0, max: 1_800 }),
      compact: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  )

  it(`readers see the rows of the warehouse after any 1 to 6 nights of changes in a table or behind a view, in ${RUNS} runs`, async () => {
    await fc.assert(
      fc.asyncProperty(
        nights,
        fc.constantFrom(things, byYear),
        fc.boolean(),
        async (changes, definition, isView) => {
          const [warehouse, store] = [await manyThings(365), newStore()]
          if (isView) await warehouse.run(BEHIND_VIEW)
          const stored = isView ? 'stored_things' : 'things'
          const tables = [{ ...definition, kind: isView ? 'view' : 'table' } as const]
          await publish(warehouse, store, { tables })
          for (const [night, { update, remove, insert, compact }] of changes.entries()) {
            const drawn = (salt: number) => `hash(id, ${night}, ${salt}) % 12000`
            await warehouse.run(`
            update ${stored} set text = concat(text, '!') where ${drawn(1)} < ${update};
            delete from ${stored} where ${drawn(2)} < ${remove};
            insert into ${stored}
            select ${(night + 1) * 100_000} + i, date '2015-06-01' + cast(i % 900 as integer), md5(cast(i as varchar)), null
            from range(${insert}) numbers(i)`)
            await publish(warehouse, store, { tables, compact: compact && night % 3 === 2 })
            await expectReadersToSee(warehouse, store, tables)
          }
          warehouse.close()
        },
      ),
      { numRuns: RUNS },
    )
  })
})

describe('the notes of builds', () => {
  it('limit what is copied: nothing, 1 year, 2 years, everything', async () => {
    const { warehouse, store } = await afterFirstBuild()
    const first = await shown(store)
    await endBuild(warehouse, 2)
    expect(await copiedBy(warehouse, store)).toEqual([])
    const change = async (number: number, which: string) => {
      await warehouse.run(`update things set text = concat(text, '!') where ${which}`)
      await noteThings(warehouse, which)
      await endBuild(warehouse, number)
    }
    await change(3, 'id = 0')
    expect(await copiedBy(warehouse, store)).toEqual(['things.on_day_year=2015'])
    await change(4, 'id in (0, 729)')
    expect(await copiedBy(warehouse, store)).toHaveLength(2)
    await expectReadersToSee(warehouse, store, [byYear])
    await change(5, 'id = 729')
    await change(6, 'id = 0')
    expect(await copiedBy(warehouse, store, { compact: true })).toHaveLength(2)
    await warehouse.run(`insert into ops.changed_tables values (7, 'things', null)`)
    await endBuild(warehouse, 7)
    expect(await copiedBy(warehouse, store)).toHaveLength(2)
    await expectReadersToSee(warehouse, store, [byYear])
    expect((await shown(store)).schema).toEqual(first.schema)
  })

  it.each([
    ['the build of the snapshot is not known', 'delete from ops.builds where build = 1', {}],
    ['a load was not built yet', `insert into ops.changed_tables values (9, 'others', null)`, {}],
    ['another version publishes', 'select 1', { version: '0.2.0' }],
    ['it is asked for', 'select 1', { compact: true }],
  ])(
    'do not count if %s: all is copied, and unchanged files are not sent',
    async (_, sql, more) => {
      const { warehouse, store } = await afterFirstBuild()
      const keys = await contentKeys(store)
      await endBuild(warehouse, 2)
      await warehouse.run(sql)
      expect(await copiedBy(warehouse, store, more)).toHaveLength(2)
      expect(await contentKeys(store)).toEqual(keys)
      await expectReadersToSee(warehouse, store, [byYear])
    },
  )

  it('about years do not hide an added year, or one with another number of rows', async () => {
    const { warehouse, store } = await afterFirstBuild()
    await noteThings(warehouse, 'id = 0')
    await warehouse.run(`
      insert into things values (1000000, '2020-01-01', 'new', null), (1000001, null, 'new', null);
      delete from things where id = 729`)
    await endBuild(warehouse, 2)
    expect(await copiedBy(warehouse, store)).toHaveLength(4)
    await expectReadersToSee(warehouse, store, [byYear])
  })

  it('do not hide a lost file: it is restored even if nothing changed', async () => {
    for (const isBuilt of [true, false]) {
      const { warehouse, store } = await afterFirstBuild()
      if (!isBuilt) await warehouse.run('delete from ops.builds')
      const [lost] = (await shown(store)).files
      rmSync(store.urlOf(lost?.key ?? ''))
      const report = await publishThings(warehouse, store, { tables: [byYear] })
      expect(report).toMatchObject({ unchanged: true, newFiles: 0 })
      expect(await store.head(lost?.key ?? '')).toEqual({ bytes: lost?.bytes })
      await expectReadersToSee(warehouse, store, [byYear])
    }
  })
})
