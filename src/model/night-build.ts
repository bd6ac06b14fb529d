/**
 * Brings the tables up to date after a load by looking only at what the load touched, with the same result, row for row, as
 * if everything were made anew. Part of the build's transaction.
 *
 * Models kept by people see the rows of touched people only; what comes out replaces the rows these people have. A model with
 * another scope is computed for the groups in which a row that it reads has changed, in a column that it reads; one without
 * a scope, or with most of its rows in such groups, is computed whole. Which rows a model sees is decided by temporary
 * views under the names it reads (temporaries.ts); its SQL is that of a whole build.
 */

import type { Warehouse } from '../warehouse/warehouse.ts'
import { readContents } from './build-state.ts'
import type { BuildWork, BuiltModel, BuiltTables } from './build.ts'
import type { CheckOutcome } from './checks.ts'
import { applyDifferences, keepBefore, listOf, type Compared } from './difference.ts'
import type { FilledTable } from './filled-tables.ts'
import {
  dropSieve,
  isByPeople,
  keepDifferences,
  keepGroups,
  semiJoin,
  showGroups,
  showPeople,
  withSieve,
  type Groups,
} from './groups.ts'
import { NightChecks } from './night-checks.ts'
import { columnsCompared, columnsOfPeople } from './night-columns.ts'
import { fillOfPeople } from './night-fill.ts'
import type { Project, ProjectNode } from './project.ts'
import { columnsOf, createModelTable, rowsIn, saying } from './tables.ts'
import { Temporaries } from './temporaries.ts'
import {
  areDifferencesKnown,
  changedWholly,
  PERSON,
  touchedGroups,
  unchanged,
  type Tonight,
} from './tonight.ts'
import { EACH_ROW, loadedTables } from '../warehouse/catalog.ts'

/** Builds what the people in `ops.touched_people` touch. Call `endNight` when the transaction is over. */
export async function buildNight(work: BuildWork): Promise<BuiltTables> {
  const { warehouse } = work
  const temporaries = await Temporaries.in(warehouse)
  // Rows are looked up by key, never by where they stand; written in any order, all threads write.
  await warehouse.run('set preserve_insertion_order = false')
  const people = `select ${PERSON} from ops.touched_people`
  const groups = await keepGroups(warehouse, temporaries, people, [PERSON])
  const touched = await withSieve(warehouse, groups)
  const built = await new NightBuild(work, temporaries, touched).build()
  await temporaries.dropAll()
  return built
}

/**
 * Takes back what a night sets for the session. Not part of the transaction: in one that failed nothing can be set, and the
 * refusal would hide why it failed.
 */
export async function endNight(warehouse: Warehouse): Promise<void> {
  await warehouse.run('reset preserve_insertion_order')
  await dropSieve(warehouse)
}

/** What became of one table. */
interface Outcome {
  readonly tonight: Tonight
  /** Rows written and deleted; null when it was made anew. */
  readonly rowsChanged: number | null
}

class NightBuild {
  readonly #work: BuildWork
  readonly #warehouse: Warehouse
  readonly #project: Project
  readonly #temporaries: Temporaries
  readonly #tables = new Map<string, Tonight>()
  readonly #checks: NightChecks
  readonly #touched: Groups

  constructor(work: BuildWork, temporaries: Temporaries, touched: Groups) {
    this.#work = work
    this.#warehouse = work.warehouse
    this.#project = work.project
    this.#temporaries = temporaries
    this.#touched = touched
    this.#checks = new NightChecks(work, temporaries, touched, this.#tables)
  }

  async build(): Promise<BuiltTables> {
    const { clock, finished } = this.#work
    const temporaries = this.#temporaries
    await this.#readLoaded()
    const models: BuiltModel[] = []
    const outcomes: CheckOutcome[] = []
    for (const node of this.#project.nodes) {
      const startedMs = clock.monotonic()
      const { tonight, rowsChanged } = await saying(`model ${node.name}`, () => this.#bring(node))
      this.#tables.set(node.name, tonight)
      const rows =
        node.kind === 'view' ? null : await rowsIn(this.#warehouse, temporaries.main(node.name))
      models.push({ name: node.name, rows, rowsChanged, durationMs: clock.monotonic() - startedMs })
      finished(node.name, rowsChanged)
    }
    for (const check of this.#project.checks) {
      outcomes.push(await this.#checks.run(check))
      finished(check.name, 0)
    }
    return { models, outcomes }
  }

  async #readLoaded(): Promise<void> {
    const { now, before } = await readContents(this.#warehouse)
    for (const { name } of loadedTables) {
      const columns = await columnsOf(this.#warehouse, name)
      if (columns.includes(PERSON)) {
        const read = listOf(columnsOfPeople(this.#project, name, columns))
        const rows = await this.#temporaries.keep(
          `select ${read} from ${this.#temporaries.main(name)} as kept ${semiJoin('kept', this.#touched)}`,
        )
        const change = (await rowsIn(this.#warehouse, rows)) === 0 ? 'none' : 'rows'
        const tonight = { ...unchanged(name, columns), change } as const
        this.#tables.set(name, { ...tonight, rowsOfPeople: rows, changed: rows })
      } else {
        const isSame = now.get(name) === before.get(name)
        this.#tables.set(name, isSame ? unchanged(name, columns) : changedWholly(name, columns))
      }
    }
  }

  async #bring(node: ProjectNode): Promise<Outcome> {
    if (node.filled !== null) return this.#bringFilled(node.filled)
    const columns = [...node.definition.columns.keys()]
    const reads = this.#readsOf(node)
    if (reads.every(({ change }) => change === 'none')) {
      return { tonight: unchanged(node.name, columns), rowsChanged: 0 }
    }
    if (isByPeople(this.#project, node.scope, reads)) return this.#bringPeople(node, reads, columns)
    if (node.kind === 'view') return this.#bringView(node, reads, columns)
    return this.#bringGroups(node, reads, columns)
  }

  #readsOf({ reads }: { readonly reads: readonly string[] }): Tonight[] {
    return reads.flatMap((name) => this.#tables.get(name) ?? [])
  }

  async #bringPeople(
    node: ProjectNode,
    reads: readonly Tonight[],
    columns: readonly string[],
  ): Promise<Outcome> {
    const temporaries = this.#temporaries
    const { name } = node
    await showPeople(temporaries, reads, this.#touched)
    // Of a view nothing is written: what nobody reads need not be computed.
    const made = node.kind === 'view' ? columnsOfPeople(this.#project, name, columns) : columns
    const rows = await temporaries.keep(
      `select ${listOf(made, 'made')}
       from (${node.sql}) as made ${semiJoin('made', this.#touched)}`,
    )
    await temporaries.unshadow()
    const isMade = { ...unchanged(name, columns), change: 'rows' as const, rowsOfPeople: rows }
    if (node.kind === 'view') return { tonight: { ...isMade, changed: rows }, rowsChanged: 0 }
    const before = await keepBefore(
      temporaries,
      this.#comparedOf(node),
      semiJoin('old', this.#touched),
    )
    return this.#apply(node, before, rows, rows)
  }

  /** A view stores nothing, but whoever reads it has to know which of its rows came and went. */
  async #bringView(
    node: ProjectNode,
    reads: readonly Tonight[],
    columns: readonly string[],
  ): Promise<Outcome> {
    const { name, scope, sql } = node
    if (scope.join() !== EACH_ROW || !reads.every(areDifferencesKnown)) {
      return { tonight: changedWholly(name, columns), rowsChanged: 0 }
    }
    const changed = await keepDifferences(this.#temporaries, reads, sql)
    const change = (await rowsIn(this.#warehouse, changed)) === 0 ? 'none' : 'rows'
    const tonight: Tonight = { ...unchanged(name, columns), change, changed, compared: columns }
    return { tonight, rowsChanged: 0 }
  }

  async #bringGroups(
    node: ProjectNode,
    reads: readonly Tonight[],
    columns: readonly string[],
  ): Promise<Outcome> {
    const temporaries = this.#temporaries
    const { name, scope } = node
    const select = scope.length === 0 ? null : touchedGroups(reads, scope, node.words)
    if (select === null) return this.#bringWhole(node, columns)
    const groups = await keepGroups(this.#warehouse, temporaries, select, scope)
    if (groups.count === 0) return { tonight: unchanged(name, columns), rowsChanged: 0 }
    const before = await keepBefore(temporaries, this.#comparedOf(node), semiJoin('old', groups))
    if (await this.#areMost(name, before)) {
      await temporaries.drop(before)
      return this.#bringWhole(node, columns)
    }
    const shown = await showGroups(temporaries, reads, groups, node)
    const rows = await temporaries.keep(
      `select made.* from (${node.sql}) as made ${semiJoin('made', groups)}`,
    )
    await temporaries.unshadow()
    for (const kept of shown) await temporaries.drop(kept)
    return this.#apply(node, before, rows, null)
  }

  async #areMost(name: string, rows: string): Promise<boolean> {
    const all = await rowsIn(this.#warehouse, this.#temporaries.main(name))
    return (await rowsIn(this.#warehouse, rows)) > this.#work.mostRowsInGroups * all
  }

  async #bringWhole(node: ProjectNode, columns: readonly string[]): Promise<Outcome> {
    const { name } = node
    const isRead = this.#project.nodes.some(({ reads }) => reads.includes(name))
    if (isRead) {
      const before = await keepBefore(this.#temporaries, this.#comparedOf(node), '')
      return this.#apply(node, before, await this.#temporaries.keep(node.sql), null)
    }
    await createModelTable(this.#warehouse, node)
    return { tonight: changedWholly(name, columns), rowsChanged: null }
  }

  #comparedOf(node: ProjectNode): Compared {
    const { name, definition } = node
    const columns = [...definition.columns.keys()]
    return { name, columns, key: definition.key, compared: columnsCompared(this.#project, node) }
  }

  /** Replaces the rows that stand in `before` by `rows`. */
  async #apply(
    node: ProjectNode,
    before: string,
    rows: string,
    rowsOfPeople: string | null,
  ): Promise<Outcome> {
    const temporaries = this.#temporaries
    const table = this.#comparedOf(node)
    const { name, columns, compared } = table
    const { changed, inserted, deleted } = await applyDifferences(
      this.#warehouse,
      temporaries,
      table,
      before,
      rows,
    )
    const rowsChanged = inserted + deleted
    const tonight: Tonight = {
      ...unchanged(name, columns),
      rowsOfPeople,
      ...(rowsChanged === 0 ? {} : { change: 'rows', changed, compared }),
    }
    await this.#checks.runOwn(node, tonight, rows)
    if (rowsOfPeople === null) await temporaries.drop(rows)
    return { tonight, rowsChanged }
  }

  async #bringFilled(filled: FilledTable): Promise<Outcome> {
    const reads = this.#readsOf(filled)
    const { inserted, deleted } = reads.every(({ change }) => change === 'none')
      ? { inserted: 0, deleted: 0 }
      : await fillOfPeople(this.#warehouse, this.#temporaries, filled, reads, this.#touched)
    const rowsChanged = inserted + deleted
    const isSame = rowsChanged === 0
    const columns = [...filled.columns.keys()]
    const tonight = isSame ? unchanged(filled.name, columns) : changedWholly(filled.name, columns)
    return { tonight, rowsChanged }
  }
}
