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
import {
  attributes,
  naturalKey,
  referenceEvents,
  referenceVersions,
  type ReferenceSighting,
} from './reference.ts'

const anyText = fc.constantFrom(null, 'A', 'B', 'b')
const anyEvent = fc
  .record({
    person: fc.constantFrom('per_1', 'per_2'),
    organization: fc.constantFrom('org_1', 'org_2'),
    type: fc.constantFrom('joined', 'left', 'title_change'),
    changedAt: fc.constantFrom(START - 90 * DAY, START - 60 * DAY, START - 60 * DAY + 1),
    detectedAt: fc.constantFrom(START - 9 * DAY, START - 8 * DAY, START - 8 * DAY + 1),
    lagDays: fc.constantFrom(1, 2, 10),
    title: anyText,
    previousTitle: anyText,
    name: anyText,
    headline: anyText,
    organizationName: anyText,
  })
  .map(wireEvent)
// Several events of one pair, each at its own time and in any order: repeated arrivals and departures, returns, changes of
// title after leaving or with nothing else, missing titles.
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
    /** Names the file, and so orders it among the others. */
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
  it('makes the events and versions of a plain reference, whatever segments, chunks and loads', async () => {
    await fc.assert(
      fc.asyncProperty(anySegments, fc.integer({ min: 1, max: 12 }), async (segments, rows) => {
        const sightings = segments.flatMap(({ pages }) =>
          pages.flatMap(({ events, at, runId }) => events.map((event) => ({ event, at, runId }))),
        )
        await withLoaded(segments, rows, (warehouse) => expectReference(warehouse, sightings))
      }),
      { numRuns: rounds('JOBTIDE_LOADS', 8, 100) },
    )
  })

  it('makes the same tables of texts with control characters, quotes and lone surrogates', async () => {
    const nasty = fc.constantFrom(
      null,
      '',
      '\u001e',
      '\u001f',
      '\u001e\u001f',
      'null',
      '"',
      '\\',
      "'; drop",
      '\ud800',
      'é',
    )
    const event = fc
      .record({ name: nasty, headline: nasty, organizationName: nasty, previousTitle: nasty })
      .map((texts) => wireEvent(texts))
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 2, maxLength: 6 }), async (events) => {
        const inOrder = (order: readonly JobChangeEvent[]) => [
          { pages: [{ events: [...order], at: START, runId: 'run_1' }], place: 1, loadAfter: true },
        ]
        const forward = await withLoaded(inOrder(events), 1, (warehouse) => dumpTables(warehouse))
        const single = events.toReversed().map((one, place) => ({
          pages: [{ events: [one], at: START, runId: 'run_1' }],
          place,
          loadAfter: true,
        }))
        const backward = await withLoaded(single, 1, (warehouse) => dumpTables(warehouse))
        expect(backward['job_change_events']).toEqual(forward['job_change_events'])
        expect(backward['job_change_event_versions']).toEqual(forward['job_change_event_versions'])
      }),
      { numRuns: rounds('JOBTIDE_LOADS', 3, 30) },
    )
  })
})

async function expectReference(
  warehouse: Warehouse,
  sightings: readonly ReferenceSighting[],
): Promise<void> {
  const rows = await warehouse.all<Record<string, Date | string | number | null>>(
    'select * from job_change_events',
  )
  const keys = new Map<string, string>()
  const byKey = new Map(sightings.map(({ event }) => [naturalKey(event), event]))
  const found = rows.map((row) => {
    const event = asWire(row)
    const key = naturalKey(event)
    expect(byKey.has(key)).toBe(true)
    keys.set(key, String(row['event_key']))
    return [
      key,
      {
        detected_at: event.detected_at,
        attributes: attributes(event),
        attributes_seen_at: isoOf(row['attributes_seen_at']),
        first_seen_at: isoOf(row['first_seen_at']),
        last_seen_at: isoOf(row['last_seen_at']),
        first_run_id: row['first_run_id'],
        last_run_id: row['last_run_id'],
        times_seen: row['times_seen'],
      },
    ] as const
  })
  expect(new Set(keys.values()).size).toBe(keys.size)
  expect(found.toSorted(([a], [b]) => (a < b ? -1 : 1))).toEqual([...referenceEvents(sightings)])

  const versions = new Map<string, (readonly [string, string, string])[]>()
  for (const row of await warehouse.all<Record<string, Date | string | number | null>>(
    'select * from job_change_event_versions',
  )) {
    const event = asWire(row)
    const content = JSON.stringify([event.detected_at, ...attributes(event)])
    const version = [content, isoOf(row['first_seen_at']), isoOf(row['last_seen_at'])] as const
    versions.set(naturalKey(event), [...(versions.get(naturalKey(event)) ?? []), version])
  }
  const byContent = [...versions].map(
    ([key, list]) => [key, list.toSorted(([a], [b]) => (a < b ? -1 : 1))] as const,
  )
  expect(new Map(byContent)).toEqual(referenceVersions(sightings))
}

function asWire(row: Record<string, Date | string | number | null>): JobChangeEvent {
  const text = (name: string) => row[name] as string | null
  return {
    event_type: text('event_type') as JobChangeEvent['event_type'],
    detected_at: isoOf(row['detected_at']),
    changed_at: isoOf(row['changed_at']),
    detection_lag_days: row['detection_lag_days'] as number,
    title: { current: text('title_current'), previous: text('title_previous') },
    person: {
      profile_id: text('profile_id') ?? '',
      handle: text('person_handle'),
      full_name: text('person_full_name'),
      first_name: text('person_first_name'),
      last_name: text('person_last_name'),
      headline: text('person_headline'),
      network_url: text('person_network_url'),
    },
    organization: {
      organization_id: text('organization_id') ?? '',
      name: text('organization_name'),
      slug: text('organization_slug'),
      network_url: text('organization_network_url'),
    },
  }
}

function isoOf(value: unknown): string {
  return (value as Date).toISOString()
}

// Segments are written in the order of the list but named by `place`: later ones can sort before earlier ones. The
// journal itself would never name them so; they are written elsewhere and moved.
async function withLoaded<T>(
  segments: readonly Segment[],
  chunkEvents: number,
  look: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  return withFolder(async (folder) => {
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
    }
  })
}

async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-test-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
