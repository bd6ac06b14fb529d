/** What is packed, what it is packed into, and what that costs. Pure. */

import { pageTable } from './expected-pages.ts'

/** Organisations in one request; the service takes no more. */
export const BATCH_ORGANIZATIONS = 50

/** An organisation to be packed. */
export interface Parcel {
  /** Place in the caller's list. */
  readonly index: number
  /** The window it needs, in days. */
  readonly days: number
  /** Expected events a day. */
  readonly rate: number
}

/** Organisations that share a batch. */
export interface Packing {
  readonly parcels: readonly Parcel[]
  /** The longest window that one of them needs. */
  readonly days: number
}

/** Expected charge of a batch, in pages, from its expected events. */
export type BatchCost = (events: number) => number

// A request that brings nothing is free but takes its turn in the pace: worth a thousandth of a page to avoid.
const REQUEST_COST = 0.001

/**
 * What a batch costs.
 * @param requests requests that one batch takes; each brings an equal share of the events
 */
export function batchCost(requests: number): BatchCost {
  const pages = pageTable()
  return (events) => requests * (pages(events / requests) + REQUEST_COST)
}

/** The expected events of a batch. */
export function eventsOf({ parcels, days }: Packing): number {
  let rates = 0
  for (const { rate } of parcels) rates += rate
  return days * rates
}

/** What all batches cost. */
export function totalCost(packings: readonly Packing[], cost: BatchCost): number {
  let total = 0
  for (const packing of packings) total += cost(eventsOf(packing))
  return total
}
