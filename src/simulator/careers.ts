/**
 * Simulates careers between two days, and how the offices of an organisation are handed on; world.ts decides when the
 * service notices changes and how it spells them. Two changes of one kind of one person at one organisation are at least two months apart: dates are
 * rounded to months.
 */

import { sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import type { EventType } from './events.ts'
import {
  closingOf,
  directorRank,
  executiveTitle,
  firstRank,
  interimTitle,
  pickAddition,
  promoted,
  sideTitle,
  sideways,
  titleOf,
  type Deal,
  type MadeUpPerson,
  type Office,
  type Rank,
} from './made-up.ts'
import { exponential, pick, pickWeighted, type Random } from './random.ts'

export interface Change {
  readonly type: EventType
  readonly organization: number
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  readonly title: string
  readonly previousTitle: string | null
}

export interface Post {
  readonly organization: number
  readonly title: string
  /** Held in addition to a main job. */
  readonly isSide?: boolean
  readonly office?: Office
  readonly isInterim?: boolean
}

export interface Role extends Post {
  /** Null if no event shows it. */
  readonly from: number | null
  /** Null if it continues, or no event shows it. */
  until: number | null
}

export interface Move {
  readonly from: Role
  readonly to: Role
  /** The employer was bought, renamed or split: the person stayed in their job. */
  readonly isTransfer: boolean
}

/** The history of one person: the visible changes, and the actual roles and moves behind them. */
export class History {
  readonly changes: Change[] = []
  readonly roles: Role[] = []
  readonly moves: Move[] = []

  /** A role that begins without an event: before the world, or unseen, together with the end of the previous one. */
  hold(post: Post): Role {
    return this.#begin(post, null)
  }

  join(post: Post, at: number): Role {
    this.#add('joined', post, at, null)
    return this.#begin(post, at)
  }

  leave(role: Role, at: number): void {
    this.#add('left', role, at, null)
    role.until = at
  }

  /** The role becomes another one at the same organisation. */
  changeTitle(role: Role, post: Post, at: number): Role {
    this.#add('title_change', post, at, role.title)
    // A post already reported as left ended then.
    role.until ??= at
    return this.#begin(post, at)
  }

  move(from: Role, to: Role, isTransfer = false): void {
    this.moves.push({ from, to, isTransfer })
  }

  #begin(post: Post, from: number | null): Role {
    const role = { ...post, from, until: null }
    this.roles.push(role)
    return role
  }

  #add(type: EventType, { organization, title }: Post, at: number, previousTitle: string | null) {
    this.changes.push({ type, organization, at, title, previousTitle })
  }
}

export interface Stage {
  readonly endAt: number
  /** Another organisation than those excluded, larger ones more often; undefined when none is found. */
  readonly otherOrganization: (random: Random, excluded: ReadonlySet<number>) => number | undefined
  /** By the organisation that people leave. */
  readonly deals: ReadonlyMap<number, Deal>
}

const MONTH = 30.44 * DAY
export const YEAR = 365.25 * DAY
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

// How a promotion shows: as a title; as a second role whose older one is left months later; as a leaving of the old one,
// which is reported first.
const PROMOTIONS_SHOW = { title: 0.93, second_role: 0.04, leaving: 0.03 } as const
const SECOND_JOB_AT_OWN_EMPLOYER = 0.2
const RETURN_UNSEEN = 0.4
const TITLE_UNSEEN = 0.02
// The share of people whose employer was bought who report it up to two months later.
const GOES_LATE = 0.1
/** A second role at the same employer never lasts longer. */
const LONGEST_OVERLAP = 10 * MONTH

interface Job extends Post {
  readonly rank: Rank
}

export class Career {
  readonly history = new History()
  readonly #random: Random
  readonly #person: MadeUpPerson
  readonly #stage: Stage
  /** Whether they go along with a deal: if this is less than its share. */
  readonly #stays: number
  /** Organisations of second jobs elsewhere: never that of a main one. */
  readonly #secondJobs = new Set<number>()
  #rank: Rank
  #main: Role

  /**
   * Simulates the career from `at` on.
   * @param isStaff they already work for their organisation; otherwise they join it at `at`
   */
  constructor(
    random: Random,
    person: MadeUpPerson,
    stage: Stage,
    { organization, at, isStaff }: { organization: number; at: number; isStaff: boolean },
  ) {
    this.#random = random
    this.#person = person
    this.#stage = stage
    const job = this.#newJob(organization, firstRank(random, person))
    this.#stays = random()
    this.#rank = job.rank
    this.#main = isStaff ? this.history.hold(job) : this.history.join(job, at)
    this.#goOn(at)
  }

  #goOn(at: number): void {
    const { endAt, deals } = this.#stage
    const meanStep = YEAR / sum(Object.values(YEARLY_RATES))
    for (let now: number | undefined = at; now !== undefined && now < endAt;) {
      const next: number = now + Math.max(SHORTEST_STEP, exponential(this.#random, meanStep))
      const deal = deals.get(this.#main.organization)
      const isDue = deal !== undefined && now < deal.at && deal.at <= next
      if (isDue && this.#isConcerned(deal)) {
        now = this.#goAlong(deal, Math.max(deal.at, now + SHORTEST_STEP))
      } else {
        now = next < endAt ? this.#step(next) : undefined
      }
    }
  }

  // If an organisation is bought, people who do not go along leave; if it is split, they stay.
  #isConcerned({ kind, share }: Deal): boolean {
    return kind === 'acquisition' || this.#stays < share
  }

  #goAlong({ to: organization, share }: Deal, dealAt: number): number | undefined {
    const { history } = this
    const isLate = this.#random() < GOES_LATE
    const at = dealAt + (isLate ? this.#random() * 2 * MONTH : 0)
    if (at >= this.#stage.endAt) return undefined
    if (this.#stays >= share) return this.#exit(at)
    const before = this.#main
    history.leave(before, at)
    this.#main = history.join({ organization, title: before.title }, at)
    history.move(before, this.#main, true)
    return at
  }

  /** Takes a step at `at` and returns its end; undefined if the person is not seen again. */
  #step(at: number): number | undefined {
    const step = pickWeighted(this.#random, YEARLY_RATES)
    if (step === 'exit') return this.#exit(at)
    if (step === 'secondJob') return this.#takeSecondJob(at)
    const before = this.#main
    const job = this.#newTitle(step)
    this.#rank = job.rank
    const shows = step === 'promotion' ? pickWeighted(this.#random, PROMOTIONS_SHOW) : 'title'
    if (shows === 'title' || !this.#isCalm(at)) {
      const isUnseen = this.#random() < TITLE_UNSEEN
      this.#main = isUnseen ? this.history.hold(job) : this.history.changeTitle(before, job, at)
      return at
    }
    return shows === 'leaving' ? this.#tellLeavingFirst(job, at) : this.#overlap(job, at)
  }

  #exit(at: number): number | undefined {
    const { history } = this
    const before = this.#main
    history.leave(before, at)
    const next = this.#nextJob(at)
    if (next === undefined || next.at >= this.#stage.endAt) return undefined
    this.#rank = next.job.rank
    const isUnseen = next.job.organization === before.organization && this.#random() < RETURN_UNSEEN
    this.#main = isUnseen ? history.hold(next.job) : history.join(next.job, next.at)
    if (next.job.organization !== before.organization) history.move(before, this.#main)
    return next.at
  }

  #tellLeavingFirst(job: Job, at: number): number {
    const { history } = this
    const before = this.#main
    const later = at + (3 + this.#random() * 22) * DAY
    history.leave(before, at)
    this.#main =
      this.#random() < 0.5 ? history.changeTitle(before, job, later) : history.join(job, later)
    return later
  }

  #overlap(job: Job, at: number): number {
    const { history } = this
    const before = this.#main
    const until = at + (2 + this.#random() * 6) * MONTH
    // If two roles continue, no event shows that the older one does.
    if (until >= this.#stage.endAt) {
      this.#main = history.changeTitle(before, job, at)
      return at
    }
    this.#main = history.join(job, at)
    history.leave(before, until)
    return until
  }

  #isCalm(at: number): boolean {
    const deal = this.#stage.deals.get(this.#main.organization)
    const isDealFar = deal === undefined || deal.at < at || deal.at > at + LONGEST_OVERLAP
    return isDealFar && at + MONTH < this.#stage.endAt
  }

  #newJob(organization: number, rank: Rank): Job {
    return { organization, rank, title: titleOf(this.#random, this.#person, rank) }
  }

  /** The next step of a person who left, and its time; undefined if they are not seen again. */
  #nextJob(leftAt: number): { job: Job; at: number } | undefined {
    const random = this.#random
    const { deals, otherOrganization } = this.#stage
    const last = this.#main.organization
    const lastRank = this.#rank
    const destination = pickWeighted(random, DESTINATIONS)
    if (destination === 'away') return undefined
    const rank = random() < 0.4 ? (promoted(lastRank) ?? lastRank) : lastRank
    const job = this.#newJob(last, rank)
    const backAt = leftAt + (3 + random() * 21) * MONTH
    if (destination === 'back') {
      const isGone = backAt >= closingOf(deals.get(last))
      return isGone ? undefined : { job, at: backAt }
    }
    const organization = otherOrganization(random, new Set([...this.#secondJobs, last]))
    if (organization === undefined) return undefined
    const elsewhere = { ...job, organization }
    if (destination === 'later') return { job: elsewhere, at: backAt }
    // Half begin at once, the others after a break of up to three months.
    return { job: elsewhere, at: leftAt + (random() < 0.5 ? 0 : random() * 3 * MONTH) }
  }

  #takeSecondJob(at: number): number {
    const random = this.#random
    const main = this.#main.organization
    const isHere = random() < SECOND_JOB_AT_OWN_EMPLOYER && this.#isCalm(at)
    const organization = isHere ? main : this.#stage.otherOrganization(random, new Set([main]))
    if (organization === undefined || (!isHere && this.#secondJobs.size > 0)) return at
    if (!isHere) this.#secondJobs.add(organization)
    const title = isHere
      ? executiveTitle(random, this.#person, 'board')
      : sideTitle(random, this.#person)
    const role = this.history.join({ organization, title, isSide: true }, at)
    const until = at + (isHere ? 4 + random() * 6 : 6 + random() * 30) * MONTH
    if (until < this.#stage.endAt) this.history.leave(role, until)
    return isHere ? until : at
  }

  #newTitle(step: 'promotion' | 'sideways' | 'retitle'): Job {
    const random = this.#random
    const { organization, title: previousTitle } = this.#main
    const before = this.#rank
    const higher = step === 'promotion' ? promoted(before) : undefined
    const rank = higher ?? (step === 'sideways' ? sideways(random, this.#person, before) : before)
    const job = this.#newJob(organization, rank)
    // At the top there is no promotion, only another wording.
    const isReworded = step === 'retitle' || (step === 'promotion' && higher === undefined)
    const isSame = isReworded && job.title === previousTitle
    return isSame ? { ...job, title: `${job.title}, ${pickAddition(random)}` } : job
  }
}

interface Executive {
  readonly person: MadeUpPerson
  readonly history: History
  role: Role
}

const OFFICES: readonly Office[] = ['ceo', 'cfo', 'cto']
// Chosen: an organisation sees one of its three offices handed on every 20 months.
const MEAN_STEP = YEAR / 0.6
const SUCCESSORS = { inside: 0.4, interim: 0.25, outside: 0.35 } as const
const AFTERWARDS: Readonly<Record<Office, Readonly<Record<Afterwards, number>>>> = {
  ceo: { away: 0.5, chair: 0.3, board: 0.2, contributor: 0 },
  cfo: { away: 0.8, chair: 0, board: 0.2, contributor: 0 },
  cto: { away: 0.6, chair: 0, board: 0.1, contributor: 0.3 },
}
type Afterwards = 'away' | 'chair' | 'board' | 'contributor'

/**
 * How the offices of one organisation are handed on: to a colleague the same day, for good or until a successor comes, or
 * to an outsider, at once or after months.
 */
export class Successions {
  /** Everyone who held an office or was a candidate for one. */
  readonly executives: Executive[] = []
  readonly #random: Random
  readonly #organization: number
  readonly #stage: Stage
  readonly #newPerson: () => MadeUpPerson
  readonly #holders = new Map<Office, Executive>()

  constructor(
    random: Random,
    organization: number,
    stage: Stage,
    { startAt, newPerson }: { startAt: number; newPerson: () => MadeUpPerson },
  ) {
    this.#random = random
    this.#organization = organization
    this.#stage = stage
    this.#newPerson = newPerson
    for (const office of OFFICES) {
      this.#holders.set(
        office,
        this.#newcomer((person) => this.#officePost(person, office)),
      )
    }
    for (let at = startAt; ;) {
      at += Math.max(SHORTEST_STEP, exponential(random, MEAN_STEP))
      if (at >= stage.endAt) return
      at = this.#handOn(pick(random, OFFICES), at)
    }
  }

  /** Returns when the office has a permanent holder. */
  #handOn(office: Office, at: number): number {
    const holder = this.#holders.get(office)
    // It may be vacant because its holder became chief executive.
    if (holder === undefined) return this.#appointFromOutside(office, at)
    this.#goFrom(office, holder, at)
    this.#holders.delete(office)
    const successor = pickWeighted(this.#random, SUCCESSORS)
    const laterAt = at + (2 + this.#random() * 7) * MONTH
    if (successor === 'outside')
      return this.#appointFromOutside(office, this.#random() < 0.3 ? at : laterAt)
    if (successor === 'interim') return this.#bridge(office, at, laterAt + MONTH)
    const cfo = this.#holders.get('cfo')
    if (office === 'ceo' && cfo !== undefined) {
      this.#rise(cfo, office, at)
      this.#holders.delete('cfo')
      return this.#appointFromOutside('cfo', laterAt)
    }
    this.#rise(this.#director(), office, at)
    return at
  }

  #goFrom(office: Office, { history, person, role }: Executive, at: number): void {
    const next = pickWeighted(this.#random, AFTERWARDS[office])
    if (next === 'away') {
      history.leave(role, at)
    } else {
      const title = executiveTitle(this.#random, person, next)
      const post = { organization: this.#organization, title, isSide: next === 'board' }
      history.changeTitle(role, post, at)
    }
  }

  #rise(executive: Executive, office: Office, at: number): void {
    const post = this.#officePost(executive.person, office)
    executive.role = executive.history.changeTitle(executive.role, post, at)
    this.#holders.set(office, executive)
  }

  /** A director holds the office until a successor comes from outside, then returns to the old post. */
  #bridge(office: Office, at: number, until: number): number {
    const { history, person, role } = this.#director()
    const title = interimTitle(this.#random, person, office)
    const post = { organization: this.#organization, title, office, isInterim: true }
    const interim = history.changeTitle(role, post, at)
    if (until < this.#stage.endAt) {
      history.changeTitle(interim, { organization: role.organization, title: role.title }, until)
    }
    return this.#appointFromOutside(office, until)
  }

  #appointFromOutside(office: Office, at: number): number {
    if (at >= this.#stage.endAt) return at
    const random = this.#random
    const executive = this.#newcomer((person) => {
      const elsewhere = this.#stage.otherOrganization(random, new Set([this.#organization]))
      const title = titleOf(random, person, directorRank(random, person))
      return { organization: elsewhere ?? this.#organization, title }
    })
    const { history, role: before } = executive
    const isTracked = before.organization !== this.#organization && random() < 0.5
    if (isTracked) history.leave(before, at - (random() < 0.5 ? 0 : random() * 3 * MONTH))
    executive.role = history.join(this.#officePost(executive.person, office), at)
    if (isTracked) history.move(before, executive.role)
    this.#holders.set(office, executive)
    return at
  }

  #director(): Executive {
    return this.#newcomer((person) => ({
      organization: this.#organization,
      title: titleOf(this.#random, person, directorRank(this.#random, person)),
    }))
  }

  /** A person who has a post since an unknown date. */
  #newcomer(postOf: (person: MadeUpPerson) => Post): Executive {
    const person = this.#newPerson()
    const history = new History()
    const executive = { person, history, role: history.hold(postOf(person)) }
    this.executives.push(executive)
    return executive
  }

  #officePost(person: MadeUpPerson, office: Office): Post {
    const title = executiveTitle(this.#random, person, office)
    return { organization: this.#organization, title, office }
  }
}
