/**
 * Brings the tables up to date after a load by looking only at what the load touched, with the same result, row for row, as
 * if everything were made anew. Part of the build's transaction.
 *
 * Models kept by people see the rows of touched people only; what comes out is compared with the rows these people have, and
 * the difference is written. A model with another scope is computed for the groups in which a row that it reads has
 * changed; one without a scope, or with most of its rows in such groups, is computed whole. Which rows a model sees is
 * decided by temporary views under the names it reads (temporaries.ts); its SQL is that of a whole build.
 */

import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import { readContents } from './build-state.ts'
import type { BuildWork, BuiltModel, BuiltTables } from './build.ts'
import type { CheckOutcome } from './checks.ts'
import { applyDifference, IS_NEW, semiJoin } from './difference.ts'
import { fillMissing } from './fill.ts'
import type { FilledTable } from './filled-tables.ts'
import { NightChecks } from './night-checks.ts'
import type { Project, ProjectNode } from './project.ts'
import { columnsOf, createModelTable, rowsIn, saying } from './tables.ts'
import { Temporaries } from './temporaries.ts'
import {
  changedWholly,
  hasColumns,
  PERSON,
  touchedGroups,
  unchanged,
  type Tonight,
} from './tonight.ts'
import { loadedTables } from '../warehouse/catalog.ts'

/** Builds what the people in `ops.touched_people` touch. */
export async function buildNight(work: BuildWork): Promise<BuiltTables> {
  const temporaries = await Temporaries.in(work.warehouse)
  const night = new NightBuild(work, temporaries)
  const built = await night.build()
  await temporaries.dropAll()
  return built
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
  #touched = ''

  constructor(work: BuildWork, temporaries: Temporaries) {
    this.#work = work
    this.#warehouse = work.warehouse
    this.#project = work.project
    this.#temporaries = temporaries
    this.#checks = new NightChecks(work, temporaries, this.#tables)
  }

  async build(): Promise<BuiltTables> {
    const { clock, finished } = this.#work
    const temporaries = this.#temporaries
    this.#touched = await temporaries.keep(`select distinct ${PERSON} from ops.touched_people`)
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
        const read = this.#columnsRead(name, columns).map(quoteIdentifier).join(', ')
        const rows = await this.#temporaries.keep(
          `select ${read} from ${this.#temporaries.main(name)} as kept ${semiJoin('kept', this.#touched, [PERSON])}`,
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

  /** The columns of a loaded table that anything may read. */
  #columnsRead(name: string, columns: readonly string[]): readonly string[] {
    const readers = [...this.#project.nodes, ...this.#project.checks].filter(({ reads }) =>
      reads.includes(name),
    )
    if (readers.some(({ words }) => words === null)) return columns
    return columns.filter(
      (column) => column === PERSON || readers.some(({ words }) => words?.has(column) === true),
    )
  }

  async #bring(node: ProjectNode): Promise<Outcome> {
    if (node.filled !== null) return this.#bringFilled(node, node.filled)
    const columns = [...node.definition.columns.keys()]
    const reads = this.#readsOf(node)
    if (reads.every(({ change }) => change === 'none')) {
      return { tonight: unchanged(node.name, columns), rowsChanged: 0 }
    }
    if (this.#isKeptByPeople(node, reads)) return this.#bringPeople(node, reads, columns)
    if (node.kind === 'view') return { tonight: changedWholly(node.name, columns), rowsChanged: 0 }
    return this.#bringGroups(node, reads, columns)
  }

  #readsOf({ reads }: { readonly reads: readonly string[] }): Tonight[] {
    return reads.flatMap((name) => this.#tables.get(name) ?? [])
  }

  #isKeptByPeople(node: ProjectNode, reads: readonly Tonight[]): boolean {
    // A title is understood the same whoever has it, so a new row there changes nothing for people who were not touched.
    const isFilled = (name: string) =>
      this.#project.nodes.some((other) => other.name === name && other.filled !== null)
    return (
      node.scope.join() === PERSON &&
      reads.every(
        ({ name, rowsOfPeople, change }) =>
          rowsOfPeople !== null || change === 'none' || isFilled(name),
      )
    )
  }

  async #bringPeople(
    node: ProjectNode,
    reads: readonly Tonight[],
    columns: readonly string[],
  ): Promise<Outcome> {
    const temporaries = this.#temporaries
    const { name } = node
    await this.#showPeople(reads)
    const rows = await temporaries.keep(
      `select made.* from (${node.sql}) as made ${semiJoin('made', this.#touched, [PERSON])}`,
    )
    await temporaries.unshadow()
    if (node.kind === 'view') {
      const tonight = {
        ...unchanged(name, columns),
        change: 'rows' as const,
        rowsOfPeople: rows,
        changed: rows,
      }
      return { tonight, rowsChanged: 0 }
    }
    const only = semiJoin('old', this.#touched, [PERSON])
    const { changed, inserted, deleted } = await applyDifference(
      this.#warehouse,
      temporaries,
      { name, columns },
      rows,
      only,
    )
    const change = inserted + deleted === 0 ? 'none' : 'rows'
    const tonight: Tonight = {
      name,
      columns,
      change,
      rowsOfPeople: rows,
      changed,
      saysWhichAreNew: true,
    }
    await this.#checks.runKey(node, tonight, rows)
    return { tonight, rowsChanged: inserted + deleted }
  }

  /** Lets those of `reads` that are kept by people show touched people only. */
  async #showPeople(reads: readonly Tonight[]): Promise<void> {
    for (const read of reads) {
      const { name, rowsOfPeople } = read
      if (!hasColumns(read, [PERSON])) continue
      const kept = `select kept.* from ${this.#temporaries.main(name)} as kept ${semiJoin('kept', this.#touched, [PERSON])}`
      await this.#temporaries.shadow(
        name,
        rowsOfPeople === null ? kept : `select * from ${rowsOfPeople}`,
      )
    }
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
    const groups = await temporaries.keep(`select distinct * from (${select})`)
    if ((await rowsIn(this.#warehouse, groups)) === 0) {
      return { tonight: unchanged(name, columns), rowsChanged: 0 }
    }
    const only = semiJoin('old', groups, scope)
    if (await this.#areMost(name, only)) return this.#bringWhole(node, columns)
    for (const read of reads) {
      if (!hasColumns(read, scope)) continue
      await temporaries.shadow(
        read.name,
        `select kept.* from ${temporaries.main(read.name)} as kept ${semiJoin('kept', groups, scope)}`,
      )
    }
    const rows = await temporaries.keep(
      `select made.* from (${node.sql}) as made ${semiJoin('made', groups, scope)}`,
    )
    await temporaries.unshadow()
    return this.#apply(node, columns, rows, only)
  }

  async #areMost(name: string, only: string): Promise<boolean> {
    const main = this.#temporaries.main(name)
    const touched = await rowsIn(this.#warehouse, `${main} as old ${only}`)
    return touched > this.#work.mostRowsInGroups * (await rowsIn(this.#warehouse, main))
  }

  async #bringWhole(node: ProjectNode, columns: readonly string[]): Promise<Outcome> {
    const { name } = node
    const isRead = this.#project.nodes.some(({ reads }) => reads.includes(name))
    if (isRead) return this.#apply(node, columns, await this.#temporaries.keep(node.sql), '')
    await createModelTable(this.#warehouse, node)
    return { tonight: changedWholly(name, columns), rowsChanged: null }
  }

  async #apply(
    node: ProjectNode,
    columns: readonly string[],
    rows: string,
    only: string,
  ): Promise<Outcome> {
    const { name } = node
    const { changed, inserted, deleted } = await applyDifference(
      this.#warehouse,
      this.#temporaries,
      { name, columns },
      rows,
      only,
    )
    const change = inserted + deleted === 0 ? 'none' : 'rows'
    const tonight: Tonight = {
      name,
      columns,
      change,
      rowsOfPeople: null,
      changed,
      saysWhichAreNew: true,
    }
    await this.#checks.runKey(node, tonight, rows)
    await this.#temporaries.drop(rows)
    return { tonight, rowsChanged: inserted + deleted }
  }

  async #bringFilled(node: ProjectNode, filled: FilledTable): Promise<Outcome> {
    const columns = [...filled.columns.keys()]
    const reads = this.#readsOf(node)
    if (reads.every(({ change }) => change === 'none')) {
      return { tonight: unchanged(node.name, columns), rowsChanged: 0 }
    }
    await this.#showPeople(reads)
    const inserted = await fillMissing(this.#warehouse, filled)
    await this.#temporaries.unshadow()
    const deleted = await this.#forget(filled, reads)
    const isSame = inserted + deleted === 0
    const tonight = isSame ? unchanged(node.name, columns) : changedWholly(node.name, columns)
    return { tonight, rowsChanged: inserted + deleted }
  }

  /**
   * Deletes rows whose key only rows that are gone have mentioned. Of events nothing is ever gone: what they said before
   * they were corrected is in their versions.
   */
  async #forget(filled: FilledTable, reads: readonly Tonight[]): Promise<number> {
    const [read] = reads
    if (read === undefined || reads.length > 1 || !read.saysWhichAreNew) return 0
    const temporaries = this.#temporaries
    await temporaries.shadow(read.name, `select * from ${read.changed} where not ${IS_NEW}`)
    const before = await temporaries.keep(`${filled.mentioned}`)
    await temporaries.unshadow()
    if ((await rowsIn(this.#warehouse, before)) === 0) return 0
    const key = filled.key.map(quoteIdentifier)
    const same = (a: string, b: string) =>
      key.map((column) => `${a}.${column} = ${b}.${column}`).join(' and ')
    const gone = await temporaries.keep(
      `select before.* from ${before} as before anti join (${filled.mentioned}) as now on ${same('before', 'now')}`,
    )
    const count = await rowsIn(this.#warehouse, gone)
    if (count > 0) {
      await this.#warehouse.run(
        `delete from ${temporaries.main(filled.name)} as known using ${gone} as gone where ${same('known', 'gone')}`,
      )
    }
    return count
  }
}
