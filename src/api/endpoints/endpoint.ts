/**
 * The declaration of an endpoint, which each file in this folder exports. Everything else (planning, budget, journal,
 * resuming, tables) is the same for every endpoint. Job changes have a separate reader, because their lists move
 * all the time and do not state their length.
 */

import { z } from 'zod'

export interface Endpoint {
  /** Its name in pipeline files and tables. */
  readonly name: string
  readonly path: string
  /** For a GET endpoint: path and query of a request, which has no body. */
  readonly target?: (request: LookupRequest) => string
  /** The member of a request that a line of `for_each` fills unless the pipeline names another, such as `url`. */
  readonly subject: string
  /** Whether an empty answer can be correct, as for a search. */
  readonly mayBeEmpty?: true
  /** A request without its page; unknown members are refused. The rules are the service's. */
  readonly request: z.ZodObject
  /** Whether it accepts members that the service does not document: `+name` is sent as `name`. */
  readonly takesOthers?: true
  /** The member that carries the webhook's secret, which comes from the environment and is never stored. */
  readonly secret?: string
  /** The member that asks for a page; null if every answer is complete. */
  readonly pages: string | null
  /** Statuses other than 200 that are answers. */
  readonly statuses?: readonly number[]
  /** The possible price of a page, by the price list. */
  readonly price: (request: LookupRequest) => PriceRange
  /** Reads a JSON answer. @returns the reading, or the reason why there is none */
  readonly read: (json: unknown, asked: AskedFor) => EndpointAnswer | string
  /** Paths of members that are removed before an answer is kept: personal data that Jobtide does not need. */
  readonly notKept?: readonly (readonly string[])[]
  /** Of `notKept`, the member with mail addresses and telephone numbers, which a pipeline can choose to keep. */
  readonly contacts?: readonly string[]
  /** Members that hold a person's handle, anywhere in an answer. Erased people are found by it. */
  readonly handles?: readonly string[]
}

export type LookupRequest = Readonly<Record<string, unknown>>

export interface AskedFor {
  readonly request: LookupRequest
  /** From 1. */
  readonly page: number
  /** Items on the pages before. */
  readonly itemsBefore: number
  readonly status: number
}

/** In credits. */
export interface PriceRange {
  readonly least: number
  readonly most: number
}

export interface EndpointAnswer {
  /** `absent`: nothing has that name; `later`: ask again; `refused`: it says why it does not search. */
  readonly outcome: 'found' | 'absent' | 'later' | 'refused'
  /** Why it was refused, in the service's words. */
  readonly reason?: string
  /** Items in it: 1 for a thing that is there. */
  readonly items: number
  /** Requests the next page; null for the last one. */
  readonly next: string | number | null
  /** How many items the list has, if it says so; `next` is the number of a page then. */
  readonly total?: number | null
  /** The charge as the service sent it: any JSON value. */
  readonly creditsSent: unknown
  readonly price: PriceRange
}

/** One page, from 1, of a list that says how many items or pages it has. @param items on this page */
export function pageOfList(
  { page, itemsBefore }: AskedFor,
  items: number,
  total: number | null = null,
  pages: number | null = null,
): Pick<EndpointAnswer, 'outcome' | 'items' | 'next' | 'total'> {
  const isLast =
    items === 0 ||
    (pages ?? Number.POSITIVE_INFINITY) <= page ||
    (total ?? Number.POSITIVE_INFINITY) <= itemsBefore + items
  const outcome = page === 1 && items === 0 ? 'absent' : 'found'
  return { outcome, items, next: isLast ? null : page + 1, total }
}

const NOT_THERE = { outcome: 'absent', items: 0, next: null } as const

export const ONE_THING = { outcome: 'found', items: 1, next: null } as const

// With status 200: "not found" and "took too long".
const failedSchema = z.looseObject({ error: z.string(), retryable: z.boolean() })

// A page of job changes never has this either.
const noSuccessSchema = z.looseObject({
  success: z.literal(false),
  message: z.string().catch('no message'),
})

interface Shape<Found> {
  readonly schema: z.ZodType<Found>
  /** Whether it is a search: without results it answers with an empty list, and an error is never a result. */
  readonly isSearch?: true
  /** Whether the documented envelope lacks the charge: one that is not sent counts as the price. */
  readonly isChargeUnsaid?: true
  /** The possible charge for "not found". Another status than 200, or "ask again", should be free. */
  readonly absent: PriceRange
  /** The error message for an answer that has neither data nor one of these messages. */
  readonly otherwise: string
}

/** Reads an answer with data, or one that says why it has none. */
export function reading<Found>(
  { schema, absent, otherwise, isSearch, isChargeUnsaid }: Shape<Found>,
  answerOf: (found: Found, asked: AskedFor) => Omit<EndpointAnswer, 'creditsSent'>,
): Endpoint['read'] {
  return (json, asked) => {
    const sent: unknown = Object(json).credit_used
    if (asked.status !== 200) return { ...NOT_THERE, creditsSent: sent, price: exactly(0) }
    const { data: noSuccess } = noSuccessSchema.safeParse(json)
    const found = noSuccess === undefined ? schema.safeParse(json) : undefined
    if (found?.success) {
      const answer = answerOf(found.data, asked)
      return { ...answer, creditsSent: isChargeUnsaid ? (sent ?? answer.price.most) : sent }
    }
    const { data: failed } = failedSchema.safeParse(json)
    if (failed === undefined) return noSuccess ? `no success: ${noSuccess.message}` : otherwise
    const { retryable, error: reason } = failed
    if (retryable) return { ...NOT_THERE, outcome: 'later', creditsSent: sent, price: exactly(0) }
    const refused = isSearch ? ({ outcome: 'refused', reason } as const) : {}
    return { ...NOT_THERE, ...refused, creditsSent: sent, price: absent }
  }
}

/** A number that may be missing or malformed: a paid answer is not refused for it. */
export const optionalCount = z.int().min(0).nullish().catch(null)

// For companies and posts the price list says 10, the service's example 5. The ledger books what credit_used says.
const SEARCH_PAGE = { least: 5, most: 10 }
// Nor does the documentation say whether a page without results, or the reason why there are none, is charged.
const EMPTY_PAGE = { least: 0, most: 10 }

const pricedSchema = z.looseObject({
  data: z.looseObject({
    items: z.array(z.unknown()),
    total: optionalCount,
    total_pages: optionalCount,
  }),
})

/** What the searches of companies and posts share: the envelope, and the price of a page. */
export const pricedSearch: Pick<Endpoint, 'price' | 'read'> = {
  price: () => SEARCH_PAGE,
  read: reading(
    {
      schema: pricedSchema,
      isSearch: true,
      absent: EMPTY_PAGE,
      otherwise: 'it has no items in data',
    },
    ({ data: { items, total, total_pages: pages } }, asked) => ({
      ...pageOfList(asked, items.length, total, pages),
      price: items.length === 0 ? EMPTY_PAGE : SEARCH_PAGE,
    }),
  ),
}

/** Filters that a search ignored because it did not recognise them, as text; the service may send objects. */
export function filterErrorsIn(json: unknown): string[] {
  if (json === null || typeof json !== 'object' || !('filter_errors' in json)) return []
  const named = [json.filter_errors ?? []].flat()
  return [...new Set(named.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))))]
}

export function exactly(credits: number): PriceRange {
  return { least: credits, most: credits }
}

/** True or false, from YAML or from a command line. */
export const flag = z.union(
  [z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')],
  { error: 'expected true or false' },
)

export function listOf<Value extends z.ZodType>(value: Value, error: string) {
  return z.union([z.array(value).min(1), value.transform((one) => [one])], { error })
}

export const numericId = z.union(
  [
    z.int().positive(),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ],
  { error: 'expected an id that is a number' },
)
