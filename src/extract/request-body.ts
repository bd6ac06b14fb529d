/** The question to the service that asks for one page of a batch. Pure. */

import type { OrganizationRef, BatchRecord } from '../journal/records.ts'
import { PAGE_EVENTS } from '../journal/batch-history.ts'

/** The service counts pages to here; a batch with more was too wide. */
export const LAST_PAGE = 10_000

/** The JSON body that asks for one page of a batch. */
export function requestBody(batch: BatchRecord, page: number): Record<string, unknown> {
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
    limit: PAGE_EVENTS,
  }
}
