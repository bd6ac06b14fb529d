/** What the parts of one build share. */

import type { Clock } from '../support/clock.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { CheckOutcome } from './check-outcome.ts'
import type { Project } from './project.ts'

/** What a build is made with. */
export interface BuildWork {
  readonly warehouse: Warehouse
  readonly project: Project
  readonly clock: Clock
  readonly eventsPerPart: number
  /** Tells that a step is finished, and how many rows it wrote and deleted. */
  readonly finished: (name: string, rowsChanged: number | null) => void
}

/** One table or view that the build made. */
export interface BuiltModel {
  readonly name: string
  /** Rows in it; null for a view, which stores none. */
  readonly rows: number | null
  /** Rows written and deleted; null when the table was written in full. */
  readonly rowsChanged: number | null
  readonly durationMs: number
}

/** What a build made, before it is committed. */
export interface BuiltTables {
  readonly models: readonly BuiltModel[]
  readonly outcomes: readonly CheckOutcome[]
}
