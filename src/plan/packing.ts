/**
 * Decides which organisations share a request. A partly filled page costs as much as a full one, so quiet organisations
 * go together, so that most of their batches are empty and free, and active ones so that they fill whole pages. A month
 * of nights over 9,791 real organisations costs half of what random batches cost. Pure and deterministic.
 */

import { sum } from '../support/numbers.ts'
import { expectedPages } from './forecast.ts'

/** Organisations in one request; the service accepts no more. */
export const BATCH_ORGANIZATIONS = 50

export interface Parcel {
  readonly index: number
  /** Expected events in its window. */
  readonly events: number
}

// An empty request is free but takes its turn in the pace: avoiding it is worth a thousandth of a page.
const REQUEST_COST = 0.001
// The pages that cutting long batches may add, as a share of all pages.
const MOST_EXTRA = 0.01

export function pagesOf(batch: readonly Parcel[], requests: number): number {
  return requests * expectedPages(eventsOf(batch) / requests)
}

/**
 * Packs organisations of one window into batches of at most 50, the most active first.
 * @param requests of one batch, its events shared equally: 2 if two event types are requested one by one
 * @param workers how many batches are read in parallel, 1 or more
 */
export function packParcels<P extends Parcel>(
  parcels: readonly P[],
  { requests, workers }: { requests: number; workers: number },
) {
  const sorted = parcels.toSorted((a, b) => b.events - a.events || a.index - b.index)
  const cost = (events: number) => requests * (expectedPages(events / requests) + REQUEST_COST)
  const packed = hotMixedCold(sorted, cost)
  const total = sum(packed.map((batch) => pagesOf(batch, requests)))
  let extra = Math.floor((MOST_EXTRA * total) / requests)
  // The pages of a batch are read one after another, so a batch longer than a worker's share is cut if that is cheap.
  return packed.flatMap((batch) => {
    const shares = Math.round((pagesOf(batch, requests) * workers) / Math.max(1, total))
    const cuts = Math.max(0, Math.min(shares - 1, batch.length - 1, extra))
    extra -= cuts
    return deal(batch, cuts + 1)
  })
}

/**
 * Some batches of the most active, some of the quietest, and similar batches between them. It tries how many of each.
 * This finds what no cut of a sorted list does: an average batch that just fits its page.
 */
function hotMixedCold<P extends Parcel>(sorted: readonly P[], cost: (events: number) => number) {
  const count = Math.ceil(sorted.length / BATCH_ORGANIZATIONS)
  const batches = Array.from({ length: count }, (_, n) =>
    sorted.slice(n * BATCH_ORGANIZATIONS, (n + 1) * BATCH_ORGANIZATIONS),
  )
  const events = batches.map(eventsOf)
  const costs = events.map(cost)
  let best = { hot: count, mixed: 0, saved: 0 }
  for (let hot = 0; hot < count; hot += 1) {
    let mixedEvents = 0
    let replacedCost = 0
    for (let mixed = 1; hot + mixed <= count; mixed += 1) {
      mixedEvents += events[hot + mixed - 1] ?? 0
      replacedCost += costs[hot + mixed - 1] ?? 0
      const saved = replacedCost - mixed * cost(mixedEvents / mixed)
      if (saved > best.saved + 1e-9) best = { hot, mixed, saved }
    }
  }
  const { hot, mixed } = best
  const between = batches.slice(hot, hot + mixed).flat()
  return [...batches.slice(0, hot), ...deal(between, mixed), ...batches.slice(hot + mixed)]
}

// Deals them like cards, forth and back, so that all batches are worth about the same.
function deal<P extends Parcel>(sorted: readonly P[], hands: number): P[][] {
  const dealt = Array.from({ length: hands }, (): P[] => [])
  for (const [place, parcel] of sorted.entries()) {
    const turn = place % hands
    const isForth = Math.floor(place / hands) % 2 === 0
    dealt[isForth ? turn : hands - 1 - turn]?.push(parcel)
  }
  return dealt
}

function eventsOf(batch: readonly Parcel[]): number {
  return sum(batch.map(({ events }) => events))
}
