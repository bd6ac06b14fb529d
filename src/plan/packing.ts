/**
 * Which organisations share a request, so that the expected bill is smallest. A page that is only begun costs as much as
 * a full one, so what is to be saved is begun pages: the quiet organisations belong together, where most batches stay
 * empty and are free, and the lively ones so that their events fill whole pages.
 *
 * Finding the best packing is as hard as bin packing, so three good ones are made and improved, and the cheapest is
 * taken; one of them is the plain order of the list, so no packing is ever worse than that. Pure and deterministic.
 */

import {
  BATCH_ORGANIZATIONS,
  eventsOf,
  totalCost,
  type Packing,
  type Parcel,
  type BatchCost,
} from './batch-cost.ts'

// For a gain of less, as a share of the bill, the order of the list is kept: where nothing is known of the organisations
// it would be made up anyway.
const WORTH_REORDERING = 0.002
/** Packs the parcels so that `cost`, summed over the batches, is small. */
export function packParcels(parcels: readonly Parcel[], cost: BatchCost): Packing[] {
  const groups = groupByDays(parcels).map(byRate)
  const inListOrder = packInListOrder(parcels)
  const joined = joinWindows(groups, cost)
  const mixed = groups.flatMap((group) => hotMixedCold(group, cost))
  const [joinedCost, mixedCost] = [totalCost(joined, cost), totalCost(mixed, cost)]
  const leastToBeat = (1 - WORTH_REORDERING) * totalCost(inListOrder, cost)
  if (Math.min(joinedCost, mixedCost) >= leastToBeat) return inListOrder
  return joinedCost <= mixedCost ? joined : mixed
}

/** The plain way: batches in the order of the list, for each window apart. */
export function packInListOrder(parcels: readonly Parcel[]): Packing[] {
  return groupByDays(parcels).flatMap(plainBatches)
}

/** One group for each window, the shortest first. */
function groupByDays(parcels: readonly Parcel[]): Parcel[][] {
  const groups = new Map<number, Parcel[]>()
  for (const parcel of parcels) {
    const group = groups.get(parcel.days)
    if (group === undefined) groups.set(parcel.days, [parcel])
    else group.push(parcel)
  }
  return [...groups.entries()].toSorted(([a], [b]) => a - b).map(([, group]) => group)
}

function byRate(group: readonly Parcel[]): Parcel[] {
  return group.toSorted((a, b) => b.rate - a.rate || a.index - b.index)
}

function plainBatches(group: readonly Parcel[]): Packing[] {
  const days = group[0]?.days ?? 0
  const batches: Packing[] = []
  for (let from = 0; from < group.length; from += BATCH_ORGANIZATIONS) {
    batches.push({ parcels: group.slice(from, from + BATCH_ORGANIZATIONS), days })
  }
  return batches
}

/**
 * The cheapest cut of all parcels in one row: from the shortest window to the longest, in each from the liveliest to the
 * quietest. Where it pays, the quietest of one window ride along in a batch of the next.
 */
function joinWindows(groups: readonly Parcel[][], cost: BatchCost): Packing[] {
  const row = groups.flat()
  const rateBefore = new Float64Array(row.length + 1)
  const bestCost = new Float64Array(row.length + 1).fill(Number.POSITIVE_INFINITY)
  const cutBefore = new Int32Array(row.length + 1)
  bestCost[0] = 0
  for (const [place, { days, rate }] of row.entries()) {
    const end = place + 1
    const ratesToEnd = (rateBefore[place] ?? 0) + rate
    rateBefore[end] = ratesToEnd
    for (let start = Math.max(0, end - BATCH_ORGANIZATIONS); start < end; start += 1) {
      const events = days * Math.max(0, ratesToEnd - (rateBefore[start] ?? 0))
      const total = (bestCost[start] ?? 0) + cost(events)
      if (total < (bestCost[end] ?? 0)) {
        bestCost[end] = total
        cutBefore[end] = start
      }
    }
  }
  const packings: Packing[] = []
  for (let end = row.length; end > 0; end = cutBefore[end] ?? 0) {
    const parcels = row.slice(cutBefore[end], end)
    packings.push({ parcels, days: parcels.at(-1)?.days ?? 0 })
  }
  return packings.reverse()
}

/**
 * Within one window: some batches of the liveliest, some of the quietest, and between them batches that are all alike. How
 * many of each is tried out. It finds what no cut of a sorted row does: where an average batch just fits its page.
 */
function hotMixedCold(sorted: readonly Parcel[], cost: BatchCost): Packing[] {
  const days = sorted[0]?.days ?? 0
  const count = Math.ceil(sorted.length / BATCH_ORGANIZATIONS)
  const batches = plainBatches(sorted)
  const events = batches.map(eventsOf)
  let best = { hot: count, mixed: 0, cost: Number.POSITIVE_INFINITY }
  const costs = events.map(cost)
  const total = costs.reduce((sum, one) => sum + one, 0)
  for (let hot = 0; hot <= count; hot += 1) {
    let mixedEvents = 0
    let replacedCost = 0
    for (let mixed = 0; hot + mixed <= count; mixed += 1) {
      if (mixed > 0) {
        mixedEvents += events[hot + mixed - 1] ?? 0
        replacedCost += costs[hot + mixed - 1] ?? 0
      }
      const mixedCost = mixed === 0 ? 0 : mixed * cost(mixedEvents / mixed)
      const expected = total - replacedCost + mixedCost
      if (expected < best.cost - 1e-9) best = { hot, mixed, cost: expected }
    }
  }
  const { hot, mixed } = best
  const between = sorted.slice(hot * BATCH_ORGANIZATIONS, (hot + mixed) * BATCH_ORGANIZATIONS)
  const alike = deal(between, mixed).map((parcels) => ({ parcels, days }))
  return [...batches.slice(0, hot), ...alike, ...batches.slice(hot + mixed)]
}

// As cards are dealt, forth and back, so that all hands are worth about the same.
function deal(sorted: readonly Parcel[], hands: number): Parcel[][] {
  const dealt = Array.from({ length: hands }, (): Parcel[] => [])
  for (const [place, parcel] of sorted.entries()) {
    const round = Math.floor(place / hands)
    const turn = place % hands
    dealt[round % 2 === 0 ? turn : hands - 1 - turn]?.push(parcel)
  }
  return dealt
}
