/**
 * The organisations whose rows changed, by table: tables `incremental_by: organization_id` are made from these alone. As with
 * people, temporary views show a model only their rows.
 */

import { ORGANIZATION } from '../warehouse/catalog.ts'
import type { ProjectNode } from './project.ts'
import type { Temporaries } from './temporaries.ts'

export class ChangedOrganizations {
  readonly #temporaries: Temporaries
  /** Names of what such models read. */
  readonly #read: ReadonlySet<string>
  /** Temporary tables with the organisations of the rows that changed, by name of the table; SQL. */
  readonly #changed = new Map<string, string>()

  constructor(temporaries: Temporaries, nodes: readonly ProjectNode[]) {
    this.#temporaries = temporaries
    const readers = nodes.filter(({ isByOrganization }) => isByOrganization)
    this.#read = new Set(readers.flatMap(({ reads }) => reads))
  }

  /** Whether a model is made from the organisations whose rows change in this table. */
  isRead({ name, columns }: ProjectNode): boolean {
    return this.#read.has(name) && columns.has(ORGANIZATION)
  }

  /** @param keys a temporary table with the organisations of the rows of a table that changed; SQL */
  note(name: string, keys: string): void {
    this.#changed.set(name, keys)
  }

  /** Whether the changed organisations are known for all these tables. */
  areKnown(changed: readonly string[]): boolean {
    return changed.every((name) => this.#changed.has(name))
  }

  /**
   * Makes the rows of a model for the organisations that changed in what it reads.
   * @param changed which of the tables that it reads changed
   * @param shown which of them have rows of organisations
   * @returns a temporary table with the rows, and the semi join of a table, called `kept`, with these organisations; SQL
   */
  async make(
    { sql }: ProjectNode,
    changed: readonly string[],
    shown: readonly string[],
  ): Promise<{ readonly made: string; readonly semiJoin: string }> {
    const selects = changed.map((name) => `select ${ORGANIZATION} from ${this.#changed.get(name)}`)
    const keys = await this.#temporaries.keep(selects.join(' union '))
    const semiJoin = `semi join ${keys} as wanted on kept.${ORGANIZATION} = wanted.${ORGANIZATION}`
    for (const name of shown) {
      const stored = this.#temporaries.stored(name)
      await this.#temporaries.shadow(name, `select kept.* from ${stored} as kept ${semiJoin}`)
    }
    const made = await this.#temporaries.keep(sql)
    await this.#temporaries.unshadow()
    return { made, semiJoin }
  }
}
