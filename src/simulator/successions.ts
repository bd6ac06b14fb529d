/**
 * Makes up how the offices of one organisation are handed on: to a colleague the same day, for good or until a
 * successor comes, or to an outsider, at once or after months.
 */

import { MONTH, SHORTEST_STEP, YEAR, History, type Stage, type Post, type Role } from './careers.ts'
import {
  directorRank,
  executiveTitle,
  interimTitle,
  titleOf,
  type MadeUpPerson,
  type Office,
} from './made-up.ts'
import { exponential, pick, pickWeighted, type Random } from './random.ts'

interface Executive {
  readonly person: MadeUpPerson
  readonly history: History
  /** Their current role. */
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

  /** Says when the office has a holder for good. */
  #handOn(office: Office, at: number): number {
    const holder = this.#holders.get(office)
    // It may be vacant where its holder became chief executive.
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
