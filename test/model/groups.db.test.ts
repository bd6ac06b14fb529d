/**
 * The tables about organisations of 400 random worlds, compared with simple references: who joined, left and was
 * promoted, and who is, or may be, at an organisation at the end of each month, stint by stint.
 */

import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { readChecks } from '../../src/model/checks.ts'
import { sqlFolder } from '../../src/support/assets.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { groupBy } from './careers-reference.ts'
import { expectFlowsByYear } from './flows-reference.ts'
import { expectGroupTables } from './groups-reference.ts'
import { anyHistory, Worlds } from './histories.ts'
import { expectSurvivalTables } from './survival-reference.ts'

// Each claim about tables of organisations, and damage that breaks it.
const damages: Readonly<Record<string, readonly string[]>> = {
  every_change_is_counted_once_by_month_and_by_organization: [
    'delete from organization_monthly where joiners > 0',
    'update organization_monthly set boomerangs = joiners',
  ],
  weeks_and_months_of_an_organization_add_up_to_the_same: [
    'update organization_monthly set leavers = leavers + 1',
  ],
  net_is_joiners_minus_leavers_and_parts_are_no_more_than_the_whole: [
    'update organization_weekly set net = net + 1',
    'update organization_monthly set boomerangs = joiners + 1',
  ],
  months_start_on_the_first: [
    'update organization_monthly set month_start_on = month_start_on + 1',
    'update organization_observation set cutoff_on = cutoff_on + 1',
  ],
  weeks_start_on_monday: ['update organization_weekly set week_start_on = week_start_on + 1'],
  flows_lead_elsewhere_and_hold_no_more_people_than_moves: [
    'update organization_pairs set people = moves + 1',
  ],
  flows_are_a_share_of_all_leavings_and_joinings: [
    'update organizations set leavers_ever = 0',
    'update organizations set joiners_ever = 0',
  ],
  flows_by_year_add_up_to_the_flows: ['delete from organization_pairs_yearly'],
  flows_count_every_move_once: ['update organization_pairs set moves = moves + 1'],
  headcounts_add_up_to_the_people_with_open_stints: [
    'update headcount_steps set people = people + 1',
  ],
  headcounts_are_never_negative: [
    'update headcount_changes set people = people - 9',
    'update headcount_changes set appeared = 0, may_begin = may_begin + 1',
  ],
  attrition_adds_up_over_functions_and_levels: [
    // No organisation has ten people in these worlds.
    `insert into attrition values ('org_1', date '2024-01-01', 'all', 'all', 1, 10, 10, 10, 0.1, 0.1, 0.1, null, 'C', '')`,
    `insert into attrition values ('org_1', date '2024-01-01', 'all', 'all', 0, 11, 10, 10, 0, 0, 0, null, 'C', '')`,
  ],
  executive_departures_hold_every_leaving: ['delete from executive_departures'],
  executive_seats_hold_every_change: [
    'delete from executive_seats',
    'update executive_seats set ended_event_key = null',
  ],
  seat_successions_successor_is_unique: ['insert into seat_successions from seat_successions'],
  successions_are_inside_one_seat: [
    `update seat_successions set seat = 'none'`,
    'update seat_successions set was_interim = not was_interim',
  ],
  filled_vacancies_joining_is_unique: ['insert into filled_vacancies from filled_vacancies'],
  vacancies_are_filled_at_their_function_and_level: [`update filled_vacancies set level = 'none'`],
  vacancies_are_filled_by_the_nearest: [
    `insert into leavers select * replace (event_key || ' again' as event_key) from leavers
     where event_key in (select left_event_key from filled_vacancies where is_same_core)`,
    `insert into leavers select * replace (event_key || ' again' as event_key) from leavers
     where event_key in (select left_event_key from filled_vacancies where not is_same_core)`,
  ],
  vacancies_are_as_long_as_their_dates_say: [
    'update filled_vacancies set days_to_backfill = -1',
    'update filled_vacancies set days_to_backfill_max = 366',
    'update seat_successions set vacancy_days = 366',
  ],
  tenure_counts_are_positive: [
    'update tenure_counts set exits = 0, censored = 0',
    'update tenure_counts set tenure_calendar_months = -1',
  ],
  promotion_wait_counts_are_positive: [
    'update promotion_wait_counts set promoted = 0, censored = 0',
    'update promotion_wait_counts set wait_calendar_months = -1',
  ],
  tenure_counts_hold_every_joiner_once: ['delete from tenure_counts'],
  every_promotion_is_in_one_step_of_promotion_waits: [
    `delete from promotion_waits where to_level = 'all'`,
    `delete from promotion_waits where to_level <> 'all'`,
  ],
  percentiles_are_in_rising_order: [
    'update promotion_waits set months_of_promoted_p25 = months_of_promoted_p75 + 1',
    'update detection_lag set lag_days_p50 = lag_days_p99 + 1',
  ],
  every_event_is_in_one_detection_lag: ['update detection_lag set events = events + 1'],
  the_last_restatement_of_a_month_is_its_figure: [
    'update restatements set joiners_added = joiners_added + 1',
    'update restatements set known_month_on = month_start_on',
  ],
}

const checks = readChecks(join(sqlFolder, 'checks'))
let warehouse: Warehouse

beforeAll(async () => {
  warehouse = await memoryWarehouse({ threads: 1 })
  const worlds = new Worlds(fc.sample(anyHistory, { numRuns: 400, seed: 20_241_201 }))
  for (const night of [0, 1, 2, 3]) worlds.take(night)
  await worlds.put(warehouse, false)
  await buildModels(warehouse, { buildId: 'worlds', builtAt: new Date('2024-12-10T03:00:00Z') })
  await warehouse.run(`set search_path = 'main,detail,service,core'`)
})
afterAll(() => warehouse.close())

describe('tables about organisations', () => {
  it('equal a simulation for 400 random worlds of 3 organisations', async () => {
    const sizes = await expectGroupTables(warehouse)
    expect(sizes.departures).toBeGreaterThan(300)
    expect(sizes.steppedDown).toBeGreaterThan(100)
    expect(sizes.followed).toBeGreaterThan(50)
    expect(sizes.interim).toBeGreaterThan(10)
  })

  it('equal waits and survival counted one by one for the same worlds', async () => {
    const sizes = await expectSurvivalTables(warehouse)
    expect(sizes.backfills).toBeGreaterThan(300)
    expect(sizes.filled).toBeGreaterThan(20)
    expect(sizes.speeds).toBeGreaterThan(200)
    expect(sizes.tenures).toBeGreaterThan(300)
  })

  it('equal flows by year counted leaving by leaving for the same worlds', async () => {
    expect(await expectFlowsByYear(warehouse)).toBeGreaterThan(200)
  })
})

describe('a check of tables about organisations', () => {
  const each = Object.entries(damages).flatMap(([name, all]) => all.map((one) => [name, one]))
  it.each(each)('%s finds a violation: %s', async (name, damage) => {
    const sql = checks.find((check) => check.name === name)?.sql ?? ''
    expect(await warehouse.all(sql)).toEqual([])
    await warehouse.run(`begin; ${damage}`)
    try {
      expect((await warehouse.all(sql)).length).toBeGreaterThan(0)
    } finally {
      await warehouse.run('rollback')
    }
  })
})

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
  /** The month from which it is uncertain whether the person is still there. */
  doubted?: number
}

/** A joining of a person who was there, and the last other event there before it. */
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

describe('headcounts of the same worlds', () => {
  it('equal counts of who was there, stint by stint and month by month', async () => {
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

  it('have a row for every month, and rates between 0 and that of the lowest headcount', async () => {
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

  it('have their last in organization_headcounts', async () => {
    const columns = 'organization_id, month_start_on, headcount, headcount_min, headcount_max'
    const last = await warehouse.all(
      `select ${columns} from organization_headcount_monthly
       qualify row_number() over (partition by organization_id order by month_start_on desc) = 1 order by all`,
    )
    expect(last.length).toBeGreaterThan(10)
    const now = `select ${columns} from organization_headcounts order by all`
    expect(await warehouse.all(now)).toEqual(last)
  })

  it('by role add up each month to that of the organisation', async () => {
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
  // The time between two stints without a seen end or start belongs to the earlier one.
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
 * When a person who was not seen to leave joined elsewhere, certainly after everything seen here; or joined again where
 * nothing else was seen since.
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

/** The end of the year, up to the detection, or of the month that a date stands for, else of its day. */
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
