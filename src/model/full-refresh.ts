/** Makes every table from all rows and runs every check on whole tables. Part of the build's transaction. */

import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { dropStoredMacros } from './as-known-on.ts'
import { lastFingerprint } from './build-state.ts'
import { runChecks } from './checks.ts'
import { computeAll } from './compute.ts'
import { namingModel } from './naming-model.ts'
import type { ProjectNode } from './project.ts'
import {
  commentOn,
  createComputedTable,
  createModelTable,
  dropBuiltTables,
  refuseForeignTables,
  refuseOtherColumns,
  rowsIn,
} from './tables.ts'
import type { BuildWork, BuiltModel, BuiltTables } from './work.ts'

export async function refreshFully(work: BuildWork): Promise<BuiltTables> {
  const { warehouse, project, clock, finished } = work
  const dropped = await dropBuiltTables(warehouse)
  // To list the macros takes as long as to make ten tables: only where an earlier version can have built.
  const isOther = (await lastFingerprint(warehouse)) !== project.fingerprint
  if (dropped > 0 && isOther) await dropStoredMacros(warehouse)
  await refuseForeignTables(warehouse, project.reserved)
  const models: BuiltModel[] = []
  for (const node of project.nodes) {
    const startedMs = clock.monotonic()
    const rows = await namingModel(project.nodes, node, () => createNode(warehouse, node))
    models.push({
      name: node.name,
      rows,
      rowsChanged: null,
      durationMs: clock.monotonic() - startedMs,
    })
    finished(node.name)
  }
  await refuseOtherColumns(warehouse, project.nodes)
  for (const node of project.nodes) await commentOn(warehouse, node)
  const outcomes = await runChecks(warehouse, project.checks, finished)
  return { models, outcomes, skipped: { models: 0, checks: 0 } }
}

/** @returns the rows of the table; null for a view */
async function createNode(warehouse: Warehouse, node: ProjectNode): Promise<number | null> {
  const { computed } = node
  if (computed === null) return createModelTable(warehouse, node)
  await createComputedTable(warehouse, computed)
  await computeAll(warehouse, computed)
  // Those of before stay.
  return rowsIn(warehouse, quoteIdentifier(node.name))
}
