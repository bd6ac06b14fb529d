/**
 * Temporary tables, and temporary views that replace tables of the warehouse. A name without a schema means the
 * temporary one first: so the unchanged SQL of a model sees only the rows that a temporary view lets through.
 * Everything is made inside the build's transaction: a rollback removes it.
 */

import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { ModelFile } from '../warehouse/catalog.ts'

type Placed = Pick<ModelFile, 'name' | 'schema'>

export class Temporaries {
  readonly warehouse: Warehouse
  readonly #database: string
  readonly #schemas: ReadonlyMap<string, string>
  readonly #tables = new Set<string>()
  readonly #shadows = new Set<string>()
  #made = 0

  private constructor(warehouse: Warehouse, database: string, nodes: readonly Placed[]) {
    this.warehouse = warehouse
    this.#database = database
    this.#schemas = new Map(nodes.map(({ name, schema }) => [name, schema]))
  }

  static async in(warehouse: Warehouse, nodes: readonly Placed[]): Promise<Temporaries> {
    const [row] = await warehouse.all<{ name: string }>('select current_database() as name')
    return new Temporaries(warehouse, row?.name ?? '', nodes)
  }

  /** The stored table, whatever replaces it; SQL. */
  stored(name: string): string {
    const schema = this.#schemas.get(name) ?? 'main'
    return `${quoteIdentifier(this.#database)}.${schema}.${quoteIdentifier(name)}`
  }

  /** Keeps the result of `select` in a temporary table and returns its name; SQL. */
  async keep(select: string): Promise<string> {
    return (await this.keepCounted(select)).name
  }

  /** As `keep`, with the number of rows. */
  async keepCounted(select: string): Promise<{ readonly name: string; readonly rows: number }> {
    this.#made += 1
    const name = `temp.${quoteIdentifier(`build rows ${this.#made}`)}`
    const rows = await this.warehouse.number(`create temp table ${name} as ${select}`)
    this.#tables.add(name)
    return { name, rows }
  }

  async drop(name: string): Promise<void> {
    if (this.#tables.delete(name)) await this.warehouse.run(`drop table ${name}`)
  }

  /** Makes `select` replace the table `name` until `unshadow`. */
  async shadow(name: string, select: string): Promise<void> {
    await this.warehouse.run(`create temp view ${quoteIdentifier(name)} as ${select}`)
    this.#shadows.add(name)
  }

  /** Ends all replacements. */
  async unshadow(): Promise<void> {
    const drops = [...this.#shadows].map((name) => `drop view temp.${quoteIdentifier(name)};`)
    this.#shadows.clear()
    if (drops.length > 0) await this.warehouse.run(drops.join('\n'))
  }

  async dropAll(): Promise<void> {
    await this.unshadow()
    for (const name of this.#tables) await this.drop(name)
  }
}
