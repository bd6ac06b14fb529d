/** How a batch is made smaller: when it has more pages than the service counts, or companies it refuses. Pure. */

import type { OrganizationRef, BatchRecord } from '../journal/records.ts'

/** Two batches with half of the organisations each; the batch must have at least two. */
export function halve(batch: BatchRecord): BatchRecord[] {
  const middle = Math.ceil(batch.organizations.length / 2)
  return [
    partOf(batch, 1, batch.organizations.slice(0, middle)),
    partOf(batch, 2, batch.organizations.slice(middle)),
  ]
}

/** The batch with some of its organisations, under a name of its own: `0012` becomes `0012.<number>`. */
export function partOf(
  batch: BatchRecord,
  number: number,
  organizations: readonly OrganizationRef[],
): BatchRecord {
  const { batch_id: id, days_ago, event_types, expected_pages: pages } = batch
  const share = organizations.length / batch.organizations.length
  return {
    batch_id: `${id}.${number}`,
    organizations,
    days_ago,
    event_types,
    ...(pages === undefined ? {} : { expected_pages: pages * share }),
  }
}
