/**
 * A made-up world: organisations, the people who work for them, their careers, and when the service sees what
 * happened. All of it follows from the options: the same options give the same events, byte for byte.
 */

import { sum } from '../support/numbers.ts'
import { Career, SHORTEST_STEP, YEAR, YEARLY_RATES, type Stage } from './careers.ts'
import { closingOf, dealsOf, withDeals } from './deals.ts'
import { EventCollector, type EventSource } from './events.ts'
import type { History } from './history.ts'
import {
  makeUpOrganizations,
  makeUpPerson,
  secondProfile,
  type MadeUpOrganization,
  type MadeUpPerson,
} from './made-up.ts'
import { exponential, mixSeeds, seededRandom, type Random } from './random.ts'
import { sightingsOf, type Sighting } from './sightings.ts'
import { Successions } from './successions.ts'

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
// Of those who leave, this share comes from outside to replace them; the others come from within the world.
const HIRED_FROM_OUTSIDE = 0.4
const HAS_SECOND_PROFILE = 0.005
// Measured over worlds of 20 to 2,000 organisations and 1 to 3 years: people's quiet first months and careers that end
// cost some of the events that the yearly rates promise; corrections, deals and offices that are handed on add some.
const SHARE_THAT_HAPPENS = 1

/** The world as something to serve. */
export function createWorld(options: WorldOptions): EventSource {
  const collector = new EventCollector()
  for (const { tracked } of organizationsOf(options)) collector.addOrganization(tracked)
  for (const { event } of worldSightings(options)) collector.add(event)
  return collector.finish()
}

/** Every event of the world, seen already or not, in no particular order. */
export function* worldSightings(options: WorldOptions): Generator<Sighting> {
  const organizations = organizationsOf(options)
  for (const { profiles, history, seed } of livesOf(options)) {
    for (const [nth, person] of profiles.entries()) {
      const seen = seededRandom(mixSeeds(seed, 2, nth))
      for (const change of history.changes) {
        const where = organizations[change.organization]
        if (where !== undefined) yield* sightingsOf(seen, person, change, where.tracked)
      }
    }
  }
}

export function organizationsOf({ seed, organizations }: WorldOptions): MadeUpOrganization[] {
  return withDeals(seed, makeUpOrganizations(seed, organizations))
}

/** Someone, with a second profile at times, and what happened to them. */
interface Life {
  readonly seed: number
  readonly profiles: readonly [MadeUpPerson, ...MadeUpPerson[]]
  readonly history: History
}

/** Everybody the service looks at. */
export function* livesOf(options: WorldOptions): Generator<Life> {
  const { startAt, endAt } = options
  const organizations = organizationsOf(options)
  const deals = dealsOf(options)
  const stage: Stage = { endAt, deals, otherOrganization: bySize(organizations, deals) }
  const scale = staffScale(options, organizations)

  function lifeOf(seed: number, number: number, at: number, isStaff: boolean): Life {
    const home = organizations[number]?.home
    if (home === undefined) throw new RangeError(`no organisation ${number}`)
    const person = makeUpPerson(seededRandom(mixSeeds(seed, 1)), home)
    const random = seededRandom(mixSeeds(seed, 3))
    const { history } = new Career(random, person, stage, { organization: number, at, isStaff })
    const other = seededRandom(mixSeeds(seed, 4))
    const isTwice = other() < HAS_SECOND_PROFILE
    return { seed, profiles: isTwice ? [person, secondProfile(other, person)] : [person], history }
  }

  for (const [number, { size }] of organizations.entries()) {
    const seed = (...parts: readonly number[]) => mixSeeds(options.seed, number, ...parts)
    const random = seededRandom(seed(2))
    // A fraction of a person becomes a whole one as often as the fraction says.
    const staff = Math.floor(size * scale + random())
    for (let i = 0; i < staff; i += 1) {
      // Their last change was up to two months ago, so that changes begin at once. None is before the start: see careers.ts.
      const from = startAt - random() * SHORTEST_STEP
      yield lifeOf(seed(3, i), number, from, true)
    }
    const hiresPerYear = size * scale * YEARLY_RATES.exit * HIRED_FROM_OUTSIDE
    const hiresUntil = Math.min(endAt, closingOf(deals.get(number)))
    let at = startAt
    for (let i = 0; hiresPerYear > 0; i += 1) {
      at += exponential(random, YEAR / hiresPerYear)
      if (at >= hiresUntil) break
      yield lifeOf(seed(4, i), number, at, false)
    }
    if (size > 0 && !deals.has(number)) yield* executivesOf(options, stage, number, organizations)
  }
}

function* executivesOf(
  { seed, startAt }: WorldOptions,
  stage: Stage,
  number: number,
  organizations: readonly MadeUpOrganization[],
): Generator<Life> {
  const home = organizations[number]?.home
  if (home === undefined) return
  const seedOf = (i: number) => mixSeeds(seed, number, 5, i)
  let people = 0
  const newPerson = () => makeUpPerson(seededRandom(mixSeeds(seedOf((people += 1)), 1)), home)
  const random = seededRandom(seedOf(0))
  const { executives } = new Successions(random, number, stage, { startAt, newPerson })
  for (const [i, { person, history }] of executives.entries()) {
    yield { seed: seedOf(i + 1), profiles: [person], history }
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

// Nobody new joins what is bought or renamed.
function bySize(
  organizations: readonly MadeUpOrganization[],
  deals: Stage['deals'],
): Stage['otherOrganization'] {
  let people = 0
  const upTo = organizations.map(({ size }, number) => {
    return (people += closingOf(deals.get(number)) === Infinity ? size : 0)
  })
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
