/**
 * Random small worlds for the build: people, organisations, and the events of each night: new ones, late ones, events
 * of the same moment, corrections. Stored as `load` does: the newest sighting of an event, and the versions of
 * corrected events.
 */

import fc from 'fast-check'
import { DAY } from '../../src/support/units.ts'
import type { SqlValue } from '../../src/warehouse/rows.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'

const FIRST_DAY = Date.UTC(2024, 0, 1)
const FIRST_NIGHT = Date.UTC(2024, 11, 1, 2, 15)
const TITLES = [
  null,
  'Intern',
  'Software Engineer',
  'Senior Software Engineer',
  'Sr. Software Engineer',
  'DevOps Engineer',
  'Principal Engineer',
  'Engineering Manager',
  'Director of Engineering',
  'VP Sales',
  'VP Sales',
  'Interim VP Sales',
  'Chief Revenue Officer',
  'Chief Revenue Officer & VP Sales',
  'Chairman',
  'Account Executive',
  'Board Member',
  'Zzyzx',
] as const

const anyTitle = fc.constantFrom(...TITLES)
// Few people, organisations and days, so that returns, repeats, overlaps and simultaneous events are common.
const anySighting = fc.record({
  person: fc.integer({ min: 1, max: 3 }),
  organization: fc.integer({ min: 1, max: 3 }),
  type: fc.constantFrom('joined', 'joined', 'left', 'left', 'title_change'),
  month: fc.integer({ min: 0, max: 9 }),
  day: fc.constantFrom(0, 0, 0, 3, 20),
  title: anyTitle,
  previousTitle: anyTitle,
  lagDays: fc.constantFrom(0, 2, 40, -20),
  name: fc.constantFrom('A', 'B'),
})
type Sighting = typeof anySighting extends fc.Arbitrary<infer T> ? T : never

const anyNight = fc.record({
  sightings: fc.array(anySighting, { maxLength: 4 }),
  /** An earlier event of the world, by number, seen again with other attributes. */
  corrections: fc.array(
    fc.record({ of: fc.nat(), title: anyTitle, name: fc.constantFrom('A', 'C') }),
    { maxLength: 2 },
  ),
  coveredOrganization: fc.option(fc.integer({ min: 1, max: 3 })),
})

/** The events of one world in the first load and the nights after it. */
export const anyHistory = fc.record({
  first: fc.array(anySighting, { maxLength: 10 }),
  nights: fc.array(anyNight, { minLength: 3, maxLength: 3 }),
})
export type History = typeof anyHistory extends fc.Arbitrary<infer T> ? T : never

interface Version {
  readonly title: string | null
  readonly previousTitle: string | null
  readonly name: string
  readonly detectedAt: Date
  readonly seenAt: Date
}

interface KeptEvent {
  readonly key: string
  readonly person: string
  readonly organization: string
  readonly type: string
  readonly changedAt: Date
  readonly versions: Version[]
}

/** The events of many worlds as they stand after each night. */
export class Worlds {
  readonly #histories: readonly History[]
  readonly #events = new Map<string, KeptEvent>()
  readonly #ofWorld: KeptEvent[][]
  readonly #coverage = new Map<string, Date>()
  #touched = new Set<string>()

  constructor(histories: readonly History[]) {
    this.#histories = histories
    this.#ofWorld = histories.map(() => [])
  }

  /** Night 0 is the first load. */
  take(night: number): void {
    this.#touched = new Set()
    const seenAt = new Date(FIRST_NIGHT + night * DAY)
    for (const [world, history] of this.#histories.entries()) {
      if (night === 0) {
        for (const one of history.first) this.#see(world, one, seenAt)
        continue
      }
      const added = history.nights[night - 1]
      for (const one of added?.sightings ?? []) this.#see(world, one, seenAt)
      for (const { of, title, name } of added?.corrections ?? []) {
        const known = this.#ofWorld[world] ?? []
        const event = known[of % Math.max(1, known.length)]
        const last = event?.versions.at(-1)
        if (event === undefined || last === undefined) continue
        // The title of a title_change is part of its key: another title would be another event.
        const corrected = event.type === 'title_change' ? { previousTitle: title } : { title }
        const detectedAt = new Date(last.detectedAt.getTime() + DAY)
        this.#addVersion(event, { ...last, ...corrected, name, detectedAt, seenAt })
      }
      const covered = added?.coveredOrganization ?? null
      if (covered !== null) this.#coverage.set(`w${world}o${covered}`, seenAt)
    }
  }

  #see(world: number, sighting: Sighting, seenAt: Date): void {
    const { type, title, previousTitle, name, lagDays } = sighting
    const changedAt = new Date(Date.UTC(2024, sighting.month, 1) + sighting.day * DAY)
    const person = `w${world}p${sighting.person}`
    const organization = `w${world}o${sighting.organization}`
    const key = [
      person,
      organization,
      type,
      changedAt.toISOString(),
      type === 'title_change' ? title : '',
    ].join('|')
    const detectedAt = new Date(Math.max(FIRST_DAY, changedAt.getTime() + lagDays * DAY))
    let event = this.#events.get(key)
    if (event === undefined) {
      event = { key, person, organization, type, changedAt, versions: [] }
      this.#events.set(key, event)
      this.#ofWorld[world]?.push(event)
    }
    this.#addVersion(event, { title, previousTitle, name, detectedAt, seenAt })
  }

  #addVersion(event: KeptEvent, version: Version): void {
    const isKnown = event.versions.some((one) => attributes(one) === attributes(version))
    if (isKnown) return
    event.versions.push(version)
    this.#touched.add(event.person)
  }

  /**
   * Brings the loaded tables of `warehouse` up to date.
   * @param touched whether to note the changed people
   */
  async put(warehouse: Warehouse, touched: boolean): Promise<void> {
    const events = [...this.#events.values()]
    const newest = events.map((event) => ({ event, version: newestOf(event) }))
    await warehouse.run(
      'delete from job_change_events; delete from job_change_event_versions; delete from ops.coverage',
    )
    await warehouse.append('job_change_events', {
      ...columnsOf(newest),
      attributes_seen_at: newest.map(({ version }) => version.seenAt),
      first_seen_at: events.map(({ versions }) => versions[0]?.seenAt ?? null),
      last_seen_at: events.map(({ versions }) => versions.at(-1)?.seenAt ?? null),
      last_run_id: events.map(() => 'run'),
      times_seen: events.map(() => 1),
    })
    const versions = events
      .filter((event) => event.versions.length > 1)
      .flatMap((event) => event.versions.map((version) => ({ event, version })))
    await warehouse.append('job_change_event_versions', {
      ...columnsOf(versions),
      version_key: versions.map(({ version }) => attributes(version)),
      first_seen_at: versions.map(({ version }) => version.seenAt),
      last_seen_at: versions.map(({ version }) => version.seenAt),
    })
    await warehouse.append('ops.coverage', {
      organization_id: [...this.#coverage.keys()],
      event_types: [...this.#coverage.keys()].map(() => 'joined,left,title_change'),
      covered_to: [...this.#coverage.values()],
    })
    // Some are noted twice, as two loads of a night may do.
    const people = [...this.#touched].flatMap((person, index) =>
      index % 3 === 0 ? [person, person] : [person],
    )
    if (touched) await warehouse.append('ops.changed_people', { profile_id: people })
  }
}

function attributes({ title, previousTitle, name, detectedAt }: Version): string {
  return JSON.stringify([title, previousTitle, name, detectedAt])
}

function newestOf({ versions }: KeptEvent): Version {
  const [newest] = versions.toSorted(
    (a, b) =>
      b.detectedAt.getTime() - a.detectedAt.getTime() || (attributes(a) < attributes(b) ? -1 : 1),
  )
  if (newest === undefined) throw new Error('an event without a version')
  return newest
}

function columnsOf(
  rows: readonly { readonly event: KeptEvent; readonly version: Version }[],
): Record<string, SqlValue[]> {
  return {
    event_key: rows.map(({ event }) => event.key),
    profile_id: rows.map(({ event }) => event.person),
    organization_id: rows.map(({ event }) => event.organization),
    event_type: rows.map(({ event }) => event.type),
    changed_at: rows.map(({ event }) => event.changedAt),
    detected_at: rows.map(({ version }) => version.detectedAt),
    detection_lag_days: rows.map(({ event, version }) =>
      Math.round((version.detectedAt.getTime() - event.changedAt.getTime()) / DAY),
    ),
    title_current: rows.map(({ version }) => version.title),
    title_previous: rows.map(({ version }) => version.previousTitle),
    person_full_name: rows.map(({ version }) => version.name),
    // Some events have no page, so the page of a person changes with corrections; people of a world share some pages.
    person_network_url: rows.map(({ event, version }) =>
      version.name === 'A' ? null : `${event.person.replace(/p\d+$/, '')}${version.name}`,
    ),
    organization_name: rows.map(({ event, version }) => `${event.organization} ${version.name}`),
    first_run_id: rows.map(() => 'run'),
  }
}
