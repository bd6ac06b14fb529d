/** The question to the service that asks for one page of a batch. Pure. */

import type { OrganizationRef, BatchRecord } from '../journal/records.ts'
import { PAGE_EVENTS } from '../journal/batch-history.ts'

/** The service counts pages to here; a batch with more was too wide. */
export const LAST_PAGE = 10_000

/** A page of other than the usual size. */
export interface SizedPage {
  readonly page: number
  /** Events in a page. */
  readonly limit: number
}

/**
 * The page that begins right after so many events, which is empty, and free, when there are not more.
 * @returns null when the service does not count pages of any size that far
 */
export function pageAfter(events: number): SizedPage | null {
  for (let limit = PAGE_EVENTS; limit > 0; limit -= 1) {
    const page = events / limit + 1
    if (Number.isInteger(page) && page <= LAST_PAGE) return { page, limit }
  }
  return null
}

/** The JSON body that asks for one page of a batch. */
export function requestBody(
  batch: BatchRecord,
  { page, limit }: SizedPage,
): Record<string, unknown> {
  const named = (by: OrganizationRef['by']) =>
    batch.organizations.filter((reference) => reference.by === by).map(({ value }) => value)
  const ids = named('id')
  const urls = named('url')
  const [onlyType] = batch.event_types
  return {
    ...(ids.length === 0 ? {} : { organization_ids: ids }),
    ...(urls.length === 0 ? {} : { company_urls: urls }),
    ...(batch.event_types.length === 1 ? { event_type: onlyType } : {}),
    ...(batch.days_ago === null ? {} : { days_ago: batch.days_ago }),
    page,
    limit,
  }
}
