/**
 * What the last good build was made from (`ops.build_state`), and whom loads have touched since (`ops.changed_people`): from
 * both follows whether a build can keep what is there. Written in the build's transaction.
 */

import { loadedTables } from '../warehouse/catalog.ts'
import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import type { Project } from './project.ts'
import { columnsOf } from './tables.ts'

/** Loaded tables that are not of people: their content as one text each, by name. */
export type Contents = ReadonlyMap<string, string>

const FINGERPRINT = 'fingerprint'
const CONTENT = 'content of '

/** Why the next build has to make everything anew; null when it can keep what no load touched. */
export async function fullRefreshReasonOf(
  warehouse: Warehouse,
  project: Project,
  mostChanged: number,
): Promise<string | null> {
  const state = await readState(warehouse)
  const fingerprint = state.get(FINGERPRINT)
  if (fingerprint === undefined) return 'there is no earlier build to go on from'
  if (fingerprint !== project.fingerprint)
    return 'models, checks or titles are not those of the last build'
  for (const { name, definition } of project.nodes) {
    const columns = await columnsOf(warehouse, name)
    if (columns.length === 0) return `the table ${name} is not there`
    if (columns.toSorted().join() !== [...definition.columns.keys()].toSorted().join()) {
      return `the table ${name} has other columns than it was made with`
    }
  }
  const [touched] = await warehouse.all<{ events: bigint; all_events: bigint }>(
    `select
        (select count(*) from job_change_events where profile_id in (select profile_id from ops.changed_people))
            as events,
        (select count(*) from job_change_events) as all_events`,
  )
  const share = Number(touched?.events ?? 0) / Math.max(1, Number(touched?.all_events ?? 0))
  if (share <= mostChanged) return null
  return `people with new or changed events have ${Math.round(100 * share)} % of all events`
}

/** What the last good build was made from; undefined where there was none. */
export async function lastFingerprint(warehouse: Warehouse): Promise<string | undefined> {
  return (await readState(warehouse)).get(FINGERPRINT)
}

/** The content of loaded tables that are not of people, now and at the last build. */
export async function readContents(
  warehouse: Warehouse,
): Promise<{ readonly now: Contents; readonly before: Contents }> {
  const now = new Map<string, string>()
  for (const { name } of loadedTables) {
    const columns = await columnsOf(warehouse, name)
    if (columns.includes('profile_id')) continue
    const [row] = await warehouse.all<{ content: string }>(
      `select concat(count(*), ' rows, ', coalesce(sum(hash(${columns.map(quoteIdentifier).join(', ')})), 0)) as content
       from ${quoteIdentifier(name)}`,
    )
    now.set(name, row?.content ?? '')
  }
  const before = [...(await readState(warehouse))]
    .filter(([key]) => key.startsWith(CONTENT))
    .map(([key, value]) => [key.slice(CONTENT.length), value] as const)
  return { now, before: new Map(before) }
}

/** Notes what the tables are made from now, and that nobody is touched any more. */
export async function writeState(warehouse: Warehouse, project: Project): Promise<void> {
  const { now } = await readContents(warehouse)
  const state = [
    [FINGERPRINT, project.fingerprint] as const,
    ...[...now].map(([name, content]) => [`${CONTENT}${name}`, content] as const),
  ]
  await warehouse.run('delete from ops.changed_people; delete from ops.build_state')
  await warehouse.append('ops.build_state', {
    key: state.map(([key]) => key),
    value: state.map(([, value]) => value),
  })
}

async function readState(warehouse: Warehouse): Promise<Map<string, string>> {
  const rows = await warehouse.all<{ key: string; value: string }>(
    'select key, value from ops.build_state',
  )
  return new Map(rows.map(({ key, value }) => [key, value]))
}
