/**
 * Refreshes the tables after a load, in the build's transaction, unless build-state.ts asks for a full refresh. The
 * result equals that of a full refresh, row for row.
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
 * A model of the user's own is made from nothing if its file, or that of a model it reads, is new or edited, and
 * dropped if its file is gone.
 *
 * The new rows are compared with the old ones. If they are the same, the table counts as unchanged, and so do models
 * that read nothing else.
 */

import {
  CHANGES_WITH_EVERY_RUN,
  loadedTables,
  ORGANIZATION,
  PERSON,
  WATCH_ENTRIES,
} from '../warehouse/catalog.ts'
import { changedByLoads, noteChangedYears, yearSql } from '../warehouse/changed-tables.ts'
import { columnsOfAll, type TypedColumn } from '../warehouse/columns.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import { passed, runChecks, type Check } from './checks.ts'
import { computeAll } from './computed-models.ts'
import type { ProjectNode } from './project.ts'
import {
  commentOn,
  createModelTable,
  dropBuiltTables,
  namingModel,
  proveReadable,
  refuseForeignTables,
  refuseOtherColumns,
  refuseWrongReferences,
  type BuildWork,
  type BuiltModel,
  type BuiltTables,
} from './tables.ts'

/** The model that holds the day of the data. People whose announced changes came due by it count as changed. */
const AS_OF = 'as_of'
/** Loaded tables with rows of people, which change when people do. */
const EVENT_TABLES: readonly string[] = ['job_change_events', 'job_change_event_versions']

/** Builds what the people in `ops.changed_people` and the tables that loads changed can alter. */
export async function buildIncrementally(work: BuildWork): Promise<BuiltTables> {
  const { warehouse, project } = work
  const { stale = new Set<string>(), gone = [] } = project.own ?? {}
  await dropBuiltTables(warehouse, [...stale, ...gone])
  if (stale.size > 0) await refuseForeignTables(warehouse, stale)
  return new IncrementalBuild(work, await columnsOfAll(warehouse)).run()
}

class IncrementalBuild {
  readonly #work: BuildWork
  /** Temporary tables, made inside the build's transaction, so a rollback removes them; SQL. */
  readonly #kept = new Set<string>()
  #made = 0
  /** The rows that tables had before this build. */
  readonly #columns: ReadonlyMap<string, readonly TypedColumn[]>
  /** Names of tables and views whose rows changed, or may have. */
  readonly #changed = new Set<string>()
  /** For tables that snapshots may hold, the years in which rows changed; null if unknown. */
  readonly #noted = new Map<string, readonly (number | null)[] | null>()
  /** The models by person, by name. */
  readonly #byPerson: ReadonlyMap<string, ProjectNode>
  /** A temporary table with one row for each person whose events or rows changed; SQL. */
  #people = ''
  /** Temporary tables with the rows of these people as they are now, by name of the table or view. */
  readonly #rowsOfPeople = new Map<string, string>()
  /** Other tables whose changed rows named more people. */
  readonly #followed = new Set<string>()
  /** What models by organisation read. */
  readonly #readByOrganization: ReadonlySet<string>
  /** Temporary tables with the organisations of changed rows, by name of the table; SQL. */
  readonly #organizations = new Map<string, string>()

  constructor(work: BuildWork, columns: ReadonlyMap<string, readonly TypedColumn[]>) {
    const { nodes } = work.project
    this.#work = work
    this.#columns = columns
    this.#byPerson = new Map(
      nodes.filter(({ isByPerson }) => isByPerson).map((node) => [node.name, node]),
    )
    const byOrganization = nodes.filter(({ isByOrganization }) => isByOrganization)
    this.#readByOrganization = new Set(byOrganization.flatMap(({ reads }) => reads))
  }

  async run(): Promise<BuiltTables> {
    const { warehouse, project, clock, finished } = this.#work
    await this.#noteInputs()
    // Rows are found by key, never by position, so all threads may write them in any order.
    await warehouse.run('set preserve_insertion_order = false')
    const models: BuiltModel[] = []
    let skipped = 0
    for (const node of project.nodes) {
      const { name } = node
      const startedMs = clock.monotonic()
      const isSkipped = this.#isSkipped(node)
      const rowsChanged = isSkipped ? 0 : await namingModel(node, () => this.#refresh(node))
      if (isSkipped) skipped += 1
      models.push({ name, rows: null, rowsChanged, durationMs: clock.monotonic() - startedMs })
      finished(name, 1, rowsChanged)
    }
    await refuseWrongReferences(warehouse, project.nodes, project.reserved)
    await noteChangedYears(warehouse, this.#noted)
    const { outcomes, skippedChecks } = await this.#check()
    for (const name of this.#kept) await this.#drop(name)
    return { models, outcomes, skipped: { models: skipped, checks: skippedChecks } }
  }

  /** Finds the changes before this build. */
  async #noteInputs(): Promise<void> {
    const { warehouse, project } = this.#work
    const people = await this.#findPeople()
    const loaded = await changedByLoads(warehouse)
    for (const { name } of loadedTables) {
      if (EVENT_TABLES.includes(name) ? people > 0 : loaded.has(name)) this.#changed.add(name)
    }
    // The watch-lists are rewritten before each build, and only a view reads them.
    for (const name of [...CHANGES_WITH_EVERY_RUN, WATCH_ENTRIES]) this.#changed.add(name)
    // The tables of `ops` that only the user's own models read change with every run.
    const read = [...project.nodes, ...project.checks].flatMap(({ reads }) => reads)
    for (const name of read) if (name.startsWith('ops.')) this.#changed.add(name)
  }

  /**
   * Finds the people whom loads changed, and those whose announced changes came due by the day of the data,
   * which moves with each load. @returns their number
   */
  async #findPeople(): Promise<number> {
    const asOf = this.#work.project.nodes.find(({ name }) => name === AS_OF)
    const due =
      asOf === undefined
        ? ''
        : `union
           select ${PERSON}
           from job_change_events
           cross join (select as_of_on as old from core.${asOf.name})
           cross join (select as_of_on as new from (${asOf.sql}))
           where utc_date(changed_at) > least(old, new) and utc_date(changed_at) <= greatest(old, new)`
    const { name, rows } = await this.#keepCounted(
      `select distinct ${PERSON} from (select ${PERSON} from ops.changed_people ${due})`,
    )
    this.#people = name
    return rows
  }

  #isSkipped(node: ProjectNode): boolean {
    return this.#isThere(node) && !node.reads.some((read) => this.#changed.has(read))
  }

  #isThere({ name }: ProjectNode): boolean {
    return this.#columns.has(name)
  }

  /** Rebuilds a model. @returns how many rows were written and deleted */
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
      const rows = await computeAll(warehouse, node.computed)
      if (rows > 0) this.#noteChange(node, null)
      return rows
    }
    if (node.kind === 'view') {
      await proveReadable(warehouse, node)
      this.#noteChange(node, null)
      return 0
    }
    if (this.#isByPeople(node)) {
      return this.#replace(node, this.#ofPeople('kept'), await this.#makeForPeople(node))
    }
    const { made, before } = await this.#makeForOthers(node)
    await this.#followPeople(node, before, made)
    const rows = await this.#replace(node, before, made)
    await this.#drop(made)
    return rows
  }

  /** Whether a model can be refreshed for changed people alone. */
  #isByPeople({ isByPerson, reads }: ProjectNode): boolean {
    const { nodes } = this.#work.project
    // A title means the same for everyone, so a new row there changes nothing for people who did not change.
    const isFine = (name: string) =>
      !this.#changed.has(name) ||
      this.#hasPeople(name) ||
      this.#followed.has(name) ||
      name === AS_OF ||
      nodes.some((node) => node.name === name && node.computed !== null)
    return isByPerson && reads.every(isFine)
  }

  #hasPeople(name: string): boolean {
    return this.#byPerson.has(name) || EVENT_TABLES.includes(name)
  }

  /** A semi join of a table, called `alias`, with the changed people; SQL. */
  #ofPeople(alias: string): string {
    return `semi join ${this.#people} as wanted on ${alias}.${PERSON} = wanted.${PERSON}`
  }

  /** Computes the rows of a model for the changed people. @returns a temporary table; SQL */
  async #makeForPeople({ name, reads, sql }: ProjectNode): Promise<string> {
    const shown = new Map<string, string>()
    for (const read of reads.filter((one) => this.#hasPeople(one))) {
      shown.set(read, `select * from ${await this.#rowsOf(read)}`)
    }
    const made = await this.#keep(showing(shown, sql))
    this.#rowsOfPeople.set(name, made)
    return made
  }

  /** The rows of the changed people in a table or view, as a temporary table; SQL. */
  async #rowsOf(name: string): Promise<string> {
    const known = this.#rowsOfPeople.get(name)
    if (known !== undefined) return known
    const node = this.#byPerson.get(name)
    if (node?.kind === 'view') return this.#makeForPeople(node)
    const rows = await this.#keep(
      `select kept.* from ${this.#stored(name)} as kept ${this.#ofPeople('kept')}`,
    )
    this.#rowsOfPeople.set(name, rows)
    return rows
  }

  /**
   * Computes the rows of the organisations that changed in its inputs, or all rows if these are unknown.
   * @returns a temporary table, and which rows of the stored one it replaces; SQL
   */
  async #makeForOthers({ reads, sql, isByOrganization }: ProjectNode) {
    const changed = reads.filter((name) => this.#changed.has(name))
    const isKnown = changed.every((name) => this.#organizations.has(name))
    if (!isByOrganization || !isKnown) {
      return { made: await this.#keep(sql), before: '' }
    }
    const selects = changed.map(
      (name) => `select ${ORGANIZATION} from ${this.#organizations.get(name)}`,
    )
    const keys = await this.#keep(selects.join(' union '))
    const before = `semi join ${keys} as wanted on kept.${ORGANIZATION} = wanted.${ORGANIZATION}`
    const shown = reads
      .filter((name) => this.#columns.get(name)?.some((column) => column.name === ORGANIZATION))
      .map((name): [string, string] => {
        return [name, `select kept.* from ${this.#stored(name)} as kept ${before}`]
      })
    return { made: await this.#keep(showing(new Map(shown), sql)), before }
  }

  /**
   * Adds the people of changed rows: their rows in later models may differ as well.
   * @param before which rows of the stored table are replaced: what follows `from <stored> as kept`, such as a semi join
   * @param made its rows as they are now; SQL
   */
  async #followPeople({ name }: ProjectNode, before: string, made: string): Promise<void> {
    const columns = this.#columns.get(name) ?? []
    if (!columns.some((column) => column.name === PERSON)) return
    const stored = `(select kept.* from ${this.#stored(name)} as kept ${before})`
    const hashed = (table: string, sign: number) =>
      `select ${PERSON}, ${rowHashSql(columns)} as row_hash, ${sign} as sign from ${table}`
    const added = await this.#work.warehouse.number(
      `insert into ${this.#people}
       select distinct ${PERSON}
       from (
           select ${PERSON} from (${hashed(stored, -1)} union all ${hashed(made, 1)})
           group by ${PERSON}, row_hash having sum(sign) <> 0
       )
       where ${PERSON} not in (from ${this.#people})`,
    )
    this.#followed.add(name)
    if (added === 0) return
    // The kept rows lack those of the added people.
    for (const rows of this.#rowsOfPeople.values()) await this.#drop(rows)
    this.#rowsOfPeople.clear()
  }

  /**
   * Writes the differences only: the write-ahead log stays small. @param before as of {@link #followPeople}
   * @param made the rows as they are now; SQL @returns how many rows were written and deleted
   */
  async #replace(node: ProjectNode, before: string, made: string): Promise<number> {
    const { name, partitionByYearOf } = node
    const { warehouse } = this.#work
    const columns = this.#columns.get(name) ?? []
    const stored = this.#stored(name)
    const year = partitionByYearOf === null ? 'cast(null as integer)' : yearSql(partitionByYearOf)
    const hashed = (sign: number, from: string) =>
      `select ${rowHashSql(columns)} as row_hash, ${year} as year, ${sign} as sign, kept.rowid as place from ${from}`
    // An old and a new row count as equal by mistake if their hashes collide: once in 10 million nights of a million
    // rows.
    const { name: differing, rows: count } = await this.#keepCounted(
      `select any_value(year) as year, sum(sign) as sign, max(place) as place
       from (${hashed(-1, `${stored} as kept ${before}`)} union all ${hashed(1, `${made} as kept`)})
       group by row_hash having sum(sign) <> 0`,
    )
    let rows = 0
    if (count > 0) {
      const { year: years = [] } = await warehouse.columns<number | null>(
        `select distinct year from ${differing}`,
      )
      this.#noteChange(node, years)
      const names = columns.map((column) => quoteIdentifier(column.name)).join(', ')
      const old = `from ${stored} where rowid in (select place from ${differing} where sign < 0)`
      const fresh = `from ${made} where rowid in (select place from ${differing} where sign > 0)`
      if (this.#readByOrganization.has(name) && node.columns.has(ORGANIZATION)) {
        const keys = `select ${ORGANIZATION} ${old} union select ${ORGANIZATION} ${fresh}`
        this.#organizations.set(name, await this.#keep(keys))
      }
      rows += await warehouse.number(`delete ${old}`)
      rows += await warehouse.number(`insert into ${stored} (${names}) select ${names} ${fresh}`)
    }
    await this.#drop(differing)
    return rows
  }

  /** @param years in which rows changed; null if unknown */
  #noteChange(node: ProjectNode, years: readonly (number | null)[] | null): void {
    this.#changed.add(node.name)
    if (node.schema === 'core') return
    this.#noted.set(node.name, node.partitionByYearOf === null ? null : years)
  }

  /** With its schema: a table of the user's own may have the name of a step in `core`. */
  #stored(name: string): string {
    const node = this.#work.project.nodes.find((one) => one.name === name)
    return `${node?.schema ?? 'main'}.${quoteIdentifier(name)}`
  }

  /** Keeps the result of `select` in a temporary table and returns its name; SQL. */
  async #keep(select: string): Promise<string> {
    return (await this.#keepCounted(select)).name
  }

  async #keepCounted(select: string): Promise<{ readonly name: string; readonly rows: number }> {
    this.#made += 1
    const name = `temp.${quoteIdentifier(`build rows ${this.#made}`)}`
    const rows = await this.#work.warehouse.number(`create temp table ${name} as ${select}`)
    this.#kept.add(name)
    return { name, rows }
  }

  async #drop(name: string): Promise<void> {
    if (this.#kept.delete(name)) await this.#work.warehouse.run(`drop table ${name}`)
  }

  /** Runs the checks that read a changed table, on all of its rows. */
  async #check() {
    const { warehouse, project, finished } = this.#work
    const isDue = ({ reads, isNew }: Check) =>
      reads.length === 0 || isNew === true || reads.some((name) => this.#changed.has(name))
    const due = project.checks.filter(isDue)
    const ran = await runChecks(warehouse, due, finished)
    const byName = new Map(ran.map((outcome) => [outcome.name, outcome]))
    const outcomes = project.checks.map((check) => byName.get(check.name) ?? passed(check))
    return { outcomes, skippedChecks: project.checks.length - due.length }
  }
}

/** A hash of a row, 64 bits; SQL. */
function rowHashSql(columns: readonly TypedColumn[]): string {
  const hashed = columns.map(({ name, type }) =>
    // The engine gives null, an empty list and a list of one null the same hash.
    type.endsWith(']') ? `to_json(${quoteIdentifier(name)})` : quoteIdentifier(name),
  )
  return `hash(${hashed.join(', ')})`
}

/** The unchanged SQL of a model, which reads other rows under the names of some tables. @param shown by table; SQL */
function showing(shown: ReadonlyMap<string, string>, select: string): string {
  if (shown.size === 0) return select
  // Each is read where it is named: by default the engine would first copy its rows.
  const tables = [...shown].map(([name, rows]) => {
    return `${quoteIdentifier(name)} as not materialized (${rows})`
  })
  // On one line, so that an error names the line of the model.
  return `with ${tables.join(', ')} select * from (${select})`
}
