/**
 * Nights over made-up organisations, without HTTP: which events exist is known here alone. The planner learns of them
 * only what the pages that it asked for would show, by the same sums that the journal keeps.
 */

import { addInterval } from '../../src/journal/coverage.ts'
import { emptyHistory, type History } from '../../src/journal/history.ts'
import { EVENT_TYPES, type OrganizationRef } from '../../src/journal/records.ts'
import { RATE_DAYS, addSightings } from '../../src/journal/sightings.ts'
import { billRange, type BillRange } from '../../src/plan/forecast.ts'
import { makePlan, type Question } from '../../src/plan/plan.ts'
import { exponential, logNormal, seededRandom, type Random } from '../../src/simulator/random.ts'
import { shuffled } from '../../src/support/numbers.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { aQuestion, finishedRun } from './plan-fixture.ts'

/** An event, and when the service shows it; milliseconds since 1970 UTC. */
export interface TrueEvent {
  readonly detectedAt: number
  readonly visibleAt: number
}

/** Events by organisation id, each list in the order of detection. */
export type TrueEvents = ReadonlyMap<string, readonly TrueEvent[]>

/** How lively a made-up list is: log-normal rates. */
export interface ListShape {
  readonly organizations: number
  /** Events a day. */
  readonly medianRate: number
  readonly sigma: number
}

/** 2,000 organisations, half of which have less than an event in fifty days. */
export const SMALL_ORGANIZATIONS: ListShape = {
  organizations: 2_000,
  medianRate: 0.02,
  sigma: 1.5,
}

/** When made-up organisations are read for the first time. */
export const FIRST_READ = Date.UTC(2026, 4, 31, 2, 15)
export const NIGHTS = 30
const YEAR = 365
const LATE_SHARE = 0.2
const MEAN_LATENESS = 36 * HOUR
const GROUP_SHARE = 0.1
const WAVES_A_MONTH = 2

/**
 * Draws the events of the year before the first read and of the nights after it. One in ten brings one or two more with
 * it; twice a month a wave of 30 to 80 goes through one organisation within a day; one event in five is shown hours to
 * days after it was detected.
 */
export function drawEvents(shape: ListShape, seed: number): Map<string, TrueEvent[]> {
  const random = seededRandom(seed)
  const from = FIRST_READ - YEAR * DAY
  const until = FIRST_READ + NIGHTS * DAY
  const waves = (WAVES_A_MONTH * (YEAR + NIGHTS)) / 30 / shape.organizations
  const events = new Map<string, TrueEvent[]>()
  for (let n = 0; n < shape.organizations; n += 1) {
    const own: TrueEvent[] = []
    const gap = (1.15 * DAY) / logNormal(random, shape.medianRate, shape.sigma)
    for (let at = from + exponential(random, gap); at < until; at += exponential(random, gap)) {
      const together = random() < GROUP_SHARE ? 2 + Math.floor(2 * random()) : 1
      for (let i = 0; i < together; i += 1) own.push(shown(at, random))
    }
    if (random() < waves) {
      const at = from + random() * (until - from - DAY)
      const size = 30 + Math.floor(51 * random())
      for (let i = 0; i < size; i += 1) own.push(shown(at + random() * DAY, random))
    }
    events.set(
      `org_${n}`,
      own.toSorted((a, b) => a.detectedAt - b.detectedAt),
    )
  }
  return events
}

function shown(detectedAt: number, random: Random): TrueEvent {
  const isLate = random() < LATE_SHARE
  return {
    detectedAt,
    visibleAt: isLate ? detectedAt + HOUR + exponential(random, MEAN_LATENESS) : detectedAt,
  }
}

/** The question of a nightly pipeline over these organisations. */
export function nightlyQuestion(events: TrueEvents): Question {
  return aQuestion({
    organizations: [...events.keys()].map((value): OrganizationRef => ({ by: 'id', value })),
  })
}

/** What a way of asking bought. */
export interface Bought {
  /** Of each read, the first one included. */
  readonly credits: number[]
  readonly requests: number[]
  readonly events: Set<TrueEvent>
}

interface Reading {
  pages: number
  requests: number
  readonly events: Set<TrueEvent>
}

/** Reads one batch at `now` and returns what it shows of each organisation. */
function readBatch(
  bought: Reading,
  events: TrueEvents,
  names: readonly string[],
  daysAgo: number | null,
  now: number,
): number[] {
  const from = daysAgo === null ? Number.NEGATIVE_INFINITY : now - daysAgo * DAY
  const counts = names.map((name) => {
    const shownNow = (events.get(name) ?? []).filter(
      ({ detectedAt, visibleAt }) => detectedAt >= from && detectedAt <= now && visibleAt <= now,
    )
    for (const event of shownNow) bought.events.add(event)
    return shownNow.length
  })
  const shown = counts.reduce((sum, count) => sum + count, 0)
  const pages = Math.ceil(shown / 50)
  bought.pages += pages
  bought.requests += Math.max(1, pages)
  return counts
}

/** What was forecast of a read, and what it then cost. */
export interface Forecast {
  readonly expected: number
  readonly range: BillRange | null
  readonly credits: number
}

/** Asks as Jobtide plans it: the first read, then so many nights. */
export function asPlanned(
  question: Question,
  events: TrueEvents,
  firstRead = FIRST_READ,
  nights = NIGHTS,
): Bought & { readonly forecasts: readonly Forecast[] } {
  const history = emptyHistory()
  const all: Bought = { credits: [], requests: [], events: new Set() }
  const forecasts: Forecast[] = []
  for (let night = 0; night <= nights; night += 1) {
    const now = firstRead + night * DAY
    const plan = makePlan(question, history, now)
    const expected = plan.expectedCredits
    const bought: Reading = { pages: 0, requests: 0, events: all.events }
    for (const { organizations, days_ago: daysAgo } of plan.batches) {
      const names = organizations.map(({ value }) => value)
      const counts = readBatch(bought, events, names, daysAgo, now)
      for (const [place, name] of names.entries()) {
        remember(history, name, counts[place] ?? 0, daysAgo, now)
      }
    }
    const credits = bought.pages * 10
    all.credits.push(credits)
    all.requests.push(bought.requests)
    if (expected === null) continue
    const range = billRange(expected, history.runs.values(), question.pipeline)
    forecasts.push({ expected, range, credits })
    const fields = { run_id: `run_${now}`, at: now, expected_credits: expected }
    history.runs.set(fields.run_id, finishedRun(credits, fields))
  }
  return { ...all, forecasts }
}

// What foldRecord adds for the pages and the end of a batch.
function remember(
  history: History,
  name: string,
  count: number,
  daysAgo: number | null,
  now: number,
): void {
  const from = daysAgo === null ? null : now - daysAgo * DAY
  const covered = history.coverage.get(name) ?? []
  history.coverage.set(name, addInterval(covered, { eventTypes: EVENT_TYPES, from, to: now }))
  const days = daysAgo ?? RATE_DAYS
  const added = { total: count, lastAt: count > 0 ? now : 0, events: count, days, at: now }
  history.seen.set(name, addSightings(history.seen.get(name), added))
}

/** Asks random batches of 50: the first read like the planner's, then each night with a fixed window. */
export function inRandomBatches(
  question: Question,
  events: TrueEvents,
  daysAgo: number,
  seed: number,
  firstRead = FIRST_READ,
): Bought {
  const random = seededRandom(seed)
  const all: Bought = { credits: [], requests: [], events: new Set() }
  for (let night = 0; night <= NIGHTS; night += 1) {
    const now = firstRead + night * DAY
    const names = shuffled(question.organizations, random).map(({ value }) => value)
    const bought: Reading = { pages: 0, requests: 0, events: all.events }
    for (let at = 0; at < names.length; at += 50) {
      readBatch(bought, events, names.slice(at, at + 50), night === 0 ? YEAR : daysAgo, now)
    }
    all.credits.push(bought.pages * 10)
    all.requests.push(bought.requests)
  }
  return all
}

/** Of the events of the nights that were shown at least an hour late, and before the last night: the share bought. */
export function recallOfLate(events: TrueEvents, bought: ReadonlySet<TrueEvent>): number {
  const lastNight = FIRST_READ + NIGHTS * DAY
  const late = [...events.values()]
    .flat()
    .filter(
      ({ detectedAt, visibleAt }) =>
        detectedAt > FIRST_READ && visibleAt - detectedAt >= HOUR && visibleAt <= lastNight,
    )
  return late.filter((event) => bought.has(event)).length / late.length
}
