/**
 * The attrition of the simulator's world after two and after three years of observation, compared with the truth: the
 * rate is close even though people who never change anything are not seen.
 */

import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { truthOf } from '../simulator/truth.ts'
import { worldSightings } from '../../src/simulator/world.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, memoryWarehouse, naturalKey } from '../helpers/warehouse.ts'
import { groupBy } from './careers-reference.ts'

const NOW = Date.UTC(2026, 5, 15)
const MONTH = '2026-05-01'
const [FROM, UNTIL] = [Date.UTC(2025, 5, 1), Date.UTC(2026, 5, 1)]
const world = { seed: 7, organizations: 60, startAt: NOW - 1461 * DAY, endAt: NOW, events: 24_000 }

describe('the attrition of 60 organisations', () => {
  it.each([2, 3])(
    'observed for %d years is within a tenth of the truth, and its bounds contain the truth',
    async (years) => {
      const warehouse = await observedFor(years)
      const rows = await warehouse.all<{
        organization_id: string
        leavers: number
        headcount: number
        low: number
        high: number
      }>(
        `select organization_id, leavers, headcount, headcount_min as low, headcount_max as high from attrition
         where function = 'all' and level = 'all' and month_start_on = date '${MONTH}'`,
      )
      warehouse.close()
      const truth = trueRate(new Set(rows.map((row) => row.organization_id)))
      const total = (key: 'leavers' | 'headcount' | 'low' | 'high') =>
        rows.reduce((sum, row) => sum + row[key], 0)
      const leavers = total('leavers')
      const found = leavers / total('headcount')
      const figures = JSON.stringify({ organizations: rows.length, found, truth })
      expect(rows.length, figures).toBeGreaterThan(40)
      expect(Math.abs(found / truth - 1), figures).toBeLessThan(0.1)
      expect(leavers / total('high'), figures).toBeLessThan(truth)
      expect(leavers / total('low'), figures).toBeGreaterThan(truth)
    },
    240_000,
  )
})

/** The world as seen by requests for the detections of the last years. */
async function observedFor(years: number): Promise<Warehouse> {
  const since = NOW - years * 365 * DAY
  const seen = [...worldSightings(world)]
    .filter(({ isCorrection, event }) => {
      const at = Date.parse(event.detected_at)
      return !isCorrection && at >= since && at < NOW
    })
    .map(({ event }) => ({
      profile_id: event.person.profile_id,
      organization_id: event.organization.organization_id,
      event_type: event.event_type,
      changed_at: event.changed_at,
      detected_at: event.detected_at,
      title_current: event.title.current,
      title_previous: event.title.previous,
    }))
  const warehouse = await memoryWarehouse()
  await insertEvents(warehouse, [...new Map(seen.map((one) => [naturalKey(one), one])).values()])
  const organizations = [...new Set(seen.map((one) => one.organization_id))]
  await warehouse.append('ops.coverage', {
    organization_id: organizations,
    event_types: organizations.map(() => 'joined,left,title_change'),
    covered_from: organizations.map(() => new Date(since)),
    covered_to: organizations.map(() => new Date(NOW)),
  })
  await buildModels(warehouse, { buildId: 'world', builtAt: new Date(NOW) })
  return warehouse
}

/** The share of people who left these organisations in the twelve months. */
function trueRate(organizations: ReadonlySet<string>): number {
  const roles = truthOf(world).roles.filter(
    (role) => !role.isSide && organizations.has(role.organizationId),
  )
  let [left, there] = [0, 0]
  for (const own of groupBy(roles, (role) => `${role.profileId} ${role.organizationId}`).values()) {
    const from = Math.min(
      ...own.map((role) => (role.from === null ? -Infinity : Date.parse(role.from))),
    )
    const until = Math.max(
      ...own.map((role) => (role.until === null ? Infinity : Date.parse(role.until))),
    )
    if (until >= FROM && until < UNTIL) left += 1
    for (const at of [FROM, UNTIL]) if (from < at && until >= at) there += 0.5
  }
  return left / there
}
