/**
 * Refreshes the tables after a load. The result is, row for row, that of a full refresh. Part of the build's transaction.
 *
 * | a model                                               | is made again          |
 * |-------------------------------------------------------|------------------------|
 * | none of whose inputs changed                          | not                    |
 * | with `incremental_by: profile_id`                     | for the changed people |
 * | that is a view                                        | where it is read       |
 * | of an endpoint that had no answer before              | for the first time     |
 * | any other                                             | whole                  |
 *
 * What was made is compared with what was there. Where the rows are the same, the table counts as unchanged, and so do the models
 * that read nothing else.
 */

import {
  CHANGES_WITH_EVERY_RUN,
  loadedTables,
  PERSON,
  WATCH_ENTRIES,
} from '../warehouse/catalog.ts'
import { changedByLoads, noteChangedYears } from '../warehouse/changed-tables.ts'
import { columnsOfAll, type TypedColumn } from '../warehouse/columns.ts'
import { naming } from '../warehouse/errors.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { passed, runChecks } from './checks.ts'
import { computeAll } from './compute.ts'
import type { Check } from './constraints.ts'
import { ChangedPeople, EVENT_TABLES } from './changed-people.ts'
import { writeDifference } from './difference.ts'
import type { ProjectNode } from './project.ts'
import { commentOn, createModelTable, proveReadable } from './tables.ts'
import { Temporaries } from './temporaries.ts'
import type { BuildWork, BuiltModel, BuiltTables } from './work.ts'

/** The model that holds the day of the data; people whose changes came due with it count as changed. */
const AS_OF = 'as_of'

/** Builds what the people in `ops.changed_people` and the tables that loads changed can alter. */
export async function buildIncrementally(work: BuildWork): Promise<BuiltTables> {
  return new IncrementalBuild(work, await Temporaries.in(work.warehouse, work.project.nodes)).run()
}

class IncrementalBuild {
  readonly #work: BuildWork
  readonly #temporaries: Temporaries
  readonly #people: ChangedPeople
  /** Names of tables and views whose rows are, or may be, others than before. */
  readonly #changed = new Set<string>()
  /** Of those that snapshots may hold, the years in which rows changed; null where that is not known. */
  readonly #noted = new Map<string, readonly (number | null)[] | null>()
  /** Names of the tables and views that have rows of a person for that person alone. */
  readonly #byPerson: ReadonlySet<string>
  readonly #computed: ReadonlySet<string>
  #columns: ReadonlyMap<string, readonly TypedColumn[]> = new Map()

  constructor(work: BuildWork, temporaries: Temporaries) {
    const { nodes } = work.project
    const byPerson = nodes.filter(({ isByPerson }) => isByPerson)
    this.#work = work
    this.#temporaries = temporaries
    this.#people = new ChangedPeople(temporaries, byPerson)
    this.#byPerson = new Set([...EVENT_TABLES, ...byPerson.map(({ name }) => name)])
    this.#computed = new Set(nodes.flatMap(({ name, computed }) => (computed === null ? [] : name)))
  }

  async run(): Promise<BuiltTables> {
    const { warehouse, project, clock, finished } = this.#work
    await this.#noteInputs()
    // Rows are found by key and never by where they stand; written in any order, all threads write.
    await warehouse.run('set preserve_insertion_order = false')
    const models: BuiltModel[] = []
    let skipped = 0
    for (const node of project.nodes) {
      const { name } = node
      const startedMs = clock.monotonic()
      const isSkipped = this.#isThere(node) && !node.reads.some((read) => this.#changed.has(read))
      const rowsChanged = isSkipped ? 0 : await naming(`model ${name}`, () => this.#refresh(node))
      if (isSkipped) skipped += 1
      models.push({ name, rows: null, rowsChanged, durationMs: clock.monotonic() - startedMs })
      finished(name, 1, rowsChanged)
    }
    await noteChangedYears(warehouse, this.#noted)
    const checked = await this.#check()
    await this.#temporaries.dropAll()
    return {
      models,
      outcomes: checked.outcomes,
      skipped: { models: skipped, checks: checked.skipped },
    }
  }

  /** Finds out what changed before this build. */
  async #noteInputs(): Promise<void> {
    const { warehouse, project } = this.#work
    const asOf = project.nodes.find(({ name }) => name === AS_OF)
    const people = await this.#people.find(asOf)
    const loaded = await changedByLoads(warehouse)
    for (const { name } of loadedTables) {
      if (EVENT_TABLES.includes(name) ? people > 0 : loaded.has(name)) this.#changed.add(name)
    }
    // The watch-lists are written before each build, and only a view reads them.
    for (const name of [...CHANGES_WITH_EVERY_RUN, WATCH_ENTRIES]) this.#changed.add(name)
    this.#columns = await columnsOfAll(warehouse)
  }

  #isThere({ name }: ProjectNode): boolean {
    return this.#columns.has(name)
  }

  /** Makes a model again. @returns how many rows were written and deleted */
  async #refresh(node: ProjectNode): Promise<number> {
    const { warehouse } = this.#work
    if (!this.#isThere(node)) {
      const rows = await createModelTable(warehouse, node)
      await commentOn(warehouse, node)
      this.#noteChange(node, null)
      return rows ?? 0
    }
    if (node.computed !== null) {
      const rows = await computeAll(warehouse, node.computed)
      if (rows > 0) this.#noteChange(node, null)
      return rows
    }
    if (node.kind === 'view') {
      await proveReadable(warehouse, node)
      this.#noteChange(node, null)
      return 0
    }
    return this.#isByPeople(node) ? this.#refreshPeople(node) : this.#refreshWhole(node)
  }

  /** Whether a model can be made for changed people alone. */
  #isByPeople({ isByPerson, reads }: ProjectNode): boolean {
    // A title is understood the same for everyone: a new row there changes nothing for people who did not change.
    const isFine = (name: string) =>
      this.#byPerson.has(name) ||
      this.#people.isFollowed(name) ||
      this.#computed.has(name) ||
      name === AS_OF ||
      !this.#changed.has(name)
    return isByPerson && reads.every(isFine)
  }

  async #refreshPeople(node: ProjectNode): Promise<number> {
    const made = await this.#people.make(node)
    return this.#replace(node, this.#people.semiJoin('kept'), made)
  }

  async #refreshWhole(node: ProjectNode): Promise<number> {
    const made = await this.#temporaries.keep(node.sql)
    if (node.columns.has(PERSON)) {
      const stored = this.#temporaries.stored(node.name)
      await this.#people.follow(node.name, stored, made, this.#columnsOf(node))
    }
    const rows = await this.#replace(node, '', made)
    await this.#temporaries.drop(made)
    return rows
  }

  async #replace(node: ProjectNode, before: string, made: string): Promise<number> {
    const stored = this.#temporaries.stored(node.name)
    const columns = this.#columnsOf(node)
    const written = await writeDifference(this.#temporaries, node, columns, stored, before, made)
    if (written.years.length > 0) this.#noteChange(node, written.years)
    return written.rows
  }

  /** @param years in which rows changed; null where that is not known */
  #noteChange(node: ProjectNode, years: readonly (number | null)[] | null): void {
    this.#changed.add(node.name)
    if (node.schema === 'core') return
    this.#noted.set(node.name, node.partitionByYearOf === null ? null : years)
  }

  #columnsOf({ name }: ProjectNode): readonly TypedColumn[] {
    return this.#columns.get(name) ?? []
  }

  /** Runs the checks that read a changed table, on all of its rows. */
  async #check(): Promise<{
    readonly outcomes: readonly CheckOutcome[]
    readonly skipped: number
  }> {
    const { warehouse, project, finished } = this.#work
    const isDue = ({ reads }: Check) =>
      reads.length === 0 || reads.some((name) => this.#changed.has(name))
    const due = project.checks.filter(isDue)
    const ran = await runChecks(warehouse, due, finished)
    const byName = new Map(ran.map((outcome) => [outcome.name, outcome]))
    const outcomes = project.checks.map((check) => byName.get(check.name) ?? passed(check))
    return { outcomes, skipped: project.checks.length - due.length }
  }
}
