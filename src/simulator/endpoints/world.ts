/** The data behind the endpoints other than job changes, derived from organisations and careers. */

import { z } from 'zod'
import { sha256Hex } from '../../support/hash.ts'
import { once } from '../../support/once.ts'
import { plainly } from '../../support/schema-words.ts'
import { companySlug } from '../../support/text.ts'
import { DAY } from '../../support/units.ts'
import type { EventSource, JobChangeEvent } from '../events.ts'
import { logNormal, mixSeeds, seededRandom } from '../random.ts'

type Request = Readonly<Record<string, unknown>>

/** Refuses a request for free. By default it breaks a rule: the message names the parameter and what was sent. */
export class Refusal extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(message: string, status = 400, headers: Refusal['headers'] = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }
}

export interface ServedAnswer {
  /** Default 200. */
  readonly status?: number
  /** The JSON, without `credit_used`; or its text, which has it. */
  readonly body: Readonly<Record<string, unknown>> | string
  readonly credits: number
  /** Events or other items in it. */
  readonly items: number
  /** The organisations that it is about, for faults that hit one. */
  readonly organizationIds?: readonly string[]
}

export type ServedEndpoint = ReturnType<typeof served>

/**
 * An endpoint served by a file of this folder, from the same organisations and careers.
 * @param path one that ends with a slash takes the rest of the path as `rest`
 * @param method `GET` takes the query as parameters, `POST` a body that is a JSON object
 * @param parameters others are allowed
 * @param answer throws a Refusal for a request that breaks a rule
 */
export function served<T extends z.ZodRawShape>(
  method: 'GET' | 'POST',
  path: string,
  parameters: T,
  answer: (asked: z.output<z.ZodObject<T>>, world: ServedWorld, request: Request) => ServedAnswer,
) {
  const schema = z.object(parameters)
  return {
    method,
    path,
    answer(request: Request, world: ServedWorld): ServedAnswer {
      const asked = schema.safeParse(request, { error: plainly })
      if (asked.success) return answer(asked.data, world, request)
      const [issue] = asked.error.issues
      throw new Refusal(`${issue?.path.join('.')}: ${issue?.message}`)
    },
  }
}

/** The answer about a thing that is not there: 404, free. */
export function notFound(message: string): ServedAnswer {
  return { status: 404, body: { success: false, message, data: null }, credits: 0, items: 0 }
}

/** Items in a page of a search. */
const PAGE = 25

/** The items of a page, numbered from 1, and how many there are. */
export function pageOf<Item>(all: readonly Item[], page: number) {
  const start = (page - 1) * PAGE
  const items = all.slice(start, start + PAGE)
  return { items, start, total: all.length, pages: Math.ceil(all.length / PAGE) }
}

/** The answer of a search: a page of what it found, free if that is empty. */
export function searchAnswer<Item>(
  found: readonly Item[],
  page: number,
  credits: number,
  bodyOf: (page: ReturnType<typeof pageOf<Item>>) => ServedAnswer['body'],
): ServedAnswer {
  const shown = pageOf(found, page)
  const { length } = shown.items
  return { items: length, credits: length === 0 ? 0 : credits, body: bodyOf(shown) }
}

/** Whether a text contains another, in any case; an absent text always matches. */
export function has(text: string | null, part: string | undefined): boolean {
  return part === undefined || (text ?? '').toLowerCase().includes(part.toLowerCase())
}

interface Place {
  readonly city: string
  readonly region: string
  /** Two letters, upper case. */
  readonly country: string
}

export const PLACES: readonly Place[] = [
  { city: 'London', region: 'England', country: 'GB' },
  { city: 'Berlin', region: 'Berlin', country: 'DE' },
  { city: 'Austin', region: 'Texas', country: 'US' },
  { city: 'Lyon', region: 'Auvergne-Rhône-Alpes', country: 'FR' },
  { city: 'Porto', region: 'Porto', country: 'PT' },
]

/** The location of a person, from their id, so that it also works for a file of events: events have no location. */
export function placeOf(profileId: string): Place {
  const byte = Number.parseInt(sha256Hex(profileId).slice(0, 2), 16)
  return PLACES[byte % PLACES.length] as Place
}

/** People without changes in the observed time: median, and spread of its logarithm. */
const OTHERS = 80
const SPREAD = 1
/** One in this many joinings had an opening before it. */
const JOININGS_OF_A_POSTING = 3
const POSTED_DAYS = { least: 15, spread: 60 }
const FIRST_POSTING = 4_000_000_000
const FIRST_POST = 7_000_000_000_000

/** As the world knows it, seen by the service or not yet. */
interface Change {
  readonly organization: number
  readonly event: JobChangeEvent
  readonly changedAt: number
  readonly detectedAt: number
}

/** What the endpoints look up at any time. */
export class WorldBehind {
  readonly source: EventSource
  readonly numberById: ReadonlyMap<string, number>
  readonly numbersBySlug = new Map<string, number[]>()
  /** By organisation: the places of its events in the source. */
  readonly placesOf: readonly number[][]

  constructor(source: EventSource) {
    this.source = source
    const { organizations, events } = source
    this.numberById = new Map(organizations.map((one, number) => [one.organization_id, number]))
    for (const [number, { slug, network_url: url }] of organizations.entries()) {
      append(this.numbersBySlug, companySlug(slug ?? url ?? ''), number)
    }
    this.placesOf = organizations.map(() => [])
    for (const [place, { organization }] of events.entries()) {
      this.placesOf[organization]?.push(place)
    }
  }

  /** The events of each person in each organisation, in chronological order. */
  readonly careers = once((): readonly (readonly Change[])[] => {
    const careers = new Map<string, Change[]>()
    for (const { json, organization, detectedAt } of this.source.events) {
      const event = JSON.parse(json) as JobChangeEvent
      const key = `${organization} ${event.person.profile_id}`
      const changedAt = Date.parse(event.changed_at)
      append(careers, key, { organization, event, detectedAt, changedAt })
    }
    return [...careers.values()].map(inOrder)
  })

  readonly joinings = once(() =>
    inOrder(
      this.careers()
        .flat()
        .filter(({ event }) => event.event_type === 'joined'),
    ),
  )
}

function append<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

function inOrder(changes: readonly Change[]): Change[] {
  return changes.toSorted((a, b) => a.changedAt - b.changedAt)
}

/** The world as the service sees it at a time. */
export class ServedWorld {
  readonly behind: WorldBehind
  readonly nowMs: number
  /** Who is where, as far as the service saw it by then, and how many of each organisation. */
  readonly #seats = once(() => {
    const taken: number[] = []
    const seats = this.behind.careers().flatMap((changes) => {
      const seen = changes.filter(({ detectedAt }) => detectedAt <= this.nowMs)
      const last = seen.at(-1)
      if (last === undefined || last.event.event_type === 'left') return []
      const joined = seen.findLast(({ event }) => event.event_type === 'joined')
      taken[last.organization] = (taken[last.organization] ?? 0) + 1
      return { last, since: (joined ?? last).changedAt }
    })
    return { seats, taken }
  })

  constructor(behind: WorldBehind, nowMs: number) {
    this.behind = behind
    this.nowMs = nowMs
  }

  /** The organisation of a page URL or slug; undefined for an untracked one. */
  organizationOf(url: string) {
    const number = this.behind.numbersBySlug.get(companySlug(url))?.at(-1)
    return number === undefined ? undefined : this.organization(number)
  }

  /** Its headcount is the people seen there, and some who never changed anything. */
  organization(number: number) {
    const tracked = this.behind.source.organizations[number]
    if (tracked === undefined) throw new RangeError(`no organisation ${number}`)
    const seen = this.#seats().taken[number] ?? 0
    const others = logNormal(seededRandom(mixSeeds(number, 77)), OTHERS, SPREAD)
    return { number, tracked, people: Math.max(1, seen + Math.round(others)) }
  }

  organizations() {
    return this.behind.source.organizations.map((_, number) => this.organization(number))
  }

  /** Open positions of an organisation: one before every third joining, which closes it. */
  openings(organization: number) {
    return this.behind.joinings().flatMap((joining, place) => {
      const posting = joining.organization === organization ? this.#postingAt(place) : null
      return posting?.closedAt === null ? posting : []
    })
  }

  posting(id: string) {
    return this.#postingAt(Number(id) - FIRST_POSTING)
  }

  #postingAt(place: number) {
    const joining = this.behind.joinings()[place]
    if (joining === undefined || place % JOININGS_OF_A_POSTING !== 0) return null
    const { event, organization, changedAt } = joining
    const { least, spread } = POSTED_DAYS
    const listedAt = changedAt - (least + spread * seededRandom(mixSeeds(place, 78))()) * DAY
    if (listedAt > this.nowMs) return null
    return {
      id: String(FIRST_POSTING + place),
      organization: this.organization(organization),
      title: event.title.current ?? 'Associate',
      listedAt,
      /** When a person joined; null before that. */
      closedAt: changedAt > this.nowMs ? null : changedAt,
    }
  }

  people() {
    return this.#seats().seats.map(({ last: { event, organization }, since }) => ({
      person: event.person,
      organization: this.organization(organization),
      title: event.title.current ?? '',
      since,
    }))
  }

  /** The organisations' posts about people who joined, newest first. */
  posts() {
    return this.behind
      .joinings()
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

export type ServedOrganization = ReturnType<ServedWorld['organization']>
export type ServedPosting = NonNullable<ReturnType<ServedWorld['posting']>>
export type ServedPerson = ReturnType<ServedWorld['people']>[number]
export type ServedPost = ReturnType<ServedWorld['posts']>[number]
