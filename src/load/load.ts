/**
 * Merges what is new in the journal into the warehouse. Pages are loaded chunk by chunk: their events are read in sets,
 * de-duplicated and merged, and the position in the journal moves in the same transaction. Then the facts that the journal
 * adds up to are stored. Loading twice, or in any order, gives the same tables. Events that are not kept (suppression.ts) are
 * left out by every command that loads, and the segments that still hold them are noted.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { History } from '../journal/history.ts'
import type { Journal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import type { PlacedFrame } from '../journal/reader.ts'
import type { RunFinished } from '../journal/records.ts'
import { yieldThread } from '../support/clock.ts'
import { MIB } from '../support/units.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { Chunk } from './chunk.ts'
import { storeFacts } from './facts.ts'
import { EventReader } from './read-events.ts'
import { appendRows, loadSql } from './rows.ts'
import { readSuppression, type Suppression } from './suppression.ts'

/** What a load needs. */
export interface LoadOptions {
  readonly warehouse: Warehouse
  readonly journal: Journal
  /** What the journal adds up to, read before this load; read from it unless given. With `closing`: all of it is stored. */
  readonly history?: History | undefined
  /** Events merged in one transaction, roughly, 1 or more. */
  readonly chunkEvents?: number
  /**
   * The record with which the run is about to be closed: ops.runs shows it already, so that closing the journal can be
   * the very last thing a run does. The next load reads the same record from the journal.
   */
  readonly closing?: RunFinished
  readonly onProgress?: (progress: LoadProgress) => void
}

/** How far a load is, in bytes of the journal. */
export interface LoadProgress {
  readonly bytesDone: number
  readonly bytes: number
}

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

// Each chunk looks its events up among all that are known.
const CHUNK_EVENTS = 50_000
// The engine holds about six times as much while it reads them.
const BODIES_AT_ONCE = 6 * MIB
const PAGES_PER_TURN = 16

/** A segment of the journal that is not loaded to its end. */
interface OpenSegment {
  readonly name: string
  /** Bytes that are loaded. */
  readonly from: number
  readonly size: number
}

/**
 * Merges what is new in the journal into the warehouse.
 * @throws JournalLossError when sealed segments of it are lost, and that was not accepted
 */
export async function load(options: LoadOptions): Promise<LoadReport> {
  return new Load(options).run()
}

class Load {
  readonly #warehouse: Warehouse
  readonly #journal: Journal
  readonly #options: LoadOptions
  readonly #report = { pages: 0, sightings: 0, inserted: 0, updated: 0, rejected: 0, suppressed: 0 }
  readonly #newUnknownFields: string[] = []
  readonly #history: History
  readonly #suppression: Suppression

  constructor(options: LoadOptions) {
    this.#options = options
    this.#warehouse = options.warehouse
    this.#journal = options.journal
    // Before the segments are read: coverage must not be ahead of the events.
    this.#history = options.history ?? readHistory(this.#journal)
    // By the journal's place, and not an option: no caller can forget it, and bring a person back.
    this.#suppression = readSuppression(this.#journal, this.#history.suppression)
  }

  async run(): Promise<LoadReport> {
    const segments = await this.#openSegments()
    const bytes = segments.reduce((sum, { from, size }) => sum + size - from, 0)
    let bytesDone = 0
    if (bytes > 0) this.#options.onProgress?.({ bytesDone, bytes })
    for (const segment of segments) {
      for await (const loaded of this.#loadSegment(segment)) {
        this.#options.onProgress?.({ bytesDone: bytesDone + loaded, bytes })
      }
      bytesDone += segment.size - segment.from
    }
    const { closing } = this.#options
    const run = this.#history.runs.get(closing?.run_id ?? '')
    if (closing !== undefined && run !== undefined) run.finished = closing
    const isStored = closing !== undefined && this.#options.history !== undefined
    await storeFacts(this.#warehouse, this.#history, isStored ? ['runs'] : undefined)
    return { ...this.#report, newUnknownFields: this.#newUnknownFields }
  }

  /** Loads a segment chunk by chunk; yields the bytes of it that were loaded so far. */
  async *#loadSegment({ name, from }: OpenSegment): AsyncGenerator<number> {
    const frames = this.#journal.read(name, from)
    try {
      for (let next = frames.next(); next.done !== true; next = frames.next()) {
        const end = await this.#loadChunk(name, next.value, frames)
        yield end - from
      }
    } finally {
      frames.return(undefined)
    }
  }

  /**
   * Merges a chunk of records in one transaction.
   * @returns where the last of them ends
   */
  async #loadChunk(
    segment: string,
    first: PlacedFrame,
    frames: Generator<PlacedFrame>,
  ): Promise<number> {
    const chunk = new Chunk(this.#history.notRead)
    const events = new EventReader(this.#warehouse, this.#suppression)
    const end = await this.#warehouse.transaction(async () => {
      await this.#warehouse.run(loadSql('staging'))
      const readTo = await this.#readChunk(chunk, events, first, frames)
      await this.#mergeChunk(chunk, events)
      await this.#movePosition(segment, readTo)
      if (events.suppressed > 0) await this.#noteToErase(segment)
      await this.#warehouse.run(loadSql('unstage'))
      return readTo
    })
    this.#report.pages += chunk.received
    this.#report.rejected += events.rejects.length
    this.#report.suppressed += events.suppressed
    return end
  }

  /** Reads records until the chunk is full. While the engine reads some bodies, the next ones are unpacked. */
  async #readChunk(
    chunk: Chunk,
    events: EventReader,
    first: PlacedFrame,
    frames: Generator<PlacedFrame>,
  ): Promise<number> {
    const { chunkEvents = CHUNK_EVENTS } = this.#options
    let end = first.end
    let reading = Promise.resolve()
    chunk.add(first)
    while (chunk.size < chunkEvents) {
      const next = frames.next()
      if (next.done === true) break
      chunk.add(next.value)
      end = next.value.end
      // Lets the engine's answer in.
      if (chunk.received % PAGES_PER_TURN === 0) await yieldThread()
      if (chunk.waiting < BODIES_AT_ONCE) continue
      await reading
      reading = events.read(chunk.takeBodies())
      // A failure is thrown where it is waited for.
      reading.catch(() => undefined)
    }
    await reading
    if (chunk.waiting > 0) await events.read(chunk.takeBodies())
    return end
  }

  async #mergeChunk(chunk: Chunk, events: EventReader): Promise<void> {
    const warehouse = this.#warehouse
    await appendRows(warehouse, 'staged_batches', [...chunk.batches.values()])
    await appendRows(warehouse, 'staged_pages', [...chunk.pages.values()])
    await appendRows(warehouse, 'staged_snapshots', [...chunk.snapshots.values()])
    await appendRows(
      warehouse,
      'staged_unknown_fields',
      [...events.unknownFields].map(([field, first_seen_at]) => ({ field, first_seen_at })),
    )
    await this.#noteNewUnknownFields()
    await this.#mergeEvents(await events.count())
    await warehouse.run(loadSql('merge_ops'))
    await appendRows(warehouse, 'ops.rejects', events.rejects)
    await warehouse.append('ops.page_organizations', chunk.pageOrganizations)
  }

  async #mergeEvents(sightings: number): Promise<void> {
    this.#report.sightings += sightings
    if (sightings === 0) return
    await this.#warehouse.run(loadSql('compare_events'))
    const [changes] = await this.#warehouse.all<Record<'inserted' | 'updated' | 'known', number>>(
      loadSql('count_changes'),
    )
    await this.#warehouse.run(loadSql('merge_events'))
    // It reads all of the table.
    if ((changes?.known ?? 0) > 0) await this.#warehouse.run(loadSql('update_events'))
    this.#report.inserted += changes?.inserted ?? 0
    this.#report.updated += changes?.updated ?? 0
  }

  async #noteNewUnknownFields(): Promise<void> {
    const rows = await this.#warehouse.all<{ field: string }>(
      'select field from staged_unknown_fields where field not in (select field from ops.unknown_fields)',
    )
    // One by one: a spread of 200,000 fields would overflow the stack.
    for (const { field } of rows) this.#newUnknownFields.push(field)
  }

  async #movePosition(segment: string, bytes: number): Promise<void> {
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

  async #openSegments(): Promise<OpenSegment[]> {
    const rows = await this.#warehouse.all<{ segment: string; bytes: bigint }>(
      'select segment, bytes from ops.journal_positions',
    )
    const loaded = new Map(rows.map(({ segment, bytes }) => [segment, Number(bytes)]))
    return this.#journal
      .segments()
      .map((name) => ({
        name,
        from: loaded.get(name) ?? 0,
        size: statSync(join(this.#journal.folder, name)).size,
      }))
      .filter(({ from, size }) => size > from)
  }
}
