/**
 * The people with new or changed events, and their rows: tables `incremental_by: profile_id` are made from these alone.
 * Temporary views under the names that a model reads show it only those rows; its SQL is that of a full refresh.
 */

import { PERSON } from '../warehouse/catalog.ts'
import type { TypedColumn } from '../warehouse/columns.ts'
import { rowHashSql } from './difference.ts'
import type { ProjectNode } from './project.ts'
import type { Temporaries } from './temporaries.ts'

/** Loaded tables with rows of people: they change where people do. */
export const EVENT_TABLES: readonly string[] = ['job_change_events', 'job_change_event_versions']

export class ChangedPeople {
  /** A temporary table with one row for each of them; SQL. */
  keys = ''
  readonly #temporaries: Temporaries
  /** Models by person, by name. */
  readonly #nodes: ReadonlyMap<string, ProjectNode>
  /** Temporary tables with the rows of changed people as they are now, by name of the table or view. */
  readonly #rows = new Map<string, string>()
  /** Other tables whose changed rows have named more people. */
  readonly #followed = new Set<string>()

  constructor(temporaries: Temporaries, nodes: readonly ProjectNode[]) {
    this.#temporaries = temporaries
    this.#nodes = new Map(nodes.map((node) => [node.name, node]))
  }

  /**
   * Finds the people whom loads changed, and those whose announced changes came due: what is current depends on the day of the
   * data, which moves with each load.
   * @returns their number
   */
  async find(asOf: ProjectNode | undefined): Promise<number> {
    const due =
      asOf === undefined
        ? ''
        : `union
           select ${PERSON}
           from job_change_events
           cross join (select as_of_on as old from core.${asOf.name})
           cross join (select as_of_on as new from (${asOf.sql}))
           where utc_date(changed_at) > least(old, new) and utc_date(changed_at) <= greatest(old, new)`
    const { name, rows } = await this.#temporaries.keepCounted(
      `select distinct ${PERSON} from (select ${PERSON} from ops.changed_people ${due})`,
    )
    this.keys = name
    return rows
  }

  /** A semi join of a table, called `alias`, with these people; SQL. */
  semiJoin(alias: string): string {
    return `semi join ${this.keys} as wanted on ${alias}.${PERSON} = wanted.${PERSON}`
  }

  /** Makes the rows of a model for these people. @returns a temporary table; SQL */
  async make(node: ProjectNode): Promise<string> {
    await this.show(new Set(node.reads))
    const made = await this.#temporaries.keep(node.sql)
    await this.#temporaries.unshadow()
    this.#rows.set(node.name, made)
    return made
  }

  /** Lets those of `names` that have rows of people show only these people's, until `unshadow`. */
  async show(names: ReadonlySet<string>): Promise<void> {
    const shown = [...names].filter((name) => this.#nodes.has(name) || EVENT_TABLES.includes(name))
    const selects: [string, string][] = []
    for (const name of shown) selects.push([name, await this.#rowsOf(name)])
    for (const [name, select] of selects) await this.#temporaries.shadow(name, select)
  }

  async #rowsOf(name: string): Promise<string> {
    const node = this.#nodes.get(name)
    let rows = this.#rows.get(name)
    if (rows === undefined) {
      rows =
        node?.kind === 'view'
          ? await this.make(node)
          : await this.#temporaries.keep(
              `select kept.* from ${this.#temporaries.stored(name)} as kept ${this.semiJoin('kept')}`,
            )
      this.#rows.set(name, rows)
    }
    return `select * from ${rows}`
  }

  /** Whether the people of changed rows of this table are among the changed people. */
  isFollowed(name: string): boolean {
    return this.#followed.has(name)
  }

  /**
   * Adds the people of the rows in which a table that is rebuilt differs from before: what is made for them next may differ.
   * @param stored the table as it was; SQL
   * @param made a table with its rows as they are now; SQL
   */
  async follow(
    name: string,
    stored: string,
    made: string,
    columns: readonly TypedColumn[],
  ): Promise<void> {
    const { warehouse } = this.#temporaries
    const hashed = (table: string, sign: number) =>
      `select ${PERSON}, ${rowHashSql(columns)} as row_hash, ${sign} as sign from ${table}`
    const added = await warehouse.number(
      `insert into ${this.keys}
       select distinct ${PERSON}
       from (
           select ${PERSON} from (${hashed(stored, -1)} union all ${hashed(made, 1)})
           group by ${PERSON}, row_hash having sum(sign) <> 0
       )
       where ${PERSON} not in (from ${this.keys})`,
    )
    this.#followed.add(name)
    if (added === 0) return
    // The rows that were kept lack those of the people who were added.
    for (const rows of this.#rows.values()) await this.#temporaries.drop(rows)
    this.#rows.clear()
  }
}
