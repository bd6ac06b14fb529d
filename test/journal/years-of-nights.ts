/** Years of nights as they stand in a journal: every organisation read every night, some with events. */

import type { JournalWriter } from '../../src/journal/journal.ts'
import type { SeenOrganization, BatchRecord } from '../../src/journal/records.ts'
import { DAY } from '../../src/support/units.ts'
import { aBatch, aFinish, aPage, aRequest, aStart } from './journal-fixture.ts'

const BATCH_ORGANIZATIONS = 50
const FIRST_NIGHT = Date.UTC(2023, 10, 20, 2, 15)

export const organizationId = (number: number) => `org_${String(number).padStart(16, '0')}`

function batchesOf(organizations: number, daysAgo: number): BatchRecord[] {
  return Array.from({ length: Math.ceil(organizations / BATCH_ORGANIZATIONS) }, (_, index) => {
    const first = index * BATCH_ORGANIZATIONS
    const size = Math.min(BATCH_ORGANIZATIONS, organizations - first)
    return aBatch({
      batch_id: String(index + 1).padStart(4, '0'),
      days_ago: daysAgo,
      organizations: Array.from({ length: size }, (_unused, i) => ({
        by: 'id',
        value: organizationId(first + i),
      })),
    })
  })
}

/** Writes one night (from 0): one page for each batch, in which every tenth organisation has an event. */
export function writeNight(writer: JournalWriter, night: number, organizations: number): void {
  const at = FIRST_NIGHT + night * DAY
  const run_id = `01JD${String(night).padStart(22, '0')}`
  const daysAgo = night === 0 ? 365 : 2
  const batches = batchesOf(organizations, daysAgo)
  writer.write(
    aStart({ run_id, at, organizations, batches: batches.length }),
    JSON.stringify(batches),
  )
  for (const batch of batches) {
    const names = { run_id, batch_id: batch.batch_id }
    const request = { ...names, request_id: `${night}.${batch.batch_id}` }
    const seen = batch.organizations
      .filter((_, i) => i % 10 === 0)
      .map(({ value }): SeenOrganization => [value, 1, 1])
    const events = seen.length
    const page = { ...request, requested_at: at, at, server_at: at, has_more: false, events, seen }
    writer.write(aRequest(1, { ...request, at }))
    writer.write(aPage(1, { ...page, body_sha256: '0'.repeat(64) }))
    const covered = { covered_from: at - daysAgo * DAY, covered_to: at }
    writer.write(aFinish({ ...names, at, pages: 1, events, ...covered }), JSON.stringify(batch))
  }
  writer.write({ kind: 'run_finished', run_id, at, outcome: 'done', exit_code: 0, message: null })
}

/** The time just after the last of so many nights. */
export const afterNights = (nights: number) => FIRST_NIGHT + (nights - 1) * DAY + DAY
