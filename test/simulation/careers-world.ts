/**
 * A simulated world of careers with its truth: who worked where, from when until when and as what, and its events as a
 * service would send them, with the difficulties of real ones. Everything follows from a seed.
 */

import { pick, seededRandom, type Random } from '../../src/simulator/random.ts'
import { DAY } from '../../src/support/units.ts'
import type { GivenEvent } from '../helpers/warehouse.ts'

/** The truth: lines of person, organisation and year, and who was where. */
export interface Truth {
  readonly joiners: string[]
  readonly leavers: string[]
  readonly moves: string[]
  readonly promotions: string[]
  readonly spells: { person: string; organization: string; from: number; until: number | null }[]
}

export interface CareersWorld {
  readonly events: GivenEvent[]
  readonly truth: Truth
  /** How many people have each kind of difficulty. */
  readonly kinds: Record<string, number>
}

export const FIRST_DAY = Date.UTC(2015, 0, 5)
export const LAST_DAY = Date.UTC(2024, 10, 20)

const LADDERS = [
  ['Software Engineer', 'Senior Software Engineer', 'Engineering Manager'],
  ['Accountant', 'Senior Accountant', 'Finance Manager'],
  ['Sales Representative', 'Sales Manager', 'Sales Director'],
] as const

/** How many of 100 people have each difficulty, about as in real profiles. */
const SHARES: Readonly<Record<string, number>> = {
  plain: 64,
  unseenLeaving: 5,
  lateEdit: 4,
  shortJob: 3,
  briefElsewhere: 2,
  sideRole: 6,
  endMarker: 4,
  stepsAside: 2,
  adviserJoins: 2,
  parallelRole: 2,
  intern: 4,
  careerBreak: 2,
}

/** How well a person writes dates. */
type Precision = 'day' | 'month'

interface Person {
  readonly id: string
  readonly random: Random
  readonly precision: Precision
  readonly ladder: readonly string[]
  readonly events: GivenEvent[]
  readonly truth: Truth
}

export function careersWorld(seed: number, people: number): CareersWorld {
  const random = seededRandom(seed)
  const truth: Truth = { joiners: [], leavers: [], moves: [], promotions: [], spells: [] }
  const kinds: Record<string, number> = {}
  const events: GivenEvent[] = []
  const names = Object.entries(SHARES).flatMap(([kind, share]) =>
    Array.from({ length: share }, () => kind),
  )
  for (let nth = 0; nth < people; nth += 1) {
    const kind = pick(random, names)
    kinds[kind] = (kinds[kind] ?? 0) + 1
    const precision: Precision = random() < 0.6 ? 'month' : 'day'
    const person: Person = {
      id: `person ${nth}`,
      random,
      precision,
      ladder: pick(random, LADDERS),
      events: [],
      truth,
    }
    live(person, kind)
    events.push(...person.events)
  }
  return { events, truth, kinds }
}

/** A few jobs, one after the other, with a difficulty in the first. */
function live(person: Person, kind: string): void {
  const { random } = person
  let day = FIRST_DAY + between(random, 0, 5 * 365) * DAY
  let before: string | null = null
  let last: string | null = null
  for (let nth = 0; nth < 4 && day < LAST_DAY; nth += 1) {
    const organization = anOrganization(random, last)
    const step = nth === 0 ? kind : 'plain'
    const until: number | null = job(person, step, organization, before, day)
    if (until === null) return
    // A leaving that was not seen shows in the next joining, and makes no move.
    const isSeen = step !== 'unseenLeaving'
    before = isSeen ? organization : null
    last = organization
    day = until + between(random, 1, isSeen ? 25 : 8) * DAY
    if (isSeen && step !== 'lateEdit' && random() < 0.1) return
  }
}

/** One job; returns its end, or null if the career ends with it. */
function job(
  person: Person,
  kind: string,
  organization: string,
  before: string | null,
  from: number,
): number | null {
  const { random, ladder, truth } = person
  let title = ladder[0] ?? ''
  if (kind === 'intern') internship(person, organization, from)
  const begin = kind === 'intern' ? from + 300 * DAY : from
  const until = begin + between(random, 500, 1500) * DAY
  const isOpen = until > LAST_DAY
  if (kind === 'adviserJoins') {
    title = 'Chief Operating Officer'
    send(person, organization, 'joined', begin - 400 * DAY, 'Board Advisor')
    send(person, organization, 'title_change', begin, title, 'Board Advisor')
  } else {
    send(person, organization, 'joined', begin, title)
  }
  truth.joiners.push(line(person, organization, begin))
  if (before !== null) truth.moves.push(`${line(person, organization, begin)} from ${before}`)
  if (kind === 'shortJob') return shortJob(person, organization, begin, title)
  const risen = begin + between(random, 200, 400) * DAY
  if (random() < 0.5 && !UNPROMOTED.has(kind) && risen < LAST_DAY) {
    const next = ladder[1] ?? ''
    send(person, organization, 'title_change', risen, next, title)
    truth.promotions.push(line(person, organization, risen))
    title = next
  }
  inside(person, kind, organization, begin)
  const since =
    kind === 'briefElsewhere' ? briefElsewhere(person, organization, begin, title) : begin
  truth.spells.push({ person: person.id, organization, from: since, until: isOpen ? null : until })
  if (isOpen) return null
  truth.leavers.push(line(person, organization, until))
  leave(person, kind, organization, until, title)
  return kind === 'endMarker' || kind === 'stepsAside' || kind === 'careerBreak' ? null : until
}

/** Joined and left in one month, the leaving known to the month and seen first. */
function shortJob(person: Person, organization: string, from: number, title: string): number {
  const until = Math.min(endOfMonth(from), from + between(person.random, 0, 10) * DAY)
  const [event] = person.events.splice(-1)
  if (event === undefined) throw new Error('a short job begins')
  const dated = person.random() < 0.5 ? from : startOfMonth(from)
  const [joined, left] = [iso(from, 'day'), iso(dated, 'day')]
  person.events.push(
    { ...event, changed_at: joined, detected_at: iso(until + 40 * DAY, 'day') },
    {
      ...event,
      event_type: 'left',
      changed_at: left,
      detected_at: iso(until + 30 * DAY, 'day'),
      title_current: title,
    },
  )
  person.truth.leavers.push(line(person, organization, until))
  return until
}

function internship(person: Person, organization: string, from: number): void {
  const until = from + 80 * DAY
  send(person, organization, 'joined', from, 'Intern')
  send(person, organization, 'left', until, 'Intern')
  person.truth.joiners.push(line(person, organization, from))
  person.truth.leavers.push(line(person, organization, until))
  person.truth.spells.push({ person: person.id, organization, from, until })
}

/** Events alongside the job. */
function inside(person: Person, kind: string, organization: string, from: number): void {
  if (kind === 'sideRole') {
    const elsewhere = person.random() < 0.5 ? organization : anOrganization(person.random, null)
    send(person, elsewhere, 'joined', from + 90 * DAY, 'Supervisory Board Member')
    send(person, elsewhere, 'left', from + 380 * DAY, 'Supervisory Board Member')
  }
  if (kind === 'parallelRole') {
    const second = person.ladder[2] ?? ''
    send(person, organization, 'joined', from + 90 * DAY, second)
    send(person, organization, 'left', from + 380 * DAY, second)
    person.truth.promotions.push(line(person, organization, from + 90 * DAY))
  }
}

/** Three weeks at another firm, and back; returns the time. */
function briefElsewhere(person: Person, from: string, begin: number, title: string): number {
  const to = anOrganization(person.random, from)
  const [left, joined, leftAgain, back] = [440, 442, 461, 463].map((days) => begin + days * DAY)
  if (left === undefined || joined === undefined) return begin
  if (leftAgain === undefined || back === undefined) return begin
  send(person, from, 'left', left, title)
  send(person, to, 'joined', joined, title)
  send(person, to, 'left', leftAgain, title)
  send(person, from, 'joined', back, title)
  const { truth } = person
  truth.leavers.push(line(person, from, left), line(person, to, leftAgain))
  truth.joiners.push(line(person, to, joined), line(person, from, back))
  truth.moves.push(`${line(person, to, joined)} from ${from}`)
  truth.moves.push(`${line(person, from, back)} from ${to}`)
  truth.spells.push({ person: person.id, organization: from, from: begin, until: left })
  truth.spells.push({ person: person.id, organization: to, from: joined, until: leftAgain })
  return back
}

/** The end of a job. */
function leave(
  person: Person,
  kind: string,
  organization: string,
  until: number,
  title: string,
): void {
  if (kind === 'unseenLeaving') {
    // An event that was not sent can be neither a leaver nor a move.
    person.truth.leavers.pop()
    return
  }
  if (kind === 'endMarker') {
    send(person, organization, 'title_change', until, pick(person.random, ENDS), title)
    return
  }
  if (kind === 'stepsAside') {
    send(person, organization, 'title_change', until, 'Non-Executive Chairman', title)
    return
  }
  send(person, organization, 'left', until, title)
  if (kind === 'lateEdit') {
    const day = until + between(person.random, 26, 90) * DAY
    send(person, organization, 'title_change', day, `${title} (contract)`, title)
  }
  if (kind === 'careerBreak') {
    send(person, 'break', 'joined', until + 5 * DAY, 'On a break', null, 'Career Break')
  }
}

const UNPROMOTED = new Set(['parallelRole', 'adviserJoins', 'briefElsewhere'])
const ENDS = ['Retired', 'Open to work', 'Im Ruhestand', 'Former Employee'] as const

function send(
  { id, random, precision, events }: Person,
  organization: string,
  type: string,
  at: number,
  title: string,
  previous: string | null = null,
  name = organization,
): void {
  if (at > LAST_DAY) return
  events.push({
    profile_id: id,
    organization_id: organization,
    organization_name: name,
    event_type: type,
    changed_at: iso(at, precision),
    detected_at: iso(at + between(random, 2, 45) * DAY, 'day'),
    title_current: title,
    title_previous: previous,
  })
}

function iso(at: number, precision: Precision): string {
  const day = precision === 'day' ? at : startOfMonth(at)
  return new Date(day).toISOString()
}

function startOfMonth(at: number): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

function endOfMonth(at: number): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) - DAY
}

function line({ id }: Person, organization: string, at: number): string {
  return `${id} | ${organization} | ${new Date(at).getUTCFullYear()}`
}

function anOrganization(random: Random, not: string | null): string {
  const name = `org ${between(random, 0, 40)}`
  return name === not ? 'org 41' : name
}

export function between(random: Random, least: number, most: number): number {
  return Math.floor(least + random() * (most - least))
}
