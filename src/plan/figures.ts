/**
 * What a plan is expected to need: requests, credits with a range, time, and whose new events cost most. Pure.
 */

import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import { organizationName } from '../journal/records.ts'
import { sum } from '../support/numbers.ts'
import { SECOND } from '../support/units.ts'
import { forecastPages } from './expected-pages.ts'
import type { CostedPlan, Need } from './plan.ts'
import type { Rate } from './rates.ts'
import { ALL_DAYS, type BatchForecast } from './batches.ts'

/** A bill that is not known yet. */
export interface ExpectedCredits {
  readonly expected: number
  /** The bill is below `low` in one case of twenty, and above `high` in another; both are whole pages. */
  readonly low: number
  readonly high: number
}

/** An organisation and what its new events are expected to cost. */
export interface OrganizationCost {
  /** As it is asked for. */
  readonly organization: string
  /** True when it never sent an event: then what it brings is a guess from the list. */
  readonly isSilent: boolean
  /** Expected events of the detection time that is asked for the first time. */
  readonly newEvents: number
  /** Its share of the bill of its batch, by events. */
  readonly credits: number
  readonly creditsPerNewEvent: number
}

/** The figures of a plan. */
export interface PlanFigures {
  /** Each batch asks once at least. */
  readonly requestsAtLeast: number
  readonly requestsExpected: number
  readonly events: number
  /** Null where nothing of the list was read before: any range would be made up. */
  readonly credits: ExpectedCredits | null
  /** At the given pace, in milliseconds; null where the pace is the service's. */
  readonly durationMs: number | null
  readonly neverAsked: number
  /** Organisations that were asked and never sent an event. */
  readonly silent: number
  /** Of those that sent an event before, and were read longer ago than an hour: whose new events cost most, these first. */
  readonly mostExpensive: readonly OrganizationCost[]
  /** The more expensive half of those that were asked before, longer ago than an hour; null when there are none. */
  readonly expensiveHalf: Shares | null
}

/** Of those that were asked before, some organisations' part in the bill and in the new events, each from 0 to 1. */
export interface Shares {
  readonly organizations: number
  readonly ofCredits: number
  readonly ofNewEvents: number
}

// Standard deviations to either side that hold 90 % of a normal distribution.
const NINETY_PERCENT = 1.645
// How far back a service knows anything is not known: one year to nine instead of three (90 %), as a standard deviation
// of the logarithm.
const HISTORY_SPREAD = Math.log(3) / NINETY_PERCENT

// An hour.
const LEAST_NEW_DAYS = 1 / 24

/**
 * The figures of a plan.
 * @param requestsPerSecond the pace; null where the service sets it
 * @param named how many of the most expensive organisations are named
 */
export function planFigures(
  plan: CostedPlan,
  requestsPerSecond: number | null,
  named: number,
): PlanFigures {
  const { forecasts, needs, batches } = plan
  const costs = forecasts
    .flatMap((forecast) => organizationCosts(forecast, needs))
    .toSorted((a, b) => b.creditsPerNewEvent - a.creditsPerNewEvent || b.credits - a.credits)
  const requestsExpected = sum(forecasts.map(({ pages, empty }) => pages + empty))
  return {
    requestsAtLeast: batches.length,
    requestsExpected,
    events: sum(forecasts.map(({ events }) => events)),
    credits: isGuess(plan) ? null : expectedCredits(plan),
    durationMs: requestsPerSecond === null ? null : (requestsExpected / requestsPerSecond) * SECOND,
    neverAsked: needs.filter(({ newDays }) => newDays === null).length,
    silent: needs.filter(({ isSilent }) => isSilent).length,
    mostExpensive: costs.filter(({ isSilent }) => !isSilent).slice(0, named),
    expensiveHalf: expensiveHalf(costs),
  }
}

/** Whether nothing of the list was read before, so that all figures are a guess. */
export function isGuess({ needs }: CostedPlan): boolean {
  return needs.length > 0 && needs.every(({ rate }) => rate.fromList === 1)
}

/**
 * Batches vary independently of each other. What moves all of them together comes on top: how little is known of a list
 * that was never asked, how far off the last forecasts were, and, where everything is asked, how far that reaches back.
 */
function expectedCredits(plan: CostedPlan): ExpectedCredits {
  const { forecasts, typicalRateSpread, record } = plan
  const expected = sum(forecasts.map(({ pages }) => pages))
  const own = NINETY_PERCENT * Math.sqrt(sum(forecasts.map(({ variance }) => variance)))
  const everythingAsked = { ...plan, forecasts: forecasts.filter(({ days }) => days === ALL_DAYS) }
  const change = (direction: -1 | 1) => [
    pagesMore(plan, direction * NINETY_PERCENT * typicalRateSpread, ({ fromList }) => fromList),
    pagesMore(plan, direction * NINETY_PERCENT * record.spread, () => 1),
    pagesMore(everythingAsked, direction * NINETY_PERCENT * HISTORY_SPREAD, () => 1),
  ]
  return {
    expected: expected * CREDITS_PER_PAGE,
    low: Math.max(0, Math.floor(expected - Math.hypot(own, ...change(-1)))) * CREDITS_PER_PAGE,
    high: Math.ceil(expected + Math.hypot(own, ...change(1))) * CREDITS_PER_PAGE,
  }
}

/** Expected pages that come or go when `share` of each rate is e^`shift` times what it is taken to be. */
function pagesMore(
  { forecasts, needs, requestsPerForecast: requests }: CostedPlan,
  shift: number,
  share: (rate: Rate) => number,
): number {
  const factor = Math.expm1(shift)
  return sum(
    forecasts.map(({ members, days, events }) => {
      const moving = sum(
        members.flatMap((member) => {
          const rate = needs[member]?.rate
          return rate === undefined ? [] : days * rate.mean * share(rate)
        }),
      )
      const pages = (mean: number) => requests * forecastPages(mean / requests).pages
      return pages(events + factor * moving) - pages(events)
    }),
  )
}

/** Batches of the same window for the same reason. */
export interface WindowFigures {
  /** The window asked, and the longest that one of the organisations needs, in days; ALL_DAYS for everything. */
  readonly days: number
  readonly neededDays: number
  readonly why: string
  readonly organizations: number
  readonly batches: number
  readonly events: number
  readonly credits: number
}

/** What is asked for each window, the shortest first. */
export function windowFigures({ forecasts, requestsPerForecast }: CostedPlan): WindowFigures[] {
  const groups = new Map<string, BatchForecast[]>()
  for (const forecast of forecasts) {
    const key = `${forecast.days} ${forecast.neededDays} ${whyOf(forecast)}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [forecast])
    else group.push(forecast)
  }
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group
      if (first === undefined) return []
      return {
        days: first.days,
        neededDays: first.neededDays,
        why: whyOf(first),
        organizations: sum(group.map(({ members }) => members.length)),
        batches: group.length * requestsPerForecast,
        events: sum(group.map(({ events }) => events)),
        credits: CREDITS_PER_PAGE * sum(group.map(({ pages }) => pages)),
      }
    })
    .toSorted((a, b) => a.neededDays - b.neededDays || a.days - b.days)
}

/** Why a batch has the window it has. */
export function whyOf({ shortestDays, neededDays, days }: BatchForecast): string {
  if (days > neededDays) return 'wider for free'
  return shortestDays < neededDays ? 'cheaper together' : 'needed'
}

function organizationCosts(
  { members, days, pages, events }: BatchForecast,
  needs: readonly Need[],
): OrganizationCost[] {
  const creditsPerEvent = (pages * CREDITS_PER_PAGE) / events
  return members.flatMap((member) => {
    const need = needs[member]
    // What an organisation that was never asked will bring is a guess about the list, not about it; and one that was read
    // just now can bring nothing new, at whatever price.
    if (need === undefined || need.newDays === null || need.newDays < LEAST_NEW_DAYS) return []
    return {
      organization: organizationName(need.organization),
      isSilent: need.isSilent,
      newEvents: need.rate.mean * need.newDays,
      credits: need.rate.mean * days * creditsPerEvent,
      creditsPerNewEvent: (creditsPerEvent * days) / need.newDays,
    }
  })
}

function expensiveHalf(costs: readonly OrganizationCost[]): Shares | null {
  if (costs.length === 0) return null
  const half = costs.slice(0, Math.ceil(costs.length / 2))
  const share = (of: (cost: OrganizationCost) => number) => sum(half.map(of)) / sum(costs.map(of))
  return {
    organizations: half.length,
    ofCredits: share(({ credits }) => credits),
    ofNewEvents: share(({ newEvents }) => newEvents),
  }
}
