import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { expectedFlows, type ExpectedFlow } from './flows-reference.ts'
import { insertEvents, naturalKey, type GivenEvent } from './insert-events.ts'

const builtAt = new Date('2024-12-01T03:00:00Z')
const firstDay = Date.parse('2023-01-01T00:00:00Z')

// Few people, organisations and days, so that ties, returns, repeats and overlaps are common.
const event: fc.Arbitrary<GivenEvent> = fc
  .record({
    profile_id: fc.constantFrom('ada', 'ben', 'cy'),
    organization_id: fc.constantFrom('acme', 'globex', 'initech', 'umbrella'),
    event_type: fc.constantFrom('joined', 'left', 'title_change'),
    day: fc.oneof(fc.constantFrom(0, 31, 59, 90, 180, 181, 212), fc.integer({ min: 0, max: 400 })),
    hour: fc.constantFrom(0, 0, 23),
    detectedDaysLater: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ day, hour, detectedDaysLater, ...rest }) => ({
    ...rest,
    title_current: 'Software Engineer',
    changed_at: new Date(firstDay + day * DAY + hour * HOUR).toISOString(),
    detected_at: new Date(firstDay + (day + 1 + detectedDaysLater) * DAY).toISOString(),
  }))

describe('talent_flows', () => {
  it('equals a computation without SQL for any events, and every check passes', async () => {
    const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
    const events = fc.uniqueArray(event, { selector: naturalKey, minLength: 1, maxLength: 60 })
    try {
      await fc.assert(
        fc.asyncProperty(events, async (given) => {
          await warehouse.run('delete from job_change_events')
          await insertEvents(warehouse, given)
          await buildModels(warehouse, { buildId: 'any', builtAt })
          expect(await flowsIn(warehouse)).toEqual(expectedFlows(given))
        }),
        { numRuns: 60 },
      )
    } finally {
      warehouse.close()
    }
  })

  it('skips the 131,811 real events where ../shared/data is absent, and equals the computation where it is there', async (context) => {
    const path = join(packageRoot, '..', 'shared', 'data', 'oss-job-changes.ndjson.gz')
    if (!existsSync(path)) context.skip('../shared/data is absent')
    const events = realEvents(path)
    const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
    try {
      await insertEvents(warehouse, events)
      await buildModels(warehouse, { buildId: 'real', builtAt })
      const flows = await flowsIn(warehouse)
      expect(flows).toEqual(expectedFlows(events))
      expect(flows.length).toBeGreaterThan(40_000)
      for (const [table, eventType] of [
        ['joiners', 'joined'],
        ['leavers', 'left'],
      ]) {
        const [row] = await warehouse.all<{ rows: bigint }>(`select count(*) as rows from ${table}`)
        expect(Number(row?.rows)).toBe(events.filter((one) => one.event_type === eventType).length)
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

interface EventAsSent {
  event_type: string
  changed_at: string
  detected_at: string
  detection_lag_days: number
  title: { current: string | null; previous: string | null }
  person: { profile_id: string }
  organization: { organization_id: string; name: string }
}

/** The real events, each once. */
function realEvents(path: string): GivenEvent[] {
  const lines = gunzipSync(readFileSync(path)).toString('utf8').trim().split('\n')
  const events = lines.map((line): GivenEvent => {
    const sent = JSON.parse(line) as EventAsSent
    return {
      profile_id: sent.person.profile_id,
      organization_id: sent.organization.organization_id,
      event_type: sent.event_type,
      changed_at: sent.changed_at,
      detected_at: sent.detected_at,
      detection_lag_days: sent.detection_lag_days,
      title_current: sent.title.current,
      title_previous: sent.title.previous,
      organization_name: sent.organization.name,
    }
  })
  return [...new Map(events.map((one) => [naturalKey(one), one])).values()]
}
