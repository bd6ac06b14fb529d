/** Writes every table from all events and runs every check on whole tables. Part of the build's transaction. */

import { quoteIdentifier } from '../warehouse/sql-text.ts'
import { knownOnMacros, knownOnName, makeKnownOnMacros } from './as-known-on.ts'
import { lastFingerprint } from './build-state.ts'
import type { BuildWork, BuiltModel, BuiltTables } from './build-work.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { runCheck } from './checks.ts'
import { computeAll } from './compute.ts'
import { Parts } from './parts.ts'
import type { ProjectNode } from './project.ts'
import {
  commentOn,
  createComputedTable,
  dropBuiltTables,
  refuseForeignTables,
  rowsIn,
  withErrorContext,
} from './tables.ts'

/** Builds everything. */
export async function refreshFully(work: BuildWork): Promise<BuiltTables> {
  const { warehouse, project, clock, finished } = work
  await dropBuiltTables(warehouse)
  await refuseForeignTables(warehouse, project.nodes)
  const parts = await Parts.of(work)
  const models: BuiltModel[] = []
  for (const node of project.nodes) {
    const startedMs = clock.monotonic()
    const rows = await buildNode(work, node, parts)
    models.push({
      name: node.name,
      rows,
      rowsChanged: null,
      durationMs: clock.monotonic() - startedMs,
    })
    finished(node.name, null)
  }
  // The macros depend on the same files as the fingerprint, not on rows.
  const modelNodes = project.nodes.filter((node) => node.model !== null)
  const macros = new Set(await knownOnMacros(warehouse))
  const isMissing = modelNodes.some(
    ({ name, schema }) => schema === 'main' && !macros.has(knownOnName(name)),
  )
  if (isMissing || (await lastFingerprint(warehouse)) !== project.fingerprint) {
    await makeKnownOnMacros(warehouse, modelNodes)
  }
  const outcomes: CheckOutcome[] = []
  for (const check of project.checks) {
    outcomes.push(await withErrorContext(`check ${check.name}`, () => runCheck(warehouse, check)))
    finished(check.name, null)
  }
  return { models, outcomes }
}

async function buildNode(work: BuildWork, node: ProjectNode, parts: Parts): Promise<number | null> {
  const { warehouse } = work
  if (node.computed === null) return parts.create(node)
  await createComputedTable(warehouse, node.computed)
  await computeAll(warehouse, node.computed)
  await commentOn(warehouse, node)
  return rowsIn(warehouse, quoteIdentifier(node.name))
}
