/**
 * Which organisation needs which window, packed into slices of at most 50. Pure: the same question, coverage and time
 * give the same plan, and nothing is sent.
 */

import { createHash } from 'node:crypto'
import { addInterval, type CoveredInterval, type History } from '../journal/history.ts'
import {
  organizationName,
  type EventType,
  type OrganizationRef,
  type SliceRecord,
} from '../journal/records.ts'
import { stableJson } from '../support/json.ts'
import { DAY, HOUR } from '../support/units.ts'

/** A window: whole days of detection time (1 to 365), or everything. */
export type Window = number | 'all'

/** What is asked for. */
export interface Question {
  readonly pipeline: string
  readonly organizations: readonly OrganizationRef[]
  readonly eventTypes: readonly EventType[]
  readonly window: Window | 'since-last'
  readonly initialWindow: Window
  readonly overlapHours: number
}

/** What a run would ask. */
export interface Plan {
  readonly slices: readonly SliceRecord[]
  readonly organizations: number
  /** Organisations left out because the service refused them lately. */
  readonly setAside: readonly { readonly name: string; readonly reason: string }[]
  /** Hash of the question, so that only a run of the same question is taken up again. */
  readonly questionSha256: string
}

/** Organisations in one request; the service takes no more. */
export const SLICE_ORGANIZATIONS = 50
/** The longest window the service takes, in days; beyond it only "everything" is left. */
export const LONGEST_WINDOW_DAYS = 365
// A company that was refused may be tracked later; asking each night would cost a request each night.
const SET_ASIDE_MS = 7 * DAY

/** Plans a run. @param nowMs milliseconds since 1970 UTC */
export function makePlan(
  question: Question,
  history: Pick<History, 'coverage' | 'setAside'>,
  nowMs: number,
): Plan {
  const setAside: { name: string; reason: string }[] = []
  const byWindow = new Map<Window, OrganizationRef[]>()
  for (const organization of question.organizations) {
    const name = organizationName(organization)
    const refusal = history.setAside.get(name)
    if (refusal !== undefined && nowMs - refusal.at < SET_ASIDE_MS) {
      setAside.push({ name, reason: refusal.reason })
      continue
    }
    const window = neededWindow(question, history.coverage.get(name) ?? [], nowMs)
    const sharing = byWindow.get(window)
    if (sharing === undefined) byWindow.set(window, [organization])
    else sharing.push(organization)
  }
  return {
    slices: packSlices(byWindow, question.eventTypes),
    organizations: question.organizations.length - setAside.length,
    setAside,
    questionSha256: questionSha256(question),
  }
}

/**
 * The window that closes the gap between what is covered and what is wanted, in whole days rounded up, the overlap
 * included; what was read to its end is not bought again. Beyond 365 days the service takes no window, so everything is
 * asked.
 */
export function neededWindow(
  question: Pick<Question, 'window' | 'initialWindow' | 'overlapHours' | 'eventTypes'>,
  coverage: readonly CoveredInterval[],
  nowMs: number,
): Window {
  const wanted = question.window === 'since-last' ? question.initialWindow : question.window
  const from = wanted === 'all' ? Number.NEGATIVE_INFINITY : nowMs - wanted * DAY
  const starts = question.eventTypes.map((type) => {
    const intervals = coverageOf(type, coverage)
    const edge =
      question.window === 'since-last' ? oldestEdge(intervals) : edgeFrom(intervals, from)
    return edge === null ? from : edge - question.overlapHours * HOUR
  })
  const days = Math.max(1, Math.ceil((nowMs - Math.min(...starts)) / DAY))
  if (typeof question.window === 'number') return Math.min(days, question.window)
  return days > LONGEST_WINDOW_DAYS ? 'all' : days
}

/**
 * What is covered for one event type, whichever types it was asked for together with: else an old answer for `joined`
 * alone would be a gap for ever, though all three were read since. Oldest first, joined where they touch.
 */
export function coverageOf(
  type: EventType,
  coverage: readonly CoveredInterval[],
): CoveredInterval[] {
  return coverage
    .filter(({ eventTypes }) => eventTypes.includes(type))
    .reduce<CoveredInterval[]>(
      (joined, { from, to }) => addInterval(joined, { eventTypes: [type], from, to }),
      [],
    )
}

// Since the last time: the end of the oldest unbroken interval. Asking from there also fills a gap after it.
function oldestEdge(intervals: readonly CoveredInterval[]): number | null {
  return intervals.length === 0 ? null : Math.min(...intervals.map(({ to }) => to))
}

// A window from `from` on: the end of the interval that covers its beginning.
function edgeFrom(intervals: readonly CoveredInterval[], from: number): number | null {
  const covering = intervals.filter(
    (interval) => (interval.from ?? Number.NEGATIVE_INFINITY) <= from && interval.to > from,
  )
  return covering.length === 0 ? null : Math.max(...covering.map(({ to }) => to))
}

function packSlices(
  byWindow: ReadonlyMap<Window, readonly OrganizationRef[]>,
  eventTypes: readonly EventType[],
): SliceRecord[] {
  const slices: SliceRecord[] = []
  // The service takes one event type or all three; two are asked for in two requests.
  const asks =
    eventTypes.length === 2 ? eventTypes.map((type): readonly EventType[] => [type]) : [eventTypes]
  for (const [window, organizations] of byWindow) {
    for (let from = 0; from < organizations.length; from += SLICE_ORGANIZATIONS) {
      for (const types of asks) {
        slices.push({
          slice_id: String(slices.length + 1).padStart(4, '0'),
          organizations: organizations.slice(from, from + SLICE_ORGANIZATIONS),
          days_ago: window === 'all' ? null : window,
          event_types: types,
        })
      }
    }
  }
  return slices
}

// The order of the list does not change what is asked.
function questionSha256(question: Question): string {
  const { pipeline, eventTypes, window, initialWindow, overlapHours } = question
  const organizations = question.organizations.map(organizationName).toSorted()
  const text = stableJson({
    pipeline,
    eventTypes: eventTypes.toSorted(),
    window,
    initialWindow,
    overlapHours,
    organizations,
  })
  return createHash('sha256').update(text).digest('hex')
}
