/**
 * What a search asks for, read from a JSON body and checked by the rules of the endpoint. Pure.
 * Every refusal is a 400 whose message names the parameter and what was sent.
 */

import { EVENT_TYPES, type EventType } from './events.ts'

/** The limits of the endpoint. */
export const LIMITS = {
  companies: 50,
  daysAgo: 365,
  page: 10_000,
  pageSize: 50,
  defaultPageSize: 25,
} as const

/** A search whose parameters keep the rules; names are not looked up yet. */
export interface SearchRequest {
  readonly eventType: EventType | undefined
  readonly organizationIds: readonly string[]
  readonly companyUrls: readonly string[]
  /** 1 to 365, or undefined for all events. */
  readonly daysAgo: number | undefined
  /** From 1. */
  readonly page: number
  /** 1 to 50. */
  readonly limit: number
}

/** A request that breaks a rule: becomes a 400 with this message. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest'
}

/** Parameters by name. */
type Parameters = ReadonlyMap<string, unknown>

/**
 * The search in a POST body; an empty body asks for everything.
 * @throws BadRequest when the body is no JSON object or a parameter breaks a rule
 */
export function searchFromBody(body: string): SearchRequest {
  if (body.trim() === '') return searchFrom(new Map())
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    throw new BadRequest('the body is not valid JSON')
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new BadRequest('the body must be a JSON object')
  }
  return searchFrom(new Map(Object.entries(value)))
}

// Filters of the service that Jobtide never sends.
const NOT_SIMULATED = ['title', 'geo_city', 'geo_country_code']

function searchFrom(parameters: Parameters): SearchRequest {
  const name = NOT_SIMULATED.find((one) => parameters.has(one))
  if (name !== undefined) throw new BadRequest(`${name} is not simulated`)
  return {
    eventType: eventType(parameters),
    organizationIds: list(parameters, 'organization_ids'),
    companyUrls: list(parameters, 'company_urls'),
    daysAgo: integer(parameters, 'days_ago', LIMITS.daysAgo),
    page: integer(parameters, 'page', LIMITS.page) ?? 1,
    limit: integer(parameters, 'limit', LIMITS.pageSize) ?? LIMITS.defaultPageSize,
  }
}

function eventType(parameters: Parameters): EventType | undefined {
  const value = text(parameters, 'event_type')
  const known = EVENT_TYPES.find((type) => type === value)
  if (value !== undefined && known === undefined) {
    throw new BadRequest(`event_type must be one of ${EVENT_TYPES.join(', ')}; got ${show(value)}`)
  }
  return known
}

function text(parameters: Parameters, name: string): string | undefined {
  const value = parameters.get(name)
  if (value === undefined) return undefined
  if (typeof value !== 'string')
    throw new BadRequest(`${name} must be a string; got ${show(value)}`)
  const trimmed = value.trim()
  if (trimmed === '') throw new BadRequest(`${name} must not be empty`)
  return trimmed
}

function integer(parameters: Parameters, name: string, most: number): number | undefined {
  const value = parameters.get(name)
  if (value === undefined) return undefined
  if (!Number.isInteger(value) || Number(value) < 1 || Number(value) > most) {
    throw new BadRequest(`${name} must be an integer from 1 to ${most}; got ${show(value)}`)
  }
  return Number(value)
}

function list(parameters: Parameters, name: string): string[] {
  const value = parameters.get(name)
  if (value === undefined) return []
  const items: unknown[] = typeof value === 'string' ? value.split(',') : asArray(value, name)
  if (items.length === 0) throw new BadRequest(`${name} must not be empty`)
  return items.map((item) => {
    if (typeof item !== 'string') {
      throw new BadRequest(`${name} must hold strings only; got ${show(item)}`)
    }
    const trimmed = item.trim()
    if (trimmed === '') throw new BadRequest(`${name} must not hold an empty string`)
    return trimmed
  })
}

function asArray(value: unknown, name: string): unknown[] {
  if (Array.isArray(value)) return value
  throw new BadRequest(`${name} must be a string or an array of strings; got ${show(value)}`)
}

const LONGEST_SHOWN = 200

function show(value: unknown): string {
  return JSON.stringify(value).slice(0, LONGEST_SHOWN)
}
