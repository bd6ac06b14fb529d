/**
 * A page arrives, live or when the journal is read again: both go through takePage, so that a run which is taken up again
 * stands exactly where it stopped. Pages come in order, but for those that a quote bought before. Whether nothing slipped
 * through between two of them, although the list moved, is the business of page-seams.ts. Pure.
 */

import { DAY } from '../support/units.ts'
import { goBack, joinPage, leaveBehind } from './page-seams.ts'
import type { PageReceived } from './records.ts'
import { canGoOn, startAnew, type BatchHistory, type TakenPage } from './batch-history.ts'

/** Notes that a request is on its way. */
export function takeRequest(history: BatchHistory, requestId: string): void {
  history.order += 1
  history.asked.set(requestId, history.order)
}

/** Takes a page from the journal. */
export function takeRecord(history: BatchHistory, record: PageReceived): void {
  const asked = history.asked.get(record.request_id) ?? history.order
  history.asked.delete(record.request_id)
  const isWhole = record.page === 1 && !record.has_more
  takePage(history, {
    page: record.page,
    events: record.events,
    hasMore: record.has_more,
    serverAt: record.server_at,
    ...(record.clocks === undefined ? {} : { clocks: record.clocks }),
    leaving: record.leaving,
    // Nothing is behind a page that is the only one, so nothing moves when its events leave.
    leavingUntil: isWhole ? Infinity : (record.leaving_until ?? record.server_at + DAY),
    keys: record.keys ?? null,
    asked,
    received: history.order + 1,
  })
  if (history.state === 'planned') history.recorded.add(record.page)
}

/** Takes a page that was received, and goes back where the list has moved. */
export function takePage(history: BatchHistory, taken: TakenPage): void {
  history.order = Math.max(history.order, taken.received)
  if (history.state !== 'planned') return
  if (!canGoOn(history, taken.serverAt)) startAnew(history)
  if (taken.page === 1) history.firstPageAt ??= taken.serverAt
  const isPastTheEnd = !history.hasMore && taken.events === 0 && taken.page > history.pages
  if (taken.page > history.pages + 1 || isPastTheEnd) {
    keepAhead(history, taken)
    return
  }
  if (taken.page <= history.pages) {
    leaveBehind(history, taken.page, taken.serverAt)
    goBack(history, taken.page, taken.asked)
  }
  for (let next: TakenPage | undefined = taken; next !== undefined;) {
    history.ahead.delete(next.page)
    joinPage(history, next)
    next = history.hasMore ? history.ahead.get(history.pages + 1) : undefined
  }
}

function keepAhead(history: BatchHistory, taken: TakenPage): void {
  const { emptyFrom } = history
  if (taken.events === 0) {
    history.emptyFrom = Math.min(taken.page, emptyFrom ?? taken.page)
    return
  }
  history.ahead.set(taken.page, taken)
  if (emptyFrom !== null && emptyFrom <= taken.page) history.emptyFrom = null
}
