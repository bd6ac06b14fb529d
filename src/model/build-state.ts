/**
 * Decides between an incremental build and a full refresh: by the inputs of the last good build (`ops.build_state`) and
 * the people with new or changed events since (`ops.changed_people`). Written in the build's transaction.
 */

import { ConfigError } from '../support/errors.ts'
import { loadedTables } from '../warehouse/catalog.ts'
import { areChangesNoted, changedByLoads } from '../warehouse/changed-tables.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { noteOf, ownNotes, type Note } from './own/state.ts'
import type { Project } from './project.ts'
import { withReaders } from './select.ts'

const FINGERPRINT = 'fingerprint'
/** The record of partial builds since the last whole build; see {@link writePartialState}. */
const PARTIAL = 'partial'

/**
 * Why the next build has to be a full refresh; null when it can be incremental.
 * @param mostChanged the largest share of all events, 0 to 1, that changed people may have
 */
export async function fullRefreshReasonOf(
  warehouse: Warehouse,
  project: Project,
  mostChanged: number,
): Promise<string | null> {
  const fingerprint = await lastFingerprint(warehouse)
  if (fingerprint === undefined || !(await areChangesNoted(warehouse))) {
    return 'there is no earlier build to continue from'
  }
  if (fingerprint !== project.fingerprint)
    return 'models, checks, titles or the version changed since the last build'
  const there = await columnCounts(warehouse)
  for (const { schema, name, columns, endpoints = [], isOwn } of project.nodes) {
    // One of the user's own is made where it is not there.
    if (isOwn === true) continue
    const count = there.get(`${schema}.${name}`)
    // One of endpoints is made when it is first needed.
    if (count === undefined && endpoints.length > 0) continue
    if (count === undefined) return `the table ${name} is missing`
    if (count !== columns.size)
      return `the table ${name} has different columns from those it was made with`
  }
  const [changed] = await warehouse.all<{ events: bigint; all_events: bigint }>(
    `select
        (select count(*) from job_change_events where profile_id in (select profile_id from ops.changed_people))
            as events,
        (select count(*) from job_change_events) as all_events`,
  )
  const share = Number(changed?.events ?? 0) / Math.max(1, Number(changed?.all_events ?? 0))
  return share > mostChanged
    ? `people with new or changed events have ${Math.round(100 * share)} % of all events`
    : null
}

/** How many columns each table and view has. To list the columns takes the engine ten times as long. */
async function columnCounts(warehouse: Warehouse): Promise<ReadonlyMap<string, number>> {
  const rows = await warehouse.all<{ name: string; columns: number }>(
    `select schema_name || '.' || table_name as name, column_count::int as columns from duckdb_tables()
     where database_name = current_database()
     union all
     select schema_name || '.' || view_name, column_count::int from duckdb_views()
     where database_name = current_database() and not internal`,
  )
  return new Map(rows.map(({ name, columns }) => [name, columns]))
}

/** The inputs of the last good build; undefined where there was none. */
export function lastFingerprint(warehouse: Warehouse): Promise<string | undefined> {
  return noteOf(warehouse, FINGERPRINT)
}

/** Records the inputs of the tables, and that nothing has changed since. */
export async function writeState(warehouse: Warehouse, project: Project): Promise<void> {
  await warehouse.run('delete from ops.changed_people')
  await replaceNotes(warehouse, [[FINGERPRINT, project.fingerprint], ...ownNotes(project)])
}

async function replaceNotes(warehouse: Warehouse, rows: readonly Note[]): Promise<void> {
  await warehouse.run('delete from ops.build_state')
  await warehouse.append('ops.build_state', {
    key: rows.map(([key]) => key),
    value: rows.map(([, value]) => value),
  })
}

/** The models that builds of some models made since the last whole build. */
export async function partlyBuilt(warehouse: Warehouse): Promise<readonly string[]> {
  return JSON.parse((await noteOf(warehouse, PARTIAL)) ?? '[]') as string[]
}

/**
 * Refuses a partial build where the other models would be from different events.
 * @throws ConfigError saying why a whole build has to come first
 */
export async function refusePartial(warehouse: Warehouse, project: Project): Promise<null> {
  const people = await warehouse.number('select count(*) from ops.changed_people')
  const loaded = await changedByLoads(warehouse)
  const isLoaded = people > 0 || loadedTables.some(({ name }) => loaded.has(name))
  const reason = isLoaded
    ? 'there are events that were loaded after the last build'
    : await fullRefreshReasonOf(warehouse, project, 1)
  if (reason === null) return null
  throw new ConfigError(`--select builds some models and keeps the others as they are: ${reason}`, {
    hint: 'Run `jobtide build` once, without --select. Nothing was built.',
  })
}

/**
 * Records the models of a partial build: the next whole build makes the models that read them, and until then nothing
 * is published.
 */
export async function writePartialState(
  warehouse: Warehouse,
  project: Project,
  selected: ReadonlySet<string>,
): Promise<void> {
  const built = new Set([...(await partlyBuilt(warehouse)), ...selected])
  const { own } = project
  const waiting = withReaders(project.nodes, selected)
  // A stale model stays stale until it is built; models that read a built one become stale.
  const isMade = ({ name }: { readonly name: string }) =>
    selected.has(name) || (!waiting.has(name) && own?.stale.has(name) !== true)
  const files = project.nodes.filter(({ isOwn }) => isOwn === true)
  const made = [
    ...(own?.gone ?? []).map((name) => [`models/${name}.sql`, '']),
    ...files.map((node) => [node.file, isMade(node) ? own?.made[node.file] : '']),
  ]
  await replaceNotes(warehouse, [
    [FINGERPRINT, project.fingerprint],
    [PARTIAL, JSON.stringify([...built])],
    ...ownNotes(project, Object.fromEntries(made)),
  ])
}
