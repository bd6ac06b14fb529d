/** What the tables conclude from the events of a made-up world, against what happened there. */

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
// A leaving and a joining are a move up to so many days apart: docs/careers.md.
const FEWEST_DAYS = -31
const MOST_DAYS = 180
const LONGEST_INTERRUPTION_DAYS = 31
/** What `executive_seats` calls the offices. */
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

// No build checks the key of a view: src/model/checks.ts.
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

// Time that grows with the square of the events is not seen on few of them.
it('no model and no check joins two tables by comparing each row with each', async () => {
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

/** Prints what share of what happened is in the table, and what share of the table happened. */
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

/** Those of `some` that are not in `others`; what is there twice is needed twice. */
function without(some: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const one of others) left.set(one, (left.get(one) ?? 0) + 1)
  return some.filter((one) => {
    const count = left.get(one) ?? 0
    left.set(one, count - 1)
    return count <= 0
  })
}

/** Roles at one organisation without a break of more than a month, put together; those beside a main job apart. */
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

// Who becomes a board member by a change of title goes on. A role whose beginning was not seen goes on where the end of
// the one before it was not seen either.
function goesOn(roles: readonly TrueRole[], { from, isSide }: TrueRole): boolean {
  const until = endOf(roles)
  if (from === null) return until === null && roles[0]?.isSide === isSide
  if (roles[0]?.isSide !== isSide) return roles.some((one) => one.until === from)
  return until === null || daysBetween(until, from) <= LONGEST_INTERRUPTION_DAYS
}

/** Null where they are there still. The end of a role was not seen where the beginning of the next was not either. */
function endOf(roles: readonly TrueRole[]): string | null {
  let last = ''
  for (const [i, { until }] of roles.entries()) {
    if (until === null && roles[i + 1]?.from !== null) return null
    if (until !== null && until > last) last = until
  }
  return last
}
