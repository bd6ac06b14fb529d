/**
 * Improves a packing by letting batches exchange organisations while that makes them cheaper together: a sum of events
 * that just spills over a page is brought below it, at the cost of a batch that has room. Pure and deterministic.
 */

import { eventsOf, type Packing, type Parcel, type BatchCost } from './batch-cost.ts'

interface OpenBatch {
  readonly days: number
  readonly parcels: Parcel[]
  events: number
}

// In pages. Less is not worth looking for, and might only be an error of rounding.
const LEAST_GAIN = 1e-4
const ROUNDS = 10
// Of each batch every fifth organisation is tried, another fifth in each round.
const STRIDE = 5

/**
 * Exchanges organisations until nothing is gained or `tries` are used up. Batches next to each other in events come
 * first, then those farther and farther apart.
 */
export function exchangeOrganizations(
  packing: readonly Packing[],
  cost: BatchCost,
  tries: number,
): Packing[] {
  const batches = packing.map((batch): OpenBatch => ({
    days: batch.days,
    parcels: [...batch.parcels],
    events: eventsOf(batch),
  }))
  let left = tries
  for (let round = 0; round < ROUNDS && left > 0; round += 1) {
    let gained = 0
    for (const [one, other] of pairsByDistance(batches)) {
      if (left <= 0) break
      left -= 1
      if (!canGain(one, other, cost)) continue
      left -= (one.parcels.length * other.parcels.length) / STRIDE ** 2
      gained += exchangeBest(one, other, cost, round % STRIDE)
    }
    if (gained < LEAST_GAIN && round >= STRIDE - 1) break
  }
  return batches.map(({ parcels }) => ({
    parcels,
    days: Math.max(...parcels.map(({ days }) => days)),
  }))
}

function* pairsByDistance(batches: readonly OpenBatch[]): Generator<[OpenBatch, OpenBatch]> {
  const order = batches.toSorted((a, b) => a.days - b.days || b.events - a.events)
  for (let distance = 1; distance < order.length; distance += 1) {
    for (let place = 0; place + distance < order.length; place += 1) {
      const [one, other] = [order[place], order[place + distance]]
      if (one !== undefined && other !== undefined && one.days === other.days) yield [one, other]
    }
  }
}

// However two batches share their events, they cost no less than one batch that has them all.
function canGain(one: OpenBatch, other: OpenBatch, cost: BatchCost): boolean {
  return cost(one.events) + cost(other.events) - cost(one.events + other.events) > 0.01
}

/** Makes the exchange that gains most, if any does. Returns the gain in pages. */
function exchangeBest(one: OpenBatch, other: OpenBatch, cost: BatchCost, from: number): number {
  const before = cost(one.events) + cost(other.events)
  let gain = LEAST_GAIN
  let mine = -1
  let theirs = -1
  for (let i = from; i < one.parcels.length; i += STRIDE) {
    for (let j = from; j < other.parcels.length; j += STRIDE) {
      const shift = shiftOf(one, i, other, j)
      const after = cost(Math.max(0, one.events + shift)) + cost(Math.max(0, other.events - shift))
      if (before - after <= gain) continue
      gain = before - after
      mine = i
      theirs = j
    }
  }
  const [leaving, coming] = [one.parcels[mine], other.parcels[theirs]]
  if (leaving === undefined || coming === undefined) return 0
  const shift = shiftOf(one, mine, other, theirs)
  one.parcels[mine] = coming
  other.parcels[theirs] = leaving
  one.events += shift
  other.events -= shift
  return gain
}

// The events that `one` has more after the exchange.
function shiftOf(one: OpenBatch, mine: number, other: OpenBatch, theirs: number): number {
  return one.days * ((other.parcels[theirs]?.rate ?? 0) - (one.parcels[mine]?.rate ?? 0))
}
