/** The conclusions of the tables from made-up careers and deals with a known truth; prints the figures. */

import { afterEach, beforeEach, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'
import { careersWorld, LAST_DAY } from './careers-world.ts'
import { dealsWorld } from './deals-world.ts'

const builtAt = new Date(LAST_DAY)

let warehouse: Warehouse
beforeEach(async () => {
  warehouse = await memoryWarehouse()
})
afterEach(() => warehouse.close())

it.each([1, 2, 3])(
  'of 3,000 careers of world %i at least 98 % are right, and headcounts are within their range',
  async (seed) => {
    const { events, truth, kinds } = careersWorld(seed, 3000)
    await build(events)
    process.stdout.write(`${JSON.stringify(kinds)}\n`)
    const year = (column: string) => `extract(year from ${column})`
    const own = `profile_id || ' | ' || organization_id || ' | '`
    expectRight(
      'joiners',
      await lines(`select ${own} || ${year('joined_on')} from joiners where is_primary`),
      truth.joiners,
    )
    expectRight(
      'leavers',
      await lines(`select ${own} || ${year('left_on')} from leavers where is_primary`),
      truth.leavers,
    )
    const moves = await lines(
      `select profile_id || ' | ' || to_organization_id || ' | ' || ${year('joined_on')} || ' from ' || from_organization_id
       from moves`,
    )
    expectRight('moves', moves, truth.moves)
    expectRight(
      'promotions',
      await lines(`select ${own} || ${year('promoted_on')} from promotions where is_primary`),
      truth.promotions,
    )

    const months = await warehouse.all<{
      organization: string
      end: Date
      least: number
      most: number
    }>(
      `select organization_id as organization, (last_day(month_start_on) + 1)::timestamp as end, headcount_min as least,
         headcount_max as most
       from organization_headcount_monthly
       where organization_id like 'org %'`,
    )
    const inRange = months.filter(({ organization, end, least, most }) => {
      const at = end.getTime()
      const people = truth.spells.filter(
        (one) =>
          one.organization === organization &&
          one.from < at &&
          (one.until === null || one.until >= at),
      ).length
      return people >= least && people <= most
    })
    process.stdout.write(
      `headcounts: ${percent(inRange.length, months.length)} of ${months.length} in range\n`,
    )
    expect(inRange.length / months.length).toBeGreaterThanOrEqual(0.99)
  },
  240_000,
)

it.each([1, 2])(
  'of 600 groups of ordinary moves of world %i at most 3 are transfers, and of 360 deals at least nine in ten',
  async (seed) => {
    const { events, ordinary, deals } = dealsWorld(seed, 600)
    await build(events)
    const found = new Set(
      await lines(
        `select from_organization_id || ' > ' || to_organization_id from transfer_candidates where is_transfer`,
      ),
    )
    const wrong = ordinary.filter((pair) => found.has(pair))
    process.stdout.write(
      `ordinary groups that count as transfers: ${wrong.length} of ${ordinary.length}\n`,
    )
    expect(wrong.length * 200).toBeLessThanOrEqual(ordinary.length)
    for (const [kind, pairs] of Object.entries(deals)) {
      const right = pairs.filter((pair) => found.has(pair)).length
      process.stdout.write(`${kind}: ${percent(right, pairs.length)} of ${pairs.length} found\n`)
      expect(right / pairs.length, kind).toBeGreaterThanOrEqual(0.9)
    }
  },
  240_000,
)

async function build(events: Parameters<typeof insertEvents>[1]): Promise<void> {
  await insertEvents(warehouse, events)
  await buildModels(warehouse, { buildId: 'world', builtAt })
}

async function lines(select: string): Promise<string[]> {
  const rows = await warehouse.all<{ line: string }>(`select line from (${select}) as rows(line)`)
  return rows.map(({ line }) => line)
}

function expectRight(what: string, found: readonly string[], truth: readonly string[]): void {
  const falselyFound = without(found, truth)
  const missed = without(truth, found)
  const right = found.length - falselyFound.length
  process.stdout.write(
    `${what}: ${percent(right, truth.length)} of ${truth.length} found, ${percent(right, found.length)} of ${found.length} true\n`,
  )
  const examples = { falselyFound: falselyFound.slice(0, 5), missed: missed.slice(0, 5) }
  expect(right / truth.length, JSON.stringify(examples)).toBeGreaterThanOrEqual(0.98)
  expect(right / found.length, JSON.stringify(examples)).toBeGreaterThanOrEqual(0.98)
}

/** Counts each as often as it is in excess. */
function without(one: readonly string[], other: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const line of other) left.set(line, (left.get(line) ?? 0) + 1)
  return one.filter((line) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count <= 0
  })
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(2)} %`
}
