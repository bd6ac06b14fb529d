/** The steps of a build, full or incremental: every table in run order, then every check. */

import type { Clock } from '../support/clock.ts'
import { SqlError } from '../warehouse/errors.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { CheckOutcome } from './check-outcome.ts'
import type { Check } from './constraints.ts'
import type { Project, ProjectNode } from './project.ts'

export interface BuildWork {
  readonly warehouse: Warehouse
  readonly project: Project
  readonly clock: Clock
  readonly eventsPerPart: number
  /** Tells that a step is finished, and how many rows it wrote and deleted. */
  readonly finished: (name: string, rowsChanged: number | null) => void
}

export interface MadeTable {
  /** Rows in it; null for a view, which stores none. */
  readonly rows: number | null
  /** Rows written and deleted; null when the table was written in full. */
  readonly rowsChanged: number | null
}

/** One table or view that the build made. */
export interface BuiltModel extends MadeTable {
  readonly name: string
  readonly durationMs: number
}

/** What a build made, before it is committed. */
export interface BuiltTables {
  readonly models: readonly BuiltModel[]
  readonly outcomes: readonly CheckOutcome[]
}

/** Makes every table, then runs every check. */
export async function takeSteps(
  { project, clock, finished }: BuildWork,
  make: (node: ProjectNode) => Promise<MadeTable>,
  run: (check: Check) => Promise<CheckOutcome>,
): Promise<BuiltTables> {
  const models: BuiltModel[] = []
  for (const node of project.nodes) {
    const { name } = node
    const startedMs = clock.monotonic()
    const made = await withErrorContext(`model ${name}`, () => make(node))
    models.push({ name, ...made, durationMs: clock.monotonic() - startedMs })
    finished(name, made.rowsChanged)
  }
  const outcomes: CheckOutcome[] = []
  for (const check of project.checks) {
    outcomes.push(await withErrorContext(`check ${check.name}`, () => run(check)))
    finished(check.name, null)
  }
  return { models, outcomes }
}

/** Puts `subject` in front of what the engine says about wrong SQL. */
async function withErrorContext<T>(subject: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    throw new SqlError(`${subject}: ${error.message}`, error)
  }
}
