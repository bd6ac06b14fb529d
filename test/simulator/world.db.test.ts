import { beforeAll, describe, expect, it } from 'vitest'
import type { EventSource, JobChangeEvent } from '../../src/simulator/events.ts'
import type { Sighting } from '../../src/simulator/sightings.ts'
import { createWorld, worldSightings, type WorldOptions } from '../../src/simulator/world.ts'
import { DAY } from '../../src/support/units.ts'
import { NOW, eventsIn } from './simulator-fixture.ts'

const options: WorldOptions = {
  seed: 7,
  organizations: 200,
  startAt: NOW - 2 * 365 * DAY,
  endAt: NOW + 60 * DAY,
}

let world: EventSource
let sightings: Sighting[]
beforeAll(() => {
  world = createWorld(options)
  sightings = [...worldSightings(options)]
})

const keyOf = ({ event_type: type, person, organization, title, changed_at: at }: JobChangeEvent) =>
  [
    person.profile_id,
    organization.organization_id,
    type,
    at,
    type === 'title_change' ? title.current : '',
  ].join()

const share = (isCounted: (sighting: Sighting) => boolean) =>
  sightings.filter(isCounted).length / sightings.length

describe('a world', () => {
  it('of 200 organisations has about 20,000 events, and the truth behind each of them', () => {
    expect(world.organizations).toHaveLength(200)
    expect(world.events.length).toBeGreaterThan(17_000)
    expect(world.events.length).toBeLessThan(23_000)
    const texts = (events: JobChangeEvent[]) => events.map((e) => JSON.stringify(e)).toSorted()
    expect(texts(eventsIn(world))).toEqual(texts(sightings.map(({ event }) => event)))
  })

  it('detects 8 to 15 % on the same day and 5 to 11 % after more than 120 days, none before the change', () => {
    const sameDay = share(({ event }) => event.detection_lag_days === 0)
    expect(sameDay).toBeGreaterThan(0.08)
    expect(sameDay).toBeLessThan(0.15)
    const late = share(({ event }) => event.detection_lag_days > 120)
    expect(late).toBeGreaterThan(0.05)
    expect(late).toBeLessThan(0.11)
    for (const { event } of sightings) {
      const lagMs = Date.parse(event.detected_at) - Date.parse(event.changed_at)
      expect(event.detection_lag_days).toBe(Math.floor(lagMs / DAY))
      expect(lagMs).toBeGreaterThanOrEqual(0)
    }
  })

  it('has every kind of change, at least 100 of each', () => {
    const counts = new Map<string, number>()
    const count = (kind: string) => counts.set(kind, (counts.get(kind) ?? 0) + 1)
    const jobs = new Map<string, string[]>()
    const changes = sightings.filter(({ isCorrection }) => !isCorrection).map(({ event }) => event)
    for (const event of changes.toSorted((a, b) => (a.changed_at < b.changed_at ? -1 : 1))) {
      const { profile_id: person } = event.person
      const { organization_id: organization } = event.organization
      const known = jobs.get(person) ?? []
      jobs.set(person, [...known, organization])
      count(event.event_type)
      if (event.event_type !== 'joined') continue
      if (known.includes(organization)) count('back')
      else if (known.length > 0) count('elsewhere')
    }
    for (const kind of ['joined', 'left', 'title_change', 'back', 'elsewhere']) {
      expect(counts.get(kind), kind).toBeGreaterThan(100)
    }
  })
})

describe('careers', () => {
  const first = () => sightings.filter((sighting) => !sighting.isCorrection)

  it('make changes with natural keys of their own, and corrections under a key seen before', () => {
    const keys = first().map(({ event }) => keyOf(event))
    expect(new Set(keys).size).toBe(keys.length)
    const known = new Map(first().map(({ event }) => [keyOf(event), event]))
    const corrections = sightings.filter((sighting) => sighting.isCorrection)
    expect(corrections.length).toBeGreaterThan(200)
    for (const { event } of corrections) {
      const before = known.get(keyOf(event))
      expect(Date.parse(event.detected_at)).toBeGreaterThan(Date.parse(before?.detected_at ?? ''))
      expect([event.person, event.title]).not.toEqual([before?.person, before?.title])
    }
  })

  it('alternate: nobody joins an organisation twice without leaving, and a title follows the last one', () => {
    const perPair = new Map<string, JobChangeEvent[]>()
    for (const { event } of first()) {
      const pair = `${event.person.profile_id} ${event.organization.organization_id}`
      perPair.set(pair, [...(perPair.get(pair) ?? []), event])
    }
    for (const events of perPair.values()) {
      let title: string | null | undefined
      let isIn: boolean | undefined
      for (const event of events.toSorted(
        (a, b) => Date.parse(a.changed_at) - Date.parse(b.changed_at),
      )) {
        if (event.event_type === 'joined') expect(isIn, JSON.stringify(event)).not.toBe(true)
        else expect(isIn, JSON.stringify(event)).not.toBe(false)
        if (event.event_type === 'left' && title !== undefined)
          expect(event.title.current).toBe(title)
        if (event.event_type === 'title_change' && title !== undefined) {
          expect(event.title.previous).toBe(title)
        }
        isIn = event.event_type !== 'left'
        title = event.title.current
      }
    }
  })
})
