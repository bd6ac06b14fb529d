/** Merges a chunk of the journal into the warehouse, in one transaction. */

import { MIB } from '../support/units.ts'
import { CHANGES_WITH_EVERY_RUN, loadedTable } from '../warehouse/catalog.ts'
import { areChangesNoted, noteChange } from '../warehouse/changed-tables.ts'
import { appendRows } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { AnswerRow, Chunk } from './chunk.ts'
import type { ReadingNotes } from './read-events.ts'
import { loadSql } from './rows.ts'

/** The counts of a load. */
export interface LoadReport {
  /** Pages read from the journal. */
  readonly pages: number
  /** Rows of table answers: answers of other endpoints, and what deliveries brought. */
  readonly answers: number
  /** Events received, including repeats. */
  readonly sightings: number
  /** Events that were not in the warehouse. */
  readonly inserted: number
  /** Known events that a newer sighting changed. */
  readonly updated: number
  /** Events that did not fit and became rejects. */
  readonly rejected: number
  /** Suppressed events, of erased people or from before a day. */
  readonly suppressed: number
  /** Fields that Jobtide does not know, seen for the first time. */
  readonly newUnknownFields: readonly string[]
}

const ANSWERS_AT_ONCE = MIB

/** How far a segment of the journal is loaded. */
interface Position {
  readonly segment: string
  readonly bytes: number
}

/** Merges one chunk at a time: the events in `jobtide_load.staged_sightings`, and the facts of the other records. */
export class Merger {
  readonly #warehouse: Warehouse
  readonly #counts = {
    pages: 0,
    answers: 0,
    sightings: 0,
    inserted: 0,
    updated: 0,
    rejected: 0,
    suppressed: 0,
  }
  readonly #newUnknownFields: string[] = []
  /** Resolves when the chunk is merged, or rejects with the error that stopped it. */
  merging: Promise<void> = Promise.resolve()

  constructor(warehouse: Warehouse) {
    this.#warehouse = warehouse
  }

  /** The events merged so far. */
  get report(): LoadReport {
    return { ...this.#counts, newUnknownFields: this.#newUnknownFields }
  }

  /** Begins to merge a chunk. The position in the journal moves in the same transaction. */
  merge(chunk: Chunk, notes: ReadingNotes, position: Position): void {
    this.merging = this.#mergeOnce(chunk, notes, position)
    // A failure is thrown to the caller that awaits it.
    this.merging.catch(() => undefined)
  }

  async #mergeOnce(chunk: Chunk, notes: ReadingNotes, { segment, bytes }: Position): Promise<void> {
    const warehouse = this.#warehouse
    const suppressed = notes.suppressed + chunk.suppressed
    await warehouse.transaction(async () => {
      await warehouse.run(loadSql('staging'))
      await this.#mergeAll(chunk, notes)
      await warehouse.run('delete from ops.journal_positions where segment = $1', [segment])
      const position = [segment, BigInt(bytes)]
      await warehouse.run('insert into ops.journal_positions values ($1, $2)', position)
      if (suppressed > 0) {
        await warehouse.run(
          `insert into ops.segments_to_erase select $1
           where not exists (select 1 from ops.segments_to_erase where segment = $1)`,
          [segment],
        )
      }
      await warehouse.run(loadSql('unstage'))
    })
    this.#counts.pages += chunk.received
    this.#counts.answers += chunk.answers.length
    this.#counts.rejected += notes.rejects.length
    this.#counts.suppressed += suppressed
  }

  async #mergeAll(chunk: Chunk, notes: ReadingNotes): Promise<void> {
    const warehouse = this.#warehouse
    const unknown = [...notes.unknownFields]
    await appendRows(warehouse, 'staged_batches', [...chunk.batches.values()])
    await appendRows(warehouse, 'staged_pages', [...chunk.pages.values()])
    await appendRows(warehouse, 'staged_snapshots', [...chunk.snapshots.values()])
    await appendRows(
      warehouse,
      'staged_unknown_fields',
      unknown.map(([field, first_seen_at]) => ({ field, first_seen_at })),
    )
    const fields = await warehouse.all<{ field: string }>(
      'select field from staged_unknown_fields where field not in (select field from ops.unknown_fields)',
    )
    // One by one, because spreading 200,000 fields would overflow the stack.
    for (const { field } of fields) this.#newUnknownFields.push(field)
    const isNoted = await areChangesNoted(warehouse)
    await this.#mergeEvents(isNoted)
    // Snapshots have no coverage, but some models are made from it. A note of a build that has not ended makes the
    // publisher read them.
    const changed = [
      ...(chunk.batches.size > 0 ? CHANGES_WITH_EVERY_RUN : []),
      ...(chunk.answers.length > 0 ? ['answers'] : []),
    ]
    if (isNoted) {
      for (const name of changed) await noteChange(warehouse, loadedTable(name), null)
    }
    await warehouse.run(loadSql('merge_ops'))
    await this.#mergeAnswers(chunk.answers)
    await appendRows(warehouse, 'ops.rejects', notes.rejects)
    await warehouse.append('ops.page_organizations', chunk.pageOrganizations)
  }

  /** A few at a time, because the engine's memory limit does not count the rows that it holds for a comparison. */
  async #mergeAnswers(answers: readonly AnswerRow[]): Promise<void> {
    for (let from = 0, to = 0; from < answers.length; from = to) {
      for (let bytes = 0; to < answers.length && bytes < ANSWERS_AT_ONCE; to += 1) {
        bytes += answers[to]?.body.length ?? 0
      }
      await appendRows(this.#warehouse, 'staged_answers', answers.slice(from, to))
      await this.#warehouse.run(loadSql('merge_answers'))
    }
  }

  async #mergeEvents(isNoted: boolean): Promise<void> {
    const warehouse = this.#warehouse
    const sightings = await warehouse.number('select count(*) from jobtide_load.staged_sightings')
    this.#counts.sightings += sightings
    if (sightings === 0) return
    await warehouse.run(loadSql('compare_events'))
    const [changes] = await warehouse.all<Record<'inserted' | 'updated' | 'known', number>>(
      loadSql('count_changes'),
    )
    if (isNoted) await this.#noteChangedEvents()
    await warehouse.run(loadSql('merge_events'))
    if ((changes?.known ?? 0) > 0) await warehouse.run(loadSql('update_events'))
    this.#counts.inserted += changes?.inserted ?? 0
    this.#counts.updated += changes?.updated ?? 0
  }

  /** Records for the publisher which years have new events, or events that change in a snapshot. */
  async #noteChangedEvents(): Promise<void> {
    const changed = `(select changed_at from single_sightings union all
      select staged.changed_at
      from repeated_events as staged left join known_events as known on known.event_key = staged.event_key
      where is_new or is_changed
        or row(staged.first_seen_at, staged.first_run_id) < row(known.first_seen_at, known.first_run_id))`
    await noteChange(this.#warehouse, loadedTable('job_change_events'), changed)
    const versions = await this.#warehouse.number('select count(*) from repeated_versions')
    if (versions === 0) return
    await noteChange(this.#warehouse, loadedTable('job_change_event_versions'), null)
  }
}
