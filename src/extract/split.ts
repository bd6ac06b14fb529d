/** How a slice is made smaller: when it has more pages than the service counts, or companies it refuses. Pure. */

import type { OrganizationRef, SliceRecord } from '../journal/records.ts'

/** Two slices with half of the organisations each; the slice must have at least two. */
export function halve(slice: SliceRecord): SliceRecord[] {
  const middle = Math.ceil(slice.organizations.length / 2)
  return [
    partOf(slice, 1, slice.organizations.slice(0, middle)),
    partOf(slice, 2, slice.organizations.slice(middle)),
  ]
}

/** The slice with some of its organisations, under a name of its own: `0012` becomes `0012.<number>`. */
export function partOf(
  { slice_id: id, days_ago, event_types }: SliceRecord,
  number: number,
  organizations: readonly OrganizationRef[],
): SliceRecord {
  // What was expected of the whole slice says nothing of its parts.
  return { slice_id: `${id}.${number}`, organizations, days_ago, event_types }
}
