/** The progress of the lookups of runs of `kind: collect`. Plain data, kept in checkpoints. */

import { sha256Hex } from '../support/hash.ts'
import { stableJson } from '../support/json.ts'
import type { AnswerReceived, LookupRecord, RequestFailed } from './records.ts'

export interface LookupHistory {
  readonly lookup: LookupRecord
  /** Pages 1 … n were read. */
  pages: number
  items: number
  /** Requests the next page; null before the first page, and after the last. */
  next: string | number | null
  /** How many items the list had at the last answer; null if it does not say. */
  total: number | null
  /** Whether it became shorter meanwhile: others may have moved to a page that was already read. */
  isShrunk: boolean
  /** SHA-256 of the last answer: it detects a service that sends one page forever. */
  lastSha256: string | null
  /** Whether there is nothing more to ask for in this run. */
  isDone: boolean
  /** Why the service refuses it, as sent; absent if it does not. */
  refusal?: string
}

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
  const nothing = { pages: 0, items: 0, next: null, total: null, lastSha256: null }
  return { lookup, ...nothing, isShrunk: false, isDone: false }
}

/** Whether its first pages were paid for, and more are to be requested. */
export function isLookupBegun({ pages, isDone }: LookupHistory): boolean {
  return pages > 0 && !isDone
}

/** Records an answer, unless it follows a page that the journal lacks. */
export function takeAnswer(history: LookupHistory, record: AnswerReceived): void {
  const { page, total = history.total } = record
  if (record.outcome === 'later' || page > history.pages + 1) return
  // Versions up to 0.20 requested some pages again.
  history.pages = Math.max(history.pages, page)
  history.items += record.items
  history.next = record.next
  history.isShrunk ||= total !== null && total < (history.total ?? 0)
  history.total = total
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
