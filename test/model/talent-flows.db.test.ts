import { existsSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { expectedStints } from './careers-reference.ts'
import { expectedFlows, type ExpectedFlow } from './flows-reference.ts'
import { insertEvents, naturalKey, type GivenEvent } from './insert-events.ts'
import { realEvents, realEventsPath } from './real-events.ts'

const builtAt = new Date('2024-12-01T03:00:00Z')
const firstDay = Date.parse('2023-01-01T00:00:00Z')

// Few organisations and days for each of many people, so that ties, returns, repeats and overlaps are common.
const PEOPLE = 200
const event: fc.Arbitrary<GivenEvent> = fc
  .record({
    organization_id: fc.constantFrom('acme', 'globex', 'initech', 'umbrella'),
    event_type: fc.constantFrom('joined', 'left', 'title_change'),
    day: fc.oneof(fc.constantFrom(0, 31, 59, 90, 180, 181, 212), fc.integer({ min: 0, max: 400 })),
    hour: fc.constantFrom(0, 0, 23),
    detectedDaysLater: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ day, hour, detectedDaysLater, ...rest }) => ({
    ...rest,
    profile_id: '',
    title_current: 'Software Engineer',
    changed_at: new Date(firstDay + day * DAY + hour * HOUR).toISOString(),
    detected_at: new Date(firstDay + (day + 1 + detectedDaysLater) * DAY).toISOString(),
  }))

describe('talent_flows', () => {
  it('equals a computation without SQL for 200 random careers at a time, and every check passes', async () => {
    const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
    const career = fc.uniqueArray(event, { selector: naturalKey, minLength: 1, maxLength: 20 })
    const careers = fc.array(career, { minLength: PEOPLE, maxLength: PEOPLE })
    try {
      await fc.assert(
        fc.asyncProperty(careers, async (given) => {
          const events = given.flatMap((own, index) =>
            own.map((one) => ({ ...one, profile_id: `person ${index}` })),
          )
          await warehouse.run('delete from job_change_events; delete from ops.build_state')
          await insertEvents(warehouse, events)
          await buildModels(warehouse, { buildId: 'any', builtAt })
          expect(await flowsIn(warehouse)).toEqual(expectedFlows(events))
        }),
        { numRuns: 4, endOnFailure: true },
      )
    } finally {
      warehouse.close()
    }
  })

  it('skips the 131,811 real events where ../shared/data is absent, and equals the computation where it is there', async (context) => {
    if (!existsSync(realEventsPath)) context.skip('../shared/data is absent')
    const events = realEvents()
    const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
    try {
      await insertEvents(warehouse, events)
      await buildModels(warehouse, { buildId: 'real', builtAt })
      const flows = await flowsIn(warehouse)
      expect(flows).toEqual(expectedFlows(events))
      expect(flows.length).toBeGreaterThan(40_000)
      const stints = expectedStints(events)
      for (const [table, rows] of [
        ['joiners', stints.filter(({ arrival }) => arrival !== null).length],
        ['leavers', stints.filter(({ departure }) => departure !== null).length],
      ] as const) {
        const [row] = await warehouse.all<{ rows: bigint }>(`select count(*) as rows from ${table}`)
        expect(Number(row?.rows)).toBe(rows)
      }
    } finally {
      warehouse.close()
    }
  })
})

async function flowsIn(warehouse: Warehouse): Promise<ExpectedFlow[]> {
  const rows = await warehouse.all<{
    from: string
    to: string
    people: number
    moves: number
    first: Date
    last: Date
    gap: number
  }>(
    `select from_organization_id as "from", to_organization_id as "to", people, moves,
            first_moved_at as first, last_moved_at as last, median_gap_days as gap
     from talent_flows
     order by concat(from_organization_id, ' ', to_organization_id)`,
  )
  return rows.map(({ first, last, gap, ...row }) => ({
    ...row,
    firstMovedAt: first.toISOString(),
    lastMovedAt: last.toISOString(),
    medianGapDays: gap,
  }))
}
