/** Merges a chunk of the journal into the warehouse, in one transaction. */

import { loadedTable } from '../warehouse/catalog.ts'
import { areChangesNoted, noteAnyRow, noteRows } from '../warehouse/changed-rows.ts'
import { columnsOfAll, type TypedColumn } from '../warehouse/columns.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Chunk } from './chunk.ts'
import type { ReadingNotes } from './read-events.ts'
import { appendRows, loadSql } from './rows.ts'

/** What a load did. */
export interface LoadReport {
  /** Pages read from the journal. */
  readonly pages: number
  /** Events received, repeats included. */
  readonly sightings: number
  /** Events that were not in the warehouse. */
  readonly inserted: number
  /** Events whose attributes a newer sighting changed. */
  readonly updated: number
  /** Events that did not fit. */
  readonly rejected: number
  /** Events left out because they are not kept: of erased people, or from before a day. */
  readonly suppressed: number
  /** Fields that Jobtide does not know and never saw before. */
  readonly newUnknownFields: readonly string[]
}

const EVENTS = loadedTable('job_change_events')

/** A place in the journal: what is loaded of a segment. */
export interface Position {
  readonly segment: string
  readonly bytes: number
}

/** Merges one chunk at a time: the events in `jobtide_load.staged_sightings`, and what the other records say. */
export class Merger {
  readonly #warehouse: Warehouse
  readonly #report = { pages: 0, sightings: 0, inserted: 0, updated: 0, rejected: 0, suppressed: 0 }
  readonly #newUnknownFields: string[] = []
  #columns: readonly TypedColumn[] | undefined
  /** Settles when the chunk is merged, or with what stopped it. */
  merging: Promise<void> = Promise.resolve()

  constructor(warehouse: Warehouse) {
    this.#warehouse = warehouse
  }

  /** What was merged so far. */
  get report(): LoadReport {
    return { ...this.#report, newUnknownFields: this.#newUnknownFields }
  }

  /** Begins to merge a chunk. With it, the position in the journal moves. */
  merge(chunk: Chunk, notes: ReadingNotes, position: Position): void {
    this.merging = this.#mergeOnce(chunk, notes, position)
    // A failure is thrown where it is waited for.
    this.merging.catch(() => undefined)
  }

  async #mergeOnce(chunk: Chunk, notes: ReadingNotes, position: Position): Promise<void> {
    await this.#warehouse.transaction(async () => {
      await this.#warehouse.run(loadSql('staging'))
      await this.#mergeAll(chunk, notes)
      await this.#movePosition(position)
      if (notes.suppressed + chunk.suppressed > 0) await this.#noteToErase(position.segment)
      await this.#warehouse.run(loadSql('unstage'))
    })
    this.#report.pages += chunk.received
    this.#report.rejected += notes.rejects.length
    this.#report.suppressed += notes.suppressed + chunk.suppressed
  }

  async #mergeAll(chunk: Chunk, notes: ReadingNotes): Promise<void> {
    const warehouse = this.#warehouse
    await appendRows(warehouse, 'staged_batches', [...chunk.batches.values()])
    await appendRows(warehouse, 'staged_pages', [...chunk.pages.values()])
    await appendRows(warehouse, 'staged_snapshots', [...chunk.snapshots.values()])
    await appendRows(warehouse, 'staged_answers', chunk.answers)
    await appendRows(
      warehouse,
      'staged_unknown_fields',
      [...notes.unknownFields].map(([field, first_seen_at]) => ({ field, first_seen_at })),
    )
    await this.#noteNewUnknownFields()
    const isNoted = await areChangesNoted(warehouse)
    await this.#mergeEvents(isNoted)
    if (isNoted) await this.#noteOtherChanges(chunk)
    await warehouse.run(loadSql('merge_ops'))
    await appendRows(warehouse, 'ops.rejects', notes.rejects)
    await warehouse.append('ops.page_organizations', chunk.pageOrganizations)
  }

  async #mergeEvents(isNoted: boolean): Promise<void> {
    const warehouse = this.#warehouse
    const sightings = await warehouse.number('select count(*) from jobtide_load.staged_sightings')
    this.#report.sightings += sightings
    if (sightings === 0) return
    await warehouse.run(loadSql('compare_events'))
    const [changes] = await warehouse.all<Record<'inserted' | 'updated' | 'known', number>>(
      loadSql('count_changes'),
    )
    let last = -1
    if (isNoted) {
      await this.#noteEvents('known_events', -1)
      last = await warehouse.number('select coalesce(max(rowid), -1) from job_change_events')
    }
    await warehouse.run(loadSql('merge_events'))
    if ((changes?.known ?? 0) > 0) await warehouse.run(loadSql('update_events'))
    if (isNoted) {
      // By their places: by their keys all of the table would be read.
      await this.#noteEvents(`job_change_events where rowid > ${last}`, 1)
      await this.#noteEvents(`job_change_events where rowid in (select place from known_events)`, 1)
      await noteAnyRow(warehouse, 'job_change_event_versions')
    }
    this.#report.inserted += changes?.inserted ?? 0
    this.#report.updated += changes?.updated ?? 0
  }

  /** Notes, for the publisher, events as they were before the merge (-1) or are after it (1). */
  async #noteEvents(rows: string, change: 1 | -1): Promise<void> {
    this.#columns ??= (await columnsOfAll(this.#warehouse)).get(EVENTS.name)
    await noteRows(this.#warehouse, EVENTS, this.#columns ?? [], rows, String(change))
  }

  async #noteOtherChanges(chunk: Chunk): Promise<void> {
    // No snapshot has coverage, but models are made of it: a note that no build has ended yet makes the publisher read them.
    if (chunk.batches.size > 0) await noteAnyRow(this.#warehouse, 'organization_coverage')
    if (chunk.answers.length > 0) await noteAnyRow(this.#warehouse, 'answers')
  }

  async #noteNewUnknownFields(): Promise<void> {
    const rows = await this.#warehouse.all<{ field: string }>(
      'select field from staged_unknown_fields where field not in (select field from ops.unknown_fields)',
    )
    // One by one: a spread of 200,000 fields would overflow the stack.
    for (const { field } of rows) this.#newUnknownFields.push(field)
  }

  async #movePosition({ segment, bytes }: Position): Promise<void> {
    await this.#warehouse.run('delete from ops.journal_positions where segment = $1', [segment])
    await this.#warehouse.run('insert into ops.journal_positions values ($1, $2)', [
      segment,
      BigInt(bytes),
    ])
  }

  async #noteToErase(segment: string): Promise<void> {
    await this.#warehouse.run(
      `insert into ops.segments_to_erase select $1
       where not exists (select 1 from ops.segments_to_erase where segment = $1)`,
      [segment],
    )
  }
}
