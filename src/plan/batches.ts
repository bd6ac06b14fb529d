/**
 * Batches from what each organisation needs: packed, widened where that is free, in the order in which they are best
 * bought. Pure.
 */

import { forecastPages, type PageForecast, DISPERSION } from './expected-pages.ts'
import { packParcels } from './packing.ts'
import type { Rate } from './rates.ts'
import { batchCost, type Packing } from './batch-cost.ts'
import { spreadPackings } from './spreading.ts'
import { widenForFree } from './widening.ts'
import { LONGEST_WINDOW_DAYS } from './window.ts'

/** What is expected of a window without an end, in days: chosen; most services of this kind know a few years. */
export const ALL_DAYS = 3 * 365

/** A window as it is asked for; null asks for everything. */
export function daysAgo(days: number): number | null {
  return days > LONGEST_WINDOW_DAYS ? null : days
}

/** An organisation's window and its rate. */
export interface RatedNeed {
  /** The window it needs, in days; ALL_DAYS asks for everything. */
  readonly days: number
  readonly rate: Rate
}

/** How batches are made. */
export interface BatchChoices {
  /** Requests that one batch takes: 2 where two event types are asked one by one. */
  readonly requests: 1 | 2
  /** Requests at the same time: so many batches are to be read side by side. */
  readonly workers: number
  /** Batches are widened up to this window, in days; null widens none. */
  readonly widest: number | null
}

/** A batch as planned, and what it is expected to bring in all its requests. */
export interface BatchForecast extends PageForecast {
  /** Places of its organisations in the list of needs. */
  readonly members: readonly number[]
  /** The shortest and the longest window that one of them needs, in days. */
  readonly shortestDays: number
  readonly neededDays: number
  /** The window that is asked, in days: longer than needed where that is free. */
  readonly days: number
  /** Expected events. */
  readonly events: number
}

/**
 * Packs and orders batches. Short windows come first, and of these the batches that cover most organisations for a credit:
 * when a budget runs short it has bought what is needed every night, and long first reads wait for the next run.
 */
export function makeBatches(needs: readonly RatedNeed[], choices: BatchChoices): BatchForecast[] {
  const parcels = needs.map(({ days, rate }, index) => ({ index, days, rate: rate.mean }))
  const cost = batchCost(choices.requests)
  return spreadPackings(packParcels(parcels, cost), choices, cost)
    .map((packing) => forecastBatch(packing, needs, choices))
    .toSorted(
      (a, b) =>
        a.neededDays - b.neededDays ||
        a.pages / a.members.length - b.pages / b.members.length ||
        (a.members[0] ?? 0) - (b.members[0] ?? 0),
    )
}

function forecastBatch(
  { parcels, days }: Packing,
  needs: readonly RatedNeed[],
  { requests, widest }: BatchChoices,
): BatchForecast {
  const members = parcels.map(({ index }) => index).toSorted((a, b) => a - b)
  let rate = 0
  let doubt = 0
  for (const member of members) {
    rate += needs[member]?.rate.mean ?? 0
    doubt += needs[member]?.rate.variance ?? 0
  }
  const asked = widest === null ? days : widenForFree(rate / requests, days, widest)
  const one = forecastPages((asked * rate) / requests, dispersionOf(asked, rate, doubt))
  return {
    members,
    shortestDays: Math.min(...parcels.map((parcel) => parcel.days)),
    neededDays: days,
    days: asked,
    events: asked * rate,
    pages: requests * one.pages,
    variance: requests * one.variance,
    empty: requests * one.empty,
  }
}

/** Variance over mean of a batch's events, the doubt about its organisations' rates included. */
function dispersionOf(days: number, rate: number, doubt: number): number {
  return rate === 0 ? DISPERSION : DISPERSION + (days * doubt) / rate
}
