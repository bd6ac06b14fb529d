/** What a night writes: what changed, beside the files of the snapshot before, and never a wrong row. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { POINTER_KEY, formatJson, pointerTo, snapshotKeys } from '../../src/publish/manifest.ts'
import { fingerprintOfFiles } from '../../src/publish/partitions.ts'
import { readCurrent } from '../../src/publish/read-snapshot.ts'
import { EXIT } from '../../src/support/errors.ts'
import { rounds } from '../helpers/tier.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import {
  contentKeys,
  expectReadersToSee,
  newStore,
  publish,
  readByHand,
  readerOf,
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

const RUNS = rounds('JOBTIDE_WORLDS', 4, 24)

/** 12 rows changed, 12 are gone, 12 came; nothing of that is published yet. */
async function afterChanges() {
  const warehouse = await manyThings()
  const store = newStore()
  const first = await publishThings(warehouse, store)
  await warehouse.run(`
    update things set text = 'changed' where id % 1000 = 7;
    delete from things where id % 500 = 250 and id > 6000;
    insert into things select i + 1000000, date '2026-01-01', 'new', null from range(12) numbers(i)`)
  return { warehouse, store, first }
}

/** 12,000 rows, built and published: the next publish can go by what builds note. */
async function afterFirstBuild(options: Parameters<typeof publishThings>[2] = {}) {
  const [warehouse, store] = [await manyThings(), newStore()]
  await endBuild(warehouse, 1)
  await publishThings(warehouse, store, options)
  return { warehouse, store }
}

describe('a publish after 36 of 12,000 rows changed', () => {
  it('sends 1 small file and 1 list of 24 deleted rows: under 2 % of the bytes', async () => {
    const { warehouse, store, first } = await afterChanges()
    const report = await publishThings(warehouse, store)
    expect(report).toMatchObject({ newFiles: 2, rows: 12_000 })
    expect(report.newBytes / first.bytes).toBeLessThan(0.02)
    expect(await filesOf(store)).toEqual([
      [12_000, 24],
      [24, 0],
    ])
    expect((await shown(store)).deletion_vector).toMatchObject({ rows: 24 })
    await expectReadersToSee(warehouse, store, [things])
    // A reader that is not DuckDB skips what is listed as deleted.
    const rows = await readByHand(store, await shown(store))
    const expected = await warehouse.all('select * from things order by id')
    expect(rows.toSorted((a, b) => Number(a['id']) - Number(b['id']))).toEqual(expected)
  })

  it.each([
    ['whole', things, 2],
    ['by year', byYear, 3],
  ])(
    'sends the same keys and bytes from 1 and 2 threads and for a view of the same rows, %s',
    async (_, definition, files) => {
      const keys: string[][] = []
      for (const change of ['set threads = 1', 'set threads = 2', BEHIND_VIEW]) {
        const warehouse = await manyThings(730)
        const store = newStore()
        await publishThings(warehouse, store, { tables: [definition] })
        await warehouse.run(`update things set text = 'changed' where id % 1000 = 7; ${change}`)
        const kind = change === BEHIND_VIEW ? 'view' : 'table'
        const tables = [{ ...definition, kind } as const]
        const { newFiles } = await publishThings(warehouse, store, { tables })
        keys.push(await contentKeys(store))
        // New rows of 2 years, or of all, and the list of those that are gone.
        expect(newFiles).toBe(files)
      }
      expect(keys[1]).toEqual(keys[0])
      expect(keys[2]).toEqual(keys[0])
    },
  )

  it('splits a view by year as soon as it has more than 12,000 rows', async () => {
    const [warehouse, store] = [await manyThings(730), newStore()]
    await warehouse.run(BEHIND_VIEW)
    const options = { tables: [{ ...byYear, kind: 'view' as const }], splitAboveRows: 12_000 }
    for (const [rows, partitions] of [
      [0, 1],
      [1, 2],
    ] as const) {
      await warehouse.run(
        `insert into stored_things select 1000000, date '2015-01-01', 'new', null from range(${rows})`,
      )
      await publishThings(warehouse, store, options)
      expect((await shown(store)).partitions).toHaveLength(partitions)
      await expectReadersToSee(warehouse, store, [things])
    }
  })

  it('tells null, no element and one null in a list apart', async () => {
    const [warehouse, store] = [await memoryWarehouse(), newStore()]
    await warehouse.run(
      'create table things as select i as id, cast(null as integer[]) as list from range(3) numbers(i)',
    )
    for (const list of ['[]', '[null]', 'null']) {
      await publishThings(warehouse, store)
      await warehouse.run(`update things set list = ${list} where id = 1`)
      expect(await publishThings(warehouse, store)).toMatchObject({ unchanged: false })
      await expectReadersToSee(warehouse, store, [things])
    }
  })

  it('writes all rows when a column was added, and keeps the snapshot before readable', async () => {
    const { warehouse, store } = await afterChanges()
    const before = await readerOf(store)
    await warehouse.run('alter table things add column added integer')
    await publishThings(warehouse, store)
    expect(await filesOf(store)).toEqual([[12_000, 0]])
    expect(await before.all('select count(*) as n from things')).toEqual([{ n: 12_000n }])
    await expectReadersToSee(warehouse, store, [things])
  })

  it.each([
    ['a column went', 'alter table things drop column more', 'things.more is gone'],
    [
      'a type changed',
      'alter table things alter column id type varchar',
      'things.id is VARCHAR, and was BIGINT',
    ],
  ])('is refused when %s, until that is accepted', async (_, change, message) => {
    const { warehouse, store } = await afterChanges()
    await warehouse.run(change)
    const before = await store.list('')
    await expect(publishThings(warehouse, store)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining(message),
      hint: expect.stringContaining('--accept-schema-change'),
    })
    expect(await store.list('')).toEqual(before)
    await publishThings(warehouse, store, { acceptSchemaChange: true })
    await expectReadersToSee(warehouse, store, [things])
  })
})

describe('night after night', () => {
  it('20 nights of 12 changes in 12,000 rows send less than the table once, in at most 8 files', async () => {
    const [warehouse, store] = [await manyThings(), newStore()]
    const first = await publishThings(warehouse, store)
    let sent = 0
    for (let night = 0; night < 20; night += 1) {
      await warehouse.run(
        `update things set text = concat('night ', ${night}) where id % 1000 = ${night * 31}`,
      )
      sent += (await publishThings(warehouse, store)).newBytes
      expect((await filesOf(store)).length).toBeLessThanOrEqual(8)
    }
    expect(sent / first.bytes).toBeLessThan(1)
    await expectReadersToSee(warehouse, store, [things])
  })

  it('a year whose changes are all undone stands as it was, beside a year with deleted rows', async () => {
    const [warehouse, store] = [await manyThings(730), newStore()]
    const publishYears = () => publish(warehouse, store, { tables: [byYear] })
    await publishYears()
    await warehouse.run(
      `create table kept as select * from things where on_day < date '2015-01-25'`,
    )
    const undo =
      'delete from things where id in (select id from kept); insert into things from kept'
    for (const change of [
      `update things set text = md5(text) where on_day < date '2015-01-25' or id = 729`,
      undo,
    ]) {
      await warehouse.run(change)
      await publishYears()
      await expectReadersToSee(warehouse, store, [byYear])
    }
    expect(new Set(await filesOf(store))).toEqual(
      new Set([
        [6_160, 0],
        [5_840, 1],
        [1, 0],
      ]),
    )
  })

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

describe('a table whose files Spark made', () => {
  it('is compared by reading, whatever builds noted: a fingerprint of files says nothing of rows', async () => {
    const { warehouse, store } = await afterFirstBuild()
    const { manifest } = (await readCurrent(store))!
    const tables = manifest.tables.map((table) => ({
      ...table,
      partitions: table.partitions.map((one) => ({
        ...one,
        fingerprint: fingerprintOfFiles(table.files.map(({ sha256 }) => sha256)),
      })),
    }))
    const text = formatJson({ ...manifest, tables })
    const keys = snapshotKeys(manifest.snapshot_id)
    await store.put(keys.manifest, Buffer.from(text))
    const pointer = Buffer.from(formatJson(pointerTo(manifest.snapshot_id, text)))
    const { version } = (await store.get(POINTER_KEY))!
    expect(await store.replace(POINTER_KEY, pointer, version)).toBe(true)
    await noteThings(warehouse, 'id = 7', -1)
    await warehouse.run('delete from things where id = 7')
    await endBuild(warehouse, 2)
    await publishThings(warehouse, store)
    expect((await shown(store)).rows).toBe(11_999)
    await expectReadersToSee(warehouse, store, [things])
  })
})

describe('a table of which builds noted which rows came', () => {
  it('has 1 row that was changed where it stands, and 1 at the end: both are published', async () => {
    const { warehouse, store } = await afterFirstBuild()
    await noteThings(warehouse, 'id = 7', -1)
    await warehouse.run(
      `update things set text = 'changed' where id = 7; insert into things values (1000000, '2026-01-01', 'new', null)`,
    )
    await noteThings(warehouse, 'id in (7, 1000000)', 1)
    await endBuild(warehouse, 2)
    const published = await publishThings(warehouse, store)
    expect(published).toMatchObject({ newFiles: 2, rows: 12_001 })
    await expectReadersToSee(warehouse, store, [things])
  })
})

describe('a table of which builds noted that every row is gone', () => {
  it.each([
    ['whole', things],
    ['by year', byYear],
  ])('is published as one that was read and has none, %s', async (_, definition) => {
    const tables = [definition]
    const published = []
    for (const isNoted of [true, false]) {
      const { warehouse, store } = await afterFirstBuild({ tables })
      if (isNoted) await noteThings(warehouse, 'true', -1)
      await warehouse.run('delete from things')
      await (isNoted ? endBuild(warehouse, 2) : warehouse.run('delete from ops.builds'))
      await publishThings(warehouse, store, { tables, acceptShrink: true })
      const { partitions, rows } = await shown(store)
      published.push({ partitions, rows })
    }
    expect(published[0]).toEqual(published[1])
    expect(published[0]).toMatchObject({ rows: 0, partitions: [{ name: 'all', rows: 0 }] })
  })
})
