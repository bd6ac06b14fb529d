import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { sqlFolder } from '../../src/support/assets.ts'
import { DAY } from '../../src/support/units.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  expectedMoves,
  expectedStints,
  groupBy,
  isPrimary,
  keyOf,
  newestTitles,
  type ExpectedStint,
} from './careers-reference.ts'
import { insertEvents, naturalKey, type GivenEvent } from './insert-events.ts'
import { realEvents, realEventsPath } from './real-events.ts'

const builtAt = new Date('2024-12-01T03:00:00Z')
const firstDay = Date.parse('2023-01-01T00:00:00Z')
const PEOPLE = 400

// Few organisations, days and titles for each of many people, so that ties, returns, corrections and overlaps are common.
const career: fc.Arbitrary<GivenEvent[]> = fc.uniqueArray(
  fc
    .record({
      organization_id: fc.constantFrom('acme', 'globex', 'initech'),
      event_type: fc.constantFrom('joined', 'joined', 'left', 'left', 'title_change'),
      day: fc.oneof(
        fc.constantFrom(0, 31, 59, 62, 63, 90, 180, 181, 212),
        fc.integer({ min: 0, max: 400 }),
      ),
      hour: fc.constantFrom(0, 0, 23),
      detectedDay: fc.integer({ min: 380, max: 390 }),
      title: fc.constantFrom(null, 'Software Engineer', 'Engineering Manager', 'Board Member'),
    })
    .map(({ day, hour, detectedDay, title, ...rest }) => ({
      ...rest,
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
  warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
})
afterEach(() => warehouse.close())

describe('stints and moves', () => {
  it('equal a walk through the events without SQL, for 400 random careers at a time', async () => {
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
          expect(await careersIn()).toEqual(careersOf(events))
          expect(await stintsOfAnOlderTitle(events)).toEqual([])
        },
      ),
      { numRuns: 5, endOnFailure: true },
    )
  })

  it('skips the real careers where ../shared/data is absent, and equals the walk row for row where it is there', async (context) => {
    if (!existsSync(realEventsPath)) context.skip('../shared/data is absent')
    const events = realEvents()
    await insertEvents(warehouse, events)
    await buildModels(warehouse, { buildId: 'real', builtAt, ...models })
    const expected = careersOf(events)
    const actual = await careersIn()
    expect(actual.moves).toEqual(expected.moves)
    expect(actual.stints).toEqual(expected.stints)

    const stints = expectedStints(events)
    const boomerangs = stints.filter(({ number }) => number > 1)
    const [counted] = await warehouse.all<Record<string, number>>(`
      select
        cast(count(*) as integer) as stints,
        cast(sum(case when is_boomerang then 1 else 0 end) as integer) as boomerangs,
        cast(sum(interruptions) as integer) as interruptions,
        cast((
          select count(*)
          from stints as one
          inner join stints as other
            on other.profile_id = one.profile_id
            and other.organization_id > one.organization_id
            and (other.left_at is null or one.joined_at < other.left_at)
            and (one.left_at is null or other.joined_at < one.left_at)
        ) as integer) as overlaps
      from stints`)
    expect(counted).toEqual({
      stints: stints.length,
      boomerangs: boomerangs.length,
      interruptions: stints.reduce((sum, stint) => sum + stint.interruptions, 0),
      overlaps: overlapsOf(stints),
    })
    expect(boomerangs.length).toBeGreaterThan(2_000)
    expect(counted?.['interruptions']).toBeGreaterThan(200)
    expect(counted?.['overlaps']).toBeGreaterThan(5)
    expect(actual.moves.length).toBeGreaterThan(50_000)
  })
})

/** A copy of the models that make stints and moves, without any that read them. */
function careerModels(): { modelFolder: string; checkFolder: string } {
  const folder = temporaryFolder()
  const modelFolder = join(folder, 'models')
  const checkFolder = join(folder, 'checks')
  mkdirSync(checkFolder)
  for (const file of [
    'staging/dated_events.sql',
    'core/tangled_events.sql',
    'core/stint_events.sql',
    'core/stints.sql',
    'core/moves.sql',
  ]) {
    cpSync(join(sqlFolder, 'models', file), join(modelFolder, file))
  }
  return { modelFolder, checkFolder }
}

/** Every stint and move as one line of text, sorted, as the definition has them. */
function careersOf(events: readonly GivenEvent[]): { stints: string[]; moves: string[] } {
  const stints = expectedStints(events)
  const line = (...values: readonly unknown[]) => values.map(String).join(' | ')
  const key = (event: GivenEvent | null) => (event === null ? null : keyOf(event))
  return {
    stints: stints
      .map((stint) =>
        line(
          stint.person,
          stint.organization,
          stint.number,
          key(stint.arrival),
          key(stint.departure),
          stint.events.length,
          stint.interruptions,
          isPrimary(stint),
        ),
      )
      .toSorted(),
    moves: expectedMoves(stints)
      .map(({ departed, arrived, gapDays }) =>
        line(
          key(departed.departure),
          key(arrived.arrival),
          departed.organization,
          departed.number,
          arrived.organization,
          arrived.number,
          gapDays,
          gapDays <= 31,
        ),
      )
      .toSorted(),
  }
}

/** The same from the warehouse. */
async function careersIn(): Promise<{ stints: string[]; moves: string[] }> {
  const lines = async (table: string, columns: readonly string[]) => {
    const rows = await warehouse.all<Record<string, unknown>>(
      `select ${columns.join(', ')} from ${table}`,
    )
    return rows.map((row) => columns.map((column) => String(row[column])).join(' | ')).toSorted()
  }
  return {
    stints: await lines('stints', [
      'profile_id',
      'organization_id',
      'stint_number',
      'joined_event_key',
      'left_event_key',
      'events',
      'interruptions',
      'is_primary',
    ]),
    moves: await lines('moves', [
      'left_event_key',
      'joined_event_key',
      'from_organization_id',
      'from_stint_number',
      'to_organization_id',
      'to_stint_number',
      'gap_days',
      'is_direct',
    ]),
  }
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

/** Pairs of stints of one person at two organisations of which each began before the other ended, if it did. */
function overlapsOf(stints: readonly ExpectedStint[]): number {
  let overlaps = 0
  for (const own of groupBy(stints, (stint) => stint.person).values()) {
    const spans = own.flatMap(({ organization, arrival, departure }) =>
      arrival === null
        ? []
        : [
            {
              organization,
              from: Date.parse(arrival.changed_at),
              to: departure === null ? Number.POSITIVE_INFINITY : Date.parse(departure.changed_at),
            },
          ],
    )
    overlaps += spans.flatMap((one) =>
      spans.filter(
        (other) =>
          one.organization < other.organization && one.from < other.to && other.from < one.to,
      ),
    ).length
  }
  return overlaps
}

function instant(offsetMs: number): string {
  return new Date(firstDay + offsetMs).toISOString()
}
