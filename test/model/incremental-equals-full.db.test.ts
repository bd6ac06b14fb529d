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

describe('a second id of an organisation', () => {
  it('flags the joinings of people without news, as a build from scratch does', async () => {
    const joining = (person: string, organization: string) => ({
      profile_id: person,
      organization_id: organization,
      changed_at: '2024-05-01T00:00:00Z',
      organization_name: 'Acme Inc.',
      organization_slug: 'acme',
    })
    const first = [joining('ada', 'org a')]
    const second = [joining('bob', 'org b'), joining('cy', 'org b')]
    await inMemory(async (warehouse) => {
      await insertEvents(warehouse, first)
      await build(warehouse)
      await insertEvents(warehouse, second)
      expect((await build(warehouse)).fullRefreshReason).toBeNull()
      const [ada] = await warehouse.all(
        `select duplicate_of_organization_id as kept from joiners where profile_id = 'ada'`,
      )
      expect(ada).toEqual({ kept: 'org b' })
      await inMemory(async (scratch) => {
        await insertEvents(scratch, [...first, ...second])
        await build(scratch)
        expect(await contentsOf(warehouse)).toEqual(await contentsOf(scratch))
      })
    })
  })
})

describe('rates of three organisations', () => {
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
  const late = change('left', 'acme', 5, '2023-02-14')
  const nextMonth = change('joined', 'globex', 40, '2024-02-02')

  it('are those of a build from scratch after a late leaving, a correction, a deletion and a new month', async () => {
    await inMemory(async (warehouse) => {
      const night = async () => {
        const report = await build(warehouse)
        expect(report.fullRefreshReason).toBeNull()
        return report.models.find(({ name }) => name === 'attrition')?.rowsChanged
      }
      const proveEqual = async () => {
        const made = await ratesOf(warehouse)
        await warehouse.run('delete from ops.build_state')
        expect((await build(warehouse)).fullRefreshReason).not.toBeNull()
        expect(made).toEqual(await ratesOf(warehouse))
      }
      await insertEvents(warehouse, backfill)
      // Who moved in the last month says up to when the other two were looked at.
      await insertEvents(warehouse, [change('joined', 'globex', 39, '2024-01-20')])
      await build(warehouse)
      expect((await ratesOf(warehouse)).length).toBeGreaterThan(100)
      await insertEvents(warehouse, [late])
      expect(await night()).toBeGreaterThan(0)
      await warehouse.run(`update job_change_events set changed_at = changed_at - interval 40 days
        where profile_id = '${person('initech', 8)}' and event_type = 'left'`)
      await warehouse.run(`insert into ops.changed_people values ('${person('initech', 8)}')`)
      expect(await night()).toBeGreaterThan(0)
      await warehouse.run(`delete from job_change_events where profile_id = '${person('acme', 9)}'`)
      await warehouse.run(`insert into ops.changed_people values ('${person('acme', 9)}')`)
      expect(await night()).toBeGreaterThan(0)
      await proveEqual()
      await insertEvents(warehouse, [nextMonth])
      expect(await night()).toBeGreaterThan(0)
      expect(await night()).toBe(0)
      await proveEqual()
    })
  }, 600_000)

  const ratesOf = async (warehouse: Warehouse) => {
    const contents = await contentsOf(warehouse)
    const of = readModelFiles().filter(({ isByOrganization }) => isByOrganization)
    return of.flatMap(({ name, schema }) =>
      (contents.get(schema === 'main' ? name : `${schema}.${name}`) ?? []).map((row) => [
        name,
        row,
      ]),
    )
  }
})

describe('an announced leaving', () => {
  it('comes due by the data of others: on the night when it has happened, the person is gone', async () => {
    await inMemory(async (warehouse) => {
      const current = async () =>
        (
          await warehouse.all<{ is_current: boolean }>(
            "select is_current from person_organizations where profile_id = 'ada'",
          )
        ).map((row) => row.is_current)
      const about = { profile_id: 'ada', organization_id: 'acme', detected_at: '2024-03-01' }
      await insertEvents(warehouse, [
        { ...about, event_type: 'joined', changed_at: '2020-01-01' },
        { ...about, event_type: 'left', changed_at: '2024-05-01' },
      ])
      await build(warehouse)
      expect(await current()).toEqual([true])
      for (const [day, isCurrent] of [
        ['2024-04-30', true],
        ['2024-05-01', false],
      ] as const) {
        const other = { profile_id: `seen ${day}`, organization_id: 'acme', detected_at: day }
        await insertEvents(warehouse, [{ ...other, event_type: 'joined', changed_at: day }])
        await warehouse.run('insert into ops.changed_people values ($1)', [other.profile_id])
        expect((await build(warehouse)).fullRefreshReason).toBe(null)
        expect(await current()).toEqual([isCurrent])
      }
    })
  })
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
