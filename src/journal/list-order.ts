/**
 * Decides whether the pages of a batch are one list. Where a service breaks ties differently for each request, or
 * differently on each of its machines, one event appears on two of the pages that were read, and another on none. Pure.
 *
 * A new event, at the top or in the middle, also pushes one from a page to the next. So where a page shows events of
 * pages before it, the last of those is requested again. If every event there has moved down in its old order and no
 * repeated event is left, the list was pushed. If the page is unchanged, however often it is requested, the list holds
 * an event twice. Otherwise it has no order.
 *
 * The event that pushed is also searched for, at the end, on the last page and on page 1: a machine that does not show
 * the newest events yet pulls others up between two pages, which is seen only when they appear again on a page of
 * another machine. Where it is not found, or there is no order, the list is read again until as many events are known
 * as the list is long.
 */

import { crc32Hex } from '../support/hash.ts'
import { sum } from '../support/numbers.ts'
import { MINUTE } from '../support/units.ts'
import type { BatchHistory, Look, Meeting } from './batch-history.ts'
import type { EventMark } from './page-keys.ts'
import type { PageReceived } from './records.ts'

// Chosen. Of a list in which only events of one day change places, five readings after the one that showed it show nearly all.
const READINGS_MAX = 6
// By chance, two events that change places at the end of a page look the same five times in one of 32 cases.
const LOOKS_MAX = 5
// Chosen. Machines of one service show new events within so much of each other.
const PAUSE_MS = 10 * MINUTE

/** The signature of a page, equal while the page is unchanged. */
export function fingerprintOf({ keys = '' }: PageReceived): string {
  return crc32Hex(Buffer.from(keys))
}

/** Asks to recheck the last earlier page whose events this one shows again. Its end decides about later readings. */
export function noteLook(
  history: BatchHistory,
  { server_at: serverAt }: PageReceived,
  marks: readonly EventMark[],
): void {
  const { drift, read } = history
  if (drift.readings > 0) return
  const pages = marks.flatMap((mark) => placeOf(history, mark)?.page ?? [])
  if (pages.length === 0) return
  // After a longer time, such as a day in which a budget was spent, new events are expected.
  const isAfterPause = serverAt - (read.at(-1)?.serverAt ?? 0) > PAUSE_MS
  const repeats = isAfterPause ? 0 : pages.length
  drift.look = { page: Math.max(...pages), times: 0, repeats, isAtEnd: false }
  drift.hidden += repeats
}

/**
 * The page that shows whether a completely read batch has all events; null where nothing moved. The last page may come
 * from a machine that lacks the newest events: then others are on no page. Page 1 shows the events that pushed others.
 */
export function lookAtEnd({ hasMore, pages, drift }: BatchHistory): Look | null {
  if (hasMore || drift.readings > 0 || (!drift.hasMoved && drift.hidden === 0)) return null
  return { page: drift.hasMoved ? pages : 1, times: LOOKS_MAX - 1, repeats: 0, isAtEnd: true }
}

/**
 * The state of the list according to a page that was requested again: `same` where it is unchanged, `pushed` where its
 * events only moved down, else `unsure`.
 */
export function orderBy(
  history: BatchHistory,
  record: PageReceived,
  marks: readonly EventMark[],
): 'same' | 'pushed' | 'unsure' {
  if (history.read[record.page - 1]?.fingerprint === fingerprintOf(record)) return 'same'
  const places = marks.flatMap((mark) => placeOf(history, mark) ?? [])
  const isInOrder = places.every((place, i) => {
    const before = places[i - 1]
    return place.page <= record.page && (before === undefined || !isAbove(place, before))
  })
  return isInOrder && marks.length > 0 ? 'pushed' : 'unsure'
}

function isAbove(a: Meeting, b: Meeting): boolean {
  return a.page === b.page ? a.index < b.index : a.page < b.page
}

/** How many of these were seen on pages before `page`, in this reading. */
export function countFromBefore(
  history: BatchHistory,
  page: number,
  marks: readonly EventMark[],
): number {
  return marks.filter((mark) => (placeOf(history, mark)?.page ?? page) < page).length
}

/** Whether a page was looked at so often that what it shows each time is how it is. */
export function isSeenEnough(looks: number): boolean {
  return looks >= LOOKS_MAX
}

/** Whether a later reading, to its end, knows fewer events than the list is long. */
export function isIncomplete({ read, hasMore, drift }: BatchHistory): boolean {
  // Asked with each page, and a batch can have ten thousand.
  if (drift.readings === 0 || hasMore) return false
  const length = sum(read.map(({ events, twins }) => events - twins))
  // A list that keeps versions also holds corrected events.
  return drift.met.size + (drift.keepsVersions ? drift.older.size : 0) < length
}

/** How many of these appear on this page twice. */
export function countDuplicates(marks: readonly EventMark[]): number {
  if (new Set(marks.map(({ key }) => key)).size === marks.length) return 0
  return marks.length - new Set(marks.map(({ key, detectedAt }) => `${key} ${detectedAt}`)).size
}

/** Notes the versions of events that another one is newer than. */
export function noteOlder({ drift }: BatchHistory, marks: readonly EventMark[]): void {
  for (const { key, detectedAt } of marks) {
    const known = drift.met.get(key)?.detectedAt ?? detectedAt
    if (known !== detectedAt) drift.older.add(`${key} ${Math.min(known, detectedAt)}`)
  }
}

/** Counts another reading; `fault` says when there were enough. */
export function countReading({ read, drift }: BatchHistory): void {
  drift.readings += 1
  if (drift.readings < READINGS_MAX) return
  drift.fault ??= `the order of its events changes from request to request: ${drift.readings} readings of up to ${read.length} pages show ${drift.met.size} of them`
}

/** The position of this version of an event in this reading; null where it was not seen in it. */
function placeOf({ read, drift }: BatchHistory, { key, detectedAt }: EventMark): Meeting | null {
  const known = drift.met.get(key)
  const isHere = known?.detectedAt === detectedAt && read[known.page - 1]?.seq === known.seq
  return isHere ? known : null
}
