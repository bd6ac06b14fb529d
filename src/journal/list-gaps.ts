/**
 * Where a list that is paged by number may have items that are on none of the pages read: those that stood at the beginning of the
 * next page when items before them went are on a page that was read already. The list's own count of its items shows it. Pure.
 */

import type { AnswerReceived } from './records.ts'

/** A list at its last answer. Plain data, kept in checkpoints. Positions are from 1. */
export interface ListState {
  /** Items of a whole page. */
  readonly pageSize: number
  readonly total: number
  /** The last position of the last page that was read. */
  readonly read: number
  /** From position to position, both included. */
  readonly gaps: readonly (readonly [from: number, to: number])[]
}

/**
 * The list after an answer. Items that went may have stood anywhere, and so may those that came: a gap grows by as many.
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
