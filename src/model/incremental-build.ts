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
import type { ComputedModel } from './computed-models.ts'
import {
  dropPrefilter,
  isByPeople,
  keepDifferences,
  keepKeys,
  semiJoin,
  showRowsOfKeys,
  showPeople,
  withPrefilter,
  type ChangedKeys,
} from './changed-keys.ts'
import { IncrementalChecks } from './incremental-checks.ts'
import { columnsCompared, columnsOfPeople } from './columns-read.ts'
import { computeForPeople } from './incremental-compute.ts'
import type { Project, ProjectNode } from './project.ts'
import { columnsOf, createModelTable, rowsIn, withErrorContext } from './tables.ts'
import { Temporaries } from './temporaries.ts'
import {
  areDifferencesKnown,
  changedWholly,
  PERSON,
  changedKeysOf,
  unchanged,
  type TableDelta,
} from './table-delta.ts'
import { EACH_ROW, loadedTables } from '../warehouse/catalog.ts'

/** Builds what the people in `ops.changed_people` touch. Call `resetSession` when the transaction is over. */
export async function buildIncrementally(work: BuildWork): Promise<BuiltTables> {
  const { warehouse } = work
  const temporaries = await Temporaries.in(warehouse, work.project.nodes)
  // Rows are looked up by key, never by where they stand; written in any order, all threads write.
  await warehouse.run('set preserve_insertion_order = false')
  const changed = `select ${PERSON} from ops.changed_people`
  const keys = await keepKeys(warehouse, temporaries, changed, [PERSON])
  const people = await withPrefilter(warehouse, keys)
  const built = await new IncrementalBuild(work, temporaries, people).build()
  await temporaries.dropAll()
  return built
}

/**
 * Takes back what a night sets for the session. Not part of the transaction: in one that failed nothing can be set, and the
 * refusal would hide why it failed.
 */
export async function resetSession(warehouse: Warehouse): Promise<void> {
  await warehouse.run('reset preserve_insertion_order; reset search_path')
  await dropPrefilter(warehouse)
}

/** What became of one table. */
interface Outcome {
  readonly delta: TableDelta
  /** Rows written and deleted; null when it was made anew. */
  readonly rowsChanged: number | null
}

class IncrementalBuild {
  readonly #work: BuildWork
  readonly #warehouse: Warehouse
  readonly #project: Project
  readonly #temporaries: Temporaries
  readonly #tables = new Map<string, TableDelta>()
  readonly #checks: IncrementalChecks
  readonly #people: ChangedKeys

  constructor(work: BuildWork, temporaries: Temporaries, people: ChangedKeys) {
    this.#work = work
    this.#warehouse = work.warehouse
    this.#project = work.project
    this.#temporaries = temporaries
    this.#people = people
    this.#checks = new IncrementalChecks(work, temporaries, people, this.#tables)
  }

  async build(): Promise<BuiltTables> {
    const { clock, finished } = this.#work
    const temporaries = this.#temporaries
    await this.#readLoaded()
    const models: BuiltModel[] = []
    const outcomes: CheckOutcome[] = []
    for (const node of this.#project.nodes) {
      const startedMs = clock.monotonic()
      const { delta, rowsChanged } = await withErrorContext(`model ${node.name}`, () =>
        this.#refresh(node),
      )
      this.#tables.set(node.name, delta)
      const rows =
        node.kind === 'view' ? null : await rowsIn(this.#warehouse, temporaries.stored(node.name))
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
          `select ${read} from ${this.#temporaries.stored(name)} as kept ${semiJoin('kept', this.#people)}`,
        )
        const change = (await rowsIn(this.#warehouse, rows)) === 0 ? 'none' : 'rows'
        const delta = { ...unchanged(name, columns), change } as const
        this.#tables.set(name, { ...delta, rowsOfPeople: rows, changed: rows })
      } else {
        const isSame = now.get(name) === before.get(name)
        this.#tables.set(name, isSame ? unchanged(name, columns) : changedWholly(name, columns))
      }
    }
  }

  async #refresh(node: ProjectNode): Promise<Outcome> {
    if (node.computed !== null) return this.#refreshComputed(node.computed)
    const columns = [...node.definition.columns.keys()]
    const reads = this.#readsOf(node)
    if (reads.every(({ change }) => change === 'none')) {
      return { delta: unchanged(node.name, columns), rowsChanged: 0 }
    }
    if (isByPeople(this.#project, node.incrementalBy, reads))
      return this.#refreshPeople(node, reads, columns)
    if (node.kind === 'view') return this.#refreshView(node, reads, columns)
    return this.#refreshGroups(node, reads, columns)
  }

  #readsOf({ reads }: { readonly reads: readonly string[] }): TableDelta[] {
    return reads.flatMap((name) => this.#tables.get(name) ?? [])
  }

  async #refreshPeople(
    node: ProjectNode,
    reads: readonly TableDelta[],
    columns: readonly string[],
  ): Promise<Outcome> {
    const temporaries = this.#temporaries
    const { name } = node
    await showPeople(temporaries, reads, this.#people)
    // Of a view nothing is written: what nobody reads need not be computed.
    const made = node.kind === 'view' ? columnsOfPeople(this.#project, name, columns) : columns
    const rows = await temporaries.keep(
      `select ${listOf(made, 'made')}
       from (${node.sql}) as made ${semiJoin('made', this.#people)}`,
    )
    await temporaries.unshadow()
    const isMade = { ...unchanged(name, columns), change: 'rows' as const, rowsOfPeople: rows }
    if (node.kind === 'view') return { delta: { ...isMade, changed: rows }, rowsChanged: 0 }
    const before = await keepBefore(
      temporaries,
      this.#comparedOf(node),
      semiJoin('old', this.#people),
    )
    return this.#apply(node, before, rows, rows)
  }

  /** A view stores nothing, but whoever reads it has to know which of its rows came and went. */
  async #refreshView(
    node: ProjectNode,
    reads: readonly TableDelta[],
    columns: readonly string[],
  ): Promise<Outcome> {
    const { name, incrementalBy, sql } = node
    if (incrementalBy.join() !== EACH_ROW || !reads.every(areDifferencesKnown)) {
      return { delta: changedWholly(name, columns), rowsChanged: 0 }
    }
    const changed = await keepDifferences(this.#temporaries, reads, sql)
    const change = (await rowsIn(this.#warehouse, changed)) === 0 ? 'none' : 'rows'
    const delta: TableDelta = { ...unchanged(name, columns), change, changed, compared: columns }
    return { delta, rowsChanged: 0 }
  }

  async #refreshGroups(
    node: ProjectNode,
    reads: readonly TableDelta[],
    columns: readonly string[],
  ): Promise<Outcome> {
    const temporaries = this.#temporaries
    const { name, incrementalBy } = node
    const select =
      incrementalBy.length === 0 ? null : changedKeysOf(reads, incrementalBy, node.words)
    if (select === null) return this.#refreshWhole(node, columns)
    const groups = await keepKeys(this.#warehouse, temporaries, select, incrementalBy)
    if (groups.count === 0) return { delta: unchanged(name, columns), rowsChanged: 0 }
    const before = await keepBefore(temporaries, this.#comparedOf(node), semiJoin('old', groups))
    if (await this.#areMost(name, before)) {
      await temporaries.drop(before)
      return this.#refreshWhole(node, columns)
    }
    const shown = await showRowsOfKeys(temporaries, reads, groups, node)
    const rows = await temporaries.keep(
      `select made.* from (${node.sql}) as made ${semiJoin('made', groups)}`,
    )
    await temporaries.unshadow()
    for (const kept of shown) await temporaries.drop(kept)
    return this.#apply(node, before, rows, null)
  }

  async #areMost(name: string, rows: string): Promise<boolean> {
    const all = await rowsIn(this.#warehouse, this.#temporaries.stored(name))
    return (await rowsIn(this.#warehouse, rows)) > this.#work.mostRowsInKeys * all
  }

  async #refreshWhole(node: ProjectNode, columns: readonly string[]): Promise<Outcome> {
    const { name } = node
    const isRead = this.#project.nodes.some(({ reads }) => reads.includes(name))
    if (isRead) {
      const before = await keepBefore(this.#temporaries, this.#comparedOf(node), '')
      return this.#apply(node, before, await this.#temporaries.keep(node.sql), null)
    }
    await createModelTable(this.#warehouse, node)
    return { delta: changedWholly(name, columns), rowsChanged: null }
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
    const delta: TableDelta = {
      ...unchanged(name, columns),
      rowsOfPeople,
      ...(rowsChanged === 0 ? {} : { change: 'rows', changed, compared }),
    }
    await this.#checks.runOwn(node, delta, rows)
    if (rowsOfPeople === null) await temporaries.drop(rows)
    return { delta, rowsChanged }
  }

  async #refreshComputed(computed: ComputedModel): Promise<Outcome> {
    const reads = this.#readsOf(computed)
    const { inserted, deleted } = reads.every(({ change }) => change === 'none')
      ? { inserted: 0, deleted: 0 }
      : await computeForPeople(this.#warehouse, this.#temporaries, computed, reads, this.#people)
    const rowsChanged = inserted + deleted
    const isSame = rowsChanged === 0
    const columns = [...computed.columns.keys()]
    const delta = isSame ? unchanged(computed.name, columns) : changedWholly(computed.name, columns)
    return { delta, rowsChanged }
  }
}
