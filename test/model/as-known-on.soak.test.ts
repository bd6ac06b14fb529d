/**
 * `<table>_as_known_on(day)` equals the table of a warehouse that received only what was known on that day, row by row.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { knownOnStatements } from '../../src/model/as-known-on.ts'
import { buildModels } from '../../src/model/build.ts'
import { readProject } from '../../src/model/project.ts'
import { load } from '../../src/load/load.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { rounds } from '../helpers/tier.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { START, aPage, journalOfPages, wireEvent } from '../load/load-fixture.ts'

/** One sighting of an event; times in milliseconds since 1970 UTC. */
interface Sighting {
  readonly event: JobChangeEvent
  readonly at: number
}

const TITLES = ['Engineer', 'Senior Engineer', 'Engineering Manager', 'Board Member']
const MONTHS = [0, 31, 61, 92, 122].map((day) => START - 400 * DAY + day * DAY)

// One person has every change of title from the first day on, and another those that change nothing: labels exist only
// for known titles.
const everyPair: Sighting[] = TITLES.flatMap((previousTitle, from) =>
  TITLES.map((title, to) => ({
    event: wireEvent({
      person: title === previousTitle ? 'per_same' : 'per_all',
      type: 'title_change',
      changedAt:
        START - (title === previousTitle ? 1_500 - 100 * from : 900 - 10 * from - to) * DAY,
      detectedAt: START - 800 * DAY,
      title,
      previousTitle,
    }),
    at: START - 500 * DAY,
  })),
)

const anySighting: fc.Arbitrary<Sighting> = fc
  .record({
    person: fc.constantFrom('per_1', 'per_2', 'per_3', 'per_4', 'per_5'),
    organization: fc.constantFrom('org_1', 'org_2'),
    type: fc.constantFrom('joined', 'left', 'title_change'),
    changedAt: fc.constantFrom(...MONTHS),
    detectedAfter: fc.integer({ min: 0, max: 90 }),
    seenAfter: fc.integer({ min: 0, max: 90 }),
    title: fc.constantFrom(...TITLES),
    previousTitle: fc.constantFrom(...TITLES),
    name: fc.constantFrom('Ada', 'Eve'),
  })
  .map(({ detectedAfter, seenAfter, ...choices }) => {
    const detectedAt = choices.changedAt + detectedAfter * DAY
    return { event: wireEvent({ ...choices, detectedAt }), at: detectedAt + seenAfter * DAY + HOUR }
  })

// Tables made from answers have no macro: they carry their own times.
const OF_ANSWERS =
  /^(?:announcements|compan(?:y_|ies_found)|job_posting|organization_open_roles|people_found|person_(?:activities|identities)|posts?(?:_|$)|reposts|signal_profiles)/
const models = readModelFiles().filter(({ name }) => !OF_ANSWERS.test(name))
const tables = models
  .filter(({ isPublished }) => isPublished)
  .map(({ name, columns }) => ({ name, columns: [...columns.keys()] }))

async function warehouseOf(sightings: readonly Sighting[]): Promise<Warehouse> {
  const warehouse = await memoryWarehouse({ threads: 1 })
  const pages = sightings
    .toSorted((a, b) => a.at - b.at)
    .map(({ event, at }) => aPage([event], { at }))
  await load({ warehouse, journal: await journalOfPages(temporaryFolder(), [pages]) })
  await buildModels(warehouse, { buildId: 'build', builtAt: new Date(START) })
  return warehouse
}

// Each run builds three warehouses.
const RUNS = rounds('JOBTIDE_WORLDS', 1, 20)
/** A comparison needs more than one organisation. */
const COMPARES = 'duplicate_organizations'
const LOADED = [
  'job_change_events',
  'job_change_event_versions',
  'organization_coverage',
  'organization_filters',
]

describe('as_known_on, for any sightings and any day', () => {
  it(
    'every table equals that of a warehouse with only what the service, or only what we, knew on that day',
    { timeout: RUNS * 120_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(anySighting, { minLength: 20, maxLength: 60 }),
          fc.tuple(fc.integer({ min: 150, max: 420 }), fc.integer({ min: 150, max: 420 })),
          async (sightings, [service, ours]) => {
            const all = [...everyPair, ...sightings]
            const now = await warehouseOf(all)
            try {
              for (const sql of knownOnStatements(await readProject(now))) await now.run(sql)
              await expectKnownOn(now, all, START - service * DAY, 'service')
              await expectKnownOn(now, all, START - ours * DAY, 'warehouse')
              await expectMacros(now)
            } finally {
              now.close()
            }
          },
        ),
        { numRuns: RUNS, endOnFailure: true },
      )
    },
  )
})

/** Every loaded table and every model for analysts has a macro, but none of core. It names the values of seen_by. */
async function expectMacros(warehouse: Warehouse): Promise<void> {
  const shown = models.filter(({ schema }) => schema !== 'core')
  const names = [...LOADED, ...shown.map(({ name }) => name)]
  const made = await warehouse.all<{ name: string; database: string }>(
    `select distinct function_name as name, database_name as database from duckdb_functions()
     where ends_with(function_name, '_as_known_on') order by 1`,
  )
  expect(made.map(({ name }) => name)).toEqual(
    names.map((name) => `${name}_as_known_on`).toSorted(),
  )
  // The macros exist in this session only: the warehouse stores none.
  expect(new Set(made.map(({ database }) => database))).toEqual(new Set(['temp']))
  // A table that compares two organisations has no rows for one alone.
  await expect(
    warehouse.all(`from talent_flows_as_known_on('2024-01-01', organization := 'org_1')`),
  ).rejects.toThrow('organization')
  await expect(
    warehouse.all(`from ${COMPARES}_as_known_on('2024-01-01', organization := 'org_1')`),
  ).rejects.toThrow('organization')
  await expect(
    warehouse.all(`select * from joiners_as_known_on('2024-01-01', seen_by := 'me')`),
  ).rejects.toThrow("seen_by is 'service' or 'warehouse', not 'me'")
}

/** Compares every table of `now`, as known on the day of `ms`, with a warehouse that knows no more. */
async function expectKnownOn(
  now: Warehouse,
  all: readonly Sighting[],
  ms: number,
  seenBy: 'service' | 'warehouse',
): Promise<void> {
  const day = Math.floor(ms / DAY) * DAY
  const date = new Date(day).toISOString().slice(0, 10)
  const then = await warehouseOf(
    all.filter(
      ({ event, at }) => (seenBy === 'service' ? Date.parse(event.detected_at) : at) < day + DAY,
    ),
  )
  try {
    for (const { name, columns } of tables) {
      const list = columns.join(', ')
      const known = `${name}_as_known_on('${date}', seen_by := '${seenBy}')`
      const actual = await now.table(`select ${list} from ${known} order by all`)
      const expected = await then.table(`select ${list} from ${name} order by all`)
      expect(actual.rows, `${name} on ${date}`).toEqual(expected.rows)
      const one = `${name}_as_known_on('${date}', seen_by := '${seenBy}', organization := 'org_1')`
      if (seenBy === 'warehouse' || name === COMPARES || !columns.includes('organization_id')) {
        continue
      }
      const ofOne = await now.table(`select ${list} from ${one} order by all`)
      const place = columns.indexOf('organization_id')
      const own = expected.rows.filter((row) => row[place] === 'org_1')
      expect(ofOne.rows, `${name} of org_1 on ${date}`).toEqual(own)
    }
  } finally {
    then.close()
  }
}
