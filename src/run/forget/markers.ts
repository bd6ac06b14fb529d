/** The texts by which erased people could be told from all others: what must be found nowhere afterwards. */

import type { Warehouse } from '../../warehouse/warehouse.ts'

/** A text to look for. */
export interface Marker {
  readonly text: string
  /** False where longer texts of others hold it, such as `per_1` in `per_12`: then only whole values count. */
  readonly is_unique: boolean
}

// Shorter ones stand in everything.
const SHORTEST_BYTES = 6

const OWN_COLUMNS =
  'person_handle, person_full_name, person_headline, person_network_url, title_current, title_previous'
const ALL_COLUMNS = `profile_id, ${OWN_COLUMNS}, person_first_name, person_last_name, organization_name, organization_slug, organization_network_url`

/**
 * The ids of people, and those texts about them that are 6 bytes or longer and stand in no text about anybody else, nor in
 * what describes the tables.
 */
export async function markersOf(
  warehouse: Warehouse,
  profileIds: readonly string[],
): Promise<Marker[]> {
  // As JSON: the engine appends nothing to a file that is open for reading, not even to temporary tables.
  await warehouse.run(`create or replace temp table marked_people (profile_id varchar)`)
  await warehouse.run(`insert into marked_people select unnest(from_json($1, '["varchar"]'))`, [
    JSON.stringify(profileIds),
  ])
  // A join of texts and candidates, and not `exists`: so only the candidates are kept in memory.
  const rows = await warehouse.all<{ text: string; is_id: boolean; is_shared: boolean }>(`
    with
      events as (
        from job_change_events select profile_id in (from marked_people) as is_theirs, ${ALL_COLUMNS}
        union all by name
        from job_change_event_versions select profile_id in (from marked_people) as is_theirs, ${ALL_COLUMNS}),
      candidates as (
        select distinct text from (select unnest([${OWN_COLUMNS}]) as text from events where is_theirs)
        where strlen(text) >= ${SHORTEST_BYTES}
        union
        from marked_people),
      others as (
        select unnest([${ALL_COLUMNS}]) as text from events where not is_theirs
        union all select comment from duckdb_columns() where not internal
        union all select comment from duckdb_tables()
        union all select sql from duckdb_views() where not internal
        union all select macro_definition from duckdb_functions() where not internal),
      shared as (
        select distinct candidates.text
        from others inner join candidates on contains(others.text, candidates.text))
    select text, text in (from marked_people) as is_id, text in (from shared) as is_shared
    from candidates order by text`)
  await warehouse.run('drop table marked_people')
  return rows
    .filter(({ is_id, is_shared }) => is_id || !is_shared)
    .map(({ text, is_shared }) => ({
      text,
      is_unique: !is_shared && Buffer.byteLength(text) >= SHORTEST_BYTES,
    }))
}
