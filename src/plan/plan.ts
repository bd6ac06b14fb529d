/**
 * A plan: who is asked, how far back, in which batches, and what that is expected to cost. Pure: the same question,
 * history and time give the same plan, and nothing is sent. It knows of the service only what the journal adds up to.
 */

import { canonicalName, type History } from '../journal/history.ts'
import { hasLostRecords } from '../journal/run-history.ts'
import {
  organizationName,
  type EventType,
  type OrganizationRef,
  type BatchRecord,
} from '../journal/records.ts'
import { sha256Hex } from '../support/hash.ts'
import { stableJson } from '../support/json.ts'
import { DAY } from '../support/units.ts'
import { fitPrior, rateOf, type Rate } from './rates.ts'
import { ALL_DAYS, daysAgo, makeBatches, type BatchForecast } from './batches.ts'
import { trackRecord, type TrackRecord } from './track-record.ts'
import { uncoveredDays, windowFor, type Window, type WindowQuestion } from './window.ts'

/** What is asked for. */
export interface Question extends WindowQuestion {
  readonly pipeline: string
  readonly organizations: readonly OrganizationRef[]
  /** Requests at the same time, 1 or more; default 1. It cuts long batches, and does not change what is asked. */
  readonly concurrency?: number
}

/** What a run would ask. */
export interface Plan {
  /** In the order in which they are best bought. */
  readonly batches: readonly BatchRecord[]
  readonly organizations: number
  /** Organisations left out because the service refused them lately. */
  readonly quarantined: readonly { readonly name: string; readonly reason: string }[]
}

/** A plan with what it is made from and what it is expected to bring; see figures.ts. */
export interface CostedPlan extends Plan {
  /** What each organisation needs, in the order of the list. */
  readonly needs: readonly Need[]
  /** One for each batch of organisations; it has `requestsPerForecast` batches, one after another. */
  readonly forecasts: readonly BatchForecast[]
  /** 2 where two event types are asked, because the service takes one of them or all three. */
  readonly requestsPerForecast: 1 | 2
  /** Standard deviation of the logarithm of the list's typical rate. */
  readonly typicalRateSpread: number
  /** How good the last forecasts were; those of long windows are not corrected by it. */
  readonly record: TrackRecord
  /** Events expected from rates alone, for the next track record; null where the list or a long window is guessed. */
  readonly expectedEvents: number | null
}

/** What an organisation needs to be asked. */
export interface Need {
  readonly organization: OrganizationRef
  /** Its window in days; ALL_DAYS asks for everything. */
  readonly days: number
  /** Days of detection time that are asked for the first time; null when it was never asked. */
  readonly newDays: number | null
  readonly rate: Rate
  /** True when it was asked, and never sent an event. */
  readonly isSilent: boolean
}

// Windows up to this are those of regular runs; what these brought says little of a first read of a year.
const LONGEST_NIGHTLY_DAYS = 30
// A company that was refused may be tracked later; asking each night would cost a request each night.
const QUARANTINED_MS = 7 * DAY

/** What a plan needs to know of the past. */
export type PlanHistory = Pick<History, 'coverage' | 'quarantined' | 'ids' | 'seen' | 'runs'>

/** Plans a run. @param nowMs milliseconds since 1970 UTC, by the service's clock */
export function makePlan(question: Question, history: PlanHistory, nowMs: number): CostedPlan {
  const { organizations, quarantined } = whoToAsk(question, history, nowMs)
  const record = trackRecord(history.runs.values(), question.pipeline)
  const { needs, typicalRateSpread } = whatTheyNeed(organizations, question, history, nowMs, record)
  const requestsPerForecast = question.eventTypes.length === 2 ? 2 : 1
  const forecasts = makeBatches(needs, {
    requests: requestsPerForecast,
    workers: question.concurrency ?? 1,
    widest: widestWindow(question),
  })
  return {
    batches: batchRecords(forecasts, needs, question.eventTypes),
    organizations: needs.length,
    quarantined,
    needs,
    forecasts,
    requestsPerForecast,
    typicalRateSpread,
    record,
    expectedEvents: expectedEvents(forecasts, needs, typicalRateSpread, record),
  }
}

// A forecast that is no better known than this, as a share of it, says nothing of the rates.
const MOST_GUESSED = 0.1

function expectedEvents(
  forecasts: readonly BatchForecast[],
  needs: readonly Need[],
  typicalRateSpread: number,
  { factor }: TrackRecord,
): number | null {
  let events = 0
  let guessed = 0
  for (const { members, days } of forecasts) {
    if (days > LONGEST_NIGHTLY_DAYS) return null
    for (const member of members) {
      const rate = needs[member]?.rate
      if (rate === undefined) continue
      events += days * rate.mean
      guessed += days * rate.mean * rate.fromList
    }
  }
  return guessed * typicalRateSpread > MOST_GUESSED * events ? null : Math.round(events / factor)
}

/** An organisation as it is asked for: by its id, once that is known. */
interface KnownOrganization {
  readonly organization: OrganizationRef
  readonly name: string
}

// A company that the list names by URL and by id is one company, and asked once.
function whoToAsk(
  { organizations }: Question,
  { ids, quarantined: refused }: PlanHistory,
  nowMs: number,
): { organizations: KnownOrganization[]; quarantined: { name: string; reason: string }[] } {
  const asked = new Map<string, KnownOrganization>()
  const quarantined = new Map<string, { name: string; reason: string }>()
  for (const given of organizations) {
    const name = canonicalName(ids, given)
    const refusal = refused.get(name)
    if (refusal !== undefined && nowMs - refusal.at < QUARANTINED_MS) {
      quarantined.set(name, { name, reason: refusal.reason })
    } else {
      const organization: OrganizationRef = name === given.value ? given : { by: 'id', value: name }
      asked.set(name, { organization, name })
    }
  }
  return { organizations: [...asked.values()], quarantined: [...quarantined.values()] }
}

function whatTheyNeed(
  organizations: readonly KnownOrganization[],
  question: Question,
  { coverage, seen, runs }: PlanHistory,
  nowMs: number,
  { factor }: TrackRecord,
): { needs: Need[]; typicalRateSpread: number } {
  const sightings = organizations.map(({ name }) => seen.get(name))
  const prior = fitPrior(sightings.filter((one) => one !== undefined))
  const isAfterLoss = hasLostRecords(runs)
  const needs = organizations.map(({ organization, name }, place): Need => {
    const covered = coverage.get(name) ?? []
    const own = sightings[place]
    const { needed, fresh } = uncoveredDays({ ...question, isAfterLoss }, covered, nowMs)
    const days = daysOf(windowFor(question, needed))
    return {
      organization,
      days,
      newDays: covered.length === 0 ? null : Math.min(days, fresh),
      rate: scaled(rateOf(prior, own), days > LONGEST_NIGHTLY_DAYS ? 1 : factor),
      isSilent: own !== undefined && own.days > 0 && own.total === 0,
    }
  })
  return { needs, typicalRateSpread: prior.meanSpread }
}

function scaled({ mean, variance, fromList }: Rate, factor: number): Rate {
  return { mean: factor * mean, variance: factor ** 2 * variance, fromList }
}

function daysOf(window: Window): number {
  return window === 'all' ? ALL_DAYS : window
}

// What was asked for by number, or everything, is asked as it was said.
function widestWindow({ window, initialWindow }: Question): number | null {
  if (window !== 'since-last') return null
  return daysOf(initialWindow)
}

function batchRecords(
  forecasts: readonly BatchForecast[],
  needs: readonly Need[],
  eventTypes: readonly EventType[],
): BatchRecord[] {
  // The service takes one event type or all three; two are asked for in two requests.
  const asks =
    eventTypes.length === 2 ? eventTypes.map((type): readonly EventType[] => [type]) : [eventTypes]
  return forecasts
    .flatMap((forecast) => asks.map((types) => ({ forecast, types })))
    .map(({ forecast, types }, place) => ({
      batch_id: String(place + 1).padStart(4, '0'),
      organizations: forecast.members.flatMap((member) => needs[member]?.organization ?? []),
      days_ago: daysAgo(forecast.days),
      event_types: types,
      expected_pages: Math.round((forecast.pages / asks.length) * 1_000) / 1_000,
    }))
}

/** Names a question, so that a run of the same one is known; the order of the list does not change what is asked. */
export function questionSha256(question: Question): string {
  const { pipeline, eventTypes, window, initialWindow, overlapHours } = question
  const organizations = question.organizations.map(organizationName).toSorted()
  const text = stableJson({
    pipeline,
    eventTypes: eventTypes.toSorted(),
    window,
    initialWindow,
    overlapHours,
    organizations,
  })
  return sha256Hex(text)
}
