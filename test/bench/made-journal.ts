/** A journal of events that SQL makes (made-events.sql): a backfill in batches of 50 organisations, and nights after it. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Journal, JournalWriter } from '../../src/journal/journal.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { aBatch, aPage, finishBatch, startRun } from '../load/load-fixture.ts'

/** The size of the backfill: about 4 events for each person. */
export interface MadeSize {
  readonly people: number
  readonly organizations: number
  /** The additional share of all stints in the largest organisation, 0 to 1; default 0. */
  readonly largest?: number
}

/** One run that reads what was not read yet. */
interface MadeRun {
  readonly id: string
  readonly at: number
  readonly size: MadeSize
  /** A query for its steps: p, step, corrected. */
  readonly steps: string
}

const SQL = readFileSync(join(import.meta.dirname, 'made-events.sql'), 'utf8')
const PAGE = 50
const BACKFILL_AT = Date.UTC(2024, 11, 1, 2, 15)

/** Writes a run that reads all events except the last one of each person. @returns events */
export function writeBackfill(journal: Journal, size: MadeSize): Promise<number> {
  const steps = `
    select p, step, false as corrected
    from range(${size.people}) as all_people(p), range(7) as all_steps(step)
    where events_of(p) > step`
  return writeRun(journal, { id: 'backfill', at: BACKFILL_AT, size, steps })
}

/**
 * Writes the run of a night: the next events of some people, new people, and corrections.
 * @param events about how many; one in twenty is a correction
 * @returns events
 */
export function writeNight(journal: Journal, size: MadeSize, events: number): Promise<number> {
  const { people } = size
  const newPeople = Math.ceil(events / 40)
  const steps = `
    select p, step, false as corrected
    from range(${people}) as all_people(p), range(1, 7) as all_steps(step)
    where events_of(p) = step and random_of(p, 0, 15) < ${events / people}
    union all
    select p, step, false
    from range(${people}, ${people + newPeople}) as all_people(p), range(7) as all_steps(step)
    where events_of(p) > step
    union all
    select p, step, true
    from range(${people}) as all_people(p), range(7) as all_steps(step)
    where events_of(p) > step and random_of(p, step, 17) < ${events / 20 / (people * 4)}`
  return writeRun(journal, { id: 'night', at: BACKFILL_AT + DAY, size, steps })
}

async function writeRun(journal: Journal, run: MadeRun): Promise<number> {
  const engine = await memoryWarehouse()
  const { organizations, largest = 0 } = run.size
  const careers = `careers(${organizations}, ${largest})`
  const writer = journal.writer()
  const pages = new Pages(writer, run)
  try {
    // Sorts a few columns only; all others are computed from them afterwards.
    await engine.run(`${SQL};
      insert into steps ${run.steps};
      create table in_order as
      select p, step, corrected, batch from ${careers} order by batch, detected_at desc, p, step;
      truncate steps;
      insert into steps select p, step, corrected from in_order`)
    await writeStart(engine, writer, run)
    const { batches } = await engine.stream(`select batch, event from ${careers}`)
    for await (const rows of batches) {
      for (const [batch, event] of rows) {
        pages.add(Number(batch), String(event))
      }
    }
    pages.endBatch()
  } finally {
    await writer.close()
    engine.close()
  }
  return pages.events
}

async function writeStart(engine: Warehouse, writer: JournalWriter, run: MadeRun): Promise<void> {
  const { batch: batches = [] } = await engine.columns<bigint>(
    'select distinct batch from in_order order by 1',
  )
  startRun(
    writer,
    batches.map((batch) => batchOf(Number(batch))),
    run.id,
    run.at,
  )
}

const batchOf = (batch: number) =>
  aBatch({
    batch_id: String(batch),
    organizations: Array.from({ length: 50 }, (_, i) => ({
      by: 'id' as const,
      value: `org_${batch * 50 + i}`,
    })),
  })

/** Puts the events of each batch on its pages. */
class Pages {
  events = 0
  readonly #writer: JournalWriter
  readonly #run: MadeRun
  #batch: number | null = null
  #page = 0
  #waiting: string[] = []

  constructor(writer: JournalWriter, run: MadeRun) {
    this.#writer = writer
    this.#run = run
  }

  add(batch: number, event: string): void {
    if (batch !== this.#batch) this.endBatch()
    this.#batch = batch
    this.#waiting.push(event)
    this.events += 1
    if (this.#waiting.length === PAGE) this.#endPage(true)
  }

  endBatch(): void {
    if (this.#batch === null) return
    this.#endPage(false)
    const { id, at } = this.#run
    finishBatch(this.#writer, batchOf(this.#batch), { from: null, to: at }, id, at)
    this.#batch = null
    this.#page = 0
  }

  #endPage(hasMore: boolean): void {
    this.#page += 1
    const { id, at } = this.#run
    const events: unknown[] = JSON.parse(`[${this.#waiting.join(',')}]`)
    const { record, body } = aPage(events, {
      runId: id,
      batchId: String(this.#batch),
      page: this.#page,
      requestId: `${id}_${this.#batch}_${this.#page}`,
      at,
      hasMore,
    })
    this.#writer.write(record, body)
    this.#waiting = []
  }
}
