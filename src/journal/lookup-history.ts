/** The progress of the lookups of runs of `kind: collect`. Plain data, kept in checkpoints. */

import { sha256Hex } from '../support/hash.ts'
import { stableJson } from '../support/json.ts'
import type { AnswerReceived, LookupRecord, RequestFailed } from './records.ts'

/** A lookup of a run that can be resumed. */
export interface LookupHistory {
  readonly lookup: LookupRecord
  /** Pages 1 … n were read. */
  pages: number
  /** The number of answers with them: a page requested again counts again. */
  answers: number
  /** Items in them. */
  items: number
  /** Requests the next page; null before the first page, and after the last. */
  next: string | number | null
  /** For a list with a known number of items, where `next` is a page number. */
  list: ListState | null
  /** SHA-256 of the last answer: it detects a service that sends one page forever. */
  lastSha256: string | null
  /** Whether there is nothing more to ask for in this run. */
  isDone: boolean
  /** Why the service refuses it, as sent; absent if it does not. */
  refusal?: string
}

/** The service's last answer to a lookup, in any run. */
export interface Answered {
  /** When, milliseconds since 1970 UTC. */
  readonly at: number
  readonly outcome: 'found' | 'absent' | 'refused'
}

const KEY_LENGTH = 32

/** Names a request: the same request to the same endpoint always has the same key. */
export function lookupKey(endpoint: string, request: LookupRecord['request']): string {
  return sha256Hex(stableJson([endpoint, request])).slice(0, KEY_LENGTH)
}

export function newLookupHistory(lookup: LookupRecord): LookupHistory {
  const nothing = { pages: 0, answers: 0, items: 0, next: null, list: null, lastSha256: null }
  return { lookup, ...nothing, isDone: false }
}

/** The next page to request: the one after the read pages, or one of them again. */
export function pageToAsk({ pages, next, list }: LookupHistory): number {
  return list === null ? pages + 1 : Number(next)
}

/** Whether its first pages were paid for, and more are to be requested. */
export function isLookupBegun({ pages, isDone }: LookupHistory): boolean {
  return pages > 0 && !isDone
}

/** Records an answer, unless it follows a page that the journal lacks. */
export function takeAnswer(history: LookupHistory, record: AnswerReceived): void {
  if (record.outcome === 'later' || record.page !== pageToAsk(history)) return
  history.pages = Math.max(history.pages, record.page)
  history.answers += 1
  history.items += record.items
  history.next = record.next
  history.list = listAfter(history.list, record)
  history.lastSha256 = record.body_sha256
  history.isDone = record.next === null
  if (record.reason !== undefined) history.refusal = record.reason
}

/**
 * Records the outcome of a request.
 * @param answered by lookup_key
 * @param run of a page of job changes, and where the journal lacks the plan, it has no such lookup
 */
export function foldLookup(
  answered: Map<string, Answered>,
  run: { readonly lookups: ReadonlyMap<string, LookupHistory>; batchesDone: number },
  record: AnswerReceived | RequestFailed,
): void {
  const lookup = run.lookups.get(record.batch_id)
  if (lookup === undefined || lookup.isDone) return
  if (record.kind === 'answer_received') takeAnswer(lookup, record)
  else if (record.status === 400) {
    // The service would refuse an unacceptable request again.
    lookup.isDone = true
    lookup.refusal = record.error
  }
  if (!lookup.isDone) return
  run.batchesDone += 1
  const { lookup_key: key } = lookup.lookup
  const outcome = record.kind === 'request_failed' ? 'refused' : record.outcome
  // Free answers are requested again: the data may exist by then.
  const isFree = outcome === 'absent' && 'credits_used' in record && record.credits_used === 0
  const isNewest = (answered.get(key)?.at ?? 0) <= record.at
  if (isNewest && !isFree && outcome !== 'later') answered.set(key, { at: record.at, outcome })
}

/**
 * The state of a list with page numbers at its last answer. If items before the next page are removed, items from the
 * next page move to a page that was already read: the list's own count shows that. Plain data, kept in checkpoints.
 * Positions are from 1.
 */
export interface ListState {
  /** Items of a full page. */
  readonly pageSize: number
  readonly total: number
  /** The last position of the last page that was read. */
  readonly read: number
  /** From one position to another, both included. */
  readonly gaps: readonly (readonly [from: number, to: number])[]
}

/**
 * The list after an answer. Removed items may have been anywhere, and so may new ones: a gap grows by as many.
 * @param before null before the first answer
 */
export function listAfter(
  before: ListState | null,
  { page, items, total }: Pick<AnswerReceived, 'page' | 'items' | 'total'>,
): ListState | null {
  if (total === undefined) return before
  const { pageSize, read, gaps, ...last } = before ?? {
    pageSize: Math.max(1, items),
    total,
    read: 0,
    gaps: [],
  }
  const came = Math.max(0, total - last.total)
  const gone = Math.max(0, last.total - total)
  const end = page * pageSize
  const begin = end - pageSize + 1
  const unread = gone > 0 ? [...gaps, [read + 1, read] as const] : gaps
  return {
    pageSize,
    total,
    read: Math.max(read, end),
    gaps: unread
      .map(([from, to]) => [Math.max(1, from - gone), Math.min(total, to + came)] as const)
      .flatMap(([from, to]) => [
        [from, Math.min(to, begin - 1)] as const,
        [Math.max(from, end + 1), to] as const,
      ])
      .filter(([from, to]) => from <= to),
  }
}

/** The first page with a gap; null where there is none. */
export function pageWithGap(list: ListState | null): number | null {
  if (list === null || list.gaps.length === 0) return null
  return Math.ceil(Math.min(...list.gaps.map(([from]) => from)) / list.pageSize)
}
