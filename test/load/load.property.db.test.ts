import fc from 'fast-check'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { createSeals, sealsPath } from '../../src/journal/seals.ts'
import { load } from '../../src/load/load.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { rounds } from '../helpers/tier.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import {
  START,
  aPage,
  dumpTables,
  handClock,
  journalOfRuns,
  wireEvent,
  writePages,
} from './load-fixture.ts'
interface Sighting {
  readonly event: JobChangeEvent
  readonly at: number
  readonly runId: string
}

// Texts that could break a key or a statement built from text.
const odd = ['\u001e', '\u001f', '\u001e\u001f', 'null', '"', '\\', "'; drop", 'é']
const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(null, 'A', 'B', 'b') },
  { weight: 1, arbitrary: fc.constantFrom(...odd) },
)
// Detected long after it was received.
const FAR = Date.UTC(9999, 0, 1)
const anyEvent = fc
  .record({
    person: fc.constantFrom('per_1', 'per_2'),
    organization: fc.constantFrom('org_1', 'org_2'),
    type: fc.constantFrom('joined', 'left', 'title_change'),
    changedAt: fc.constantFrom(START - 90 * DAY, START - 60 * DAY, START - 60 * DAY + 1),
    detectedAt: fc.constantFrom(
      START - 9 * DAY,
      START - 8 * DAY,
      START - 8 * DAY + 1,
      FAR,
      FAR + 1,
    ),
    lagDays: fc.constantFrom(1, 2, 10),
    title: anyText,
    previousTitle: anyText,
    name: anyText,
    headline: anyText,
    organizationName: anyText,
  })
  .map(wireEvent)
// Several events of one pair, each at its own time and in any order: repeated arrivals and departures, returns, changes
// of title after a leaving or alone, missing titles.
const anyCareer = fc
  .tuple(
    fc.constantFrom('per_3', 'per_4', 'per_5'),
    fc.uniqueArray(
      fc.record({
        type: fc.constantFrom('joined', 'left', 'title_change'),
        month: fc.integer({ min: 1, max: 12 }),
        title: anyText,
        previousTitle: anyText,
      }),
      { minLength: 2, maxLength: 5, selector: ({ month }) => month },
    ),
  )
  .map(([person, steps]) =>
    steps.map(({ month, ...step }) =>
      wireEvent({ ...step, person, changedAt: START - month * 30 * DAY }),
    ),
  )
const anyPage = fc.record({
  events: fc.oneof(fc.array(anyEvent, { minLength: 1, maxLength: 8 }), anyCareer),
  at: fc.constantFrom(START, START + 1, START + DAY),
  runId: fc.constantFrom('run_1', 'run_2'),
})
const anySegments = fc.array(
  fc.record({
    pages: fc.array(anyPage, { minLength: 1, maxLength: 4 }),
    /** Names the file, which sets its order among the others. */
    place: fc.integer({ min: 0, max: 999 }),
    loadAfter: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
)
interface Segment {
  pages: { events: JobChangeEvent[]; at: number; runId: string }[]
  place: number
  loadAfter: boolean
}

describe('load, for any sightings in any order', () => {
  it('gives the events and versions of a plain reference, for any segments, chunks and loads', async () => {
    await fc.assert(
      fc.asyncProperty(anySegments, fc.integer({ min: 1, max: 12 }), async (segments, rows) => {
        const sightings = segments.flatMap(({ pages }) =>
          pages.flatMap(({ events, at, runId }) => events.map((event) => ({ event, at, runId }))),
        )
        const tables = await withLoaded(segments, rows, tablesOf)
        expect(tables).toEqual(reference(sightings))
      }),
      { numRuns: rounds('JOBTIDE_LOADS', 5, 100) },
    )
  }, 600_000)
})

/** The two tables of events, without their hashes, in the order of their content. */
async function tablesOf(warehouse: Warehouse): Promise<readonly [string[], string[]]> {
  const read = (table: string, hashes: string) =>
    warehouse.all(`select * exclude (${hashes}) from ${table}`)
  const [keys] = await warehouse.all(
    'select count(*) = count(distinct event_key) as are_unique from job_change_events',
  )
  expect(keys).toEqual({ are_unique: true })
  return [
    lines(await read('job_change_events', 'event_key')),
    lines(await read('job_change_event_versions', 'event_key, version_key, first_run_id')),
  ]
}

// Without SQL, from the contract alone: the newest sighting of a natural key is its event, and the distinct contents of
// an event with several are its versions.
function reference(sightings: readonly Sighting[]): readonly [string[], string[]] {
  const groups = grouped(sightings, ({ event: { person, organization, title, ...event } }) => {
    const key = [person.profile_id, organization.organization_id, event.event_type]
    const renamed = event.event_type === 'title_change' ? (title.current ?? '') : ''
    return [...key, event.changed_at, renamed].join(' | ')
  })
  const events = groups.map((group) => {
    const newest = group.reduce((best, next) => (isNewer(next, best) ? next : best))
    const bySeen = group.toSorted((a, b) => a.at - b.at || (a.runId < b.runId ? -1 : 1))
    return {
      ...columnsOf(newest.event),
      attributes_seen_at: new Date(newest.at),
      ...seenIn(group),
      first_run_id: bySeen[0]?.runId,
      last_run_id: bySeen.at(-1)?.runId,
      times_seen: group.length,
    }
  })
  const versions = groups.flatMap((group) => {
    const contents = grouped(group, ({ event }) => JSON.stringify(columnsOf(event)))
    const versionsOf = contents.map((same) => ({ ...columnsOf(same[0]!.event), ...seenIn(same) }))
    return versionsOf.length > 1 ? versionsOf : []
  })
  return [lines(events), lines(versions)]
}

const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).toSorted()

function grouped(list: readonly Sighting[], keyOf: (one: Sighting) => string): Sighting[][] {
  const groups = new Map<string, Sighting[]>()
  for (const one of list) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one])
  return [...groups.values()]
}

function seenIn(group: readonly Sighting[]) {
  const times = group.map(({ at }) => at)
  const [first, last] = [new Date(Math.min(...times)), new Date(Math.max(...times))]
  return { first_seen_at: first, last_seen_at: last }
}

function isNewer(a: Sighting, b: Sighting): boolean {
  const said = ({ event }: Sighting) => Date.parse(event.detected_at)
  // A detection counts no later than its receipt, whatever a record says.
  const detected = (one: Sighting) => Math.min(said(one), one.at)
  const attributes = ({ event }: Sighting) =>
    JSON.stringify(Object.values({ ...columnsOf(event), detected_at: null }))
  if (detected(a) !== detected(b)) return detected(a) > detected(b)
  if (a.at !== b.at) return a.at > b.at
  if (attributes(a) !== attributes(b)) return attributes(a) > attributes(b)
  return said(a) > said(b)
}

function columnsOf({ person, organization, title, ...event }: JobChangeEvent) {
  return {
    profile_id: person.profile_id,
    organization_id: organization.organization_id,
    event_type: event.event_type,
    changed_at: event.changed_at,
    detected_at: event.detected_at,
    detection_lag_days: event.detection_lag_days,
    title_current: title.current,
    title_previous: title.previous,
    person_handle: person.handle,
    person_full_name: person.full_name,
    person_first_name: person.first_name,
    person_last_name: person.last_name,
    person_headline: person.headline,
    person_network_url: person.network_url,
    organization_name: organization.name,
    organization_slug: organization.slug,
    organization_network_url: organization.network_url,
  }
}

// Segments are written in the order of the list but named by `place`, so later ones can sort before earlier ones. The
// journal would never name them like this, so they are written elsewhere and moved.
async function withLoaded<T>(
  segments: readonly Segment[],
  chunkEvents: number,
  look: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-test-'))
  const warehouse = await memoryWarehouse({ threads: 1 })
  try {
    const journal = await journalOfRuns(join(folder, 'journal'), ['run_1', 'run_2'])
    for (const name of journal.segments()) {
      renameSync(join(journal.folder, name), join(journal.folder, '000-0.journal'))
    }
    rmSync(sealsPath(journal.folder))
    createSeals(journal.folder)
    for (const [number, { pages, place, loadAfter }] of segments.entries()) {
      const elsewhere = openJournal(join(folder, 'elsewhere'), handClock())
      await writePages(
        elsewhere,
        pages.map(({ events, at, runId }) => aPage(events, { at, runId })),
      )
      for (const name of elsewhere.segments()) {
        const moved = `${String(place + 1).padStart(4, '0')}-${number}.journal`
        renameSync(join(elsewhere.folder, name), join(journal.folder, moved))
      }
      if (loadAfter) await load({ warehouse, journal, chunkEvents })
    }
    await load({ warehouse, journal, chunkEvents })
    const before = await dumpTables(warehouse, [])
    await load({ warehouse, journal, chunkEvents })
    expect(await dumpTables(warehouse, [])).toEqual(before)
    return await look(warehouse)
  } finally {
    warehouse.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
