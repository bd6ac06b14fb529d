/**
 * Decides between an incremental build and a full refresh: by the inputs of the last good build (`ops.build_state`) and
 * the people with new or changed events since (`ops.changed_people`). Written in the build's transaction.
 */

import { ConfigError } from '../support/errors.ts'
import { loadedTables, type TableDefinition } from '../warehouse/catalog.ts'
import { areChangesNoted, changedByLoads } from '../warehouse/changed-tables.ts'
import { relationsIn } from '../warehouse/columns.ts'
import { appendRows } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { OwnProject, Project } from './project.ts'

interface OwnState extends Pick<OwnProject, 'folder' | 'made'> {
  readonly tables: readonly TableDefinition[]
}

/**
 * `fingerprint`: the inputs of the last good build. `partial`: a partial build came after it, and until the next whole
 * one nothing is published. `own`: the user's own models and checks, and which of them are published.
 */
type Note = 'fingerprint' | 'partial' | 'own'

async function noteOf(warehouse: Warehouse, key: Note): Promise<string | undefined> {
  const sql = 'select value from ops.build_state where key = $1'
  const [row] = await warehouse.all<{ value: string }>(sql, [key])
  return row?.value
}

/** The inputs of the last good build; undefined if there was none. */
export function lastFingerprint(warehouse: Warehouse): Promise<string | undefined> {
  return noteOf(warehouse, 'fingerprint')
}

/** The last build's entry about the user's own models; null if it had none. */
export async function readState(warehouse: Warehouse): Promise<OwnState | null> {
  return JSON.parse((await noteOf(warehouse, 'own')) ?? 'null') as OwnState | null
}

export async function ownTables(warehouse: Warehouse): Promise<readonly TableDefinition[]> {
  return (await readState(warehouse))?.tables ?? []
}

/**
 * Why the next build must be a full refresh; null if it can be incremental.
 * @param mostChanged the largest share of all events, 0 to 1, that changed people may have
 * @param isWhole false for a partial build, which may follow another one
 */
export async function fullRefreshReasonOf(
  warehouse: Warehouse,
  project: Project,
  mostChanged: number,
  isWhole = true,
): Promise<string | null> {
  const fingerprint = await lastFingerprint(warehouse)
  if (fingerprint === undefined || !(await areChangesNoted(warehouse)))
    return 'there is no earlier build to continue from'
  if (isWhole && (await noteOf(warehouse, 'partial')) !== undefined)
    return 'the last build made some models only'
  if (fingerprint !== project.fingerprint)
    return 'models, checks, titles or the version changed since the last build'
  const there = new Map(
    (await relationsIn(warehouse)).map((one) => [`${one.schema}.${one.name}`, one.columns]),
  )
  for (const { schema, name, columns, endpoints = [], isOwn } of project.nodes) {
    // An incremental build makes missing tables of the user's own.
    if (isOwn === true) continue
    const count = there.get(`${schema}.${name}`)
    // An incremental build makes tables of endpoints when they are first needed.
    if (count === undefined && endpoints.length > 0) continue
    if (count === undefined) return `the table ${name} is missing`
    if (count !== columns.size)
      return `the table ${name} has different columns from those it was made with`
  }
  const share = await warehouse.number(
    `select count(*) filter (where profile_id in (select profile_id from ops.changed_people)) / greatest(count(*), 1)
     from job_change_events`,
  )
  return share > mostChanged
    ? `people with new or changed events have ${Math.round(100 * share)} % of all events`
    : null
}

/** @throws ConfigError if the other models would be from different events: a whole build must come first */
export async function refusePartial(warehouse: Warehouse, project: Project): Promise<null> {
  const people = await warehouse.number('select count(*) from ops.changed_people')
  const loaded = await changedByLoads(warehouse)
  const isLoaded = people > 0 || loadedTables.some(({ name }) => loaded.has(name))
  const reason = isLoaded
    ? 'there are events that were loaded after the last build'
    : await fullRefreshReasonOf(warehouse, project, 1, false)
  if (reason === null) return null
  throw new ConfigError(`--select builds some models and leaves the others unchanged: ${reason}`, {
    hint: 'Run `jobtide build` once, without --select. Nothing was built.',
  })
}

/** Records the inputs of the tables, and clears what changed since. */
export async function writeState(warehouse: Warehouse, project: Project): Promise<void> {
  const { fingerprint, own, nodes } = project
  const tables = nodes.flatMap(
    ({ name, grain, key, partitionByYearOf, leftOut, kind, schema, isOwn }) =>
      isOwn === true ? { name, grain, key, partitionByYearOf, leftOut, kind, schema } : [],
  )
  await warehouse.run('delete from ops.changed_people; delete from ops.build_state')
  const rows = [{ key: 'fingerprint', value: fingerprint }]
  if (own !== undefined && Object.keys(own.made).length > 0) {
    const { folder, made } = own
    rows.push({ key: 'own', value: JSON.stringify({ folder, made, tables }) })
  }
  await appendRows(warehouse, 'ops.build_state', rows)
}

/** The next whole build is a full refresh. */
export async function notePartialBuild(warehouse: Warehouse): Promise<void> {
  await warehouse.run(
    `delete from ops.build_state where key = 'partial'; insert into ops.build_state values ('partial', 'true')`,
  )
}
