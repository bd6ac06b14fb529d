/**
 * Sums up the cost and result of requests, by record, day, pipeline and segment, and expects the price of a page. Pure.
 */

import { isoInstant } from '../support/clock.ts'
import { countText } from '../support/numbers.ts'
import type {
  AnswerReceived,
  JournalRecord,
  PageReceived,
  RequestFailed,
  RunStarted,
} from './records.ts'

/** The price of a page with events, also used for a request in doubt. */
export const CREDITS_PER_PAGE = 10

export function expectedCredits(events: number): number {
  return events === 0 ? 0 : CREDITS_PER_PAGE
}

// The price list has 10 and 0. A higher price is believed up to ten times as much; anything above is not a price. A
// lower one is not believed: a service that says 0 would never reach a budget.
const MOST_TIMES = 10
const MOST_CREDITS_PER_PAGE = MOST_TIMES * CREDITS_PER_PAGE
const LONGEST_SENT = 40

export interface PageCharge {
  /** A whole number, 0 to 100. */
  readonly credits: number
  /** The charge as sent, as text, where it is not believed, so that the page is counted as expected; else null. */
  readonly sent: string | null
}

/**
 * The credits that a page counts as: the service's figure, where it can be a price and is not below the list, otherwise
 * the expected one. So one odd number cannot enter sums and budgets, and the ledger is never below the bill.
 * @param sent `credit_used` of the page, any JSON value
 */
export function chargeOfPage(sent: unknown, events: number): PageCharge {
  const expected = expectedCredits(events)
  return chargeOf(sent, { least: expected, most: expected, believed: MOST_CREDITS_PER_PAGE })
}

/** The possible price of an answer by the price list, in credits. */
export interface Price {
  readonly least: number
  readonly most: number
  /** The highest price to believe; default: ten times the most expensive. */
  readonly believed?: number
}

/** Like {@link chargeOfPage}, for an answer with its own price. */
export function chargeOf(sent: unknown, { least, most, believed }: Price): PageCharge {
  const limit = believed ?? MOST_TIMES * most
  const isBelieved = Number.isInteger(sent) && Number(sent) >= least && Number(sent) <= limit
  // Adding 0 makes 0 of -0.
  if (isBelieved) return { credits: Number(sent) + 0, sent: null }
  const text = typeof sent === 'number' ? String(sent) : (JSON.stringify(sent) ?? 'nothing')
  return { credits: most, sent: text.slice(0, LONGEST_SENT) }
}

/**
 * The credits that an answer without a result counts as. The price list says 0, so no charge is missed where none is
 * named. One above 0 counts, and as the price where it cannot be a charge.
 * @param sent `credit_used` of the answer, any JSON value
 * @param price the most that the request may cost
 */
export function chargeOfNothing(sent: unknown, price: number): PageCharge {
  if (sent === undefined || sent === null) return { credits: 0, sent: null }
  return chargeOf(
    sent,
    Number(sent) > 0 ? { least: 1, most: Math.max(1, price) } : { least: 0, most: 0 },
  )
}

export type Counts = ReturnType<typeof noCounts>

/** The cost and result of requests. Sums over records, so that any part of them can be subtracted again. */
export function noCounts() {
  return {
    requests: 0,
    /** Requests without a known answer or failure: in flight, or their process was killed. */
    unanswered: 0,
    /** Pages with events: those that cost. */
    pages: 0,
    events: 0,
    /** Charged by the service; see chargeOfPage. */
    charged: 0,
    /** The price, or the charge named, of each request that is unanswered, or failed and was perhaps charged. */
    inDoubt: 0,
    /** Pages whose charge was not the expected 10, or 0 for an empty one. */
    unexpected: 0,
  }
}

/** Adds `added` to `sum`; with `times` -1 it is subtracted. */
export function addCounts(sum: Counts, added: Readonly<Counts>, times: 1 | -1 = 1): void {
  for (const name of Object.keys(noCounts()) as (keyof Counts)[]) sum[name] += times * added[name]
}

export interface Cost {
  readonly run_id: string
  /** When the request was sent: everything about it counts on that day. */
  readonly sentAt: number
  readonly counts: Counts
}

/** The contribution of a record to the ledger; null for a record that is not about a request. */
export function costOf(record: JournalRecord): Cost | null {
  if (record.kind === 'request_sent') {
    const { run_id, at: sentAt, price = CREDITS_PER_PAGE } = record
    return { run_id, sentAt, counts: { ...noCounts(), requests: 1, unanswered: 1, inDoubt: price } }
  }
  if (!isAnswered(record)) return null
  const { run_id, requested_at: sentAt } = record
  const price = ('price' in record ? record.price : undefined) ?? CREDITS_PER_PAGE
  const counts = { ...noCounts(), unanswered: -1, inDoubt: -price }
  if (record.kind === 'request_failed') {
    const inDoubt = creditsInDoubt(record) - price
    return { run_id, sentAt, counts: { ...counts, inDoubt } }
  }
  const { credits_used: charged } = record
  const isPage = record.kind === 'page_received'
  const events = isPage ? record.events : record.items
  const pages = (isPage ? events : charged) > 0 ? 1 : 0
  const unexpected = isUnexpectedCharge(record) ? 1 : 0
  return { run_id, sentAt, counts: { ...counts, pages, events, charged, unexpected } }
}

/** The credits that a failed request counts as. */
export function creditsInDoubt({
  in_doubt: isInDoubt,
  price,
  credits_named,
}: RequestFailed): number {
  return isInDoubt ? (credits_named ?? price ?? CREDITS_PER_PAGE) : 0
}

/** Whether the price list does not name the charge for such an answer. */
export function isUnexpectedCharge(record: PageReceived | AnswerReceived): boolean {
  if (record.kind === 'answer_received') return record.is_unexpected === true
  const { events, credits_used: charged, credits_sent: sent } = record
  return charged !== expectedCredits(events) || sent !== undefined
}

/** Whether a record has the outcome of a request. */
export function isAnswered(
  record: JournalRecord,
): record is PageReceived | AnswerReceived | RequestFailed {
  const { kind } = record
  return kind === 'page_received' || kind === 'answer_received' || kind === 'request_failed'
}

export interface DaySpending extends Counts {
  readonly day: string
  readonly pipeline: string
}

/** The UTC day, `2026-11-20`. */
export function dayOf(epochMs: number): string {
  return isoInstant(epochMs).slice(0, 10)
}

/** The calendar month in UTC, `2026-11`. */
export function monthOf(epochMs: number): string {
  return isoInstant(epochMs).slice(0, 7)
}

/** When the calendar month after that of `epochMs` begins, milliseconds since 1970 UTC: a monthly limit is fresh then. */
export function nextMonthAt(epochMs: number): number {
  const date = new Date(epochMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

/** The entry of a pipeline and a UTC day, created if missing. */
export function spendingOf(all: Map<string, DaySpending>, pipeline: string, day: string) {
  const key = `${day} ${pipeline}`
  const spending = all.get(key) ?? { day, pipeline, ...noCounts() }
  all.set(key, spending)
  return spending
}

/** Credits charged or in doubt for a pipeline (null: for all) in each calendar month (UTC): `2026-11` → 4,210. */
export function monthlyCredits(all: ReadonlyMap<string, DaySpending>, pipeline: string | null) {
  const months = new Map<string, number>()
  for (const spending of all.values()) {
    if (pipeline !== null && spending.pipeline !== pipeline) continue
    const month = spending.day.slice(0, 7)
    months.set(month, (months.get(month) ?? 0) + spending.charged + spending.inDoubt)
  }
  return months
}

/** What a run wrote into a segment: enough to report a loss of it, and to keep its charges. */
export interface HeldRun {
  readonly run_id: string
  records: number
  started?: RunStarted
  /** Requests and charges, by UTC day. */
  readonly days: Record<string, Counts>
}

/** Adds a record to the content of its segment. */
export function noteHeld(held: HeldRun[], record: JournalRecord): void {
  // Other records belong to no run, or do not concern what it asked, bought or covered.
  if (!('run_id' in record) || record.run_id === null || record.kind === 'snapshot_published') {
    return
  }
  const { run_id: runId } = record
  let run = held.find(({ run_id: id }) => id === runId)
  if (run === undefined) held.push((run = { run_id: runId, records: 0, days: {} }))
  run.records += 1
  if (record.kind === 'run_started') run.started = record
  const cost = costOf(record)
  if (cost !== null) addCounts((run.days[dayOf(cost.sentAt)] ??= noCounts()), cost.counts)
}

/** The part of `whole` that is lost if only its first records, with `kept`, remain. */
export function withoutKept(whole: readonly HeldRun[], kept: readonly HeldRun[]): HeldRun[] {
  return whole.flatMap((run) => {
    const rest = kept.find(({ run_id: id }) => id === run.run_id)
    if (rest === undefined) return run
    if (run.records === rest.records) return []
    const { started, ...lost } = structuredClone(run)
    lost.records -= rest.records
    for (const [day, counts] of Object.entries(rest.days)) {
      addCounts((lost.days[day] ??= noCounts()), counts, -1)
    }
    return started === undefined || rest.started !== undefined ? lost : { ...lost, started }
  })
}

const RUNS_SHOWN = 3

/** The loss, for people: `11 pages with 534 events for 110 credits (run 01J…, 2 more runs)`. */
export function lossText(runs: readonly HeldRun[]): string {
  if (runs.length === 0) return 'nothing that a run has bought'
  const sum = noCounts()
  for (const { days } of runs) for (const counts of Object.values(days)) addCounts(sum, counts)
  const { pages, events, charged, inDoubt } = sum
  const doubt = inDoubt <= 0 ? '' : ` and ${inDoubt} in doubt`
  const more = runs.length > RUNS_SHOWN ? [`${runs.length - RUNS_SHOWN} more runs`] : []
  const ids = [...runs.slice(0, RUNS_SHOWN).map(({ run_id: runId }) => `run ${runId}`), ...more]
  return `${countText(pages, 'page')} with ${countText(events, 'event')} for ${countText(charged, 'credit')}${doubt} (${ids.join(', ')})`
}
