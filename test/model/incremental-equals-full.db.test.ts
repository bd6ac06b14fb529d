/**
 * An incremental build gives what a full refresh gives: many small random worlds live in one warehouse through several
 * nights, and in the end every table must be, row for row, that of a warehouse built once from the same events.
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

describe('a night', () => {
  it(`of ${WORLDS} random worlds through ${NIGHTS} nights gives the tables of a build from scratch`, async () => {
    await forWorlds(async (worlds, warehouse) => {
      for (let night = 0; night <= NIGHTS; night += 1) {
        worlds.take(night)
        await worlds.put(warehouse, night > 0)
        const report = await build(warehouse)
        expect(report.fullRefreshReason === null).toBe(night > 0)
      }
    })
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
      /** Builds, and says how many rows of attrition changed. */
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
      // Who moved in the last month says up to when the other two were looked at.
      const lastMonth = change('joined', 'globex', 39, '2024-01-20')
      const first = joiningOfHooli('ada', 'hooli a')
      await insertEvents(warehouse, [...backfill, lastMonth, first, ...announced])
      await build(warehouse)

      // A late leaving; and the joiners of the second id make it the one to go by, also for a person of whom nothing is new.
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
      // A new month; and what the data says of others makes an announced leaving come due.
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

/** Compares, for some random worlds at a time, what `make` builds of them with a build from scratch. */
async function forWorlds(
  make: (worlds: Worlds, warehouse: Warehouse) => Promise<void>,
): Promise<void> {
  const some = { minLength: WORLDS_AT_ONCE, maxLength: WORLDS_AT_ONCE, size: 'max' } as const
  const property = fc.asyncProperty(fc.array(anyHistory, some), async (histories) => {
    const worlds = new Worlds(histories)
    await inMemory(async (warehouse) => {
      await make(worlds, warehouse)
      await inMemory(async (scratch) => {
        await worlds.put(scratch, false)
        await build(scratch)
        expect(await contentsOf(warehouse)).toEqual(await contentsOf(scratch))
        expect(await temporariesOf(warehouse)).toEqual([])
      })
    })
  })
  const numRuns = Math.ceil(WORLDS / WORLDS_AT_ONCE)
  await fc.assert(property, { numRuns, endOnFailure: true })
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
