/**
 * The totals of the journal's headers: runs with their batches and what each has bought, coverage of each organisation,
 * quarantined companies, and the time before which the service accepts no request. Planning and resuming read this
 * instead of the warehouse, so that a locked or lost warehouse stops neither.
 */

import { addPause, type Pause } from './pauses.ts'
import { EXIT, JobtideError } from '../support/errors.ts'
import type { PlacedFrame } from './reader.ts'
import { DAY } from '../support/units.ts'
import {
  addAnswer,
  addInterval,
  coveredBy,
  endingAt,
  type CoveredInterval,
  filtersText,
  type ReadByFilters,
  type ReadByQuestion,
  type Sightings,
  RATE_DAYS,
  addSightings,
  lookedDays,
} from './coverage.ts'
import { emptyClockHistory, foldClocks } from './clock-history.ts'
import { takeRecord, closeBatch, earliestOf, restartBatch } from './batch-history.ts'
import {
  addCounts,
  costOf,
  dayOf,
  spendingOf,
  type Counts,
  type DaySpending,
  type HeldRun,
} from './spending.ts'
import {
  addBatches,
  addLookups,
  batchOf,
  foldLookup,
  forgetBatches,
  lostRun,
  newRunHistory,
  type Answered,
  type RunHistory,
} from './run-history.ts'
import {
  isResumable,
  type Filters,
  type LookupRecord,
  type OrganizationLearnt,
  type OrganizationRef,
  type PageReceived,
  type BatchFinished,
  type BatchSplit,
  type BatchRecord,
  type SalvagedOrganization,
  type SplitPayload,
  type SpentBefore,
  type SuppressionChanged,
} from './records.ts'

export type History = ReturnType<typeof emptyHistory>

/**
 * Everything the journal's headers say. Organisations go by their canonical name; see canonicalName. Coverage and
 * sightings are of what was asked without filters.
 */
export function emptyHistory() {
  return {
    runs: new Map<string, RunHistory>(),
    coverage: new Map<string, CoveredInterval[]>(),
    seen: new Map<string, Sightings>(),
    /** The same for questions with filters, by their text. */
    filtered: new Map<string, ReadByFilters>(),
    /** Batches recorded as finished whose pages are missing, by `${run_id} ${batch_id}`: they cover nothing. */
    notRead: new Set<string>(),
    quarantined: new Map<string, { readonly at: number; readonly reason: string }>(),
    /** Ids learnt from events, by the requested URL or slug. */
    ids: new Map<string, string>(),
    /** When each was learnt, milliseconds since 1970 UTC. */
    learntAt: new Map<string, number>(),
    /** When batches with an organisation were read to their end, first and last, milliseconds since 1970 UTC. */
    asked: new Map<string, { readonly first: number; readonly last: number }>(),
    /** By lookup_key. */
    answered: new Map<string, Answered>(),
    /** By `${day} ${pipeline}`, the UTC day a request was sent. */
    spending: new Map<string, DaySpending>(),
    /** The charge of the last page that cost something, and when it came; of several at the same time the highest. */
    lastPrice: { at: 0, credits: 0 },
    /** Times that the service named: the latest of all, and the last one; see pausedUntil. */
    pauses: [] as Pause[],
    ...emptyClockHistory(),
    suppression: null as SuppressionChanged | null,
    /** Whether the records added now are from before an accepted loss: other records of their runs may be lost. */
    hasGaps: false,
  }
}

/**
 * Adds one record. Records of one run come in their order; records of parallel runs may come in any order, with the
 * same result.
 */
export function foldRecord(history: History, frame: PlacedFrame): void {
  const { record } = frame
  const cost = costOf(record)
  if (cost !== null) countFor(history, runOf(history, cost), dayOf(cost.sentAt), cost.counts)
  switch (record.kind) {
    case 'run_started':
      // Only the latest run of a pipeline can be resumed.
      for (const run of history.runs.values()) {
        if (run.finished !== null && run.started.pipeline === record.pipeline) forgetBatches(run)
      }
      history.runs.set(
        record.run_id,
        newRunHistory(record, planned(history, record.at, frame), history.hasGaps),
      )
      addSpentBefore(history, record.spent_before)
      return
    case 'run_resumed': {
      const run = runOf(history, record)
      run.resumed += 1
      run.finished = null
      run.questionSha256 = record.question_sha256 ?? run.questionSha256
      addBatches(run, planned(history, record.at, frame))
      return
    }
    case 'lookups_planned':
      addLookups(runOf(history, record), payloadOf<LookupRecord[]>(frame))
      return
    case 'page_received':
      foldPage(history, record)
      return
    case 'answer_received':
    case 'request_failed':
      foldLookup(history.answered, runOf(history, record), record)
      return
    case 'batch_finished':
      foldFinishedBatch(history, record, frame)
      return
    case 'batch_split':
      foldSplitBatch(history, record, frame)
      return
    case 'organization_quarantined': {
      const name = canonicalName(history.ids, record.organization)
      const { at, reason } = record
      if ((history.quarantined.get(name)?.at ?? 0) <= at)
        history.quarantined.set(name, { at, reason })
      return
    }
    case 'organization_learnt':
      learn(history, record)
      return
    case 'organizations_salvaged':
      addSalvaged(history, payloadOf<SalvagedOrganization[]>(frame))
      return
    case 'paused':
      history.pauses = addPause(history.pauses, record)
      return
    case 'run_finished': {
      const run = runOf(history, record)
      run.finished = record
      // A sample is the beginning of its run, which has one budget.
      if (record.outcome !== 'sampled') run.creditsAtLastStop = run.creditsCommitted
      if (!isResumable(record.outcome)) forgetBatches(run)
      return
    }
    case 'suppression_changed':
      if ((history.suppression?.generation ?? 0) < record.generation) history.suppression = record
      return
    case 'question_filtered':
    case 'request_sent':
    case 'delivery_received':
    case 'snapshot_published':
    case 'seal':
      return
    default:
      record satisfies never
  }
}

function readBy(history: History, filters: Filters | undefined): ReadByQuestion {
  return filters === undefined ? history : readByFilters(history, filters)
}

function readByFilters({ filtered }: History, filters: Filters): ReadByFilters {
  const text = filtersText(filters)
  const known = filtered.get(text) ?? {
    filters,
    coverage: new Map(),
    seen: new Map(),
    planned: new Map(),
  }
  filtered.set(text, known)
  return known
}

/** The batches that a run is to read; records the organisations that it requests with filters. */
function planned(history: History, at: number, frame: PlacedFrame): BatchRecord[] {
  const batches = addedBatches(frame)
  for (const { filters, organizations } of batches) {
    if (filters === undefined) continue
    const { planned: known } = readByFilters(history, filters)
    for (const organization of organizations) {
      const name = canonicalName(history.ids, organization)
      known.set(name, Math.min(known.get(name) ?? at, at))
    }
  }
  return batches
}

function foldFinishedBatch(history: History, record: BatchFinished, frame: PlacedFrame): void {
  const run = runOf(history, record)
  const batch = batchOf(run, record.batch_id)
  // Each of its pages 1 … n must exist: lost pages cover nothing. Pages in a row are enough if no record may be lost.
  const pages = run.isIncomplete ? (batch?.read.length ?? -1) : (batch?.row ?? Infinity)
  const isRead = pages >= record.pages
  // A batch that is finished twice was judged the first time.
  if (!isRead && batch?.state !== 'finished') {
    history.notRead.add(`${record.run_id} ${record.batch_id}`)
  }
  if (batch !== null) closeBatch(batch, 'finished')
  if (!isRead) return
  run.batchesDone += 1
  foldCoverage(history, batch?.batch ?? payloadOf<BatchRecord>(frame), record)
}

function foldSplitBatch(history: History, record: BatchSplit, frame: PlacedFrame): void {
  const run = runOf(history, record)
  const batch = batchOf(run, record.batch_id)
  if (batch === null) return
  closeBatch(batch, 'split')
  run.batchesPlanned -= 1
  addBatches(run, payloadOf<SplitPayload>(frame).instead)
}

// In a journal that 0.11 or 0.12 made of a warehouse.
function addSalvaged(
  { coverage, asked, seen }: History,
  organizations: readonly SalvagedOrganization[],
): void {
  for (const { name, first_asked: first, last_asked: last, covered } of organizations) {
    asked.set(name, { first, last })
    for (const { event_types: eventTypes, from, to } of covered) {
      coverage.set(name, addInterval(coverage.get(name) ?? [], { eventTypes, from, to }))
      // The number of requests for the same days is unknown, so it counts once.
      const days = from === null ? RATE_DAYS : Math.min(RATE_DAYS, Math.ceil((to - from) / DAY))
      const looked = { total: 0, lastAt: 0, events: 0, days, at: last }
      seen.set(name, addSightings(seen.get(name), looked))
    }
  }
}

/** Adds the spending from before the journal began, to budgets but not to a run. */
export function addSpentBefore(
  history: Pick<History, 'spending'>,
  spent: readonly SpentBefore[] = [],
): void {
  for (const { pipeline, day, credits } of spent) {
    spendingOf(history.spending, pipeline, day).charged += credits
  }
}

/** A request counts for the pipeline on the day on which it was sent. */
function countFor(history: History, run: RunHistory, day: string, counts: Counts): void {
  addCounts(spendingOf(history.spending, run.started.pipeline, day), counts)
  addCounts(run, counts)
  run.creditsCommitted = run.charged + run.inDoubt
}

/**
 * Adds the loss of a segment, after its remaining records. Charges count as if it were there. Unfinished batches of its
 * runs count as not started, because pages of them may be lost.
 */
export function foldLoss(history: History, lost: readonly HeldRun[]): void {
  for (const { run_id: runId, started, days } of lost) {
    const known = history.runs.get(runId)
    const run = known ?? (started === undefined ? lostRun(runId) : newRunHistory(started, [], true))
    history.runs.set(runId, run)
    for (const [day, counts] of Object.entries(days)) countFor(history, run, day, counts)
    for (const batch of run.batches.values()) if (batch.state === 'planned') restartBatch(batch)
  }
}

function foldPage(history: History, record: PageReceived): void {
  const run = runOf(history, record)
  const { at, credits_used: credits } = record
  const { lastPrice: last } = history
  const isLater = at > last.at || (at === last.at && credits > last.credits)
  if (credits > 0 && isLater) history.lastPrice = { at, credits }
  const sound = foldClocks(history, record)
  if (sound !== null) voidCoverage(history, sound)
  const batch = batchOf(run, record.batch_id)
  if (batch !== null && record.free_probe !== true) takeRecord(batch, record)
  const { seen } = readBy(history, batch?.batch.filters)
  for (const [id, events, recent] of record.seen) {
    const added = { total: events, lastAt: at, events: recent, days: 0, at }
    seen.set(id, addSightings(seen.get(id), added))
  }
}

// Pages of batches with a void start time count as unread.
function voidCoverage(history: History, sound: (to: number) => number): void {
  const { runs, filtered } = history
  for (const { coverage } of [history, ...filtered.values()]) {
    for (const [name, intervals] of coverage) coverage.set(name, endingAt(intervals, sound))
  }
  for (const batch of [...runs.values()].flatMap(({ batches }) => [...batches.values()])) {
    if (batch.read.some((page) => sound(earliestOf(page)) < earliestOf(page))) restartBatch(batch)
  }
}

/** The name an organisation has in a history: the id learnt for it, else what it was asked by. */
export function canonicalName(ids: ReadonlyMap<string, string>, reference: OrganizationRef) {
  const { by, value } = reference
  return by === 'id' ? value : (ids.get(value) ?? value)
}

// Facts known under a URL also hold for the id.
function learn(history: History, { organization, organization_id: id, at }: OrganizationLearnt) {
  const { ids, learntAt, asked, quarantined, filtered } = history
  const name = organization.value
  ids.set(name, id)
  learntAt.set(name, at)
  if (name === id) return
  for (const { coverage, seen } of [history, ...filtered.values()]) {
    const read = coverage.get(name)
    if (read !== undefined) coverage.set(id, read.reduce(addInterval, coverage.get(id) ?? []))
    const sightings = seen.get(name)
    if (sightings !== undefined) seen.set(id, addSightings(seen.get(id), sightings))
    for (const known of [coverage, seen]) known.delete(name)
  }
  for (const { planned: known } of filtered.values()) {
    const first = known.get(name)
    if (first !== undefined) known.set(id, Math.min(known.get(id) ?? first, first))
    known.delete(name)
  }
  const times = asked.get(name)
  if (times !== undefined) noteAsked(history, id, times)
  for (const known of [asked, quarantined]) known.delete(name)
}

function noteAsked({ asked }: History, name: string, times: { first: number; last: number }): void {
  const { first, last } = asked.get(name) ?? times
  asked.set(name, { first: Math.min(first, times.first), last: Math.max(last, times.last) })
}

function foldCoverage(history: History, batch: BatchRecord, record: BatchFinished): void {
  const { event_types: eventTypes, days_ago: daysAgo } = batch
  const interval = { eventTypes, ...coveredBy(record) }
  const { at, events } = record
  const { coverage, seen } = readBy(history, batch.filters)
  // Most organisations of a batch have the same reads: these are computed once, and stored once in a checkpoint.
  const answers = new Map<CoveredInterval[] | undefined, CoveredInterval[]>()
  for (const organization of batch.organizations) {
    const name = canonicalName(history.ids, organization)
    const known = coverage.get(name)
    const days = lookedDays(known ?? [], interval, daysAgo ?? RATE_DAYS)
    // If wrong clocks void all of it, the organisation counts as never read.
    if ((interval.from ?? 0) < interval.to) {
      const answer = answers.get(known) ?? addAnswer(known ?? [], interval, events > 0)
      answers.set(known, answer)
      coverage.set(name, answer)
    }
    noteAsked(history, name, { first: at, last: at })
    const looked = { total: 0, lastAt: 0, events: 0, days, at }
    seen.set(name, addSightings(seen.get(name), looked))
    if ((history.quarantined.get(name)?.at ?? at) < at) history.quarantined.delete(name)
  }
}

/** The batches that a resumed run requests in addition to its own; without a payload there are none. */
export function addedBatches(frame: PlacedFrame): BatchRecord[] {
  return frame.payload().length === 0 ? [] : payloadOf<BatchRecord[]>(frame)
}

/** The JSON payload of a record; `T` is what records.ts says of that kind. */
export function payloadOf<T>(frame: PlacedFrame): T {
  return JSON.parse(frame.payload().toString('utf8')) as T
}

function runOf(history: History, { run_id: runId }: { readonly run_id: string }): RunHistory {
  const known = history.runs.get(runId)
  if (known !== undefined) return known
  if (!history.hasGaps) {
    throw new JobtideError(
      EXIT.storage,
      `the journal has records of run ${runId} but not its beginning`,
      { hint: 'A journal segment is missing: restore the journal folder from a backup.' },
    )
  }
  const run = lostRun(runId)
  history.runs.set(runId, run)
  return run
}
