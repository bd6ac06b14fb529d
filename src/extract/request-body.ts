/** The question to the service that asks for one page of a slice. Pure. */

import type { OrganizationRef, SliceRecord } from '../journal/records.ts'
import { PAGE_EVENTS } from '../journal/slice-history.ts'

/** The JSON body that asks for one page of a slice. */
export function requestBody(slice: SliceRecord, page: number): Record<string, unknown> {
  const named = (by: OrganizationRef['by']) =>
    slice.organizations.filter((reference) => reference.by === by).map(({ value }) => value)
  const ids = named('id')
  const urls = named('url')
  const [onlyType] = slice.event_types
  return {
    ...(ids.length === 0 ? {} : { organization_ids: ids }),
    ...(urls.length === 0 ? {} : { company_urls: urls }),
    ...(slice.event_types.length === 1 ? { event_type: onlyType } : {}),
    ...(slice.days_ago === null ? {} : { days_ago: slice.days_ago }),
    page,
    limit: PAGE_EVENTS,
  }
}
