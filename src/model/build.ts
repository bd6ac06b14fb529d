/**
 * Builds the models and runs the checks in one transaction: readers see the tables of the last good build or those of
 * this one, never a mix. A failed check leaves every table unchanged, and the reason in ops.checks.
 *
 *     reason for a full refresh?  yes → make every table, run every check
 *                                 no  → make what changed people and changed tables can alter (incremental-build.ts)
 *
 * A partial build (`--select`) makes each selected table from all rows, and runs the checks that read one.
 */

import { existsSync } from 'node:fs'
import { replaceIfOther } from '../support/atomic-file.ts'
import { realClock, type Clock } from '../support/clock.ts'
import { TIERS } from '../warehouse/catalog.ts'
import { beginChanges, endChanges } from '../warehouse/changed-tables.ts'
import { columnsOfAll } from '../warehouse/columns.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { knownOnFile } from './as-known-on.ts'
import { fullRefreshReasonOf, notePartialBuild, refusePartial, writeState } from './build-state.ts'
import { CheckFailedError } from './check-outcome.ts'
import { recordChecks, runChecks, type Check } from './checks.ts'
import { computeAll } from './computed-models.ts'
import { buildIncrementally } from './incremental-build.ts'
import { refuseOnSpark, withOwn } from './own/project.ts'
import { readProject, type ProjectNode } from './project.ts'
import { askedOnly, selectModels, titlesOnly } from './select.ts'
import {
  commentOn,
  createComputedTable,
  createModelTable,
  dropBuiltTables,
  namingModel,
  refuseForeignTables,
  refuseOtherColumns,
  refuseWrongReferences,
  type BuildWork,
  type BuiltModel,
  type BuiltTables,
} from './tables.ts'

export interface BuildOptions {
  /** Names this build in ops.checks. */
  readonly buildId: string
  /** The time of the build; recorded in ops.checks only, so that tables depend only on the events. */
  readonly builtAt: Date
  /** Folder with staging/, core/ and marts/. Default: the models that ship with Jobtide. */
  readonly modelFolder?: string
  /** Folder of the checks. Default: the checks that ship with Jobtide. */
  readonly checkFolder?: string
  /** Folder of the user's models/ and checks/; null: that of the last build. Default: none; their tables go. */
  readonly ownFolder?: string | null | undefined
  /** Builds only these models, as selectModels reads them. Default: all. */
  readonly select?: readonly string[] | undefined
  /** Called after each step: each table, each group of checks. */
  readonly onProgress?: (step: BuildStep) => void
  /** Builds the computed models and what they read; all other models become views. Default: false. */
  readonly titlesOnly?: boolean
  /** Measures durations. Default: the machine's. */
  readonly clock?: Clock
  /** The largest share of all events, 0 to 1, that changed people may have in an incremental build. Default: 0.15. */
  readonly mostChanged?: number
  /** The file of macros for analysts that read tables as known on a day. Default: none is written. */
  readonly asKnownOn?: string
}

// Above this share a full refresh is faster, because changed people are looked up in every table.
const MOST_CHANGED = 0.15

/** `done` of `total` steps are finished; the last one was `name`. */
export interface BuildStep {
  readonly done: number
  readonly total: number
  readonly name: string
  /** Rows written and deleted so far; absent in a full refresh. */
  readonly rowsChanged?: number
}

/**
 * `fullRefreshReason` is null for an incremental build, `selected` if all models were built; `dropped` has the user's
 * own models whose files are gone, `checks` the names of the checks, which all passed.
 */
export type BuildReport = Readonly<Awaited<ReturnType<typeof buildModels>>>

/**
 * @throws CheckFailedError when a check finds offenders; the tables are those of the last good build
 * @throws JobtideError when a model is wrong: its SQL, its header, or a table that it reads
 */
export async function buildModels(warehouse: Warehouse, options: BuildOptions) {
  const { buildId, builtAt, clock = realClock, mostChanged = MOST_CHANGED } = options
  const startedMs = clock.monotonic()
  const shipped = await readProject(warehouse, options.modelFolder, options.checkFolder)
  const files = await withOwn(warehouse, shipped, options.ownFolder)
  if (options.titlesOnly === true)
    refuseOnSpark(Object.keys(files.own?.made ?? {}).filter((file) => file.endsWith('.sql')).length)
  const all = await askedOnly(warehouse, files)
  const project = options.titlesOnly === true ? titlesOnly(all) : all
  const selected = options.select === undefined ? null : selectModels(project.nodes, options.select)
  const total = project.nodes.length + project.checks.length
  // Models name each other without a schema, so that Spark runs them and CTEs can replace them.
  await warehouse.run(
    `create schema if not exists core; set search_path = '${[...TIERS, 'core'].join()}'`,
  )
  try {
    const report = await warehouse.transaction(async () => {
      const fullRefreshReason =
        selected === null
          ? await fullRefreshReasonOf(warehouse, project, mostChanged)
          : await refusePartial(warehouse, project)
      const isIncremental = fullRefreshReason === null
      let done = 0
      let rowsChanged = 0
      const finished = (name: string, steps = 1, rows = 0) => {
        done += steps
        rowsChanged += rows
        options.onProgress?.({ done, total, name, ...(isIncremental ? { rowsChanged } : {}) })
      }
      const work = { warehouse, project, clock, finished }
      const built = await (selected !== null
        ? buildSelected(work, selected)
        : isIncremental
          ? buildIncrementally(work)
          : refreshFully(work))
      const { models, outcomes, skipped } = built
      if (done < total) finished('', total - done)
      if (outcomes.some((outcome) => outcome.offenders > 0)) throw new CheckFailedError(outcomes)
      await recordChecks(warehouse, buildId, builtAt, outcomes)
      if (selected === null) {
        await writeState(warehouse, project)
        await (isIncremental ? endChanges : beginChanges)(warehouse, buildId)
      } else await notePartialBuild(warehouse)
      return {
        buildId,
        fullRefreshReason,
        selected: selected && [...selected],
        dropped: selected === null ? (project.own?.gone ?? []) : [],
        models,
        skipped,
        checks: outcomes.map(({ name }) => name),
        durationMs: clock.monotonic() - startedMs,
      }
    })
    const { asKnownOn } = options
    // Without a full refresh the models are those of the last build.
    if (asKnownOn !== undefined && (report.fullRefreshReason !== null || !existsSync(asKnownOn)))
      replaceIfOther(asKnownOn, knownOnFile(project))
    return report
  } catch (error) {
    if (error instanceof CheckFailedError) {
      await warehouse.transaction(() => recordChecks(warehouse, buildId, builtAt, error.outcomes))
    }
    throw error
  } finally {
    // A broken session cannot be reset; the earlier error says why.
    await warehouse
      .run(`set search_path = '${TIERS.join()}'; reset preserve_insertion_order`)
      .catch(() => undefined)
  }
}

async function refreshFully(work: BuildWork): Promise<BuiltTables> {
  const { warehouse, project } = work
  await warehouse.run(project.macros)
  await dropBuiltTables(warehouse)
  await refuseForeignTables(warehouse, project.reserved)
  return makeWhole(work, project.nodes, project.checks)
}

/** Makes the selected tables from all rows, and runs the checks that read one of them. */
async function buildSelected(work: BuildWork, selected: ReadonlySet<string>): Promise<BuiltTables> {
  const { warehouse, project } = work
  const nodes = project.nodes.filter(({ name }) => selected.has(name))
  const own = nodes.flatMap(({ name, isOwn }) => (isOwn === true ? name : []))
  await dropBuiltTables(warehouse, own)
  await refuseForeignTables(warehouse, new Set(own))
  const there = await columnsOfAll(warehouse)
  // A check cannot read a table of the user's own that was never made and is not selected.
  const isMissing = (name: string) => !selected.has(name) && !there.has(name)
  const missing = new Set(project.nodes.map(({ name }) => name).filter(isMissing))
  const checks = project.checks.filter(
    ({ reads }) =>
      reads.some((name) => selected.has(name)) && !reads.some((name) => missing.has(name)),
  )
  const { models, ...built } = await makeWhole(work, nodes, checks)
  return { ...built, models: models.map((one) => ({ ...one, rowsChanged: one.rows ?? 0 })) }
}

async function makeWhole(
  { warehouse, project, clock, finished }: BuildWork,
  nodes: readonly ProjectNode[],
  checks: readonly Check[],
): Promise<BuiltTables> {
  const models: BuiltModel[] = []
  for (const node of nodes) {
    const { name } = node
    const startedMs = clock.monotonic()
    const rows = await namingModel(node, () => createNode(warehouse, node))
    models.push({ name, rows, rowsChanged: null, durationMs: clock.monotonic() - startedMs })
    finished(name)
  }
  await refuseOtherColumns(warehouse, nodes)
  await refuseWrongReferences(warehouse, nodes, project.reserved)
  for (const node of nodes) await commentOn(warehouse, node)
  const outcomes = await runChecks(warehouse, checks, finished)
  const skipped = {
    models: project.nodes.length - nodes.length,
    checks: project.checks.length - checks.length,
  }
  return { models, outcomes, skipped }
}

/** @returns the rows of the table, including the earlier ones of a computed table; null for a view */
async function createNode(warehouse: Warehouse, node: ProjectNode): Promise<number | null> {
  if (node.computed === null) return createModelTable(warehouse, node)
  await createComputedTable(warehouse, node.computed)
  await computeAll(warehouse, node.computed)
  return warehouse.number(`select count(*) from ${quoteIdentifier(node.name)}`)
}
