/**
 * The headcount views against plain counting: for random worlds, who is at an organisation at the end of each month, and who may
 * be, is found stint by stint and month by month.
 */

import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DAY } from '../../src/support/units.ts'
import { buildModels } from '../../src/model/build.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { groupBy } from './careers-reference.ts'
import { anyHistory, Worlds } from './histories.ts'

interface Stint {
  readonly profile_id: string
  readonly organization_id: string
  readonly stint_number: number
  readonly previous_stint_number: number | null
  readonly joined_at: Date | null
  readonly left_at: Date | null
  readonly is_open: boolean
  readonly first_event_at: Date
  readonly last_event_at: Date
  readonly last_detected_at: Date
  /** The month from which on it is not sure that the person is still there. */
  doubted?: number
}

/** A joining of somebody who was there, and when something else was last seen there before it. */
interface Again {
  readonly profile_id: string
  readonly organization_id: string
  readonly part: string
  readonly changed_at: Date
  readonly previous_at: Date
}

interface Headcount {
  readonly organization_id: string
  readonly month: number
  readonly headcount_min: number
  readonly headcount_max: number
}

let warehouse: Warehouse

beforeAll(async () => {
  warehouse = await memoryWarehouse({ threads: 1 })
  const worlds = new Worlds(fc.sample(anyHistory, { numRuns: 400, seed: 20_241_202 }))
  for (const night of [0, 1, 2, 3]) worlds.take(night)
  await worlds.put(warehouse, false)
  await buildModels(warehouse, { buildId: 'worlds', builtAt: new Date('2024-12-10T03:00:00Z') })
  await warehouse.run(`set search_path = 'main,detail,service,core'`)
})
afterAll(() => warehouse.close())

describe('headcounts of 400 random worlds', () => {
  it('are those of counting who was there, stint by stint and month by month', async () => {
    const stints = await warehouse.all<Stint>(
      `select profile_id, organization_id, stint_number, previous_stint_number, joined_at, left_at, is_open,
         first_event_at, last_event_at, last_detected_at
       from stints where is_primary`,
    )
    const rows = await warehouse.all<Headcount>(
      `select organization_id, cast(month_number(month_start_on) as integer) as month, headcount_min, headcount_max
       from organization_headcount_monthly order by 1, 2`,
    )
    const ofOrganization = groupBy(stints, (stint) => stint.organization_id)
    const ofPerson = groupBy(stints, (stint) => stint.profile_id)
    const again = await warehouse.all<Again>(
      `select profile_id, organization_id, part, changed_at,
         lag(changed_at) over (
           partition by profile_id, organization_id, stint_number order by changed_at, detected_at, event_key
         ) as previous_at
       from stint_events semi join (from stints where is_primary) using (profile_id, organization_id, stint_number)
       qualify part = 'role_start'`,
    )
    const againOf = groupBy(again, (one) => one.profile_id)
    for (const stint of stints) {
      const { profile_id: id } = stint
      stint.doubted = doubtedFrom(stint, ofPerson.get(id) ?? [], againOf.get(id) ?? [])
    }
    expect(rows.length).toBeGreaterThan(2000)
    expect(rows.filter((row) => row.headcount_max > row.headcount_min).length).toBeGreaterThan(500)
    for (const row of rows) {
      const there = (ofOrganization.get(row.organization_id) ?? []).map((stint) =>
        presence(stint, stints, row.month),
      )
      expect({ ...row }).toEqual({
        organization_id: row.organization_id,
        month: row.month,
        headcount_min: there.filter((one) => one === 'there').length,
        headcount_max: there.filter((one) => one !== 'not there').length,
      })
    }
  })

  it('have a row for every month, and rates between none and what the fewest people say', async () => {
    expect(
      await warehouse.all(
        `select organization_id from organization_headcount_monthly group by organization_id
         having count(*) <> max(month_number(month_start_on)) - min(month_number(month_start_on)) + 1`,
      ),
    ).toEqual([])
    expect(
      await warehouse.all(
        `select * from organization_headcount_monthly
         where mean_headcount_min > mean_headcount_max or attrition_rate_min > attrition_rate_max
           or hiring_rate_min > hiring_rate_max or growth_rate_min > growth_rate_max`,
      ),
    ).toEqual([])
  })

  it('of all roles of a month add up to that of the organisation', async () => {
    expect(
      await warehouse.all(
        `select organization_id, month_start_on, headcount_min, headcount_max
         from organization_headcount_monthly where headcount_max > 0
         except
         select organization_id, month_start_on, sum(headcount_min), sum(headcount_max)
         from role_headcount_monthly group by all`,
      ),
    ).toEqual([])
  })
})

/** Whether the person of a stint is there at the end of a month, counted from the year 0. */
function presence(
  stint: Stint,
  stints: readonly Stint[],
  month: number,
): 'there' | 'may be there' | 'not there' {
  const ofPerson = (one: Stint) =>
    one.profile_id === stint.profile_id && one.organization_id === stint.organization_id
  const previous = stints.find(
    (one) => ofPerson(one) && one.stint_number === stint.previous_stint_number,
  )
  const next = stints.find(
    (one) => ofPerson(one) && one.previous_stint_number === stint.stint_number,
  )
  const start = startOf(stint)
  const nextStart = next === undefined ? Infinity : startOf(next)
  const end = endOf(stint, nextStart)
  if (month >= start && month < end) return 'there'
  if (month >= end)
    return stint.left_at === null && month < nextStart ? 'may be there' : 'not there'
  if (stint.joined_at !== null) return 'not there'
  if (previous === undefined) return 'may be there'
  // What lies between two stints of which neither end was seen is that of the one before.
  return previous.left_at !== null && month >= monthOf(previous.left_at)
    ? 'may be there'
    : 'not there'
}

function startOf(stint: Stint): number {
  return monthOf(stint.joined_at ?? stint.first_event_at)
}

function endOf(stint: Stint, nextStart: number): number {
  if (stint.left_at !== null) return monthOf(stint.left_at)
  if (stint.is_open) return stint.doubted ?? Infinity
  return Math.min(nextStart, monthOf(stint.last_event_at) + 1)
}

/**
 * When somebody who was not seen to leave joined elsewhere, later than all that was seen here can have been; or joined again
 * where nothing else was seen since.
 */
function doubtedFrom(stint: Stint, stints: readonly Stint[], again: readonly Again[]): number {
  const last = lastDayOf(stint.last_event_at, stint.last_detected_at)
  const joinings = stints
    .filter((one) => one.organization_id !== stint.organization_id)
    .flatMap(({ joined_at: at }) => (at !== null && at.getTime() > last ? [monthOf(at)] : []))
  const returns = again
    .filter(
      (one) =>
        one.organization_id !== stint.organization_id &&
        one.changed_at.getTime() > last &&
        one.previous_at < stint.last_event_at,
    )
    .map((one) => monthOf(one.changed_at))
  return Math.min(Infinity, ...joinings, ...returns)
}

/** The end of the year, as far as it was over when it was seen, or of the month that a date stands for, else of its day. */
function lastDayOf(at: Date, seenAt: Date): number {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  if (at.getTime() === Date.UTC(year, 0)) {
    const seen = Math.floor(seenAt.getTime() / DAY + 1) * DAY
    return Math.min(Date.UTC(year + 1, 0), Math.max(Date.UTC(year, 1), seen)) - 1
  }
  if (at.getTime() === Date.UTC(year, month)) return Date.UTC(year, month + 1) - 1
  return Date.UTC(year, month, day + 1) - 1
}

function monthOf(at: Date): number {
  return at.getUTCFullYear() * 12 + at.getUTCMonth() + 1
}
