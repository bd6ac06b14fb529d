/**
 * Writes the tables of people part by part in a full refresh: the part, not the warehouse, bounds the memory that a model needs.
 * A part is a share of all people, so that a row depends on rows of its own part only. Temporary views under the names that a
 * model reads decide which people it sees, as in an incremental build.
 */

import { loadedTables } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { BuildWork } from './build-work.ts'
import type { ProjectNode } from './project.ts'
import {
  columnsOf,
  createModelTable,
  describeModelTable,
  rowsIn,
  withErrorContext,
} from './tables.ts'
import { Temporaries } from './temporaries.ts'
import { PERSON } from './table-delta.ts'

/** The parts of one build. */
export class Parts {
  readonly #work: BuildWork
  readonly #count: number
  /** Of each table made part by part: a condition, for each part, that holds for its rows; SQL. */
  readonly #conditions = new Map<string, readonly string[]>()

  private constructor(work: BuildWork, count: number) {
    this.#work = work
    this.#count = count
  }

  /** Divides the people into as many parts as the memory asks for. */
  static async of(work: BuildWork): Promise<Parts> {
    const events = await rowsIn(work.warehouse, 'job_change_events')
    return new Parts(work, Math.max(1, Math.ceil(events / work.eventsPerPart)))
  }

  /**
   * Makes the table of a model, part by part where that is possible.
   * @returns its rows; null for a view
   */
  async create(node: ProjectNode): Promise<number | null> {
    const { warehouse } = this.#work
    if (this.#count === 1 || node.kind !== 'table' || node.incrementalBy.join() !== PERSON) {
      return createModelTable(warehouse, node)
    }
    const temporaries = await Temporaries.in(warehouse, this.#work.project.nodes)
    const table = temporaries.stored(node.name)
    const tables = await this.#tablesOfPeople(node)
    const conditions: string[] = []
    let last = -1n
    for (let part = 0; part < this.#count; part += 1) {
      for (const [name, viewSql] of tables) {
        await temporaries.shadow(
          name,
          viewSql ??
            `select * from ${temporaries.stored(name)} where ${this.#conditionOf(name, part)}`,
        )
      }
      const begin = part === 0 ? `create table ${table} as` : `insert into ${table} by name`
      await withErrorContext(`model ${node.name}`, () => warehouse.run(`${begin}\n${node.sql}`))
      await temporaries.unshadow()
      const before: bigint = last
      last = (await this.#lastRowOf(table)) ?? before
      conditions.push(`rowid > ${before} and rowid <= ${last}`)
    }
    this.#conditions.set(node.name, conditions)
    await describeModelTable(warehouse, node)
    return rowsIn(warehouse, table)
  }

  // Rows of a part stand together, because rows are added at the end: to find them by place takes less than half of hashing
  // the person of each row.
  #conditionOf(name: string, part: number): string {
    return (
      this.#conditions.get(name)?.[part] ??
      `hash(${quoteIdentifier(PERSON)}) % ${this.#count} = ${part}`
    )
  }

  async #lastRowOf(table: string): Promise<bigint | null> {
    const [row] = await this.#work.warehouse.all<{ last: bigint | null }>(
      `select max(rowid) as last from ${table}`,
    )
    return row?.last ?? null
  }

  /** The tables of people before a model, in run order, with the SQL of those that are views. */
  async #tablesOfPeople(node: ProjectNode): Promise<(readonly [string, string | null])[]> {
    const { warehouse, project } = this.#work
    const tables: (readonly [string, string | null])[] = []
    for (const { name } of loadedTables) {
      if ((await columnsOf(warehouse, name)).includes(PERSON)) tables.push([name, null])
    }
    const before = project.nodes.slice(0, project.nodes.indexOf(node))
    const made = before.filter(({ incrementalBy }) => incrementalBy.join() === PERSON)
    return [
      ...tables,
      ...made.map(({ name, kind, sql }) => [name, kind === 'view' ? sql : null] as const),
    ]
  }
}
