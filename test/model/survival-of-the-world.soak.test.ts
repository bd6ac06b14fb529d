/**
 * The tables of waits and survival, compared with the truth of the simulator's world: people whose leaving was not seen
 * yet do not count as staying, and the speed of backfills does not depend on how many joinings are seen.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { worldSightings } from '../../src/simulator/world.ts'
import { DAY } from '../../src/support/units.ts'
import { understandTitle } from '../../src/titles/understand.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, memoryWarehouse, naturalKey } from '../helpers/warehouse.ts'
import { groupBy } from './careers-reference.ts'
import {
  backfillMedians,
  fillWithFewerJoinings,
  kaplanMeier,
  monthOf,
} from './survival-reference.ts'

const TODAY = Date.UTC(2026, 10, 20)
const NEWEST_COHORT = 2026

let warehouse: Warehouse
let happened: readonly JobChangeEvent[]
beforeAll(async () => {
  const years = { startAt: TODAY - 5 * 365 * DAY, endAt: TODAY }
  const sightings = [...worldSightings({ seed: 7, organizations: 60, events: 24_000, ...years })]
  happened = sightings.filter(({ isCorrection }) => !isCorrection).map(({ event }) => event)
  warehouse = await memoryWarehouse()
  const seen = happened.filter(isSeen).map(asGiven)
  await insertEvents(warehouse, [...new Map(seen.map((one) => [naturalKey(one), one])).values()])
  const organizations = [...new Set(seen.map((one) => one.organization_id))]
  await warehouse.append('ops.coverage', {
    organization_id: organizations,
    event_types: organizations.map(() => 'joined,left,title_change'),
    covered_to: organizations.map(() => new Date(TODAY)),
  })
  await buildModels(warehouse, { buildId: 'world', builtAt: new Date(TODAY) })
  await warehouse.run(`set search_path = 'main,detail,service,core'`)
}, 240_000)
afterAll(() => warehouse.close())

describe('the world of the simulator', () => {
  it('shows nine of ten leavings of the month before the cutoff, and fewer than eight of those of the last month', async () => {
    const cutoffs = await warehouse.all<{ organization_id: string; cutoff_on: Date }>(
      'select organization_id, cutoff_on from organization_observation',
    )
    const ends = new Map(cutoffs.map((one) => [one.organization_id, one.cutoff_on.getTime()]))
    const shareSeen = (endOf: (organization: string) => number) => {
      const leavings = happened.filter(({ event_type: type, changed_at: at, organization }) => {
        const beforeEnd = endOf(organization.organization_id) - Date.parse(at)
        return type === 'left' && beforeEnd > 0 && beforeEnd <= 31 * DAY
      })
      return leavings.filter(isSeen).length / leavings.length
    }
    expect(shareSeen((organization) => ends.get(organization) ?? 0)).toBeGreaterThan(0.87)
    expect(shareSeen(() => TODAY)).toBeLessThan(0.8)
  })

  // Some leavings before the cutoff are not seen either, so the error is smaller but not 0.
  it('shows more accurately than all visible events how many of the newest cohort stay half a year', async () => {
    const counts = await warehouse.all<{ months: number; exits: number; censored: number }>(
      `select tenure_calendar_months as months, cast(sum(exits) as int) as exits, cast(sum(censored) as int) as censored
       from tenure_counts where cohort_year = ${NEWEST_COHORT} group by 1`,
    )
    const counted = counts.flatMap(({ months: at, exits, censored }) => [
      ...Array.from({ length: exits }, () => ({ at, isExit: true })),
      ...Array.from({ length: censored }, () => ({ at, isExit: false })),
    ])
    const truth = survivalAfter(staysOf(happened), 6)
    const errors = [counted, staysOf(happened.filter(isSeen))].map(
      (people) => survivalAfter(people, 6) - truth,
    )
    const [error = 1, errorOfAllSeen = 1] = errors
    expect(Math.abs(error), String(errors)).toBeLessThan(errorOfAllSeen)
    expect(Math.abs(error), String(errors)).toBeLessThan(0.015)
  })

  it('fills its vacancies just as fast if every fourth joining is not seen', async () => {
    const all = await backfillMedians(warehouse)
    await fillWithFewerJoinings(warehouse)
    const fewer = await backfillMedians(warehouse)
    const figures = JSON.stringify({ all, fewer })
    expect(fewer.filledShare, figures).toBeLessThan(all.filledShare - 0.05)
    expect(Math.abs(Number(fewer.ofFilled) / Number(all.ofFilled) - 1), figures).toBeLessThan(0.1)
  })
})

function asGiven(event: JobChangeEvent) {
  return {
    profile_id: event.person.profile_id,
    organization_id: event.organization.organization_id,
    event_type: event.event_type,
    changed_at: event.changed_at,
    detected_at: event.detected_at,
    title_current: event.title.current,
    title_previous: event.title.previous,
  }
}

function isSeen({ detected_at: at }: JobChangeEvent): boolean {
  return Date.parse(at) < TODAY
}

/**
 * How long people of the newest cohort stayed according to the events, in calendar months, until the last whole month.
 */
function staysOf(events: readonly JobChangeEvent[]) {
  const endAt = Date.UTC(2026, 10, 1)
  const jobs = groupBy(
    events.filter(
      ({ event_type: type, title, changed_at: at }) =>
        type !== 'title_change' &&
        Date.parse(at) < endAt &&
        !understandTitle(title.current ?? '').isSideRole,
    ),
    ({ person, organization }) => `${person.profile_id}|${organization.organization_id}`,
  )
  return [...jobs.values()].flatMap((job) => {
    const inOrder = job.toSorted((a, b) => (a.changed_at < b.changed_at ? -1 : 1))
    return inOrder.flatMap(({ event_type: type, changed_at: at }, index) => {
      const joined = new Date(at)
      if (type !== 'joined' || joined.getUTCFullYear() !== NEWEST_COHORT) return []
      const left = inOrder.slice(index + 1).find((next) => next.event_type === 'left')
      const end = left === undefined ? new Date(endAt - 1) : new Date(left.changed_at)
      return [{ at: monthOf(end) - monthOf(joined), isExit: left !== undefined }]
    })
  })
}

function survivalAfter(
  people: readonly { readonly at: number; readonly isExit: boolean }[],
  months: number,
): number {
  return kaplanMeier(people).findLast(({ at }) => at <= months)?.survival ?? 1
}
