/** The conclusions of the tables from the events of a simulated world, compared with its truth. */

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { readChecks } from '../../src/model/checks.ts'
import { truthOf, type Truth, type TrueRole } from '../simulator/truth.ts'
import { worldSightings, type WorldOptions } from '../../src/simulator/world.ts'
import { DAY } from '../../src/support/units.ts'
import { sqlFolder } from '../../src/support/assets.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import {
  askEveryEndpoint,
  insertEvents,
  memoryWarehouse,
  naturalKey,
  type GivenEvent,
} from '../helpers/warehouse.ts'

const NOW = Date.UTC(2026, 5, 15)
const options: WorldOptions = {
  seed: 7,
  organizations: 150,
  startAt: NOW - 730 * DAY,
  endAt: NOW,
}
const LEAST_RIGHT = 0.99
// A leaving and a joining are a move up to this many days apart: docs/careers.md.
const FEWEST_DAYS = -31
const MOST_DAYS = 180
const LONGEST_INTERRUPTION_DAYS = 31
/** The names of the offices in `executive_seats`. */
const SEATS = {
  ceo: 'chief executive officer',
  cfo: 'chief financial officer',
  cto: 'chief technology officer',
} as const

let truth: Truth
let warehouse: Warehouse
beforeAll(async () => {
  truth = truthOf(options)
  warehouse = await memoryWarehouse()
  await insertEvents(warehouse, eventsOf(options))
  await askEveryEndpoint(warehouse)
  await buildModels(warehouse, { buildId: 'world', builtAt: new Date(NOW) })
}, 120_000)
afterAll(() => warehouse.close())

describe('in a world of 150 organisations and two years, at least 99 % are right of', () => {
  it('moves', async () => {
    const found = await rowsOf(
      `select profile_id, from_organization_id, to_organization_id, left_at::date::text as left_on, joined_at::date::text as joined_on
       from moves`,
    )
    const moves = truth.moves.filter(({ leftAt, joinedAt }) => {
      const days = daysBetween(leftAt, joinedAt)
      return days >= FEWEST_DAYS && days <= MOST_DAYS
    })
    expectRight(
      'moves',
      found,
      moves.map((one) => row(one.profileId, one.from, one.to, day(one.leftAt), day(one.joinedAt))),
    )
  })

  it('stints', async () => {
    const found = await rowsOf(
      `select profile_id, organization_id, joined_at::date::text as joined_on, left_at::date::text as left_on
       from stints`,
    )
    expectRight('stints', found, stintsOf(truth.roles))
  })

  it('role spells', async () => {
    const found = await rowsOf(
      `select profile_id, organization_id, title, started_at::date::text as started_on,
         ended_at::date::text as ended_on
       from role_spells
       where started_at is not null or ended_at is not null`,
    )
    const roles = truth.roles.map(({ profileId, organizationId, title, from, until }) =>
      row(profileId, organizationId, title, day(from), day(until)),
    )
    expectRight('role spells', found, roles)
  })

  it('seats of chiefs', async () => {
    const names = Object.values(SEATS).map((seat) => `'${seat}'`)
    const found = await rowsOf(
      `select profile_id, organization_id, seat, is_interim::text as is_interim,
         held_from_at::date::text as from_on, held_until_at::date::text as until_on
       from executive_seats
       where seat in (${names.join()})`,
    )
    const seats = truth.roles.flatMap((one) => {
      const { profileId, organizationId, office, isInterim, from, until } = one
      if (office === null) return []
      const seat = [SEATS[office], String(isInterim)]
      return [row(profileId, organizationId, ...seat, day(from), day(until))]
    })
    expectRight('seats', found, seats)
  })
})

// Builds do not check the key of a view: src/model/checks.ts.
it('each view has one row for each key', async () => {
  const views = readModelFiles().filter(({ kind }) => kind === 'view')
  expect(views.length).toBeGreaterThan(20)
  const repeated: string[] = []
  for (const { schema, name, key } of views) {
    const [row] = await warehouse.all<{ copies: bigint; keys: bigint }>(
      `select count(*) as copies, count(distinct (${key.join(', ')})) as keys from ${schema}.${name}`,
    )
    if (row?.copies !== row?.keys) repeated.push(`${name}: ${row?.copies} rows, ${row?.keys} keys`)
  }
  expect(repeated).toEqual([])
})

// Quadratic time does not show on few events.
it('no model or check joins two tables by comparing every pair of rows', async () => {
  const files = [...readModelFiles(), ...readChecks(join(sqlFolder, 'checks'))]
  const compared: string[] = []
  await warehouse.run(`set search_path = 'main,detail,service,core'`)
  for (const { name, sql } of files) {
    const [plan] = await warehouse.all<{ explain_value: string }>(`explain (format json) ${sql}`)
    const nodes = (JSON.parse(plan?.explain_value ?? '') as PlanNode[]).flatMap(allNodes)
    for (const { children } of nodes.filter(isComparedByRow)) {
      compared.push(`${name}: ${children.map((side) => side.name).join(' with ')}`)
    }
  }
  expect(compared).toEqual([])
})

/** A step of a query plan of DuckDB. */
interface PlanNode {
  readonly name: string
  readonly children: readonly PlanNode[]
  readonly extra_info: { readonly 'Estimated Cardinality'?: string }
}

function allNodes(node: PlanNode): PlanNode[] {
  return [node, ...node.children.flatMap(allNodes)]
}

function isComparedByRow({ name, children }: PlanNode): boolean {
  return /^(BLOCKWISE_NL|NESTED_LOOP)_JOIN/.test(name) && !children.some(isOneRow)
}

function isOneRow({ name, extra_info: { 'Estimated Cardinality': rows } }: PlanNode): boolean {
  return name.startsWith('UNGROUPED_AGGREGATE') || Number(rows) <= 1
}

/** All events, each once, as detected last. */
function eventsOf(world: WorldOptions): GivenEvent[] {
  const events = [...worldSightings(world)].map(
    ({ event: { event_type, person, organization, title, ...dates } }): GivenEvent => ({
      ...dates,
      event_type,
      profile_id: person.profile_id,
      organization_id: organization.organization_id,
      title_current: title.current,
      title_previous: title.previous,
      person_full_name: person.full_name,
      organization_name: organization.name,
    }),
  )
  const detected = ({ detected_at: at = '' }: GivenEvent) => Date.parse(at)
  const byDetection = events.toSorted((a, b) => detected(a) - detected(b))
  return [...new Map(byDetection.map((one) => [naturalKey(one), one])).values()]
}

async function rowsOf(sql: string): Promise<string[]> {
  const rows = await warehouse.all<Record<string, string | null>>(sql)
  return rows.map((values) => row(...Object.values(values)))
}

function row(...values: readonly (string | null)[]): string {
  return values.map((value) => value ?? 'null').join(' | ')
}

function day(at: string | null): string | null {
  return at?.slice(0, 10) ?? null
}

function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY
}

/** Prints recall and precision: the share of the truth in the table, and the share of the table that is true. */
function expectRight(what: string, found: readonly string[], happened: readonly string[]): void {
  const missing = without(happened, found)
  const wrong = without(found, happened)
  const share = (part: readonly string[], all: readonly string[]) => 1 - part.length / all.length
  const shares = [share(missing, happened), share(wrong, found)] as const
  const [recall, precision] = shares.map((one) => `${(100 * one).toFixed(2)} %`)
  process.stdout.write(
    `${what}: ${recall} of ${happened.length} found, ${precision} of ${found.length} in the table are true\n`,
  )
  expect(happened.length).toBeGreaterThan(100)
  expect(shares[0], missing.slice(0, 5).join('\n')).toBeGreaterThanOrEqual(LEAST_RIGHT)
  expect(shares[1], wrong.slice(0, 5).join('\n')).toBeGreaterThanOrEqual(LEAST_RIGHT)
}

/** The items of `some` that are not in `others`, counting repeats. */
function without(some: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const one of others) left.set(one, (left.get(one) ?? 0) + 1)
  return some.filter((one) => {
    const count = left.get(one) ?? 0
    left.set(one, count - 1)
    return count <= 0
  })
}

/** Joins roles at one organisation without a break of more than a month; side roles separately. */
function stintsOf(roles: readonly TrueRole[]): string[] {
  const stints = new Map<string, TrueRole[][]>()
  for (const role of roles) {
    const place = row(role.profileId, role.organizationId)
    const before = stints.get(place) ?? []
    const stint = before.findLast((one) => goesOn(one, role))
    if (stint === undefined) stints.set(place, [...before, [role]])
    else stint.push(role)
  }
  return [...stints].flatMap(([place, all]) =>
    all.map((one) => row(place, day(one[0]?.from ?? null), day(endOf(one)))),
  )
}

// A person who becomes a board member by a change of title continues. A role without a seen start continues the
// previous one if the end of that was not seen either.
function goesOn(roles: readonly TrueRole[], { from, isSide }: TrueRole): boolean {
  const until = endOf(roles)
  if (from === null) return until === null && roles[0]?.isSide === isSide
  if (roles[0]?.isSide !== isSide) return roles.some((one) => one.until === from)
  return until === null || daysBetween(until, from) <= LONGEST_INTERRUPTION_DAYS
}

/** Null if they are still there. The end of a role was not seen if the start of the next was not either. */
function endOf(roles: readonly TrueRole[]): string | null {
  let last = ''
  for (const [i, { until }] of roles.entries()) {
    if (until === null && roles[i + 1]?.from !== null) return null
    if (until !== null && until > last) last = until
  }
  return last
}
