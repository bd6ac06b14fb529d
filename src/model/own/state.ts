/**
 * The entries of builds in `ops.build_state`, and among them the user's own models and checks: which files they made,
 * and which of them are published.
 */

import type { TableDefinition } from '../../warehouse/catalog.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import type { OwnProject, Project } from '../project.ts'

/** A row of `ops.build_state`. */
export type Note = readonly [key: string, value: string]

interface OwnState extends Pick<OwnProject, 'folder' | 'made' | 'reads'> {
  /** For the models that ship: their inputs are determined again when the models change. */
  readonly fingerprint: string
  readonly tables: readonly TableDefinition[]
}

const KEY = 'own'

/** The entry of the last build under a key; undefined where there is none. */
export async function noteOf(warehouse: Warehouse, key: string): Promise<string | undefined> {
  const [row] = await warehouse.all<{ value: string }>(
    'select value from ops.build_state where key = $1',
    [key],
  )
  return row?.value
}

/** The last build's entry about the user's own models; null where it made none. */
export async function readState(warehouse: Warehouse): Promise<OwnState | null> {
  return JSON.parse((await noteOf(warehouse, KEY)) ?? 'null') as OwnState | null
}

/** The tables of the user's own that the last build made, for a snapshot. */
export async function ownTables(warehouse: Warehouse): Promise<readonly TableDefinition[]> {
  return (await readState(warehouse))?.tables ?? []
}

/** The entry of a build about the user's own models. @param made as in {@link OwnProject} */
export function ownNotes({ own, nodes, fingerprint }: Project, made = own?.made): Note[] {
  if (own === undefined || Object.keys(made ?? {}).length === 0) return []
  const { folder, reads } = own
  const tables = nodes.flatMap(
    ({ name, grain, key, partitionByYearOf, leftOut, kind, schema, isOwn }) =>
      isOwn === true ? { name, grain, key, partitionByYearOf, leftOut, kind, schema } : [],
  )
  return [[KEY, JSON.stringify({ fingerprint, folder, made, reads, tables })]]
}
