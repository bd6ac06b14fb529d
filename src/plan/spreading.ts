/**
 * Cuts long batches so that they can be read side by side. The pages of a batch are read one after another, so a list that
 * packs into fewer batches than there are workers leaves workers idle. Each further batch begins at most one page more for
 * each of its requests: no more are made than 1 % of the expected pages. Pure and deterministic.
 */

import { eventsOf, type Packing, type Parcel, type BatchCost } from './batch-cost.ts'

/** For whom batches are cut. */
export interface Spread {
  /** Requests at the same time, 1 or more. */
  readonly workers: number
  /** Requests that one batch takes. */
  readonly requests: number
}

// Pages that all cuts together may cost, as a share of the expected ones: less than what a forecast is off by.
const MOST_EXTRA = 0.01

/** A packing and what it is cut into. */
interface Cut {
  readonly whole: Packing
  readonly pieces: readonly Packing[]
  /** What the longest of the pieces costs. */
  readonly longest: number
}

/** Cuts the longest batches, while none of the workers would be idle otherwise and the bound holds. */
export function spreadPackings(
  packings: readonly Packing[],
  { workers, requests }: Spread,
  cost: BatchCost,
): Packing[] {
  const inPieces = (whole: Packing, count: number): Cut => {
    const pieces = deal(whole, count)
    return { whole, pieces, longest: Math.max(...pieces.map((piece) => cost(eventsOf(piece)))) }
  }
  const cuts = packings.map((whole) => inPieces(whole, 1))
  const total = cuts.reduce((sum, { longest }) => sum + longest, 0)
  let left = Math.floor((MOST_EXTRA * total) / requests)
  for (;;) {
    const longest = cuts.reduce((a, b, i) => (b.longest > (cuts[a]?.longest ?? 0) ? i : a), 0)
    const cut = cuts[longest]
    // With every worker busy until the end, none of them reads more than its share, but for a page that is only begun.
    if (cut === undefined || cut.longest <= (requests * total) / workers + requests) break
    const most = Math.min(cut.pieces.length + left, cut.whole.parcels.length)
    let finer = cut
    for (
      let count = cut.pieces.length + 1;
      count <= most && finer.longest >= cut.longest;
      count += 1
    )
      finer = inPieces(cut.whole, count)
    // A single organisation cannot be cut: what has most events is waited for in any case.
    if (finer.longest >= cut.longest) break
    left -= finer.pieces.length - cut.pieces.length
    cuts[longest] = finer
  }
  return cuts.flatMap(({ pieces }) => pieces)
}

/** So many packings with about the same number of events each. @param count at most as many as there are parcels */
function deal(whole: Packing, count: number): Packing[] {
  if (count === 1) return [whole]
  const hands = Array.from({ length: count }, () => ({ parcels: [] as Parcel[], rate: 0 }))
  for (const parcel of whole.parcels.toSorted((a, b) => b.rate - a.rate || a.index - b.index)) {
    const least = hands.reduce((a, b) => (b.rate < a.rate ? b : a))
    least.parcels.push(parcel)
    least.rate += parcel.rate
  }
  return hands.map(({ parcels }) => ({
    parcels,
    days: Math.max(...parcels.map(({ days }) => days)),
  }))
}
