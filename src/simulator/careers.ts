/**
 * Careers: what happens to one person between two days. They are promoted, move sideways, are retitled, take a second
 * job, leave, go to another tracked organisation or out of sight, and sometimes come back. What a career is made of is
 * decided here; when the service notices it and how it spells it is the business of sightings.ts.
 *
 * Two changes of one kind of one person at one organisation are at least two months apart, so that they stay two
 * changes when dates are rounded to months.
 */

import { sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import type { EventType } from './events.ts'
import {
  firstRank,
  pickAddition,
  promoted,
  sideTitle,
  sideways,
  titleOf,
  type MadeUpPerson,
  type Rank,
} from './made-up.ts'
import { exponential, pickWeighted, type Random } from './random.ts'

export interface Change {
  readonly type: EventType
  readonly organization: number
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  readonly title: string
  readonly previousTitle: string | null
}

export interface Stage {
  readonly endAt: number
  /** Another organisation than those excluded, larger ones more often; undefined when none is found. */
  readonly otherOrganization: (random: Random, excluded: ReadonlySet<number>) => number | undefined
}

const MONTH = 30.44 * DAY
const YEAR = 365.25 * DAY
/** The least time between two changes in a career, except from one job to the next: two months. */
export const SHORTEST_STEP = 62 * DAY

/** How often things happen to a person in a year; `exit`: they leave. */
export const YEARLY_RATES = {
  exit: 0.22,
  promotion: 0.14,
  sideways: 0.04,
  retitle: 0.05,
  secondJob: 0.03,
} as const

const DESTINATIONS = { move: 0.4, back: 0.15, later: 0.08, away: 0.37 } as const

interface Job {
  readonly organization: number
  readonly rank: Rank
  readonly title: string
  readonly previousTitle: string | null
}

export class Career {
  readonly #random: Random
  readonly #person: MadeUpPerson
  readonly #stage: Stage
  /** Organisations of second jobs: never that of a main one, because nobody holds two jobs at one place. */
  readonly #secondJobs = new Set<number>()
  #job: Job

  constructor(random: Random, person: MadeUpPerson, organization: number, stage: Stage) {
    this.#random = random
    this.#person = person
    this.#stage = stage
    this.#job = this.#newJob(organization, firstRank(random, person))
  }

  /**
   * What happens from `at` on.
   * @param isStaff they already work for their organisation; otherwise they join it at `at`
   */
  *changes(at: number, isStaff: boolean): Generator<Change> {
    const { endAt } = this.#stage
    if (!isStaff) yield change('joined', this.#job, at)
    const meanStep = YEAR / sum(Object.values(YEARLY_RATES))
    for (let now = at; ;) {
      now += Math.max(SHORTEST_STEP, exponential(this.#random, meanStep))
      if (now >= endAt) return
      const step = pickWeighted(this.#random, YEARLY_RATES)
      if (step === 'exit') {
        yield change('left', this.#job, now)
        const next = this.#nextJob()
        now += next?.gap ?? 0
        if (next === undefined || now >= endAt) return
        this.#job = next.job
        yield change('joined', this.#job, now)
      } else if (step === 'secondJob') {
        yield* this.#secondJob(now)
      } else {
        this.#takeNewTitle(step)
        yield change('title_change', this.#job, now)
      }
    }
  }

  #newJob(organization: number, rank: Rank): Job {
    const title = titleOf(this.#random, this.#person, rank)
    return { organization, rank, title, previousTitle: null }
  }

  /** What someone who left does next, and after how long; undefined when they are not seen again. */
  #nextJob(): { job: Job; gap: number } | undefined {
    const random = this.#random
    const { organization: last, rank: lastRank } = this.#job
    const destination = pickWeighted(random, DESTINATIONS)
    if (destination === 'away') return undefined
    const rank = random() < 0.4 ? (promoted(lastRank) ?? lastRank) : lastRank
    const job = this.#newJob(last, rank)
    const awayFor = (3 + random() * 21) * MONTH
    if (destination === 'back') return { job, gap: awayFor }
    const excluded = new Set([...this.#secondJobs, last])
    const organization = this.#stage.otherOrganization(random, excluded)
    if (organization === undefined) return undefined
    const elsewhere = { ...job, organization }
    if (destination === 'later') return { job: elsewhere, gap: awayFor }
    // Half begin where they left off, the others after a break of up to three months.
    return { job: elsewhere, gap: random() < 0.5 ? 0 : random() * 3 * MONTH }
  }

  *#secondJob(at: number): Generator<Change> {
    if (this.#secondJobs.size > 0) return
    const random = this.#random
    const { organization: main, rank } = this.#job
    const organization = this.#stage.otherOrganization(random, new Set([main]))
    if (organization === undefined) return
    this.#secondJobs.add(organization)
    const job = { organization, rank, title: sideTitle(random, this.#person), previousTitle: null }
    yield change('joined', job, at)
    const endAt = at + (6 + random() * 30) * MONTH
    if (endAt < this.#stage.endAt) yield change('left', job, endAt)
  }

  #takeNewTitle(step: 'promotion' | 'sideways' | 'retitle'): void {
    const random = this.#random
    const { rank: before, title: previousTitle } = this.#job
    const higher = step === 'promotion' ? promoted(before) : undefined
    const rank = higher ?? (step === 'sideways' ? sideways(random, this.#person, before) : before)
    const bare = titleOf(random, this.#person, rank)
    // At the top there is no promotion, only another wording.
    const isReworded = step === 'retitle' || (step === 'promotion' && higher === undefined)
    const isSame = isReworded && bare === previousTitle
    const title = isSame ? `${bare}, ${pickAddition(random)}` : bare
    this.#job = { ...this.#job, rank, title, previousTitle }
  }
}

function change(type: EventType, { organization, title, previousTitle }: Job, at: number): Change {
  return { type, organization, at, title, previousTitle }
}
