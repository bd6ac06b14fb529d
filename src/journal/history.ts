/**
 * What the journal's headers add up to: runs with their slices and what each has bought, coverage of each organisation,
 * companies set aside, and the time before which the service wants no request. Planning and resuming read this, never
 * the warehouse, so that a locked or lost warehouse stops neither.
 */

import { EXIT, JobtideError } from '../support/errors.ts'
import type { Journal } from './journal.ts'
import type { PlacedFrame } from './reader.ts'
import { newSliceHistory, takePage, type SliceHistory } from './slice-history.ts'
import {
  RESUMABLE_OUTCOMES,
  organizationName,
  type EventType,
  type JournalRecord,
  type PageReceived,
  type RunFinished,
  type RunStarted,
  type SliceRecord,
  type SplitPayload,
} from './records.ts'

/** A run and what it did so far. */
export interface RunHistory {
  readonly started: RunStarted
  /** By slice_id. Empty once the run can no longer be taken up: years of nights must fit into memory. */
  readonly slices: Map<string, SliceHistory>
  finished: RunFinished | null
  resumed: number
  /** Slices that are not split. */
  slicesPlanned: number
  slicesDone: number
  pages: number
  events: number
  /** Credits charged, and 10 for each request in doubt. */
  creditsCommitted: number
  /** Credits committed when the run last stopped cleanly: a budget starts anew there, but not after a kill. */
  creditsAtLastStop: number
  /** Requests sent and neither answered nor failed: their process was killed. */
  readonly unanswered: Set<string>
}

/** An unbroken interval of detection time that was read to its end. */
export interface CoveredInterval {
  readonly eventTypes: readonly EventType[]
  /** Milliseconds since 1970 UTC, server time; null means from the beginning. */
  readonly from: number | null
  readonly to: number
}

/** Everything the journal's headers say. */
export interface History {
  readonly runs: Map<string, RunHistory>
  /** By organizationName. */
  readonly coverage: Map<string, CoveredInterval[]>
  /** By organizationName: when and why. */
  readonly setAside: Map<string, { readonly at: number; readonly reason: string }>
  /** Milliseconds since 1970 UTC; 0 when the service named no time. */
  notBefore: number
  /** How far the service's clock was ahead of this machine's at the last page, in milliseconds; negative when behind. */
  serverAheadMs: number
}

/** Credits that a request in doubt is counted with. */
export const CREDITS_PER_PAGE = 10

/** Reads the headers of every segment. */
export function readHistory(journal: Journal): History {
  const history: History = {
    runs: new Map(),
    coverage: new Map(),
    setAside: new Map(),
    notBefore: 0,
    serverAheadMs: 0,
  }
  for (const segment of journal.segments()) {
    for (const frame of journal.read(segment)) fold(history, frame)
  }
  for (const run of history.runs.values()) {
    run.creditsCommitted += run.unanswered.size * CREDITS_PER_PAGE
  }
  return history
}

function fold(history: History, frame: PlacedFrame): void {
  const { record } = frame
  switch (record.kind) {
    case 'run_started':
      // Only the latest run of a pipeline can be taken up.
      for (const { started, finished, slices } of history.runs.values()) {
        if (finished !== null && started.pipeline === record.pipeline) slices.clear()
      }
      history.runs.set(record.run_id, newRunHistory(record, payloadOf<SliceRecord[]>(frame)))
      return
    case 'run_resumed': {
      const run = runOf(history, record)
      run.resumed += 1
      run.finished = null
      return
    }
    case 'request_sent':
      runOf(history, record).unanswered.add(record.request_id)
      return
    case 'request_failed': {
      const run = runOf(history, record)
      run.unanswered.delete(record.request_id)
      if (record.in_doubt) run.creditsCommitted += CREDITS_PER_PAGE
      return
    }
    case 'page_received':
      history.serverAheadMs = record.server_at - record.at
      addPage(runOf(history, record), record)
      return
    case 'slice_finished': {
      const run = runOf(history, record)
      const slice = sliceOf(run, record.slice_id)
      slice.state = 'finished'
      run.slicesDone += 1
      cover(history, slice.slice, record.covered_from, record.covered_to)
      return
    }
    case 'slice_split': {
      const run = runOf(history, record)
      sliceOf(run, record.slice_id).state = 'split'
      run.slicesPlanned -= 1
      addSlices(run, payloadOf<SplitPayload>(frame).instead)
      return
    }
    case 'organization_set_aside':
      history.setAside.set(organizationName(record.organization), {
        at: record.at,
        reason: record.reason,
      })
      return
    case 'paused':
      history.notBefore = Math.max(history.notBefore, record.not_before)
      return
    case 'run_finished': {
      const run = runOf(history, record)
      run.finished = record
      // Nobody will answer what is unanswered now: it is counted in full before the stop, as it is in the total.
      run.creditsAtLastStop = run.creditsCommitted + run.unanswered.size * CREDITS_PER_PAGE
      if (!RESUMABLE_OUTCOMES.has(record.outcome)) run.slices.clear()
      return
    }
    case 'snapshot_published':
    case 'seal':
      return
    default:
      refuseUnknown(record)
  }
}

/**
 * A record of a kind that this version does not know.
 * @throws JobtideError always
 */
export function refuseUnknown(record: never): never {
  const { kind } = record as JournalRecord
  throw new JobtideError(
    EXIT.usage,
    `the journal holds a record of the unknown kind ${JSON.stringify(kind)}: it was written by a newer Jobtide`,
    { hint: 'Use that version of Jobtide for this data directory.' },
  )
}

/** A run that was planned and did nothing yet. */
export function newRunHistory(started: RunStarted, slices: readonly SliceRecord[]): RunHistory {
  const run: RunHistory = {
    started,
    slices: new Map(),
    finished: null,
    resumed: 0,
    slicesPlanned: 0,
    slicesDone: 0,
    pages: 0,
    events: 0,
    creditsCommitted: 0,
    creditsAtLastStop: 0,
    unanswered: new Set(),
  }
  addSlices(run, slices)
  return run
}

function addSlices(run: RunHistory, slices: readonly SliceRecord[]): void {
  for (const slice of slices) run.slices.set(slice.slice_id, newSliceHistory(slice))
  run.slicesPlanned += slices.length
}

/** The JSON payload of a record; `T` is what records.ts says of that kind. */
export function payloadOf<T>(frame: PlacedFrame): T {
  return JSON.parse(frame.payload().toString('utf8')) as T
}

function addPage(run: RunHistory, record: PageReceived): void {
  run.unanswered.delete(record.request_id)
  run.pages += 1
  run.events += record.events
  run.creditsCommitted += record.credits_used
  const slice = sliceOf(run, record.slice_id)
  takePage(slice, {
    page: record.page,
    events: record.events,
    hasMore: record.has_more,
    serverAt: record.server_at,
    leaving: record.leaving,
  })
}

function cover(history: History, slice: SliceRecord, from: number | null, to: number): void {
  for (const organization of slice.organizations) {
    const name = organizationName(organization)
    const known = history.coverage.get(name) ?? []
    history.coverage.set(name, addInterval(known, { eventTypes: slice.event_types, from, to }))
  }
}

/**
 * Adds an interval, joining those of the same event types that touch or overlap. Those of one set of event types come
 * out sorted and apart from each other. Pure.
 */
export function addInterval(
  known: readonly CoveredInterval[],
  added: CoveredInterval,
): CoveredInterval[] {
  const start = (interval: CoveredInterval) => interval.from ?? Number.NEGATIVE_INFINITY
  const types = added.eventTypes.join()
  const others = known.filter((interval) => interval.eventTypes.join() !== types)
  const same = [...known.filter((interval) => interval.eventTypes.join() === types), added]
  const joined: CoveredInterval[] = []
  for (const next of same.toSorted((a, b) => start(a) - start(b))) {
    const last = joined.at(-1)
    if (last === undefined || start(next) > last.to) joined.push(next)
    else joined[joined.length - 1] = { ...last, to: Math.max(last.to, next.to) }
  }
  return [...others, ...joined]
}

function runOf(history: History, record: { readonly run_id: string }): RunHistory {
  const run = history.runs.get(record.run_id)
  if (run !== undefined) return run
  throw new JobtideError(
    EXIT.storage,
    `the journal has records of run ${record.run_id} but not its beginning`,
    { hint: 'A journal segment is missing: restore the journal folder from a backup.' },
  )
}

function sliceOf(run: RunHistory, sliceId: string): SliceHistory {
  const slice = run.slices.get(sliceId)
  if (slice !== undefined) return slice
  throw new JobtideError(
    EXIT.storage,
    `the journal has records of slice ${sliceId} of run ${run.started.run_id} but not its plan`,
    { hint: 'A journal segment is missing: restore the journal folder from a backup.' },
  )
}
