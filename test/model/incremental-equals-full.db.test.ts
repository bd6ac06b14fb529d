/**
 * An incremental build gives the same as a full refresh: many small random worlds go through several nights in one
 * warehouse, and at the end every table must equal, row for row, that of a warehouse built once from the same events.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildModels, type BuildReport } from '../../src/model/build.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { rounds } from '../helpers/tier.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import {
  askEveryEndpoint,
  contentsOf,
  insertEvents,
  memoryWarehouse,
  temporariesOf,
  type GivenEvent,
} from '../helpers/warehouse.ts'
import { anyHistory, Worlds } from './histories.ts'

const WORLDS = rounds('JOBTIDE_WORLDS', 50, 400)
const WORLDS_AT_ONCE = 100
const NIGHTS = 2
const OF_ENDPOINTS = new Set(
  readModelFiles().flatMap(({ name, endpoints = [] }) => (endpoints.length > 0 ? name : [])),
)

const anyCondition = <T extends string>(...values: T[]) =>
  fc.option(fc.subarray(values, { minLength: 1 }).map((some) => `,${some.join()},`))
const anyEntry = fc.record({
  world: fc.nat({ max: WORLDS_AT_ONCE - 1 }),
  pipeline: fc.constantFrom('nightly', 'weekly'),
  watch_list: fc.constantFrom('one', 'two'),
  kind: fc.constantFrom('profile_id', 'name', 'organization_id'),
  nth: fc.integer({ min: 1, max: 4 }),
  changes: anyCondition('joined', 'left', 'promoted'),
  levels: anyCondition('mid', 'senior', 'vp', 'unknown'),
})
type Entry = typeof anyEntry extends fc.Arbitrary<infer T> ? T : never
/** Watch-lists of each night. */
const anyLists = fc.array(fc.array(anyEntry, { minLength: 40, maxLength: 80, size: 'max' }), {
  minLength: NIGHTS + 1,
  maxLength: NIGHTS + 1,
})

describe('a night', () => {
  it(`of ${WORLDS} random worlds, after ${NIGHTS} nights with different watch-lists, gives the tables of a build from scratch`, async () => {
    const some = { minLength: WORLDS_AT_ONCE, maxLength: WORLDS_AT_ONCE, size: 'max' } as const
    const anyHistories = fc.array(anyHistory, some)
    const hits: number[] = []
    const property = fc.asyncProperty(anyHistories, anyLists, async (histories, lists) => {
      const worlds = new Worlds(histories)
      await inMemory(async (warehouse) => {
        for (const [night, entries] of lists.entries()) {
          worlds.take(night)
          await worlds.put(warehouse, night > 0)
          await watch(warehouse, entries)
          const report = await build(warehouse)
          expect(report.fullRefreshReason === null).toBe(night > 0)
        }
        hits.push(await warehouse.number('select count(*) from watch_hits'))
        await inMemory(async (scratch) => {
          await worlds.put(scratch, false)
          await watch(scratch, lists.at(-1) ?? [])
          await build(scratch)
          expect(await contentsOf(warehouse)).toEqual(await contentsOf(scratch))
          expect(await temporariesOf(warehouse)).toEqual([])
        })
      })
    })
    const numRuns = Math.ceil(WORLDS / WORLDS_AT_ONCE)
    await fc.assert(property, { numRuns, endOnFailure: true })
    expect(Math.max(...hits)).toBeGreaterThan(5)
  }, 600_000)
})

describe('the first answers of endpoints', () => {
  it('add their missing tables without a full refresh; an existing table with such a name is refused', async () => {
    await inMemory(async (warehouse) => {
      await insertEvents(warehouse, [{}])
      await build(warehouse)
      const before = await contentsOf(warehouse)
      expect([...before.keys()].filter((name) => OF_ENDPOINTS.has(name))).toEqual([])
      await askEveryEndpoint(warehouse)
      const { fullRefreshReason, checks } = await build(warehouse)
      expect(fullRefreshReason).toBeNull()
      expect(checks).toContain('company_profiles_are_their_newest_versions')
      await inMemory(async (scratch) => {
        await insertEvents(scratch, [{}])
        await askEveryEndpoint(scratch)
        await build(scratch)
        const after = await contentsOf(scratch)
        expect(await contentsOf(warehouse)).toEqual(after)
        expect(after.size - before.size).toBe(OF_ENDPOINTS.size)
        const comments = `select count(*) from (select comment from duckdb_tables() union all select comment from duckdb_views()) where contains(comment, 'Model: marts/')`
        expect(await warehouse.number(comments)).toBe(await scratch.number(comments))
      })
    })
    await inMemory(async (warehouse) => {
      await warehouse.run('create table posts (mine integer)')
      await expect(build(warehouse)).rejects.toThrow(
        'the table posts in the warehouse is not Jobtide’s',
      )
    })
  })
})

describe('6 nights of three organisations, a second id of a fourth, and an announced leaving', () => {
  const person = (organization: string, place: number) => `${organization} ${place}`
  const change = (type: string, organization: string, place: number, day: string) => ({
    profile_id: person(organization, place),
    organization_id: organization,
    event_type: type,
    changed_at: `${day}T00:00:00Z`,
    title_current: place % 3 === 0 ? 'Sales Manager' : 'Software Engineer',
  })
  const month = (place: number) => String((place % 12) + 1).padStart(2, '0')
  const backfill = ['acme', 'globex', 'initech'].flatMap((organization) => [
    ...Array.from({ length: 36 }, (_, place) =>
      change('joined', organization, place, `${2020 + (place % 3)}-${month(place)}-03`),
    ),
    ...Array.from({ length: 9 }, (_, place) =>
      change('left', organization, place * 4, `2023-${month(place)}-20`),
    ),
  ])
  const joiningOfHooli = (who: string, organization: string) => ({
    ...change('joined', organization, 1, '2024-01-15'),
    profile_id: who,
    organization_name: 'Hooli Inc.',
    organization_slug: 'hooli',
  })
  const announced = [
    change('joined', 'umbrella', 1, '2020-01-01'),
    { ...change('left', 'umbrella', 1, '2024-05-01'), detected_at: '2024-01-10' },
  ]

  it('give what a build from scratch gives', async () => {
    await inMemory(async (warehouse) => {
      /** Builds, and returns how many rows of attrition changed. */
      const night = async (...events: readonly Partial<GivenEvent>[]) => {
        await insertEvents(warehouse, events)
        const report = await build(warehouse)
        expect(report.fullRefreshReason).toBeNull()
        return report.models.find(({ name }) => name === 'attrition')?.rowsChanged
      }
      const amend = async (who: string, sql: string) => {
        await warehouse.run(sql)
        await warehouse.run('insert into ops.changed_people values ($1)', [who])
      }
      const valueOf = async (sql: string) =>
        (await warehouse.all<{ value: unknown }>(sql))[0]?.value
      // Moves of the last month set the observed period of the other two.
      const lastMonth = change('joined', 'globex', 39, '2024-01-20')
      const first = joiningOfHooli('ada', 'hooli a')
      await insertEvents(warehouse, [...backfill, lastMonth, first, ...announced])
      await build(warehouse)

      // A late leaving; and new joiners make the second id the main one, also for a person without new events.
      const second = ['bob', 'cy'].map((who) => joiningOfHooli(who, 'hooli b'))
      expect(await night(change('left', 'acme', 5, '2023-02-14'), ...second)).toBeGreaterThan(0)
      const kept = `select duplicate_of_organization_id as value from joiners where profile_id = 'ada'`
      expect(await valueOf(kept)).toBe('hooli b')
      // A correction, then a deletion.
      await amend(
        person('initech', 8),
        `update job_change_events set changed_at = changed_at - interval 40 days
         where profile_id = '${person('initech', 8)}' and event_type = 'left'`,
      )
      expect(await night()).toBeGreaterThan(0)
      const gone = person('acme', 9)
      await amend(gone, `delete from job_change_events where profile_id = '${gone}'`)
      expect(await night()).toBeGreaterThan(0)
      // A new month; and events of others make an announced leaving come due.
      const current = `select is_current as value from person_organizations where organization_id = 'umbrella'`
      expect(await night(change('joined', 'globex', 40, '2024-02-02'))).toBeGreaterThan(0)
      await night(change('joined', 'globex', 41, '2024-04-30'))
      expect(await valueOf(current)).toBe(true)
      await night(change('joined', 'globex', 42, '2024-05-01'))
      expect(await valueOf(current)).toBe(false)
      expect(await night()).toBe(0)

      const made = await contentsOf(warehouse)
      expect(made.get('attrition')?.length).toBeGreaterThan(100)
      await warehouse.run('delete from ops.build_state')
      expect((await build(warehouse)).fullRefreshReason).not.toBeNull()
      expect(made).toEqual(await contentsOf(warehouse))
    })
  }, 600_000)
})

async function watch(warehouse: Warehouse, lists: readonly Entry[]): Promise<void> {
  const letter = (nth: number) => 'abcd'[nth - 1] ?? ''
  await warehouse.run('delete from ops.watch_entries')
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
}

function build(warehouse: Warehouse): Promise<BuildReport> {
  const builtAt = new Date('2024-12-10T03:00:00Z')
  return buildModels(warehouse, { buildId: 'night', builtAt, mostChanged: 1 })
}

async function inMemory(work: (warehouse: Warehouse) => Promise<void>): Promise<void> {
  // One thread: what costs time is planning small queries.
  const warehouse = await memoryWarehouse({ threads: 1 })
  try {
    await work(warehouse)
  } finally {
    warehouse.close()
  }
}
