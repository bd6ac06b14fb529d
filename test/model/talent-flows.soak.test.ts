import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { expectedFlows } from './flows-reference.ts'
import { flowsIn } from './groups-compare.ts'
import { insertEvents, naturalKey, type GivenEvent } from './insert-events.ts'

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
})
