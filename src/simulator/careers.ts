/**
 * Careers: what happens to one person between two days. They are promoted, move sideways, are retitled, take a second
 * job, leave, go to another tracked organisation or out of sight, and sometimes come back. What a career is made of is
 * decided here; when the service notices it and how it spells it is the business of sightings.ts.
 *
 * Two changes of one kind of one person at one organisation are at least two months apart, so that they stay two
 * changes when dates are rounded to months.
 */

import { DAY } from '../support/units.ts'
import type { EventType } from './events.ts'
import {
  firstRank,
  promoted,
  retitled,
  sideTitle,
  sideways,
  titleOf,
  type MadeUpPerson,
  type Rank,
} from './made-up-people.ts'
import { exponential, pickWeighted, type Random } from './random.ts'

/** Why a change happened: the truth that events do not tell. */
export type Cause =
  | 'hire'
  | 'move'
  | 'rehire'
  | 'second_job'
  | 'exit'
  | 'second_job_end'
  | 'promotion'
  | 'sideways'
  | 'retitle'

/** One thing that happened. */
export interface Change {
  readonly cause: Cause
  readonly type: EventType
  /** Number of the organisation. */
  readonly organization: number
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  readonly title: string
  readonly previousTitle: string | null
}

/** Where and when careers take place. */
export interface Stage {
  readonly endAt: number
  /** Share of an organisation's people who leave in a year. */
  readonly turnover: number
  /** Another organisation than those excluded, larger ones more often; undefined when none is found. */
  readonly otherOrganization: (random: Random, excluded: ReadonlySet<number>) => number | undefined
}

const MONTH = 30.44 * DAY
const YEAR = 365.25 * DAY
/** The least time between two changes in a career, except from one job to the next: two months. */
export const SHORTEST_STEP = 62 * DAY

/** How often things other than leaving happen to a person in a year. */
export const YEARLY_RATES = {
  promotion: 0.14,
  sideways: 0.04,
  retitle: 0.05,
  secondJob: 0.03,
} as const

/** Where people go who leave. */
const DESTINATIONS = { move: 0.4, back: 0.15, later: 0.08, away: 0.37 } as const

interface Job {
  readonly organization: number
  readonly rank: Rank
  readonly title: string
  readonly previousTitle: string | null
}

/**
 * The career of `person` from `at` on.
 * @param isStaff they already work for `organization`; otherwise they join it at `at`
 */
export function* careerOf(
  random: Random,
  person: MadeUpPerson,
  organization: number,
  at: number,
  isStaff: boolean,
  stage: Stage,
): Generator<Change> {
  const rank = firstRank(random, person)
  let job: Job = { organization, rank, title: titleOf(random, person, rank), previousTitle: null }
  if (!isStaff) yield joined('hire', job, at)
  const rates = { exit: stage.turnover, ...YEARLY_RATES }
  const yearly = Object.values(rates).reduce((sum, rate) => sum + rate, 0)
  // An organisation of a second job is never that of a main one: nobody holds two jobs at one place.
  const secondJobs = new Set<number>()
  let now = at
  for (;;) {
    now += Math.max(SHORTEST_STEP, exponential(random, YEAR / yearly))
    if (now >= stage.endAt) return
    const step = pickWeighted(random, rates)
    if (step === 'exit') {
      yield { ...changeOf('exit', 'left', job, now), previousTitle: job.previousTitle }
      const next = nextJob(random, person, job, secondJobs, stage)
      if (next === undefined) return
      now += next.gap
      if (now >= stage.endAt) return
      job = next.job
      yield joined(next.cause, job, now)
    } else if (step === 'secondJob') {
      yield* secondJob(random, person, job, secondJobs, now, stage)
    } else {
      const change = newTitle(random, person, job, step)
      job = change.job
      yield {
        ...changeOf(change.cause, 'title_change', job, now),
        previousTitle: job.previousTitle,
      }
    }
  }
}

function changeOf(cause: Cause, type: EventType, job: Job, at: number): Change {
  const { organization, title } = job
  return { cause, type, organization, at, title, previousTitle: null }
}

function joined(cause: Cause, job: Job, at: number): Change {
  return changeOf(cause, 'joined', job, at)
}

/** What someone who left does next, and after how long; undefined when they are not seen again. */
function nextJob(
  random: Random,
  person: MadeUpPerson,
  last: Job,
  secondJobs: ReadonlySet<number>,
  stage: Stage,
): { job: Job; cause: Cause; gap: number } | undefined {
  const destination = pickWeighted(random, DESTINATIONS)
  if (destination === 'away') return undefined
  const rank = random() < 0.4 ? (promoted(last.rank) ?? last.rank) : last.rank
  const title = titleOf(random, person, rank)
  const awayFor = (3 + random() * 21) * MONTH
  if (destination === 'back') {
    const job = { organization: last.organization, rank, title, previousTitle: null }
    return { job, cause: 'rehire', gap: awayFor }
  }
  const excluded = new Set([...secondJobs, last.organization])
  const organization = stage.otherOrganization(random, excluded)
  if (organization === undefined) return undefined
  const job = { organization, rank, title, previousTitle: null }
  if (destination === 'later') return { job, cause: 'hire', gap: awayFor }
  // Half begin where they left off, the others after a break of up to three months.
  return { job, cause: 'move', gap: random() < 0.5 ? 0 : random() * 3 * MONTH }
}

function* secondJob(
  random: Random,
  person: MadeUpPerson,
  main: Job,
  secondJobs: Set<number>,
  at: number,
  stage: Stage,
): Generator<Change> {
  if (secondJobs.size > 0) return
  const organization = stage.otherOrganization(random, new Set([main.organization]))
  if (organization === undefined) return
  secondJobs.add(organization)
  const title = sideTitle(random, person)
  const job = { organization, rank: main.rank, title, previousTitle: null }
  yield joined('second_job', job, at)
  const endAt = at + (6 + random() * 30) * MONTH
  if (endAt < stage.endAt) yield changeOf('second_job_end', 'left', job, endAt)
}

function newTitle(
  random: Random,
  person: MadeUpPerson,
  job: Job,
  step: 'promotion' | 'sideways' | 'retitle',
): { job: Job; cause: Cause } {
  const higher = step === 'promotion' ? promoted(job.rank) : undefined
  // At the top there is no promotion, only another wording.
  const cause = step === 'promotion' && higher === undefined ? 'retitle' : step
  const rank = higher ?? (step === 'sideways' ? sideways(random, person, job.rank) : job.rank)
  const title =
    cause === 'retitle' ? retitled(random, person, rank, job.title) : titleOf(random, person, rank)
  return { job: { ...job, rank, title, previousTitle: job.title }, cause }
}
