/**
 * Temporary tables, and temporary views that replace tables of the warehouse. A name without a schema means the
 * temporary one first, so the unchanged SQL of a model sees only the rows that a temporary view shows. Everything is
 * made inside the build's transaction, so a rollback removes it.
 */

import { yearSql } from '../warehouse/changed-tables.ts'
import type { TypedColumn } from '../warehouse/columns.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { ProjectNode } from './project.ts'

export interface Written {
  /** Deleted and inserted ones. */
  readonly rows: number
  /** The years of these rows; null for a row without one, and for all rows if the table has no years. */
  readonly years: readonly (number | null)[]
  /** A temporary table with the keys of these rows, if they were asked for and there are any; SQL. */
  readonly keys: string | null
}

/** Rows of a table that a build rebuilt; all names of tables are SQL. */
export interface Replacement {
  readonly stored: string
  /** Which rows of it are replaced: what follows `from <stored> as kept`, such as a semi join. */
  readonly before: string
  readonly made: string
  readonly columns: readonly TypedColumn[]
}

export class Temporaries {
  readonly #warehouse: Warehouse
  readonly #database: string
  readonly #schemas: ReadonlyMap<string, string>
  readonly #tables = new Set<string>()
  #made = 0

  private constructor(warehouse: Warehouse, database: string, nodes: readonly ProjectNode[]) {
    this.#warehouse = warehouse
    this.#database = database
    this.#schemas = new Map(nodes.map(({ name, schema }) => [name, schema]))
  }

  static async in(warehouse: Warehouse, nodes: readonly ProjectNode[]): Promise<Temporaries> {
    const [row] = await warehouse.all<{ name: string }>('select current_database() as name')
    return new Temporaries(warehouse, row?.name ?? '', nodes)
  }

  /** The stored table, even if a temporary view replaces it; SQL. */
  stored(name: string): string {
    const schema = this.#schemas.get(name) ?? 'main'
    return `${quoteIdentifier(this.#database)}.${schema}.${quoteIdentifier(name)}`
  }

  /** Keeps the result of `select` in a temporary table and returns its name; SQL. */
  async keep(select: string): Promise<string> {
    return (await this.keepCounted(select)).name
  }

  async keepCounted(select: string): Promise<{ readonly name: string; readonly rows: number }> {
    this.#made += 1
    const name = `temp.${quoteIdentifier(`build rows ${this.#made}`)}`
    const rows = await this.#warehouse.number(`create temp table ${name} as ${select}`)
    this.#tables.add(name)
    return { name, rows }
  }

  /** Keeps the result of `select` as it is while other rows replace some tables. @param shown by table its rows; SQL */
  async keepShowing(shown: ReadonlyMap<string, string>, select: string): Promise<string> {
    const views = [...shown.keys()].map(quoteIdentifier)
    for (const [name, rows] of shown)
      await this.#warehouse.run(`create temp view ${quoteIdentifier(name)} as ${rows}`)
    const kept = await this.keep(select)
    const drops = views.map((view) => `drop view temp.${view};`)
    if (drops.length > 0) await this.#warehouse.run(drops.join('\n'))
    return kept
  }

  async drop(name: string): Promise<void> {
    if (this.#tables.delete(name)) await this.#warehouse.run(`drop table ${name}`)
  }

  async dropAll(): Promise<void> {
    for (const name of this.#tables) await this.drop(name)
  }

  /** Writes the differences only: the write-ahead log stays small. @param key the column of the keys to return, if any */
  async writeDifference(
    { partitionByYearOf }: Pick<ProjectNode, 'partitionByYearOf'>,
    { stored, before, made, columns }: Replacement,
    key: string | null,
  ): Promise<Written> {
    const year = partitionByYearOf === null ? 'cast(null as integer)' : yearSql(partitionByYearOf)
    const hashed = (sign: number, from: string) =>
      `select ${rowHashSql(columns)} as row_hash, ${year} as year, ${sign} as sign, kept.rowid as place from ${from}`
    // An old and a new row count as equal by mistake if their hashes collide: once in 10 million nights of a million
    // rows.
    const { name: differing, rows: count } = await this.keepCounted(
      `select any_value(year) as year, sum(sign) as sign, max(place) as place
       from (${hashed(-1, `${stored} as kept ${before}`)} union all ${hashed(1, `${made} as kept`)})
       group by row_hash having sum(sign) <> 0`,
    )
    const written = { rows: 0, years: [] as (number | null)[], keys: null as string | null }
    if (count > 0) {
      const { year: years = [] } = await this.#warehouse.columns<number | null>(
        `select distinct year from ${differing}`,
      )
      written.years.push(...years)
      const names = columns.map(({ name }) => quoteIdentifier(name)).join(', ')
      const old = `from ${stored} where rowid in (select place from ${differing} where sign < 0)`
      const fresh = `from ${made} where rowid in (select place from ${differing} where sign > 0)`
      if (key !== null)
        written.keys = await this.keep(`select ${key} ${old} union select ${key} ${fresh}`)
      written.rows += await this.#warehouse.number(`delete ${old}`)
      written.rows += await this.#warehouse.number(
        `insert into ${stored} (${names}) select ${names} ${fresh}`,
      )
    }
    await this.drop(differing)
    return written
  }
}

/** A hash of a row, 64 bits; SQL. */
export function rowHashSql(columns: readonly TypedColumn[]): string {
  const hashed = columns.map(({ name, type }) =>
    // The engine gives null, an empty list and a list of one null the same hash.
    type.endsWith(']') ? `to_json(${quoteIdentifier(name)})` : quoteIdentifier(name),
  )
  return `hash(${hashed.join(', ')})`
}
