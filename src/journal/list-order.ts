/**
 * Whether the pages of a batch are one list. Where a service breaks ties in another way for each request, an event stands on
 * two pages that were read, and another one on none. Pure.
 *
 * An event that comes in above pushes one from a page to the next, too, and is on page 1 by then: so page 1 is asked for
 * again where events were met on two pages. Where it does not explain them, the batch is read again, until as many events
 * are known as the list is long. A list that holds an event twice is longer for ever: there the same ones are met twice
 * in each reading.
 */

import { sum } from '../support/numbers.ts'
import type { BatchHistory } from './batch-history.ts'
import type { EventMark } from './page-keys.ts'

// Chosen. Of a list in which only events of one day change places, five readings show nearly all.
const READINGS_MAX = 5
// By chance, two events that change places at the end of a page look the same in two readings one time in four.
const ALIKE_MIN = 2

/** Those of these events that stand on another page of the same reading, as they are here. */
export function repeatedOf({ read, drift }: BatchHistory, marks: readonly EventMark[]): number[] {
  return marks.flatMap(({ key, detectedAt }) => {
    const known = drift.met.get(key)
    const isRepeated = known?.detectedAt === detectedAt && read[known.page - 1]?.seq === known.seq
    return isRepeated ? key : []
  })
}

/** Whether a batch that was read to its end may have events that no page showed: page 1 tells. */
export function isOrderUnsure({ hasMore, read, drift }: BatchHistory): boolean {
  const repeats = sum(read.map(({ repeated }) => repeated.length))
  if (hasMore || repeats <= drift.cameIn || drift.alike >= ALIKE_MIN) return false
  return drift.readings === 0 || drift.met.size < sum(read.map(({ events }) => events))
}

/**
 * Looks at page 1, asked for again. Where as many events came in above as were met twice, the batch was read; else this is
 * the first page of the next reading.
 * @returns whether the batch was read
 */
export function explainsRepeats(history: BatchHistory, marks: readonly EventMark[]): boolean {
  const { drift, read } = history
  const known = marks.findIndex(({ key }) => drift.met.has(key))
  // Only events that came in: there can be more of them than a page has.
  drift.cameIn = known < 0 ? sum(read.map(({ events }) => events)) : known
  const repeated = read.flatMap((page) => page.repeated).toSorted((a, b) => a - b)
  const isAlike = repeated.join() === drift.repeated.join()
  drift.alike = isAlike ? drift.alike + 1 : 0
  drift.repeated = repeated
  if (!isOrderUnsure(history)) return true
  drift.readings += 1
  if (drift.readings === READINGS_MAX) {
    drift.fault ??= `the order of its events changes from request to request: ${READINGS_MAX} readings of ${read.length} pages show ${drift.met.size} of them`
  }
  return false
}
