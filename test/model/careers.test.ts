import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { sqlFolder } from '../../src/support/assets.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { careersIn, careersOf, expectedStints, newestTitles } from './careers-reference.ts'
import { insertEvents, memoryWarehouse, naturalKey, type GivenEvent } from '../helpers/warehouse.ts'

const builtAt = new Date('2024-12-01T03:00:00Z')
const firstDay = Date.parse('2023-01-01T00:00:00Z')
const PEOPLE = 1000

// Few organisations, days and titles for each of many people, so that ties, returns, corrections and overlaps are common.
const aTitle = fc.constantFrom(
  null,
  'Software Engineer',
  'Engineering Manager',
  'Board Member',
  'Works Council Chair',
  'Technical Advisor',
  'CTO',
  'Retired',
)
const career: fc.Arbitrary<GivenEvent[]> = fc.uniqueArray(
  fc
    .record({
      organization_id: fc.constantFrom('acme', 'globex', 'initech'),
      event_type: fc.constantFrom('joined', 'joined', 'left', 'left', 'title_change'),
      day: fc.oneof(
        fc.constantFrom(0, 31, 59, 62, 63, 90, 180, 181, 212),
        fc.integer({ min: 0, max: 400 }),
        fc.integer({ min: 0, max: 900 }),
      ),
      hour: fc.constantFrom(0, 0, 23),
      detectedDay: fc.integer({ min: 910, max: 920 }),
      title: aTitle,
      previous: aTitle,
    })
    .map(({ day, hour, detectedDay, title, previous, ...rest }) => ({
      ...rest,
      title_previous: rest.event_type === 'title_change' ? previous : null,
      profile_id: '',
      changed_at: instant(day * DAY + hour * 3_600_000),
      detected_at: instant(detectedDay * DAY),
      title_current: title,
    })),
  { selector: naturalKey, minLength: 1, maxLength: 12 },
)

let warehouse: Warehouse
let models: { modelFolder: string; checkFolder: string }
beforeEach(async () => {
  models = careerModels()
  warehouse = await memoryWarehouse()
})
afterEach(() => warehouse.close())

describe('stints and moves', () => {
  it('equal a walk through the events without SQL, for 1,000 random careers each time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(career, { minLength: PEOPLE, maxLength: PEOPLE }),
        async (careers) => {
          const events = careers.flatMap((own, index) =>
            own.map((event) => ({ ...event, profile_id: `person ${index}` })),
          )
          await warehouse.run('delete from job_change_events; delete from ops.build_state')
          await insertEvents(warehouse, events)
          await buildModels(warehouse, { buildId: 'any', builtAt, ...models })
          expect(await careersIn(warehouse)).toEqual(careersOf(events))
          expect(await stintsOfAnOlderTitle(events)).toEqual([])
        },
      ),
      { numRuns: 2, endOnFailure: true },
    )
  })
})

/** A copy of the models that lead to stints and moves, without their readers. */
function careerModels(): { modelFolder: string; checkFolder: string } {
  const folder = temporaryFolder()
  const modelFolder = join(folder, 'models')
  const checkFolder = join(folder, 'checks')
  mkdirSync(checkFolder)
  for (const file of [
    'core/dated_events.sql',
    'core/person_pages.sql',
    'core/ambiguous_facts.sql',
    'core/ambiguous_events.sql',
    'core/stint_events.sql',
    'marts/stints.sql',
    'marts/moves.sql',
    'core/move_links.sql',
    'core/transfers.sql',
    'core/person_histories.sql',
    'marts/duplicate_people.sql',
    'marts/transfer_candidates.sql',
  ]) {
    cpSync(join(sqlFolder, 'models', file), join(modelFolder, file))
  }
  return { modelFolder, checkFolder }
}

/** Open stints whose last title is not that of the newest joining or change of title. */
async function stintsOfAnOlderTitle(events: readonly GivenEvent[]): Promise<string[]> {
  const rows = await warehouse.all<{ stint: string; last_title: string | null }>(
    "select concat_ws(' | ', profile_id, organization_id, stint_number) as stint, last_title from stints",
  )
  const lastTitles = new Map(rows.map((row) => [row.stint, row.last_title]))
  return expectedStints(events).flatMap((stint) => {
    const name = [stint.person, stint.organization, stint.number].join(' | ')
    const lastTitle = lastTitles.get(name) ?? ''
    return newestTitles(stint)?.includes(lastTitle) === false ? [`${name}: ${lastTitle}`] : []
  })
}

function instant(offsetMs: number): string {
  return new Date(firstDay + offsetMs).toISOString()
}
