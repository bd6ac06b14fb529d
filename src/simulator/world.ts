/**
 * A made-up world: organisations, the people who work for them, their careers, and when the service sees what
 * happened. All of it follows from the options: the same options give the same events, byte for byte.
 */

import { sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import { Career, SHORTEST_STEP, YEARLY_RATES, type Stage } from './careers.ts'
import { EventCollector, type EventSource } from './events.ts'
import { makeUpOrganizations, makeUpPerson, type MadeUpOrganization } from './made-up.ts'
import { exponential, mixSeeds, seededRandom, type Random } from './random.ts'
import { sightingsOf, type Sighting } from './sightings.ts'

export interface WorldOptions {
  readonly seed: number
  readonly organizations: number
  /** Changes happen from here, in milliseconds since 1970 UTC … */
  readonly startAt: number
  /** … until just before here. They are seen later, some of them after it. */
  readonly endAt: number
  /** About how many events to make, by the share of people the service looks at; default 100 per organisation. */
  readonly events?: number
}

const EVENTS_PER_ORGANIZATION = 100
const YEAR = 365.25 * DAY
// Of those who leave, this share comes from outside to replace them; the others come from within the world.
const HIRED_FROM_OUTSIDE = 0.4
// Measured over worlds of 20 to 2,000 organisations and 1 to 3 years: people's quiet first months and careers that end
// cost some of the events that the yearly rates promise, corrections add some.
const SHARE_THAT_HAPPENS = 0.95

/** The world as something to serve. */
export function createWorld(options: WorldOptions): EventSource {
  const collector = new EventCollector()
  for (const { tracked } of makeUpOrganizations(options.seed, options.organizations))
    collector.addOrganization(tracked)
  for (const { event } of worldSightings(options)) collector.add(event)
  return collector.finish()
}

/** Every event of the world, seen already or not, in no particular order. */
export function* worldSightings(options: WorldOptions): Generator<Sighting> {
  const { seed, startAt, endAt } = options
  const organizations = makeUpOrganizations(seed, options.organizations)
  const stage: Stage = { endAt, otherOrganization: bySize(organizations) }
  const scale = staffScale(options, organizations)

  function* lifeOf(
    personSeed: number,
    number: number,
    home: MadeUpOrganization['home'],
    at: number,
    isStaff: boolean,
  ): Generator<Sighting> {
    const person = makeUpPerson(seededRandom(mixSeeds(personSeed, 1)), home)
    const seen = seededRandom(mixSeeds(personSeed, 2))
    const career = new Career(seededRandom(mixSeeds(personSeed, 3)), person, number, stage)
    for (const change of career.changes(at, isStaff)) {
      const where = organizations[change.organization]
      if (where !== undefined) yield* sightingsOf(seen, person, change, where.tracked)
    }
  }

  for (const [number, { size, home }] of organizations.entries()) {
    const random = seededRandom(mixSeeds(seed, number, 2))
    // A fraction of a person becomes a whole one as often as the fraction says.
    const staff = Math.floor(size * scale + random())
    for (let i = 0; i < staff; i += 1) {
      // Their last change was up to two months ago, so that changes begin at once. None is before the start: see careers.ts.
      const from = startAt - random() * SHORTEST_STEP
      yield* lifeOf(mixSeeds(seed, number, 3, i), number, home, from, true)
    }
    const hiresPerYear = size * scale * YEARLY_RATES.exit * HIRED_FROM_OUTSIDE
    let at = startAt
    for (let i = 0; hiresPerYear > 0; i += 1) {
      at += exponential(random, YEAR / hiresPerYear)
      if (at >= endAt) break
      yield* lifeOf(mixSeeds(seed, number, 4, i), number, home, at, false)
    }
  }
}

/** The share of people the service looks at that makes about as many events as were asked for. */
function staffScale(options: WorldOptions, organizations: readonly MadeUpOrganization[]): number {
  const wanted = options.events ?? organizations.length * EVENTS_PER_ORGANIZATION
  const people = sum(organizations.map(({ size }) => size))
  const { exit, promotion, sideways, retitle, secondJob } = YEARLY_RATES
  const yearly = 2 * exit + promotion + sideways + retitle + 2 * secondJob
  const years = (options.endAt - options.startAt) / YEAR
  return wanted / (people * yearly * years * SHARE_THAT_HAPPENS)
}

const TRIES = 8

function bySize(organizations: readonly MadeUpOrganization[]): Stage['otherOrganization'] {
  let people = 0
  const upTo = organizations.map(({ size }) => (people += size))
  const draw = (random: Random) => {
    const wanted = random() * people
    let low = 0
    for (let high = upTo.length - 1; low < high;) {
      const middle = (low + high) >> 1
      if ((upTo[middle] ?? 0) > wanted) high = middle
      else low = middle + 1
    }
    return low
  }
  return (random, excluded) => {
    for (let i = 0; i < TRIES; i += 1) {
      const organization = draw(random)
      if (!excluded.has(organization)) return organization
    }
    return undefined
  }
}
