/** By which texts somebody can be told from all others: what must be found nowhere once they are forgotten. */

import type { Warehouse } from '../../warehouse/warehouse.ts'

/** A text to look for. */
export interface Marker {
  readonly text: string
  /** False where longer texts of others hold it, such as `per_1` in `per_12`: then only whole values count. */
  readonly isUnique: boolean
}

// Shorter ones stand in everything.
const SHORTEST_BYTES = 6

const OWN_COLUMNS = [
  'person_handle',
  'person_full_name',
  'person_headline',
  'person_network_url',
  'title_current',
  'title_previous',
]
const ALL_COLUMNS = [
  'profile_id',
  ...OWN_COLUMNS,
  'person_first_name',
  'person_last_name',
  'organization_name',
  'organization_slug',
  'organization_network_url',
]
const EVENT_TABLES = ['job_change_events', 'job_change_event_versions']

/** Texts that the warehouse holds of people. */
export async function textsOfPeople(
  warehouse: Warehouse,
  profileIds: readonly string[],
): Promise<string[]> {
  const texts = new Set<string>()
  for (const table of EVENT_TABLES) {
    for (const id of profileIds) {
      const rows = await warehouse.all<{ text: string }>(
        `select distinct unnest([${OWN_COLUMNS.join(', ')}]) as text from ${table} where profile_id = $1`,
        [id],
      )
      for (const { text } of rows) if (text !== null) texts.add(text)
    }
  }
  return [...texts]
}

/** Texts about the person in an event as sent: everything in `person` and `title`, also in fields that are not known. */
export function textsOfEvent(event: unknown): string[] {
  const parts = event !== null && typeof event === 'object' ? event : {}
  return ['person', 'title'].flatMap((name) => {
    const part = (parts as Readonly<Record<string, unknown>>)[name]
    if (part === null || typeof part !== 'object') return []
    const texts = Object.entries(part).filter(([field]) => !/^(?:first|last)_name$/.test(field))
    // As they are stored: a lone surrogate has no UTF-8.
    return texts.flatMap(([, value]) =>
      typeof value === 'string' ? [value.replaceAll(/\p{Surrogate}/gu, '\uFFFD')] : [],
    )
  })
}

/**
 * What to look for: the ids, and those texts that are 6 bytes or longer and stand in no text about anybody else, nor in
 * what describes the tables.
 */
export async function markersOf(
  warehouse: Warehouse,
  profileIds: readonly string[],
  texts: readonly string[],
): Promise<Marker[]> {
  const candidates = [...new Set([...profileIds, ...texts])].filter(
    (text) => Buffer.byteLength(text) >= SHORTEST_BYTES || profileIds.includes(text),
  )
  const shared = new Set(await sharedTexts(warehouse, profileIds, candidates))
  return candidates
    .filter((text) => !shared.has(text) || profileIds.includes(text))
    .map((text) => ({
      text,
      isUnique: !shared.has(text) && Buffer.byteLength(text) >= SHORTEST_BYTES,
    }))
}

async function sharedTexts(
  warehouse: Warehouse,
  profileIds: readonly string[],
  candidates: readonly string[],
): Promise<string[]> {
  await warehouse.run(`
    create or replace temp table candidate_texts (text varchar not null);
    create or replace temp table forgotten_people (profile_id varchar not null)`)
  // As JSON: the engine appends nothing to a file that is open for reading, not even to temporary tables.
  const listed = `select unnest(from_json($1, '["varchar"]'))`
  await warehouse.run(`insert into candidate_texts ${listed}`, [JSON.stringify(candidates)])
  await warehouse.run(`insert into forgotten_people ${listed}`, [JSON.stringify(profileIds)])
  const others = EVENT_TABLES.map(
    (table) =>
      `select unnest([${ALL_COLUMNS.join(', ')}]) as text from ${table}
       where profile_id not in (select profile_id from forgotten_people)`,
  )
  // A join, and not `exists`: so the texts of everybody pass by, and only the candidates are kept in memory.
  const rows = await warehouse.all<{ text: string }>(`
    with
      others as (${others.join(' union all ')}
        union all select comment from duckdb_columns() where not internal
        union all select comment from duckdb_tables()
        union all select sql from duckdb_views() where not internal
        union all select macro_definition from duckdb_functions() where not internal)
    select distinct candidate.text
    from others inner join candidate_texts as candidate on contains(others.text, candidate.text)`)
  await warehouse.run('drop table candidate_texts; drop table forgotten_people')
  return rows.map(({ text }) => text)
}
