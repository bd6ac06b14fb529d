/**
 * The wire format, parsed once at the boundary. The envelope of a page is checked when the page is bought, and each
 * event separately when it is loaded, so that one bad event does not cost the other 49.
 */

import { z } from 'zod'
import { plainlyOfOthers } from '../support/schema-words.ts'
import { onOneLine } from '../support/text.ts'
import { DAY, KIB, SECOND } from '../support/units.ts'

/** The envelope of one page of job changes. Events are checked later, one by one. */
const pageSchema = z.looseObject({
  success: z.literal(true).optional(),
  data: z.array(z.unknown()),
  pagination: z.looseObject({
    page: z.int().min(1),
    has_more: z.boolean(),
    // A paid page is not refused for it.
    limit: z.int().nullable().catch(null),
  }),
  // Any value: a paid page is not refused for its price.
  credit_used: z.unknown().refine((value) => value !== undefined, 'expected the credits charged'),
})

const errorSchema = z.looseObject({ message: z.string() })

// With or without a zone and a time of day: the service documents only "ISO 8601". Without a zone it is UTC.
const ISO_8601 =
  /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i

// The years that every reader of the tables can represent.
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00.000Z')
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** An instant in milliseconds since 1970 UTC, years 1 to 9999 in UTC, from ISO 8601 text. */
const instantSchema = z.string().transform((text, context) => {
  const at = instantOf(text)
  if (typeof at === 'number') return at
  context.addIssue(at)
  return z.NEVER
})

/** The instant in a text, milliseconds since 1970 UTC, or the reason why there is none. */
export function instantOf(text: string): number | string {
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text.slice(10))
  const isDate = text.length === 10
  const at = ISO_8601.test(text) ? parsed(hasZone || isDate ? text : `${text}Z`) : Number.NaN
  if (Number.isNaN(at) || !isCalendarDay(text.slice(0, 10))) {
    return `expected an ISO 8601 instant, got ${JSON.stringify(text.slice(0, 40))}`
  }
  // Checked after the zone is applied, which can move an instant into the year 0 or 10000.
  if (at < EARLIEST_MS || at > LATEST_MS) {
    return `expected a year from 1 to 9999 in UTC, got ${JSON.stringify(text)}`
  }
  return at
}

// Clocks count no leap second of ISO 8601: 23:59:60 in UTC is the first second of the next day, as in PostgreSQL.
function parsed(text: string): number {
  const at = Date.parse(text)
  if (!Number.isNaN(at) || text.slice(16, 19) !== ':60') return at
  const next = Date.parse(`${text.slice(0, 17)}59${text.slice(19)}`) + SECOND
  return Math.abs(next % DAY) < SECOND ? next : Number.NaN
}

// Date.parse reads 30 February as 2 March.
function isCalendarDay(day: string): boolean {
  return Number(day.slice(8)) <= 28 || new Date(Date.parse(day)).toISOString().startsWith(day)
}

// A lone surrogate has no UTF-8 form and would become U+FFFD somewhere on its way, so it becomes that here. A leading
// byte order mark is removed, because the engine's client drops it as well.
const optionalText = z
  .string()
  .nullish()
  .transform(
    (text) => text?.replaceAll(/\p{Surrogate}/gu, '\uFFFD').replace(/^\uFEFF+/, '') ?? null,
  )
// Keys are compared byte by byte forever, so a key that is damaged, or would be when stored, is refused.
const IDENTIFIER = /^[^\p{Surrogate}\p{Cc}\uFFFD]*$/u
const identifier = z
  .string()
  .min(1)
  .regex(IDENTIFIER, 'expected an id without control characters or damaged text')

export function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && IDENTIFIER.test(value)
}

/** One job-change event as sent. Instants become milliseconds since 1970 UTC, missing texts null. */
export const eventSchema = z.object({
  event_type: z.enum(['joined', 'left', 'title_change']),
  detected_at: instantSchema,
  changed_at: instantSchema,
  // As large as its column allows.
  detection_lag_days: z
    .int32()
    .nullish()
    .transform((days) => days ?? null),
  title: z.object({ current: optionalText, previous: optionalText }),
  person: z.object({
    profile_id: identifier,
    handle: optionalText,
    full_name: optionalText,
    first_name: optionalText,
    last_name: optionalText,
    headline: optionalText,
    network_url: optionalText,
  }),
  organization: z.object({
    organization_id: identifier,
    name: optionalText,
    slug: optionalText,
    network_url: optionalText,
  }),
})

export type JobChangeEvent = z.infer<typeof eventSchema>

export type PageEnvelope = Readonly<Exclude<ReturnType<typeof parsePage>, string>>

/** Reads the body of a 200. Returns the reason as text if it is not a page. */
export function parsePage(body: Buffer) {
  const json = parseJson(body)
  if (json === undefined)
    return `not JSON, begins with ${JSON.stringify(onOneLine(body.toString('utf8', 0, 40)))}`
  const parsed = pageSchema.safeParse(json, { error: plainlyOfOthers })
  if (!parsed.success) return describeIssue(parsed.error)
  const { data, pagination, credit_used, error, errors } = parsed.data
  const fault = [error, errors].find((one) => (Array.isArray(one) ? one.length > 0 : Boolean(one)))
  // Even with events, because some are missing then.
  if (fault !== undefined)
    return `it names an error: ${shortened(onOneLine(JSON.stringify(fault)))}`
  return {
    events: data,
    page: pagination.page,
    /** Events on the page, by the service's count; null if it does not say. */
    limit: pagination.limit,
    hasMore: pagination.has_more,
    /** The charge as the service sent it: any JSON value. */
    creditsSent: credit_used,
  }
}

/** The service's own words in an error answer, or the beginning of whatever it sent, on one line. */
export function errorMessage(body: Buffer): string {
  const parsed = errorSchema.safeParse(parseJson(body))
  const text = parsed.success ? parsed.data.message : body.toString('utf8', 0, 200)
  return shortened(onOneLine(text), LONGEST_MESSAGE) || 'no message'
}

/** Whether a JSON answer says that it has nothing, and that it was free: an error, whatever its status. */
export function isFreeError(json: unknown): boolean {
  if (json === null || typeof json !== 'object' || !('success' in json)) return false
  return json.success === false && (!('credit_used' in json) || json.credit_used === 0)
}

/** The charge that a JSON answer names, as sent: any JSON value; undefined if it names none. */
export function chargeIn(json: unknown): unknown {
  return (Object(json) as { readonly credit_used?: unknown }).credit_used
}

// A refusal may name 50 companies by URL. Longer text is of no use.
const LONGEST_MESSAGE = 16 * KIB
const LONGEST_SHOWN = 300

/** A message as shown and kept: cut before the word that would exceed the limit. */
export function shortened(text: string, longest = LONGEST_SHOWN): string {
  if (text.length <= longest) return text
  const start = text.slice(0, longest - 1)
  return `${/^.*[\s,;]/su.exec(start)?.[0] ?? start}…`
}

/** Returns field and fault as text if it does not fit. */
export function parseEvent(value: unknown): JobChangeEvent | string {
  const parsed = eventSchema.safeParse(value, { error: plainlyOfOthers })
  return parsed.success ? parsed.data : describeIssue(parsed.error)
}

const { title, person, organization } = eventSchema.shape
const KNOWN_FIELDS = Object.entries({ '': eventSchema, title, person, organization })

/** Paths of fields in an event that Jobtide does not know, such as `person.pronouns`. Accepts any value. */
export function unknownFields(value: unknown): string[] {
  if (value === null || typeof value !== 'object') return []
  return KNOWN_FIELDS.flatMap(([parent, { shape: known }]) => {
    const part = parent === '' ? value : (value as Readonly<Record<string, unknown>>)[parent]
    if (part === null || typeof part !== 'object') return []
    return Object.keys(part)
      .filter((key) => !Object.hasOwn(known, key))
      .map((key) => (parent === '' ? key : `${parent}.${key}`))
  })
}

/** The parsed JSON of a body; undefined if it is not JSON. */
export function parseJson(body: Buffer): unknown {
  try {
    // RFC 8259 §8.1 lets a reader ignore a byte order mark, and the page is paid for.
    return JSON.parse(body.toString('utf8').replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}

function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0]
  if (issue === undefined) return 'does not fit'
  return `${issue.path.length === 0 ? 'it' : issue.path.join('.')}: ${issue.message}`
}
