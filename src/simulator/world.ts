/**
 * Simulates a world: organisations, people, careers, and when the service detects changes: once, days to months later;
 * a few are announced, and a few are corrected later. The same options give the same bytes.
 */

import { isoInstant } from '../support/clock.ts'
import { sum } from '../support/numbers.ts'
import { DAY, SECOND } from '../support/units.ts'
import {
  Career,
  SHORTEST_STEP,
  Successions,
  YEAR,
  YEARLY_RATES,
  type Stage,
  type History,
  type Change,
} from './careers.ts'
import { sourceOf, type EventSource, type JobChangeEvent } from './events.ts'
import {
  closingOf,
  dealsOf,
  makeUpOrganizations,
  makeUpPerson,
  secondProfile,
  pickAddition,
  pickWord,
  withDeals,
  type MadeUpOrganization,
  type MadeUpPerson,
} from './made-up.ts'
import {
  exponential,
  mixSeeds,
  seededRandom,
  logNormal,
  pickWeighted,
  type Random,
} from './random.ts'

export interface Sighting {
  readonly event: JobChangeEvent
  /** Whether this is a correction of a change seen before. */
  readonly isCorrection: boolean
}

const CORRECTED = 0.02
const FOUND_VERY_LATE = 0.015
const ANNOUNCED = 0.02
const LONGEST_NOTICE_DAYS = 120
// Chosen: half of the changes are seen within 12 days, one in nine on the same day, one in twenty after four months.
const MEDIAN_LAG_DAYS = 12
const LAG_SIGMA = 1.5
const SOONEST_DAYS = 1
const LONGEST_LAG_DAYS = 720

/** The sightings of one change, first one first. */
function* sightingsOf(
  random: Random,
  person: MadeUpPerson,
  change: Change,
  organization: MadeUpOrganization['tracked'],
): Generator<Sighting> {
  const changedAt = toldDate(change.at, person.givesDays)
  const detectedAt = changedAt + lagDays(random) * DAY + secondsOfDay(random)
  const event: JobChangeEvent = {
    event_type: change.type,
    ...dates(changedAt, detectedAt),
    title: { current: change.title, previous: change.previousTitle },
    person: personAs(random, person, change.title, organization.name),
    organization,
  }
  if (random() >= CORRECTED) {
    yield { event, isCorrection: false }
    return
  }
  const seenAgainAt = detectedAt + Math.ceil(5 + random() * 115) * DAY
  const { before, after } = correction(random, event, person)
  yield { event: before, isCorrection: false }
  yield { event: { ...after, ...dates(changedAt, seenAgainAt) }, isCorrection: true }
}

/** The first of the month for most people, the day itself for those who give days. */
export function toldDate(at: number, givesDays: boolean): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), givesDays ? date.getUTCDate() : 1)
}

// Negative for announced changes.
function lagDays(random: Random): number {
  if (random() < ANNOUNCED) return -Math.ceil(random() * LONGEST_NOTICE_DAYS)
  if (random() < FOUND_VERY_LATE) return 180 + Math.floor(random() * (LONGEST_LAG_DAYS - 180))
  const days = logNormal(random, MEDIAN_LAG_DAYS, LAG_SIGMA) - SOONEST_DAYS
  return Math.min(LONGEST_LAG_DAYS, Math.max(0, Math.floor(days)))
}

function secondsOfDay(random: Random): number {
  return Math.floor(random() * (DAY / SECOND)) * SECOND
}

function dates(changedAt: number, detectedAt: number) {
  return {
    detected_at: isoInstant(detectedAt),
    changed_at: isoInstant(changedAt),
    detection_lag_days: Math.max(0, Math.floor((detectedAt - changedAt) / DAY)),
  }
}

function personAs(
  random: Random,
  person: MadeUpPerson,
  title: string,
  organizationName: string,
): JobChangeEvent['person'] {
  const { profileId, handle, firstName, lastName, words } = person
  const isHandleKnown = random() >= 0.02
  const headlines = {
    full: `${title} ${words.at} ${organizationName}`,
    bar: `${title} | ${organizationName}`,
    bare: title,
    none: null,
  }
  return {
    profile_id: profileId,
    handle: isHandleKnown ? handle : null,
    full_name: `${firstName} ${lastName}`,
    first_name: firstName,
    last_name: lastName,
    headline: headlines[pickWeighted(random, { full: 0.6, bar: 0.2, bare: 0.15, none: 0.05 })],
    network_url: isHandleKnown ? `https://network.example/in/${handle}` : null,
  }
}

/** The original event, and one with a correction. The natural key never changes. */
function correction(
  random: Random,
  event: JobChangeEvent,
  person: MadeUpPerson,
): Record<'before' | 'after', JobChangeEvent> {
  const what = pickWeighted(random, { headline: 0.4, name: 0.3, title: 0.3 })
  if (what === 'headline') {
    const headline = `${event.title.current} · ${event.organization.name}`
    return { before: event, after: { ...event, person: { ...event.person, headline } } }
  }
  if (what === 'name') {
    const added = pickWord(random, person.words.family)
    const last_name = `${person.lastName}-${added}`
    const full_name = `${person.firstName} ${last_name}`
    return { before: event, after: { ...event, person: { ...event.person, last_name, full_name } } }
  }
  const added = pickAddition(random)
  const wrong = (text: string | null) => (text === null ? null : `${text} (${added})`)
  const title =
    event.event_type === 'title_change'
      ? { ...event.title, previous: wrong(event.title.previous) }
      : { ...event.title, current: wrong(event.title.current) }
  return { before: { ...event, title }, after: event }
}

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
// This share of leavers is replaced from outside; the other replacements come from within the world.
const HIRED_FROM_OUTSIDE = 0.4
const HAS_SECOND_PROFILE = 0.005

export function createWorld(options: WorldOptions): EventSource {
  const organizations = organizationsOf(options).map(({ tracked }) => tracked)
  return sourceOf(eventsOf(options), organizations)
}

function* eventsOf(options: WorldOptions): Generator<JobChangeEvent> {
  for (const { event } of worldSightings(options)) yield event
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

/** A person, sometimes with a second profile, and their history. */
interface Life {
  readonly seed: number
  readonly profiles: readonly [MadeUpPerson, ...MadeUpPerson[]]
  readonly history: History
}

/** Everyone the service looks at. */
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
    // A fraction of a person becomes a whole person with that probability.
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
  // Measured over worlds of 20 to 2,000 organisations and 1 to 3 years: careers that end cost about as many events as
  // corrections, deals and offices that are handed on add.
  return wanted / (people * yearly * years)
}

const TRIES = 8

// No one joins an organisation that is about to be bought or renamed.
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
