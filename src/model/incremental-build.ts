/**
 * Refreshes the tables after a load by computing only what the changed people and keys can alter. The result is, row for row,
 * that of a full refresh. Part of the build's transaction.
 *
 * Temporary views under the names that a model reads decide which rows it sees (temporaries.ts); its SQL is that of a full
 * refresh. In which mode a model is refreshed, and what becomes of its rows, table-delta.ts says.
 */

import { loadedTables } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import {
  isByPeople,
  keepKeys,
  rowsOfKeys,
  semiJoin,
  showPeople,
  showRowsOfKeys,
  type ChangedKeys,
} from './changed-keys.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { addMissing, removeUnmentioned } from './compute.ts'
import type { ComputedModel } from './computed-models.ts'
import { applyDifference, DIFF_SIGN, keepBefore, type ComparedTable } from './difference.ts'
import { IncrementalChecks } from './incremental-checks.ts'
import type { BuildWork, BuiltModel, BuiltTables, Project, ProjectNode } from './project.ts'
import { changedInAll, changedKeysOf, PERSON, unchanged, type TableDelta } from './table-delta.ts'
import { columnsOf, createModelTable, rowsIn, withErrorContext } from './tables.ts'
import { Temporaries } from './temporaries.ts'

/** Builds what the people in `ops.changed_people` can alter. */
export async function buildIncrementally(work: BuildWork): Promise<BuiltTables> {
  const { warehouse, project } = work
  // Rows are looked up by key, never by where they stand; written in any order, all threads write.
  await warehouse.run('set preserve_insertion_order = false')
  const temporaries = await Temporaries.in(warehouse, project.nodes)
  const select = `select ${PERSON} from ops.changed_people`
  const people = await keepKeys(warehouse, temporaries, select, [PERSON])
  const built = await new IncrementalBuild(work, temporaries, people).build()
  await temporaries.dropAll()
  return built
}

/** What became of one table. */
interface Refreshed {
  readonly table: TableDelta
  /** Rows written and deleted; null when it was written in full. */
  readonly rowsChanged: number | null
}

class IncrementalBuild {
  readonly #work: BuildWork
  readonly #warehouse: Warehouse
  readonly #project: Project
  readonly #temporaries: Temporaries
  readonly #people: ChangedKeys
  readonly #tables = new Map<string, TableDelta>()

  constructor(work: BuildWork, temporaries: Temporaries, people: ChangedKeys) {
    this.#work = work
    this.#warehouse = work.warehouse
    this.#project = work.project
    this.#temporaries = temporaries
    this.#people = people
  }

  async build(): Promise<BuiltTables> {
    const { clock, finished } = this.#work
    for (const { name } of loadedTables) this.#tables.set(name, await this.#readLoaded(name))
    const models: BuiltModel[] = []
    for (const node of this.#project.nodes) {
      const { name, kind } = node
      const startedMs = clock.monotonic()
      const { table, rowsChanged } = await withErrorContext(`model ${name}`, () =>
        this.#refresh(node),
      )
      this.#tables.set(name, table)
      const rows =
        kind === 'view' ? null : await rowsIn(this.#warehouse, this.#temporaries.stored(name))
      models.push({ name, rows, rowsChanged, durationMs: clock.monotonic() - startedMs })
      finished(name, rowsChanged)
    }
    const checks = new IncrementalChecks(this.#work, this.#temporaries, this.#people, this.#tables)
    const outcomes: CheckOutcome[] = []
    for (const check of this.#project.checks) {
      outcomes.push(await withErrorContext(`check ${check.name}`, () => checks.run(check)))
      finished(check.name, 0)
    }
    return { models, outcomes }
  }

  async #readLoaded(name: string): Promise<TableDelta> {
    const columns = await columnsOf(this.#warehouse, name)
    if (!columns.includes(PERSON)) return changedInAll(name, columns)
    const rows = await this.#temporaries.keep(rowsOfKeys(this.#temporaries, name, this.#people))
    return this.#peopleDelta(name, columns, rows)
  }

  /** The delta of a table of which only the rows that people have now are known. */
  async #peopleDelta(name: string, columns: readonly string[], rows: string): Promise<TableDelta> {
    const isEmpty = (await rowsIn(this.#warehouse, rows)) === 0
    return {
      ...unchanged(name, columns),
      change: isEmpty ? 'none' : 'rows',
      peopleRows: rows,
      delta: isEmpty ? null : `(select *, 1 as ${DIFF_SIGN} from ${rows})`,
      isExact: false,
    }
  }

  async #refresh(node: ProjectNode): Promise<Refreshed> {
    if (node.computed !== null) return this.#refreshComputed(node, node.computed)
    const { name, kind, incrementalBy } = node
    const columns = [...node.columns.keys()]
    const reads = this.#readsOf(node)
    if (reads.every(({ change }) => change === 'none')) {
      return { table: unchanged(name, columns), rowsChanged: 0 }
    }
    if (isByPeople(this.#project, incrementalBy, reads)) return this.#refreshPeople(node, reads)
    if (kind === 'view') return { table: changedInAll(name, columns), rowsChanged: 0 }
    const select = incrementalBy.length === 0 ? null : changedKeysOf(reads, incrementalBy)
    return select === null ? this.#refreshAll(node) : this.#refreshKeys(node, reads, select)
  }

  #readsOf({ reads }: { readonly reads: readonly string[] }): TableDelta[] {
    return reads.flatMap((name) => this.#tables.get(name) ?? [])
  }

  async #refreshPeople(node: ProjectNode, reads: readonly TableDelta[]): Promise<Refreshed> {
    const temporaries = this.#temporaries
    const compared = comparedTable(node)
    await showPeople(temporaries, reads, this.#people)
    const rows = await temporaries.keep(node.sql)
    await temporaries.unshadow()
    if (node.kind === 'view') {
      const table = await this.#peopleDelta(node.name, compared.columns, rows)
      return { table, rowsChanged: 0 }
    }
    const before = await keepBefore(temporaries, compared, semiJoin('old', this.#people))
    const refreshed = await this.#apply(compared, before, rows)
    return { ...refreshed, table: { ...refreshed.table, peopleRows: rows } }
  }

  async #refreshKeys(
    node: ProjectNode,
    reads: readonly TableDelta[],
    select: string,
  ): Promise<Refreshed> {
    const temporaries = this.#temporaries
    const compared = comparedTable(node)
    const keys = await keepKeys(this.#warehouse, temporaries, select, node.incrementalBy)
    const before = await keepBefore(temporaries, compared, semiJoin('old', keys))
    await showRowsOfKeys(temporaries, reads, keys)
    const rows = await temporaries.keep(
      `select made.* from (${node.sql}) as made ${semiJoin('made', keys)}`,
    )
    await temporaries.unshadow()
    const refreshed = await this.#apply(compared, before, rows)
    for (const kept of [rows, keys.source]) await temporaries.drop(kept)
    return refreshed
  }

  async #refreshAll(node: ProjectNode): Promise<Refreshed> {
    const compared = comparedTable(node)
    if (!this.#project.nodes.some(({ reads }) => reads.includes(node.name))) {
      await createModelTable(this.#warehouse, node)
      return { table: changedInAll(node.name, compared.columns), rowsChanged: null }
    }
    const before = await keepBefore(this.#temporaries, compared, '')
    const rows = await this.#temporaries.keep(node.sql)
    const refreshed = await this.#apply(compared, before, rows)
    await this.#temporaries.drop(rows)
    return refreshed
  }

  /** Replaces the rows that stand in `before` by `rows`. */
  async #apply(compared: ComparedTable, before: string, rows: string): Promise<Refreshed> {
    const { delta, inserted, deleted } = await applyDifference(
      this.#warehouse,
      this.#temporaries,
      compared,
      before,
      rows,
    )
    const table = unchanged(compared.name, compared.columns)
    const rowsChanged = inserted + deleted
    return { table: rowsChanged === 0 ? table : { ...table, change: 'rows', delta }, rowsChanged }
  }

  /** Adds the keys that changed people mention, and removes those that no row mentions any more. */
  async #refreshComputed(node: ProjectNode, computed: ComputedModel): Promise<Refreshed> {
    const { name } = node
    const columns = [...node.columns.keys()]
    const reads = this.#readsOf(node)
    if (reads.every(({ change }) => change === 'none')) {
      return { table: unchanged(name, columns), rowsChanged: 0 }
    }
    await showPeople(this.#temporaries, reads, this.#people)
    const inserted = await addMissing(this.#warehouse, computed)
    await this.#temporaries.unshadow()
    // Of events nothing is ever gone: what they said before they were corrected is in their versions.
    const [read] = reads
    const deleted =
      read?.isExact === true
        ? await removeUnmentioned(this.#warehouse, this.#temporaries, computed, read)
        : 0
    const rowsChanged = inserted + deleted
    const table = rowsChanged === 0 ? unchanged(name, columns) : changedInAll(name, columns)
    return { table, rowsChanged }
  }
}

function comparedTable({ name, columns, key }: ProjectNode): ComparedTable {
  return { name, columns: [...columns.keys()], key }
}
