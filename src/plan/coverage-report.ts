/**
 * Lists which time was read and which was not, for each organisation, from the journal's coverage. Pure. "Not looked
 * at" is time that no completely read batch covers. It never counts as "no change".
 */

import {
  isConfirmed,
  startOf,
  type CoveredInterval,
  type Stretch,
  filtersText,
  inQuestion,
} from '../journal/coverage.ts'
import { canonicalName } from '../journal/history.ts'
import {
  EVENT_TYPES,
  type EventType,
  type Filters,
  type OrganizationRef,
} from '../journal/records.ts'
import { DAY } from '../support/units.ts'
import type { PlanHistory } from './plan.ts'
import { coverageOf, type Window, type WindowQuestion } from './window.ts'

export interface Wanted {
  readonly organizations: readonly OrganizationRef[]
  readonly eventTypes: readonly EventType[]
  readonly filters?: Filters | undefined
  readonly window: Window
}

/** The time that a question wants read: since-last begins with the initial window. */
export function wantedOf(
  question: Pick<WindowQuestion, 'eventTypes' | 'window' | 'initialWindow'> &
    Pick<Wanted, 'organizations' | 'filters'>,
): Wanted {
  const { organizations, eventTypes, filters, window, initialWindow } = question
  const far = window === 'since-last' ? initialWindow : window
  return { organizations, eventTypes, filters, window: far }
}

/** A stretch of detection time that was not looked at. */
export interface UnreadStretch extends Stretch {
  readonly eventTypes: readonly EventType[]
  /** Its place: before the first read, between two reads, after the last, or nothing was read at all. */
  readonly place: 'before' | 'between' | 'since' | 'never'
}

export interface OrganizationCoverage {
  /** The filters of its reads, on one line; empty for none. */
  readonly question: string
  /** Its id, or until that is known the URL or slug that it was requested by. */
  readonly organizationId: string
  /** Its name in the list, or the name from which its id was learnt. */
  readonly askedAs: string
  /** Since when all event types are covered, apart from gaps; null means from the beginning. Only with a watermark. */
  readonly from: number | null
  /** Up to when all event types are covered, apart from gaps; null if one of them was never read. */
  readonly watermark: number | null
  /**
   * Up to when answers with events cover it, at most the watermark; null if no answer ever had an event. The time since
   * then was answered without events, and is requested again.
   */
  readonly confirmedTo: number | null
  readonly unread: readonly UnreadStretch[]
  /** Events received, including repeats, by the journal's headers. */
  readonly events: number
  /** When the last one was received, milliseconds since 1970 UTC; null for never. */
  readonly lastEventAt: number | null
  /** Why and when the service refused it, unless it has accepted it since. */
  readonly quarantined: { readonly at: number; readonly reason: string } | null
}

/** Coverage of all these organisations, the earliest watermark first. */
export type CoverageReport = Readonly<ReturnType<typeof totalled>>

/**
 * Each organisation since its first read, for its requested event types. Without `wanted`: all that were ever requested
 * with these filters, or with none.
 * @param nowMs milliseconds since 1970 UTC, by the service's clock
 */
export function coverageReport(
  wanted: Wanted | null,
  past: PlanHistory,
  nowMs: number,
  filters: Filters | undefined = wanted?.filters,
): CoverageReport {
  const question = filtersText(filters)
  const history = inQuestion(past, filters)
  const { coverage, seen, quarantined } = history
  // Canonical name → name shown. A company that a list names twice counts once, under its first name.
  const listed = wanted?.organizations.toReversed()
  const names = listed
    ? new Map(listed.map((one) => [canonicalName(history.ids, one), one.value]))
    : knownNames(history, question)
  // The organisations of a batch share their intervals (src/journal/history.ts).
  const known = new Map<readonly CoveredInterval[], CoveredTime>()
  const timeOf = (intervals: readonly CoveredInterval[]) => {
    const time = known.get(intervals) ?? coveredTime(intervals, wanted, nowMs)
    known.set(intervals, time)
    return time
  }
  return totalled(
    [...names].map(([organizationId, askedAs]) => {
      const { total: events = 0, lastAt = null } = seen.get(organizationId) ?? {}
      return {
        question,
        organizationId,
        askedAs,
        ...timeOf(coverage.get(organizationId) ?? NOTHING_READ),
        events,
        lastEventAt: events === 0 ? null : lastAt,
        quarantined: quarantined.get(organizationId) ?? null,
      }
    }),
  )
}

const NOTHING_READ: readonly CoveredInterval[] = []

function totalled(all: readonly OrganizationCoverage[]) {
  const organizations = all.toSorted(
    (a, b) => (a.watermark ?? 0) - (b.watermark ?? 0) || (a.askedAs < b.askedAs ? -1 : 1),
  )
  const watermarks = organizations.flatMap(({ watermark }) => watermark ?? [])
  return {
    organizations,
    read: watermarks.length,
    neverRead: organizations.filter(isNeverRead).length,
    quarantined: organizations.filter(({ quarantined }) => quarantined !== null).length,
    withGaps: organizations.filter((one) => gapsOf(one).length > 0).length,
    oldestWatermark: watermarks[0] ?? null,
    newestWatermark: watermarks.at(-1) ?? null,
  }
}

/** Reports on all that was ever requested: an organisation has a row for each of its questions. */
export function coverageOfAll(history: PlanHistory, nowMs: number): CoverageReport {
  const reports = [undefined, ...[...history.filtered.values()].map(({ filters }) => filters)].map(
    (filters) => coverageReport(null, history, nowMs, filters),
  )
  return totalled(reports.flatMap(({ organizations }) => organizations))
}

/** Gaps in what was read, without the time since the last read. */
export function gapsOf({ unread }: OrganizationCoverage): UnreadStretch[] {
  return unread.filter(({ place }) => place === 'before' || place === 'between')
}

/** Whether one event type of an organisation was neither read nor refused. */
export function isNeverRead({ watermark, quarantined }: OrganizationCoverage): boolean {
  return watermark === null && quarantined === null
}

/** Whether an organisation was read and never had an event: its id may be wrong, or no one works there. */
export function isSilent({ watermark, events }: OrganizationCoverage): boolean {
  return watermark !== null && events === 0
}

/** Time that no interval covers, oldest first. @param covered sorted, no overlaps @param from null: the beginning */
export function unreadBetween(
  covered: readonly CoveredInterval[],
  from: number | null,
  to: number,
): Stretch[] {
  const unread: Stretch[] = []
  let readTo = from ?? Number.NEGATIVE_INFINITY
  for (const next of [...covered, { from: to, to }]) {
    const end = Math.min(startOf(next), to)
    if (end > readTo) unread.push({ from: Number.isFinite(readTo) ? readTo : null, to: end })
    readTo = Math.max(readTo, next.to)
  }
  return unread
}

type CoveredTime = Pick<OrganizationCoverage, 'from' | 'watermark' | 'confirmedTo' | 'unread'>

function coveredTime(
  intervals: readonly CoveredInterval[],
  wanted: Wanted | null,
  nowMs: number,
): CoveredTime {
  const asked = new Set(intervals.flatMap(({ eventTypes }) => eventTypes))
  // Nothing was read: none of its wanted time was looked at.
  const read = asked.size === 0 ? EVENT_TYPES : EVENT_TYPES.filter((type) => asked.has(type))
  const types = wanted?.eventTypes ?? read
  const coveredIn = (among: readonly CoveredInterval[]) =>
    types.map((type) => coverageOf(type, among))
  const endOf = (covered: readonly CoveredInterval[]) => covered.at(-1)?.to ?? 0
  const byType = coveredIn(intervals)
  const confirmed = coveredIn(intervals.filter(isConfirmed))
  const start = wanted === null || wanted.window === 'all' ? null : nowMs - wanted.window * DAY
  const unread = byType.flatMap((covered, index) => {
    const from = wanted === null ? (covered[0]?.from ?? null) : start
    const eventTypes = types.slice(index, index + 1)
    return unreadBetween(covered, from, nowMs).map((stretch) => {
      return { ...stretch, eventTypes, place: placeOf(stretch, covered) }
    })
  })
  return {
    // No instant is 0, so 0 stands for a missing one.
    from: Math.max(...byType.map(([first]) => first?.from ?? 0)) || null,
    watermark: Math.min(...byType.map(endOf)) || null,
    confirmedTo: Math.min(...confirmed.map(endOf)) || null,
    unread: joinTypes(unread),
  }
}

function placeOf(stretch: Stretch, covered: readonly CoveredInterval[]): UnreadStretch['place'] {
  const [first] = covered
  if (first === undefined) return 'never'
  if (stretch.to <= startOf(first)) return 'before'
  return startOf(stretch) >= (covered.at(-1)?.to ?? 0) ? 'since' : 'between'
}

// Event types are usually requested together, and are then named together.
function joinTypes(stretches: readonly UnreadStretch[]): UnreadStretch[] {
  const joined = new Map<string, UnreadStretch>()
  for (const stretch of stretches) {
    const key = `${stretch.place} ${stretch.from} ${stretch.to}`
    const eventTypes = [...(joined.get(key)?.eventTypes ?? []), ...stretch.eventTypes]
    joined.set(key, { ...stretch, eventTypes })
  }
  return [...joined.values()].toSorted((a, b) => a.to - b.to)
}

function knownNames(history: PlanHistory, question: string): Map<string, string> {
  const { coverage, filtered, quarantined, ids, runs } = history
  const askedAs = new Map([...ids].map(([name, id]) => [id, name]))
  // For an unfinished run, including those that it has not read yet.
  const inRuns = [...runs.values()]
    .flatMap(({ batches }) => [...batches.values()])
    .filter(({ batch }) => filtersText(batch.filters) === question)
    .flatMap(({ batch }) => batch.organizations.map((one) => canonicalName(ids, one)))
  const narrowed = [...filtered.values()]
  const refused = [...quarantined.keys()].filter(
    (name) => !narrowed.some(({ planned }) => planned.has(name)),
  )
  const others = question === '' ? refused : (filtered.get(question)?.planned.keys() ?? [])
  const known = new Set([...coverage.keys(), ...inRuns, ...others])
  return new Map([...known].map((id) => [id, askedAs.get(id) ?? id]))
}
