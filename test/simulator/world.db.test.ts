import { beforeAll, describe, expect, it } from 'vitest'
import type { EventSource, JobChangeEvent } from '../../src/simulator/events.ts'
import {
  createWorld,
  worldSightings,
  type Sighting,
  type WorldOptions,
} from '../../src/simulator/world.ts'
import { truthOf, type TrueRole, type Truth } from './truth.ts'
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

  it('detects 8 to 15 % on the same day, 5 to 11 % after more than 120 days and 1 to 3 % before the change', () => {
    const lagOf = ({ event }: Sighting) =>
      Date.parse(event.detected_at) - Date.parse(event.changed_at)
    const sameDay = share((sighting) => lagOf(sighting) >= 0 && lagOf(sighting) < DAY)
    expect(sameDay).toBeGreaterThan(0.08)
    expect(sameDay).toBeLessThan(0.15)
    const late = share(({ event }) => event.detection_lag_days > 120)
    expect(late).toBeGreaterThan(0.05)
    expect(late).toBeLessThan(0.11)
    const announced = share((sighting) => lagOf(sighting) < 0)
    expect(announced).toBeGreaterThan(0.01)
    expect(announced).toBeLessThan(0.03)
    for (const sighting of sightings) {
      const days = Math.floor(lagOf(sighting) / DAY)
      expect(sighting.event.detection_lag_days).toBe(Math.max(0, days))
      expect(days).toBeGreaterThanOrEqual(-120)
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
})

describe('the truth', () => {
  const small = { ...options, organizations: 60, startAt: NOW - 730 * DAY, endAt: NOW + 31 * DAY }
  let truth: Truth
  beforeAll(() => {
    truth = truthOf(options)
  })

  it('is the same for the same options', () => {
    expect(truthOf(small)).toEqual(truthOf(small))
  })

  it('has a role for every joining, leaving and change of title, and an event for each of its dates', () => {
    const roleAt = (one: TrueRole, at: string | null) =>
      JSON.stringify([one.profileId, one.organizationId, one.title, at?.slice(0, 10)])
    const begun = new Set(truth.roles.map((one) => roleAt(one, one.from)))
    const ended = new Set(truth.roles.map((one) => roleAt(one, one.until)))
    const told = new Set<string>()
    const untold: string[] = []
    const last = new Map(sightings.map(({ event }) => [keyOf(event), event]))
    for (const { event_type: type, person, organization, title, changed_at: at } of last.values()) {
      const of = (text: string | null) =>
        JSON.stringify([person.profile_id, organization.organization_id, text, at.slice(0, 10)])
      told.add(of(title.current)).add(of(title.previous))
      if (!(type === 'left' ? ended : begun).has(of(title.current))) untold.push(of(title.current))
    }
    expect(untold).toEqual([])
    const dates = truth.roles.flatMap((one) =>
      [one.from, one.until].filter((at) => at !== null).map((at) => roleAt(one, at)),
    )
    expect(dates.filter((one) => !told.has(one))).toEqual([])
  })

  it('has every situation several times in two years of 60 organisations', () => {
    const { roles, moves, deals, duplicates } = truthOf(small)
    const counts = new Map<string, number>()
    const count = (what: string, times: number | boolean) =>
      counts.set(what, (counts.get(what) ?? 0) + Number(times))
    const before = new Map<string, TrueRole>()
    for (const role of roles) {
      const { from, until, isSide, isInterim, office, profileId, organizationId } = role
      const place = `${profileId} ${organizationId}`
      const last = before.get(place)
      before.set(place, role)
      count('interim', isInterim)
      if (last === undefined) continue
      const days = (Date.parse(from ?? '') - Date.parse(last.until ?? '')) / DAY
      count('second role', days < 0 && !isSide && !last.isSide)
      count('side role beside', isSide && last.until !== from)
      count('told after leaving', days > 0 && days <= 31)
      count('returned unseen', from === null && last.until !== null && until !== null)
      count('risen to an office', office !== null && last.office !== office && !isInterim)
      count('stepped down', office === null && last.office !== null && !last.isInterim)
    }
    for (const { kind, from, to } of deals) {
      count(kind, 1)
      count(
        'transferred',
        moves.filter((one) => one.isTransfer && one.from === from && one.to === to).length,
      )
    }
    count('second profile', duplicates.length)
    expect(counts.size).toBe(12)
    for (const [what, times] of counts) expect(times, what).toBeGreaterThanOrEqual(2)
  })
})
