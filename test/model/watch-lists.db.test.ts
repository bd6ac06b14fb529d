/** Watch-lists that change from night to night: what hits them is always what a build from scratch says. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { sqlFolder } from '../../src/support/assets.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { rounds } from '../helpers/tier.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { anyHistory, Worlds } from './histories.ts'

const WORLDS = 20
const NIGHTS = 2
const anyCondition = <T extends string>(...values: T[]) =>
  fc.option(fc.subarray(values, { minLength: 1 }).map((some) => `,${some.join()},`))
const anyEntry = fc.record({
  world: fc.nat({ max: WORLDS - 1 }),
  pipeline: fc.constantFrom('nightly', 'weekly'),
  watch_list: fc.constantFrom('one', 'two'),
  kind: fc.constantFrom('profile_id', 'name', 'organization_id'),
  nth: fc.integer({ min: 1, max: 4 }),
  changes: anyCondition('joined', 'left', 'promoted'),
  levels: anyCondition('mid', 'senior', 'vp', 'unknown'),
})
type Entry = typeof anyEntry extends fc.Arbitrary<infer T> ? T : never
const anyLists = fc.array(anyEntry, { minLength: 40, maxLength: 80, size: 'max' })

describe('watch_hits', () => {
  it('equals after every night a build from scratch of the current lists and events', async () => {
    const anyNights = fc.array(anyLists, { minLength: NIGHTS, maxLength: NIGHTS })
    const anyHistories = fc.array(anyHistory, { minLength: WORLDS, maxLength: WORLDS })
    const hitsSeen: number[] = []
    const property = fc.asyncProperty(anyHistories, anyNights, async (histories, nights) => {
      const worlds = new Worlds(histories)
      await inMemory(async (warehouse) => {
        for (const [night, lists] of nights.entries()) {
          worlds.take(night)
          await worlds.put(warehouse, night > 0)
          expect(await build(warehouse, lists)).toBe(night === 0)
          const hits = await hitsIn(warehouse)
          await inMemory(async (scratch) => {
            await worlds.put(scratch, false)
            await build(scratch, lists)
            expect(hits).toEqual(await hitsIn(scratch))
          })
          hitsSeen.push(hits.length)
        }
      })
    })
    await fc.assert(property, { numRuns: rounds('JOBTIDE_WATCHED', 1, 20), endOnFailure: true })
    expect(Math.max(...hitsSeen)).toBeGreaterThan(5)
  }, 600_000)
})

describe('what is the same in all spellings', () => {
  it.each([
    ['page_name', 'https://www.network.example/in/Ada-L/', 'network.example/in/ada-l'],
    ['page_name', 'http://uk.network.example/in/ada-l?trk=1#x', 'network.example/in/ada-l'],
    ['page_name', '//m.network.example/in/j%C3%BCrgen/', 'network.example/in/jürgen'],
    ['page_name', 'network.example/in/50%', 'network.example/in/50%'],
    ['page_name', 'Ada.L', 'ada.l'],
    ['plain_name', '  José  GARCÍA ', 'jose garcia'],
    ['plain_name', 'Jose\u0301\u00a0Garci\u0301a', 'jose garcia'],
    ['plain_name', 'J. R. Müller, MBA', 'j r muller mba'],
    ['plain_name', 'Siobhán O’Brien-Kelly', 'siobhan o brien kelly'],
    ['plain_name', "SIOBHAN O'BRIEN KELLY", 'siobhan o brien kelly'],
    ['plain_name', 'Łukasz Søren Đorđević', 'lukasz soren dordevic'],
    ['plain_name', 'IŞIK İnan', 'isik inan'],
    ['plain_name', 'Işık Inan', 'isik inan'],
    ['plain_name', 'Weiß Æther Þór', 'weiss aether thor'],
    ['plain_name', 'Ｊｏｈｎ Ｄｏｅ', 'john doe'],
    ['plain_name', '山田　太郎', '山田太郎'],
    ['plain_name', '김 민수', '김민수'],
    ['plain_name', 'ガギ', 'ガギ'],
    ['plain_name', 'Юрий', 'юрий'],
  ])('%s of %s is %s', async (macro, written, same) => {
    await inMemory(async (warehouse) => {
      await warehouse.run(readFileSync(join(sqlFolder, 'macros.sql'), 'utf8'))
      const [row] = await warehouse.all(`select ${macro}($1) as same`, [written])
      expect(row).toEqual({ same })
    })
  })
})

/** Writes the lists and builds; true where it was a full refresh. */
async function build(warehouse: Warehouse, lists: readonly Entry[]): Promise<boolean> {
  await warehouse.run('delete from ops.watch_entries')
  const letter = (nth: number) => 'abcd'[nth - 1] ?? ''
  await warehouse.append('ops.watch_entries', {
    pipeline: lists.map(({ pipeline }) => pipeline),
    watch_list: lists.map((one) => one.watch_list),
    entry: lists.map((_, index) => index + 1),
    kind: lists.map(({ kind }) => kind),
    listed_as: lists.map(({ kind, world, nth }) =>
      kind === 'name' ? letter(nth) : `w${world}${kind === 'profile_id' ? 'p' : 'o'}${nth}`,
    ),
    changes: lists.map(({ changes }) => changes),
    levels: lists.map(({ levels }) => levels),
  })
  const builtAt = new Date('2024-12-10T03:00:00Z')
  const report = await buildModels(warehouse, { buildId: 'night', builtAt, mostChanged: 1 })
  return report.fullRefreshReason !== null
}

function hitsIn(warehouse: Warehouse): Promise<object[]> {
  return warehouse.all('from watch_hits order by all')
}

async function inMemory(work: (warehouse: Warehouse) => Promise<void>): Promise<void> {
  const warehouse = await memoryWarehouse({ threads: 1 })
  try {
    await work(warehouse)
  } finally {
    warehouse.close()
  }
}
