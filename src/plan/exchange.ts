/**
 * Improves a packing by letting slices exchange organisations while that makes them cheaper together: a sum of events
 * that just spills over a page is brought below it, at the cost of a slice that has room. Pure and deterministic.
 */

import { eventsOf, type Packing, type Parcel, type SliceCost } from './slice-cost.ts'

interface OpenSlice {
  readonly days: number
  readonly parcels: Parcel[]
  events: number
}

// In pages. Less is not worth looking for, and might only be an error of rounding.
const LEAST_GAIN = 1e-4
const ROUNDS = 10
// Of each slice every fifth organisation is tried, another fifth in each round.
const STRIDE = 5

/**
 * Exchanges organisations until nothing is gained or `tries` are used up. Slices next to each other in events come
 * first, then those farther and farther apart.
 */
export function exchangeOrganizations(
  packing: readonly Packing[],
  cost: SliceCost,
  tries: number,
): Packing[] {
  const slices = packing.map((slice): OpenSlice => ({
    days: slice.days,
    parcels: [...slice.parcels],
    events: eventsOf(slice),
  }))
  let left = tries
  for (let round = 0; round < ROUNDS && left > 0; round += 1) {
    let gained = 0
    for (const [one, other] of pairsByDistance(slices)) {
      if (left <= 0) break
      left -= 1
      if (!canGain(one, other, cost)) continue
      left -= (one.parcels.length * other.parcels.length) / STRIDE ** 2
      gained += exchangeBest(one, other, cost, round % STRIDE)
    }
    if (gained < LEAST_GAIN && round >= STRIDE - 1) break
  }
  return slices.map(({ parcels }) => ({
    parcels,
    days: Math.max(...parcels.map(({ days }) => days)),
  }))
}

function* pairsByDistance(slices: readonly OpenSlice[]): Generator<[OpenSlice, OpenSlice]> {
  const order = slices.toSorted((a, b) => a.days - b.days || b.events - a.events)
  for (let distance = 1; distance < order.length; distance += 1) {
    for (let place = 0; place + distance < order.length; place += 1) {
      const [one, other] = [order[place], order[place + distance]]
      if (one !== undefined && other !== undefined && one.days === other.days) yield [one, other]
    }
  }
}

// However two slices share their events, they cost no less than one slice that has them all.
function canGain(one: OpenSlice, other: OpenSlice, cost: SliceCost): boolean {
  return cost(one.events) + cost(other.events) - cost(one.events + other.events) > 0.01
}

/** Makes the exchange that gains most, if any does. Returns the gain in pages. */
function exchangeBest(one: OpenSlice, other: OpenSlice, cost: SliceCost, from: number): number {
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
function shiftOf(one: OpenSlice, mine: number, other: OpenSlice, theirs: number): number {
  return one.days * ((other.parcels[theirs]?.rate ?? 0) - (one.parcels[mine]?.rate ?? 0))
}
