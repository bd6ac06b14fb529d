/**
 * Makes a plan: which organisations to ask for, how far back, in which batches, and at which expected cost. Pure: the
 * same question, history and time give the same plan.
 */

import {
  isConfirmed,
  readIntervals,
  type CoveredInterval,
  inQuestion,
} from '../journal/coverage.ts'
import { canonicalName, type History } from '../journal/history.ts'
import type { BatchRecord, Filters, OrganizationRef } from '../journal/records.ts'
import { hasLostRecords } from '../journal/run-history.ts'
import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import { sha256Hex } from '../support/hash.ts'
import { stableJson } from '../support/json.ts'
import { sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import { ratesOf } from './forecast.ts'
import { BATCH_ORGANIZATIONS, packParcels, pagesOf } from './packing.ts'
import { neededWindow, type WindowQuestion } from './window.ts'

export interface Question extends WindowQuestion {
  readonly pipeline: string
  readonly organizations: readonly OrganizationRef[]
  readonly filters?: Filters
  /** Requests in parallel, 1 or more; default 1. It cuts long batches, but does not change what is asked. */
  readonly concurrency?: number
}

export interface Plan {
  /** The shortest window first. */
  readonly batches: readonly BatchRecord[]
  readonly organizations: number
  /** How many of these were never requested, and how many were requested but never had an event. */
  readonly neverAsked: number
  readonly silent: number
  /** Organisations left out because the service refused them recently. */
  readonly quarantined: readonly { readonly name: string; readonly reason: string }[]
  /** Null if nothing in the list was read before: any figure would be invented. */
  readonly expectedCredits: number | null
}

// A refused company may be tracked later, but asking every night would take a request every night.
const QUARANTINED_MS = 7 * DAY
// The expected length of a window without an end: chosen, because most services of this kind know a few years.
const ALL_DAYS = 3 * 365

export type PlanHistory = Pick<
  History,
  'coverage' | 'filtered' | 'quarantined' | 'ids' | 'seen' | 'runs'
>

/** Plans a run. @param nowMs milliseconds since 1970 UTC, by the service's clock */
export function makePlan(question: Question, past: PlanHistory, nowMs: number): Plan {
  const history = inQuestion(past, question.filters)
  const { asked, quarantined } = whoToAsk(question, history, nowMs)
  const seen = asked.map(({ value }) => history.seen.get(value))
  const batches = batchRecords(asked, question, history, nowMs)
  const pages = sum(batches.map(({ expected_pages }) => expected_pages ?? 0))
  return {
    batches,
    organizations: asked.length,
    neverAsked: asked.filter(({ value }) => !history.coverage.has(value)).length,
    silent: seen.filter((one) => one !== undefined && one.days > 0 && one.total === 0).length,
    quarantined,
    expectedCredits: seen.some((one) => one !== undefined && one.days > 0)
      ? Math.round(pages * CREDITS_PER_PAGE)
      : null,
  }
}

// Each as it is requested: by its id, once known. A company that the list names by URL and by id is requested once.
function whoToAsk(
  { organizations }: Question,
  { ids, quarantined: refused }: PlanHistory,
  nowMs: number,
): { asked: OrganizationRef[]; quarantined: Plan['quarantined'] } {
  const known = new Map<string, OrganizationRef>()
  const quarantined = new Map<string, { name: string; reason: string }>()
  for (const given of organizations) {
    const name = canonicalName(ids, given)
    const refusal = refused.get(name)
    if (refusal !== undefined && nowMs - refusal.at < QUARANTINED_MS) {
      quarantined.set(name, { name, reason: refusal.reason })
    } else {
      known.set(name, name === given.value ? given : { by: 'id', value: name })
    }
  }
  return { asked: [...known.values()], quarantined: [...quarantined.values()] }
}

// Batches of each window separately, the window of every night first.
function batchRecords(
  asked: readonly OrganizationRef[],
  question: Question,
  { coverage, seen, runs }: PlanHistory,
  nowMs: number,
): BatchRecord[] {
  const { eventTypes, filters, concurrency: workers = 1 } = question
  // The service accepts one event type or all three, so two take two requests.
  const asks = eventTypes.length === 2 ? eventTypes.map((type) => [type]) : [eventTypes]
  const requests = asks.length
  const rateOf = ratesOf(asked.map(({ value }) => seen.get(value)))
  const isAfterLoss = hasLostRecords(runs)
  const needs = asked.map((organization, index) => {
    const { value } = organization
    const covered = coverage.get(value) ?? []
    const daysOf = (intervals: readonly CoveredInterval[]) => {
      const window = neededWindow({ ...question, isAfterLoss }, intervals, nowMs)
      return window === 'all' ? ALL_DAYS : window
    }
    const days = daysOf(covered)
    // An empty answer is requested again, and is expected to be empty again.
    const expectedDays = covered.every(isConfirmed) ? days : daysOf(readIntervals(covered))
    return { organization, index, days, events: expectedDays * rateOf(seen.get(value)) }
  })
  return [...new Set(needs.map(({ days }) => days))]
    .toSorted((a, b) => a - b)
    .flatMap((days) => {
      const due = needs.filter((need) => need.days === days)
      const packed = kindsOf(due, coverage).flatMap((kind) =>
        packParcels(kind, { requests, workers }),
      )
      return packed.flatMap((batch) => {
        const organizations = batch.toSorted((a, b) => a.index - b.index)
        return asks.map((types) => ({
          organizations: organizations.map(({ organization }) => organization),
          days_ago: days === ALL_DAYS ? null : days,
          event_types: types,
          ...(filters === undefined ? {} : { filters }),
          expected_pages: Math.round((1_000 * pagesOf(batch, requests)) / requests) / 1_000,
        }))
      })
    })
    .map((batch, place) => ({ batch_id: String(place + 1).padStart(4, '0'), ...batch }))
}

/**
 * URLs that were never requested get their own batches, if more than one is needed. They are read first and show ids,
 * so that a company that the list also names by id is left out later. Within a batch the service counts it once.
 */
function kindsOf<N extends { readonly organization: OrganizationRef }>(
  due: readonly N[],
  coverage: PlanHistory['coverage'],
): N[][] {
  const isNewUrl = ({ organization: { by, value } }: N) => by === 'url' && !coverage.has(value)
  const urls = due.filter(isNewUrl)
  const others = due.filter((one) => !isNewUrl(one))
  const isOne = due.length <= BATCH_ORGANIZATIONS || urls.length === 0 || others.length === 0
  return isOne ? [[...due]] : [urls, others]
}

/** Identifies a question, so that a run of the same one is recognised. The order of the list does not matter. */
export function questionSha256(question: Question): string {
  const { pipeline, eventTypes, filters, window, initialWindow, overlapHours } = question
  const organizations = question.organizations.map(({ value }) => value).toSorted()
  const limits = { window, initialWindow, overlapHours }
  const about = { pipeline, eventTypes: eventTypes.toSorted(), filters, organizations }
  return sha256Hex(stableJson({ ...about, ...limits }))
}
