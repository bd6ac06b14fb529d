/**
 * The build: computed models, models and checks in one transaction. A reader sees the tables of the last good build or those
 * of this one, never a mix; a failed check leaves everything as it was and says why in ops.checks.
 */

import { realClock, type Clock } from '../support/clock.ts'
import { MIB } from '../support/units.ts'
import { beginChanges, endChanges } from '../warehouse/changed-rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { CheckFailedError } from './check-outcome.ts'
import { recordChecks } from './checks.ts'
import { fullRefreshReasonOf, writeState } from './build-state.ts'
import { buildIncrementally } from './incremental-build.ts'
import { readProject } from './project.ts'
import { refreshFully } from './full-refresh.ts'
import type { BuiltModel } from './steps.ts'
import { titlesOnly } from './titles-only.ts'

export interface BuildOptions {
  /** Names this build in ops.checks. */
  readonly buildId: string
  /** When the build runs; stands in ops.checks only, so that tables depend on nothing but the events. */
  readonly builtAt: Date
  /** Folder with staging/, core/ and marts/. Default: the models that ship with Jobtide. */
  readonly modelFolder?: string
  /** Folder of the checks. Default: the checks that ship with Jobtide. */
  readonly checkFolder?: string
  /** Called after each step: each table, each check. */
  readonly onProgress?: (step: BuildStep) => void
  /** Builds the computed models and what they read; all other models become views. Default: false. */
  readonly titlesOnly?: boolean
  /** Measures durations. Default: the machine's. */
  readonly clock?: Clock
  /** The largest share of all events, 0 to 1, that changed people may have in an incremental build. Default: 0.15. */
  readonly mostChanged?: number
  /** How many events one part of a full refresh may have (full-refresh.ts). Default: as many as fit into memory. */
  readonly eventsPerPart?: number
}

// Measured on 200,000 events, in seconds of CPU: a full refresh takes 12.0 where no title is new; an incremental build takes 5.0
// where changed people have 1 % of the events, 9.7 with 10 %, 13.6 with 19 %.
const MOST_CHANGED = 0.15
// Joins and windows over all of 10 million events ran out of 1.5 GiB, or spilled; over a third of them, in 2.2 GiB, they do
// neither, and take a fifth less than over a quarter: every part looks through all rows.
const BYTES_FOR_AN_EVENT = 680
// What the engine holds however few the rows: with 64 MiB, 200,000 events ran out of memory. With both figures 390,000 to
// 800,000 events were built in 256 MiB.
const BYTES_FOR_NONE = 128 * MIB

/** `done` of `total` steps are finished; the last one was `name`. */
export interface BuildStep {
  readonly done: number
  readonly total: number
  readonly name: string
  /** Rows written and deleted so far; absent in a full refresh. */
  readonly rowsChanged?: number
}

export interface BuildReport {
  readonly buildId: string
  /** Why it was a full refresh; null for an incremental build. */
  readonly fullRefreshReason: string | null
  /** In run order. */
  readonly models: readonly BuiltModel[]
  /** Names of the checks; all passed. */
  readonly checks: readonly string[]
  readonly durationMs: number
}

// In very little memory a quarter goes to rows all the same: the number of parts stays finite.
function eventsThatFit(memory: number): number {
  return Math.max(memory - BYTES_FOR_NONE, memory / 4) / BYTES_FOR_AN_EVENT
}

/**
 * Builds every model and runs every check.
 * @throws CheckFailedError when a check finds offenders; the tables are those of the last good build
 * @throws JobtideError when a model is wrong: its SQL, its header, or what it reads
 */
export async function buildModels(
  warehouse: Warehouse,
  options: BuildOptions,
): Promise<BuildReport> {
  const clock = options.clock ?? realClock
  const startedMs = clock.monotonic()
  const { buildId, builtAt } = options
  const memory = await warehouse.memoryLimit()
  const all = await readProject(warehouse, options.modelFolder, options.checkFolder)
  const project = options.titlesOnly === true ? titlesOnly(all) : all
  const total = project.nodes.length + project.checks.length
  const mostChanged = options.mostChanged ?? MOST_CHANGED
  // Models name each other without a schema, so that Spark runs them, too, and temporary views can stand in for them.
  await warehouse.run(`create schema if not exists core; set search_path = 'main,core'`)
  try {
    return await warehouse.transaction(async () => {
      const fullRefreshReason = await fullRefreshReasonOf(warehouse, project, mostChanged, memory)
      let done = 0
      let rowsChanged = 0
      const finished = (name: string, rows: number | null) => {
        done += 1
        rowsChanged += rows ?? 0
        const changed = fullRefreshReason === null ? { rowsChanged } : {}
        options.onProgress?.({ done, total, name, ...changed })
      }
      const eventsPerPart = options.eventsPerPart ?? eventsThatFit(memory)
      const work = { warehouse, project, clock, eventsPerPart, finished }
      await warehouse.run(project.macros)
      const { models, outcomes } = await (fullRefreshReason === null
        ? buildIncrementally(work)
        : refreshFully(work))
      if (outcomes.some((outcome) => outcome.offenders > 0)) throw new CheckFailedError(outcomes)
      await recordChecks(warehouse, buildId, builtAt, outcomes)
      await writeState(warehouse, project)
      await (fullRefreshReason === null ? endChanges : beginChanges)(warehouse, buildId)
      return {
        buildId,
        fullRefreshReason,
        models,
        checks: outcomes.map((outcome) => outcome.name),
        durationMs: clock.monotonic() - startedMs,
      }
    })
  } catch (error) {
    if (error instanceof CheckFailedError) {
      await warehouse.transaction(() => recordChecks(warehouse, buildId, builtAt, error.outcomes))
    }
    throw error
  } finally {
    // A session that is broken cannot be reset; the error before says why it is.
    await warehouse.run('reset search_path; reset preserve_insertion_order').catch(() => undefined)
  }
}
