/** The world that endpoints beside job changes are answered from: its organisations, and what follows from their careers. */

import { companySlug } from '../../support/text.ts'
import { DAY } from '../../support/units.ts'
import type { EventSource, JobChangeEvent, TrackedOrganization } from '../events.ts'
import { logNormal, mixSeeds, seededRandom } from '../random.ts'

/** People who change nothing in the time that is looked at: median, and spread of its logarithm. */
const OTHERS = 80
const SPREAD = 1
/** Each so many joinings there was an opening before. */
const JOININGS_OF_A_POSTING = 3
const POSTED_DAYS = { least: 15, spread: 60 }
const FIRST_POSTING = 4_000_000_000
const FIRST_POST = 7_000_000_000_000

interface Change {
  readonly event: JobChangeEvent
  readonly changedAt: number
  readonly detectedAt: number
}

/** As the world knows it, seen by the service or not yet. */
interface Joining extends Change {
  readonly organization: number
}

/** A person in an organisation, in the order of time. */
interface Career {
  readonly organization: number
  readonly changes: readonly Change[]
}

/** Somebody who is there. */
interface Seat {
  readonly organization: number
  readonly last: Change
  readonly since: number
}

export interface ServedOrganization {
  /** Its position among all. */
  readonly number: number
  readonly tracked: TrackedOrganization
  /** How many people it has. */
  readonly people: number
}

export interface ServedPosting {
  readonly id: string
  readonly organization: ServedOrganization
  readonly title: string
  readonly listedAt: number
  /** When somebody joined; null while nobody has. */
  readonly closedAt: number | null
}

export interface ServedPerson {
  readonly person: JobChangeEvent['person']
  readonly organization: ServedOrganization
  readonly title: string
  readonly since: number
}

export interface ServedPost {
  /** Of its activity. */
  readonly id: string
  readonly author: ServedOrganization
  readonly text: string
  readonly at: number
}

/** All that does not depend on the time of a request, made once and only when it is asked for. */
export class WorldBehind {
  readonly source: EventSource
  readonly #numberBySlug: ReadonlyMap<string, number>
  #joinings: readonly Joining[] | null = null
  #careers: readonly Career[] | null = null
  #seats: Seats | null = null

  constructor(source: EventSource) {
    this.source = source
    this.#numberBySlug = new Map(
      source.organizations.map(({ slug, network_url: url }, number) => [
        companySlug(slug ?? url ?? ''),
        number,
      ]),
    )
  }

  numberOf(url: string): number | undefined {
    return this.#numberBySlug.get(companySlug(url))
  }

  /** In the order of time. */
  get joinings(): readonly Joining[] {
    this.#joinings ??= this.careers
      .flatMap(({ organization, changes }) =>
        changes
          .filter(({ event }) => event.event_type === 'joined')
          .map((change) => ({ ...change, organization })),
      )
      .toSorted((a, b) => a.changedAt - b.changedAt)
    return this.#joinings
  }

  /** What happened to each person in each organisation. */
  get careers(): readonly Career[] {
    if (this.#careers !== null) return this.#careers
    const careers = new Map<string, { organization: number; changes: Change[] }>()
    for (const { json, organization, detectedAt } of this.source.events) {
      const event = JSON.parse(json) as JobChangeEvent
      const key = `${organization} ${event.person.profile_id}`
      const career = careers.get(key) ?? { organization, changes: [] }
      career.changes.push({ event, detectedAt, changedAt: Date.parse(event.changed_at) })
      careers.set(key, career)
    }
    this.#careers = [...careers.values()]
    for (const { changes } of careers.values()) changes.sort((a, b) => a.changedAt - b.changedAt)
    return this.#careers
  }

  /** As far as it was seen by then. */
  seatsAt(nowMs: number): Seats {
    const known = this.#seats
    if (known !== null && known.from <= nowMs && nowMs < known.until) return known
    const span = { from: -Infinity, until: Infinity }
    const taken: number[] = []
    const seats = this.careers.flatMap(({ organization, changes }) => {
      const seen = changes.filter(({ detectedAt: at }) => {
        if (at <= nowMs) span.from = Math.max(span.from, at)
        else span.until = Math.min(span.until, at)
        return at <= nowMs
      })
      const last = seen.at(-1)
      if (last === undefined || last.event.event_type === 'left') return []
      const joined = seen.findLast(({ event }) => event.event_type === 'joined')
      taken[organization] = (taken[organization] ?? 0) + 1
      return { organization, last, since: (joined ?? last).changedAt }
    })
    this.#seats = { ...span, seats, taken }
    return this.#seats
  }
}

/** Who is where, from one event that the service saw to the next. */
interface Seats {
  readonly from: number
  readonly until: number
  readonly seats: readonly Seat[]
  /** Of each organisation how many. */
  readonly taken: readonly number[]
}

/** The world at the time of a request. */
export class ServedWorld {
  readonly #behind: WorldBehind
  readonly nowMs: number

  constructor(behind: WorldBehind, nowMs: number) {
    this.#behind = behind
    this.nowMs = nowMs
  }

  /** The organisation of a page URL or slug; undefined for one that nobody tracks. */
  organizationOf(url: string): ServedOrganization | undefined {
    const number = this.#behind.numberOf(url)
    return number === undefined ? undefined : this.organization(number)
  }

  /** Who is there, as far as it was seen. */
  get seats(): readonly Seat[] {
    return this.#behind.seatsAt(this.nowMs).seats
  }

  /** Its headcount is that of those who were seen there, and of some who never changed anything. */
  organization(number: number): ServedOrganization {
    const tracked = this.#behind.source.organizations[number]
    if (tracked === undefined) throw new RangeError(`no organisation ${number}`)
    const seen = this.#behind.seatsAt(this.nowMs).taken[number] ?? 0
    const others = logNormal(seededRandom(mixSeeds(number, 77)), OTHERS, SPREAD)
    const people = Math.max(1, seen + Math.round(others))
    return { number, tracked, people }
  }

  organizations(): ServedOrganization[] {
    return this.#behind.source.organizations.map((_, number) => this.organization(number))
  }

  /** Openings that were listed so far: one before every third joining, which closes it. */
  postings(organization: number): ServedPosting[] {
    return this.#behind.joinings.flatMap((joining, place) => {
      if (place % JOININGS_OF_A_POSTING !== 0) return []
      const posting = joining.organization === organization ? this.#postingOf(joining, place) : null
      return posting === null ? [] : posting
    })
  }

  /** Those that nobody has joined for yet. */
  openings(organization: number): ServedPosting[] {
    return this.postings(organization).filter(({ closedAt }) => closedAt === null)
  }

  posting(id: string): ServedPosting | null {
    const place = Number(id) - FIRST_POSTING
    const joining = this.#behind.joinings[place]
    if (joining === undefined || place % JOININGS_OF_A_POSTING !== 0) return null
    return this.#postingOf(joining, place)
  }

  #postingOf({ event, organization, changedAt }: Joining, place: number): ServedPosting | null {
    const { least, spread } = POSTED_DAYS
    const days = least + spread * seededRandom(mixSeeds(place, 78))()
    const listedAt = changedAt - days * DAY
    if (listedAt > this.nowMs) return null
    return {
      id: String(FIRST_POSTING + place),
      organization: this.organization(organization),
      title: event.title.current ?? 'Associate',
      listedAt,
      closedAt: changedAt > this.nowMs ? null : changedAt,
    }
  }

  /** Those of the seats. */
  people(): ServedPerson[] {
    return this.seats.map(({ organization, last: { event }, since }) => ({
      person: event.person,
      organization: this.organization(organization),
      title: event.title.current ?? '',
      since,
    }))
  }

  /** What organisations said so far of those who joined, the newest first. */
  posts(): ServedPost[] {
    return this.#behind.joinings
      .flatMap(({ event, organization, changedAt }, place) => {
        const at = changedAt + DAY
        if (place % JOININGS_OF_A_POSTING !== 0 || at > this.nowMs) return []
        const author = this.organization(organization)
        const { full_name: name } = event.person
        const text = `We welcome ${name ?? 'a colleague'} as ${event.title.current ?? 'a colleague'} at ${author.tracked.name ?? ''}.`
        return { id: String(FIRST_POST + place), author, text, at }
      })
      .toReversed()
  }
}
