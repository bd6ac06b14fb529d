/** The inputs of a build, and its results before they are committed. */

import type { Clock } from '../support/clock.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { namingFile } from './own/files.ts'
import type { Project, ProjectNode } from './project.ts'

export interface BuildWork {
  readonly warehouse: Warehouse
  readonly project: Project
  readonly clock: Clock
  /** Called when `steps` are finished; `name` is the last one, `rowsChanged` what they wrote and deleted. */
  readonly finished: (name: string, steps?: number, rowsChanged?: number) => void
}

export interface BuiltModel {
  readonly name: string
  /** Its rows; null for a view, which stores none, and if nothing changed. */
  readonly rows: number | null
  /** Rows written and deleted; null if the whole table was written. */
  readonly rowsChanged: number | null
  readonly durationMs: number
}

export interface BuiltTables {
  readonly models: readonly BuiltModel[]
  readonly outcomes: readonly CheckOutcome[]
  /** Models and checks that were skipped because nothing that they read changed. */
  readonly skipped: { readonly models: number; readonly checks: number }
}

/** Adds the model to an error of the engine; for a model of the user's own the file and the line. */
export function namingModel<T>(
  { name, file, isOwn }: ProjectNode,
  work: () => Promise<T>,
): Promise<T> {
  return namingFile(`model ${name}`, isOwn === true ? file : undefined, work)
}
