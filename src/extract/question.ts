/** Builds the request for a page of a batch, and makes batches smaller. Pure. */

import { PAGE_EVENTS } from '../journal/batch-history.ts'
import type { BatchRecord, OrganizationRef } from '../journal/records.ts'

/** The service counts pages up to this number; a batch with more was too wide. */
export const LAST_PAGE = 10_000

export function requestBody(batch: BatchRecord, page: number): Record<string, unknown> {
  const named = (by: OrganizationRef['by']) => {
    const values = batch.organizations.flatMap((one) => (one.by === by ? one.value : []))
    return values.length === 0 ? undefined : values
  }
  const [onlyType, another] = batch.event_types
  return {
    organization_ids: named('id'),
    company_urls: named('url'),
    event_type: another === undefined ? onlyType : undefined,
    ...batch.filters,
    days_ago: batch.days_ago ?? undefined,
    page,
    limit: PAGE_EVENTS,
  }
}

/** Two batches with half of the organisations each; the batch must have at least two. */
export function halve(batch: BatchRecord): BatchRecord[] {
  const { organizations } = batch
  const middle = Math.ceil(organizations.length / 2)
  return [
    partOf(batch, 1, organizations.slice(0, middle)),
    partOf(batch, 2, organizations.slice(middle)),
  ]
}

/** The batch with some of its organisations, under a new name: `0012` becomes `0012.<number>`. */
export function partOf(
  batch: BatchRecord,
  number: number,
  organizations: readonly OrganizationRef[],
): BatchRecord {
  const { batch_id: id, expected_pages: pages } = batch
  const share = organizations.length / batch.organizations.length
  return {
    ...batch,
    batch_id: `${id}.${number}`,
    organizations,
    ...(pages === undefined ? {} : { expected_pages: pages * share }),
  }
}
