/**
 * Whether the pages of a batch are one list. Where a service breaks ties in another way for each request, or by another
 * rule on each of its machines, an event stands on two pages that were read, and another one on none. Pure.
 *
 * An event that comes in, at the top or in the middle, pushes one from a page to the next, too. So where a page shows events
 * of pages before it, the last of those is asked for again. There every event has moved down in its old order, and none
 * that came again is left: the list was pushed. Or the page is as it was, however often it is asked for: the list holds an
 * event twice. Else it has no order, and is read again until as many events are known as it is long.
 */

import { crc32Hex } from '../support/hash.ts'
import { sum } from '../support/numbers.ts'
import type { BatchHistory, Meeting } from './batch-history.ts'
import type { EventMark } from './page-keys.ts'
import type { PageReceived } from './records.ts'

// Chosen. Of a list in which only events of one day change places, five readings after the one that showed it show nearly all.
const READINGS_MAX = 6
// By chance, two events that change places at the end of a page look the same five times in one of 32 cases.
const LOOKS_MAX = 5

/** What tells a page that is as it was. */
export function fingerprintOf({ keys = '' }: PageReceived): string {
  return crc32Hex(Buffer.from(keys))
}

/** The last page before this one of which it shows events again; null for none. Later readings are judged by their end. */
export function pageToLookAt(history: BatchHistory, marks: readonly EventMark[]): number | null {
  if (history.drift.readings > 0) return null
  const pages = marks.flatMap((mark) => placeOf(history, mark)?.page ?? [])
  return pages.length === 0 ? null : Math.max(...pages)
}

/**
 * What a page that was asked for again says of the list: `same` where it is as it was, `pushed` where its events only moved
 * down, else `unsure`.
 */
export function orderBy(
  history: BatchHistory,
  record: PageReceived,
  marks: readonly EventMark[],
): 'same' | 'pushed' | 'unsure' {
  if (history.read[record.page - 1]?.fingerprint === fingerprintOf(record)) return 'same'
  const places = marks.flatMap((mark) => placeOf(history, mark) ?? [])
  const isInOrder = places.every(({ page, index }, i) => {
    const before = places[i - 1]
    const isBelow = before === undefined || page > before.page || index >= before.index
    return page <= record.page && isBelow && page >= (before?.page ?? page)
  })
  return isInOrder && marks.length > 0 ? 'pushed' : 'unsure'
}

/** Whether a page was looked at so often that what it shows each time is how it is. */
export function isSeenEnough(looks: number): boolean {
  return looks >= LOOKS_MAX
}

/** Whether a later reading, to its end, knows fewer events than the list is long. */
export function isIncomplete({ read, hasMore, drift }: BatchHistory): boolean {
  const length = sum(read.map(({ events, versions }) => events - versions))
  return drift.readings > 0 && !hasMore && drift.met.size < length
}

/** How many of these only say again, in another version or twice on this page, what was met in this reading. */
export function countVersions({ read, drift }: BatchHistory, marks: readonly EventMark[]): number {
  const here = new Set<number>()
  return marks.filter(({ key, detectedAt }) => {
    const known = drift.met.get(key)
    const isMet = known !== undefined && read[known.page - 1]?.seq === known.seq
    const isVersion = here.has(key) || (isMet && known.detectedAt !== detectedAt)
    here.add(key)
    return isVersion
  }).length
}

/** Counts another reading; `fault` says when there were enough. */
export function countReading({ read, drift }: BatchHistory): void {
  drift.readings += 1
  if (drift.readings < READINGS_MAX) return
  drift.fault ??= `the order of its events changes from request to request: ${drift.readings} readings of up to ${read.length} pages show ${drift.met.size} of them`
}

/** Where this version of an event stands in this reading; null where it was not met in it. */
function placeOf({ read, drift }: BatchHistory, { key, detectedAt }: EventMark): Meeting | null {
  const known = drift.met.get(key)
  const isHere = known?.detectedAt === detectedAt && read[known.page - 1]?.seq === known.seq
  return isHere ? known : null
}
