/** Merges a chunk of the journal into the warehouse, in one transaction. */

import { MIB } from '../support/units.ts'
import { CHANGES_WITH_EVERY_RUN, loadedTable } from '../warehouse/catalog.ts'
import { areChangesNoted, noteChange } from '../warehouse/changed-tables.ts'
import { appendRows } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { AnswerRow, Chunk } from './chunk.ts'
import { loadSql } from './rows.ts'

/** The counts of a load. */
export interface LoadReport {
  pages: number
  /** Rows of table answers: answers of other endpoints, and what deliveries brought. */
  answers: number
  /** Events received, including repeats. */
  sightings: number
  inserted: number
  /** Known events that a newer sighting changed. */
  updated: number
  /** Events that did not fit and became rejects. */
  rejected: number
  /** Suppressed events, of erased people or from before a day. */
  suppressed: number
  newUnknownFields: string[]
}

const ANSWERS_AT_ONCE = MIB

/**
 * Merges a chunk: its events, in `staged_sightings`, and the facts of its other records.
 * @param ends by segment of the journal, how far it is loaded with the chunk; stored in the same transaction
 * @param report gets the counts of the chunk
 */
export async function mergeChunk(
  warehouse: Warehouse,
  chunk: Chunk,
  ends: ReadonlyMap<string, number>,
  report: LoadReport,
): Promise<void> {
  const { rejects, suppressed } = chunk.notes
  await warehouse.transaction(async () => {
    await mergeAll(warehouse, chunk, report)
    const segments = [...ends.keys()]
    const bytes = [...ends.values()].map(BigInt)
    await warehouse.run('delete from ops.journal_positions where segment in (select unnest($1))', [
      segments,
    ])
    await warehouse.append('ops.journal_positions', { segment: segments, bytes })
    if (suppressed > 0) {
      await warehouse.run(
        `insert into ops.segments_to_erase
         select segment from (select unnest($1) as segment) anti join ops.segments_to_erase using (segment)`,
        [segments],
      )
    }
    await warehouse.run(loadSql('unstage'))
  })
  report.pages += chunk.received
  report.answers += chunk.answers.length
  report.rejected += rejects.length
  report.suppressed += suppressed
}

async function mergeAll(warehouse: Warehouse, chunk: Chunk, report: LoadReport): Promise<void> {
  const { batches, pages, snapshots, answers, notes } = chunk
  await appendRows(warehouse, 'staged_batches', [...batches.values()])
  await appendRows(warehouse, 'staged_pages', [...pages.values()])
  await appendRows(warehouse, 'staged_snapshots', [...snapshots.values()])
  const unknown = [...notes.unknownFields].map(([field, first_seen_at]) => ({
    field,
    first_seen_at,
  }))
  await appendRows(warehouse, 'staged_unknown_fields', unknown)
  const fields = await warehouse.all<{ field: string }>(
    'select field from staged_unknown_fields where field not in (select field from ops.unknown_fields)',
  )
  // One by one, because spreading 200,000 fields would overflow the stack.
  for (const { field } of fields) report.newUnknownFields.push(field)
  const isNoted = await areChangesNoted(warehouse)
  await mergeEvents(warehouse, isNoted, report)
  // Snapshots have no coverage, but some models are made from it. A note of a build that has not ended makes the
  // publisher read them.
  const changed = [
    ...(batches.size > 0 ? CHANGES_WITH_EVERY_RUN : []),
    ...(answers.length > 0 ? ['answers'] : []),
  ]
  if (isNoted) {
    for (const name of changed) await noteChange(warehouse, loadedTable(name), null)
  }
  await warehouse.run(loadSql('merge_ops'))
  await mergeAnswers(warehouse, answers)
  await appendRows(warehouse, 'ops.rejects', notes.rejects)
  await warehouse.append('ops.page_organizations', chunk.pageOrganizations)
}

/** A few at a time, because the engine's memory limit does not count the rows that it holds for a comparison. */
async function mergeAnswers(warehouse: Warehouse, answers: readonly AnswerRow[]): Promise<void> {
  for (let from = 0, to = 0; from < answers.length; from = to) {
    for (let bytes = 0; to < answers.length && bytes < ANSWERS_AT_ONCE; to += 1) {
      bytes += answers[to]?.body.length ?? 0
    }
    await appendRows(warehouse, 'staged_answers', answers.slice(from, to))
    await warehouse.run(loadSql('merge_answers'))
  }
}

async function mergeEvents(
  warehouse: Warehouse,
  isNoted: boolean,
  report: LoadReport,
): Promise<void> {
  const sightings = await warehouse.number('select count(*) from staged_sightings')
  if (sightings === 0) return
  await warehouse.run(loadSql('compare_events'))
  const [changes] = await warehouse.all<Record<'inserted' | 'updated' | 'known', number>>(
    loadSql('count_changes'),
  )
  if (isNoted) await noteChangedEvents(warehouse)
  await warehouse.run(loadSql('merge_events'))
  if ((changes?.known ?? 0) > 0) await warehouse.run(loadSql('update_events'))
  report.sightings += sightings
  report.inserted += changes?.inserted ?? 0
  report.updated += changes?.updated ?? 0
}

/** Records for the publisher which years have new events, or events that change in a snapshot. */
async function noteChangedEvents(warehouse: Warehouse): Promise<void> {
  const changed = `(select changed_at from single_sightings union all
    select staged.changed_at
    from repeated_events as staged left join known_events as known on known.event_key = staged.event_key
    where is_new or is_changed
      or row(staged.first_seen_at, staged.first_run_id) < row(known.first_seen_at, known.first_run_id))`
  await noteChange(warehouse, loadedTable('job_change_events'), changed)
  const versions = await warehouse.number('select count(*) from repeated_versions')
  if (versions === 0) return
  await noteChange(warehouse, loadedTable('job_change_event_versions'), null)
}
