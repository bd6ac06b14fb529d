/**
 * What a segment holds, by run, counted while it is written: enough to say what is lost with it, to keep its charges in
 * the ledger, and to know which batches were read by pages that are gone. Pure.
 */

import type {
  JournalRecord,
  PageReceived,
  RequestFailed,
  RunStarted,
  Seal,
  SnapshotPublished,
  SuppressionChanged,
} from './records.ts'
import { CREDITS_PER_PAGE, dayOf } from './spending.ts'

/** What a segment holds of one run. */
export interface HeldRun {
  readonly run_id: string
  readonly records: number
  /** The beginning of the run; absent when another segment holds it. */
  readonly started?: RunStarted
  /** Page numbers by batch_id, in the order in which they were received: `1-7,6-9`. */
  readonly pages: Readonly<Record<string, string>>
  readonly days: readonly HeldDay[]
  /** Requests that this segment has no answer to, with the time they were sent. */
  readonly open: readonly (readonly [requestId: string, sentAt: number])[]
  /** Answers to requests that an earlier segment has sent. */
  readonly answered: readonly string[]
}

/** What was asked and charged on one UTC day. */
export interface HeldDay {
  readonly day: string
  readonly requests: number
  /** Pages with events: those that cost. */
  readonly pages: number
  readonly events: number
  readonly charged: number
  /** Counted for requests that failed and were perhaps charged. */
  readonly in_doubt: number
}

const COUNTS = ['requests', 'pages', 'events', 'charged', 'in_doubt'] as const
type Counts = Record<(typeof COUNTS)[number], number>

// Records that say what a run asked, bought or covered.
function isOfRun(
  record: JournalRecord,
): record is Exclude<JournalRecord, Seal | SnapshotPublished | SuppressionChanged> {
  return (
    record.kind !== 'seal' &&
    record.kind !== 'snapshot_published' &&
    record.kind !== 'suppression_changed'
  )
}

/** Counts the records of one segment. */
export class Holdings {
  readonly #runs = new Map<string, CountedRun>()

  /** Adds the next record. */
  add(record: JournalRecord): void {
    if (!isOfRun(record)) return
    const run = this.#runOf(record.run_id)
    run.records += 1
    if (record.kind === 'run_started') run.started = record
    if (record.kind === 'request_sent') {
      run.open.set(record.request_id, record.at)
      run.dayOf(record.at).requests += 1
    }
    if (record.kind === 'page_received') run.addPage(record)
    if (record.kind === 'request_failed') run.addFailure(record)
  }

  /** What was added so far. */
  held(): HeldRun[] {
    return [...this.#runs.values()].map((run) => run.held())
  }

  #runOf(runId: string): CountedRun {
    const run = this.#runs.get(runId) ?? new CountedRun(runId)
    this.#runs.set(runId, run)
    return run
  }
}

class CountedRun {
  records = 0
  started: RunStarted | null = null
  readonly open = new Map<string, number>()
  readonly #runId: string
  readonly #answered: string[] = []
  readonly #pages = new Map<string, number[]>()
  readonly #days = new Map<string, Counts>()

  constructor(runId: string) {
    this.#runId = runId
  }

  dayOf(atMs: number): Counts {
    const day = dayOf(atMs)
    const counts = this.#days.get(day) ?? noCounts()
    this.#days.set(day, counts)
    return counts
  }

  addPage(record: PageReceived): void {
    this.#close(record.request_id)
    const counts = this.dayOf(record.requested_at)
    if (record.events > 0) counts.pages += 1
    counts.events += record.events
    counts.charged += record.credits_used
    if (record.free_probe === true) return
    const pages = this.#pages.get(record.batch_id)
    if (pages === undefined) this.#pages.set(record.batch_id, [record.page])
    else pages.push(record.page)
  }

  addFailure(record: RequestFailed): void {
    this.#close(record.request_id)
    if (record.in_doubt) this.dayOf(record.requested_at).in_doubt += CREDITS_PER_PAGE
  }

  #close(requestId: string): void {
    if (!this.open.delete(requestId)) this.#answered.push(requestId)
  }

  held(): HeldRun {
    return {
      run_id: this.#runId,
      records: this.records,
      ...(this.started === null ? {} : { started: this.started }),
      pages: Object.fromEntries([...this.#pages].map(([batch, pages]) => [batch, ranges(pages)])),
      days: [...this.#days].map(([day, counts]) => ({ day, ...counts })),
      open: [...this.open],
      answered: [...this.#answered],
    }
  }
}

function noCounts(): Counts {
  return { requests: 0, pages: 0, events: 0, charged: 0, in_doubt: 0 }
}

/** What of `whole` is lost when only its first records are left, which hold `kept`. */
export function withoutKept(whole: readonly HeldRun[], kept: readonly HeldRun[]): HeldRun[] {
  return whole.flatMap((run) => {
    const rest = kept.find(({ run_id: id }) => id === run.run_id)
    if (rest === undefined) return [run]
    return run.records > rest.records ? [withoutKeptOf(run, rest)] : []
  })
}

function withoutKeptOf(run: HeldRun, kept: HeldRun): HeldRun {
  const { started, pages, days, open, answered, ...names } = run
  const openIds = new Set(open.map(([id]) => id))
  const keptOpen = new Set(kept.open.map(([id]) => id))
  const keptAnswered = new Set(kept.answered)
  return {
    ...names,
    records: run.records - kept.records,
    ...(started === undefined || kept.started !== undefined ? {} : { started }),
    pages: Object.fromEntries(
      Object.entries(pages).flatMap(([batch, text]) => {
        const lost = numbers(text).slice(numbers(kept.pages[batch] ?? '').length)
        return lost.length === 0 ? [] : [[batch, ranges(lost)]]
      }),
    ),
    days: days.map((day) => ({
      ...day,
      ...less(
        day,
        kept.days.find((one) => one.day === day.day),
      ),
    })),
    open: open.filter(([id]) => !keptOpen.has(id)),
    // What was asked for before the cut and answered after it was answered, and is counted with what is lost.
    answered: [
      ...answered.filter((id) => !keptAnswered.has(id)),
      ...[...keptOpen].filter((id) => !openIds.has(id)),
    ],
  }
}

function less(day: Counts, kept: Counts | undefined): Counts {
  const left = noCounts()
  for (const name of COUNTS) left[name] = day[name] - (kept?.[name] ?? 0)
  return left
}

/** Sums over runs and days. */
export function totalsOf(runs: readonly HeldRun[]): Counts {
  const sums = noCounts()
  for (const day of runs.flatMap(({ days }) => days)) {
    for (const name of COUNTS) sums[name] += day[name]
  }
  return sums
}

const BATCHES_SHOWN = 6
const RUNS_SHOWN = 3

/** What is lost, for people: `11 pages with 534 events for 110 credits: run 01J…: batch s1 pages 1-8, …`. */
export function lossText(runs: readonly HeldRun[]): string {
  if (runs.length === 0) return 'nothing that a run has bought'
  const { pages, events, charged, in_doubt: inDoubt } = totalsOf(runs)
  const doubt = inDoubt === 0 ? '' : ` and ${inDoubt} in doubt`
  const parts = runs.slice(0, RUNS_SHOWN).map(runText)
  return `${count(pages, 'page')} with ${count(events, 'event')} for ${count(charged, 'credit')}${doubt} (${atMost(parts, runs.length, 'runs', '; ')})`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function runText({ run_id: runId, pages }: HeldRun): string {
  const batches = Object.entries(pages)
  if (batches.length === 0) return `run ${runId}: no page`
  const shown = batches.slice(0, BATCHES_SHOWN).map(([batch, text]) => {
    const sorted = [...new Set(numbers(text))].toSorted((a, b) => a - b)
    return `batch ${batch} pages ${ranges(sorted)}`
  })
  return `run ${runId}: ${atMost(shown, batches.length, 'batches', ', ')}`
}

function atMost(shown: readonly string[], all: number, what: string, separator: string): string {
  const more = all > shown.length ? [`${all - shown.length} more ${what}`] : []
  return [...shown, ...more].join(separator)
}

function ranges(pages: readonly number[]): string {
  const parts: [first: number, last: number][] = []
  for (const page of pages) {
    const last = parts.at(-1)
    if (last !== undefined && page === last[1] + 1) last[1] = page
    else parts.push([page, page])
  }
  return parts.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}

function numbers(text: string): number[] {
  return text.split(',').flatMap((part) => {
    if (part === '') return []
    const [first = 0, last = first] = part.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}
