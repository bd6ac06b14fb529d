/**
 * Refreshes the tables after a load. The result is, row for row, that of a full refresh. Part of the build's
 * transaction.
 *
 * | a model                                               | is made again          |
 * |-------------------------------------------------------|------------------------|
 * | without changed inputs                                | not                    |
 * | with `incremental_by: profile_id`                     | for the changed people |
 * | with `incremental_by: organization_id`                | for those whose rows changed in what it reads |
 * | that is a view                                        | where it is read       |
 * | of an endpoint that had no answer before              | for the first time     |
 * | any other                                             | whole                  |
 *
 * One of the user's own models is made from nothing when its file, or that of a model it reads, is new or edited; it is
 * dropped when its file is gone. A build of some models makes each of them whole, and runs the checks that read one.
 *
 * The new rows are compared with the old ones. Where they are the same, the table counts as unchanged, and so do the
 * models that read nothing else.
 */

import {
  CHANGES_WITH_EVERY_RUN,
  loadedTables,
  ORGANIZATION,
  PERSON,
  WATCH_ENTRIES,
} from '../warehouse/catalog.ts'
import { changedByLoads, noteChangedYears } from '../warehouse/changed-tables.ts'
import { columnsOfAll, type TypedColumn } from '../warehouse/columns.ts'
import { partlyBuilt } from './build-state.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { passed, runChecks } from './checks.ts'
import { computeAll } from './compute.ts'
import type { Check } from './constraints.ts'
import { ChangedOrganizations } from './changed-organizations.ts'
import { ChangedPeople, EVENT_TABLES } from './changed-people.ts'
import { writeDifference } from './difference.ts'
import { namingModel } from './naming-model.ts'
import type { ProjectNode } from './project.ts'
import {
  commentOn,
  createModelTable,
  dropOwnTables,
  proveReadable,
  refuseForeignTables,
  refuseOtherColumns,
} from './tables.ts'
import { Temporaries } from './temporaries.ts'
import type { BuildWork, BuiltModel, BuiltTables } from './work.ts'

/** The model that holds the day of the data; people whose changes came due with it count as changed. */
const AS_OF = 'as_of'

/**
 * Builds what the people in `ops.changed_people` and the tables that loads changed can alter.
 * @param selected builds these models alone, and all rows of them
 */
export async function buildIncrementally(
  work: BuildWork,
  selected: ReadonlySet<string> | null = null,
): Promise<BuiltTables> {
  const temporaries = await Temporaries.in(work.warehouse, work.project.nodes)
  return new IncrementalBuild(work, temporaries, selected).run()
}

class IncrementalBuild {
  readonly #work: BuildWork
  readonly #temporaries: Temporaries
  readonly #people: ChangedPeople
  readonly #organizations: ChangedOrganizations
  /** Names of tables and views whose rows changed, or may have. */
  readonly #changed = new Set<string>()
  /** Of those that snapshots may hold, the years in which rows changed; null where that is not known. */
  readonly #noted = new Map<string, readonly (number | null)[] | null>()
  /** Names of the tables and views that have rows of a person for that person alone. */
  readonly #byPerson: ReadonlySet<string>
  readonly #computed: ReadonlySet<string>
  readonly #selected: ReadonlySet<string> | null
  #columns: ReadonlyMap<string, readonly TypedColumn[]> = new Map()

  constructor(work: BuildWork, temporaries: Temporaries, selected: ReadonlySet<string> | null) {
    const { nodes } = work.project
    const byPerson = nodes.filter(({ isByPerson }) => isByPerson)
    this.#work = work
    this.#selected = selected
    this.#temporaries = temporaries
    this.#people = new ChangedPeople(temporaries, byPerson)
    this.#organizations = new ChangedOrganizations(temporaries, nodes)
    this.#byPerson = new Set([...EVENT_TABLES, ...byPerson.map(({ name }) => name)])
    this.#computed = new Set(nodes.flatMap(({ name, computed }) => (computed === null ? [] : name)))
  }

  async run(): Promise<BuiltTables> {
    const { warehouse, project, clock, finished } = this.#work
    await this.#dropOwn()
    await this.#noteInputs()
    // Rows are found by key and never by where they stand; written in any order, all threads write.
    await warehouse.run('set preserve_insertion_order = false')
    const models: BuiltModel[] = []
    let skipped = 0
    for (const node of project.nodes) {
      const { name } = node
      const startedMs = clock.monotonic()
      const isSkipped = this.#isSkipped(node)
      const rowsChanged = isSkipped
        ? 0
        : await namingModel(project.nodes, node, () => this.#refresh(node))
      if (isSkipped) skipped += 1
      if (this.#selected?.has(name) !== false) {
        models.push({ name, rows: null, rowsChanged, durationMs: clock.monotonic() - startedMs })
      }
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

  /** Drops the tables of the user's own models that are not as their files say. */
  async #dropOwn(): Promise<void> {
    const { warehouse, project } = this.#work
    const { stale, gone = [] } = project.own ?? {}
    const isMade = (name: string) => this.#selected?.has(name) ?? true
    const dropped = [...(stale ?? [])].filter(isMade)
    await dropOwnTables(warehouse, this.#selected === null ? [...dropped, ...gone] : dropped)
    if (dropped.length > 0) await refuseForeignTables(warehouse, new Set(dropped))
  }

  #isSkipped(node: ProjectNode): boolean {
    if (this.#selected !== null) return !this.#selected.has(node.name)
    return this.#isThere(node) && !node.reads.some((read) => this.#changed.has(read))
  }

  /** Finds the changes before this build. */
  async #noteInputs(): Promise<void> {
    const { warehouse, project } = this.#work
    this.#columns = await columnsOfAll(warehouse)
    if (this.#selected !== null) return
    const asOf = project.nodes.find(({ name }) => name === AS_OF)
    const people = await this.#people.find(asOf)
    const loaded = await changedByLoads(warehouse)
    for (const { name } of loadedTables) {
      if (EVENT_TABLES.includes(name) ? people > 0 : loaded.has(name)) this.#changed.add(name)
    }
    // The watch-lists are written before each build, and only a view reads them.
    for (const name of [...CHANGES_WITH_EVERY_RUN, WATCH_ENTRIES]) this.#changed.add(name)
    // The tables of `ops` that only the user's own models read change with every run; the other models did not read a
    // partial build.
    const read = [...project.nodes, ...project.checks].flatMap(({ reads }) => reads)
    const ofOps = read.filter((name) => name.startsWith('ops.'))
    for (const name of [...ofOps, ...(await partlyBuilt(warehouse))]) this.#changed.add(name)
  }

  #isThere({ name }: ProjectNode): boolean {
    return this.#columns.has(name)
  }

  /** Makes a model again. @returns how many rows were written and deleted */
  async #refresh(node: ProjectNode): Promise<number> {
    const { warehouse } = this.#work
    if (!this.#isThere(node)) {
      const rows = await createModelTable(warehouse, node)
      if (node.isOwn === true) await refuseOtherColumns(warehouse, [node])
      await commentOn(warehouse, node)
      this.#noteChange(node, null)
      return rows ?? 0
    }
    if (node.computed !== null) {
      // No event came since the last whole build.
      if (this.#selected !== null) return 0
      const rows = await computeAll(warehouse, node.computed)
      if (rows > 0) this.#noteChange(node, null)
      return rows
    }
    if (node.kind === 'view') {
      await proveReadable(warehouse, node)
      this.#noteChange(node, null)
      return 0
    }
    if (this.#isByPeople(node)) return this.#refreshPeople(node)
    const changed = node.reads.filter((name) => this.#changed.has(name))
    return node.isByOrganization && this.#organizations.areKnown(changed)
      ? this.#refreshOrganizations(node, changed)
      : this.#refreshWhole(node)
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
    return isByPerson && this.#selected === null && reads.every(isFine)
  }

  async #refreshPeople(node: ProjectNode): Promise<number> {
    const made = await this.#people.make(node)
    return this.#replace(node, this.#people.semiJoin('kept'), made)
  }

  async #refreshOrganizations(node: ProjectNode, changed: readonly string[]): Promise<number> {
    const shown = node.reads.filter((name) =>
      this.#columns.get(name)?.some((column) => column.name === ORGANIZATION),
    )
    const { made, semiJoin } = await this.#organizations.make(node, changed, shown)
    return this.#replaceAndFollow(node, semiJoin, made)
  }

  async #refreshWhole(node: ProjectNode): Promise<number> {
    return this.#replaceAndFollow(node, '', await this.#temporaries.keep(node.sql))
  }

  async #replaceAndFollow(node: ProjectNode, before: string, made: string): Promise<number> {
    if (this.#selected === null && this.#columnsOf(node).some(({ name }) => name === PERSON)) {
      const stored = `(select kept.* from ${this.#temporaries.stored(node.name)} as kept ${before})`
      await this.#people.follow(node.name, stored, made, this.#columnsOf(node))
    }
    const rows = await this.#replace(node, before, made)
    await this.#temporaries.drop(made)
    return rows
  }

  async #replace(node: ProjectNode, before: string, made: string): Promise<number> {
    const stored = this.#temporaries.stored(node.name)
    const columns = this.#columnsOf(node)
    const key = this.#organizations.isRead(node) ? ORGANIZATION : null
    const written = await writeDifference(
      this.#temporaries,
      node,
      columns,
      stored,
      before,
      made,
      key,
    )
    if (written.years.length > 0) this.#noteChange(node, written.years)
    if (written.keys !== null) this.#organizations.note(node.name, written.keys)
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
    const selected = this.#selected
    const made = selected ?? this.#changed
    const isRead = ({ reads }: Check) => reads.length === 0 || reads.some((name) => made.has(name))
    // A table that was never made, and is not selected, cannot be read.
    const missing = new Set(
      project.nodes.flatMap((node) =>
        this.#isThere(node) || selected?.has(node.name) === true ? [] : node.name,
      ),
    )
    const isDue = (check: Check) =>
      selected === null
        ? check.isNew === true || isRead(check)
        : isRead(check) && !check.reads.some((name) => missing.has(name))
    const due = project.checks.filter(isDue)
    const ran = await runChecks(warehouse, due, finished)
    const skipped = project.checks.length - due.length
    if (selected !== null) return { outcomes: ran, skipped }
    const byName = new Map(ran.map((outcome) => [outcome.name, outcome]))
    const outcomes = project.checks.map((check) => byName.get(check.name) ?? passed(check))
    return { outcomes, skipped }
  }
}
