/**
 * Proves that no data of erased people is left. Every file is read as bytes, and again by its format (journal pages unpacked,
 * databases and Parquet files value by value), and searched for the texts that identify them.
 */

import { createReadStream, existsSync, readdirSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { readSegment } from '../../journal/reader.ts'
import { PublishError } from '../../publish/errors.ts'
import { withObject, withScratchEngine } from '../../publish/scratch.ts'
import type { ObjectStore } from '../../publish/store/object-store.ts'
import { LockedError, StorageError, asStorageError, messageOf } from '../../support/errors.ts'
import { sum } from '../../support/numbers.ts'
import { MIB } from '../../support/units.ts'
import { tablesOf } from '../../warehouse/erase-rows.ts'
import { isLockOfThisProcess } from '../../warehouse/process-lock.ts'
import { quoteIdentifier, quotePath, quoteText } from '../../warehouse/sql-text.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import { dataDirectory } from '../data-directory.ts'
import { isLockFile } from '../lock.ts'
import { SearchTerms } from './search-terms.ts'

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

/** The ids that no event, no reject and no answer has: of people who were erased before, or who never were here. */
export async function notHere(
  warehouse: Warehouse,
  profileIds: readonly string[],
): Promise<string[]> {
  const rows = await warehouse.all<{ id: string }>(
    `with named as materialized (select distinct unnest(from_json($1, '["varchar"]')) as id)
    select id from named
    where not exists (from job_change_events where profile_id = id)
      and not exists (from ops.rejects where contains(event, id))
      and not exists (from answers where contains(body, id) or contains(subject, id))
    order by id`,
    [JSON.stringify(profileIds)],
  )
  return rows.map(({ id }) => id)
}

/** Pages and handles of people. */
export async function pagesOf(
  warehouse: Warehouse,
  profileIds: readonly string[],
): Promise<string[]> {
  const rows = await warehouse.all<{ page: string }>(
    `select distinct unnest([person_handle, person_network_url]) as page
     from (
       select profile_id, person_handle, person_network_url from job_change_events
       union all
       select profile_id, person_handle, person_network_url from job_change_event_versions)
     where profile_id in (select unnest(from_json($1, '["varchar"]')))`,
    [JSON.stringify(profileIds)],
  )
  return rows.flatMap(({ page }) => (page === null || page === '' ? [] : page))
}

/**
 * The ids of people, and texts about them of 6 bytes or more that occur neither in texts about others nor in the descriptions
 * of tables. A text there that no event has as an id is not an id, so it is not searched for.
 * @param unknown the ids that are not here
 */
export async function markersOf(
  warehouse: Warehouse,
  profileIds: readonly string[],
  unknown: ReadonlySet<string>,
): Promise<Marker[]> {
  // A join of texts and candidates instead of `exists` keeps only the candidates in memory.
  const rows = await warehouse.all<{ text: string; is_id: boolean; is_shared: boolean }>(
    `with
      erased as materialized (select unnest(from_json($1, '["varchar"]')) as profile_id),
      events as (
        from job_change_events select profile_id in (from erased) as is_theirs, ${ALL_COLUMNS}
        union all by name
        from job_change_event_versions select profile_id in (from erased) as is_theirs, ${ALL_COLUMNS}),
      candidates as (
        select distinct text from (select unnest([${OWN_COLUMNS}]) as text from events where is_theirs)
        where strlen(text) >= ${SHORTEST_BYTES}
        union
        from erased),
      others as (
        select unnest([${ALL_COLUMNS}]) as text from events where not is_theirs
        union all select comment from duckdb_columns() where not internal
        union all select comment from duckdb_tables()
        union all select sql from duckdb_views() where not internal
        union all select macro_definition from duckdb_functions() where not internal),
      shared as (
        select distinct candidates.text
        from others inner join candidates on contains(others.text, candidates.text))
    select text, text in (from erased) as is_id, text in (from shared) as is_shared
    from candidates order by text`,
    [JSON.stringify(profileIds)],
  )
  return rows
    .filter(({ text, is_id, is_shared }) => !is_shared || (is_id && !unknown.has(text)))
    .map(({ text, is_shared }) => ({
      text,
      is_unique: !is_shared && Buffer.byteLength(text) >= SHORTEST_BYTES,
    }))
}

export interface SearchReport {
  readonly files: number
  readonly bytes: number
  /** Paths of files, or keys of objects; of a database, with the table. */
  readonly matches: readonly string[]
  /** Files that could not be searched, which may hold anything. */
  readonly unsearched: readonly Unsearched[]
}

export interface Unsearched {
  /** As in `matches`. */
  readonly name: string
  readonly why: string
}

export function allOf(reports: readonly SearchReport[]): SearchReport {
  return {
    files: sum(reports.map(({ files }) => files)),
    bytes: sum(reports.map(({ bytes }) => bytes)),
    matches: reports.flatMap(({ matches }) => matches),
    unsearched: reports.flatMap(({ unsearched }) => unsearched),
  }
}

export interface SearchOptions {
  readonly markers: readonly Marker[]
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  readonly signal?: AbortSignal
  readonly onFile?: (done: number, total: number) => void
}

/** Brings a file or object here for `work`. */
type Open = (
  name: string,
  work: (path: string) => Promise<void>,
  engine: Warehouse,
) => Promise<void>

/** Searches every file below `folder`, but `without`. No database there may be open in this process. */
export async function searchFolder(
  folder: string,
  options: SearchOptions,
  without = '',
): Promise<SearchReport> {
  try {
    const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => path !== without && !isLockFile(path) && !isLockOfThisProcess(path))
    const open: Open = async (path, work) => {
      try {
        await work(path)
      } catch (error) {
        // One that was removed meanwhile holds nothing.
        if (existsSync(path)) throw error
      }
    }
    return await searchAll(paths.toSorted(), open, options)
  } catch (error) {
    throw asStorageError(error, folder)
  }
}

/** Searches objects of a store. @throws PublishError when the store refuses, or one is not there */
export function searchStore(
  store: ObjectStore,
  keys: readonly string[],
  options: SearchOptions,
): Promise<SearchReport> {
  const open: Open = (key, work) =>
    withObject({ ...options, store }, key, async (path) => {
      if (path !== null) return work(path)
      throw new PublishError(`${store.urlOf(key)} is not there`, {
        hint: 'Something other than Jobtide removed it: restore it from a backup.',
      })
    })
  return searchAll(keys, open, options)
}

async function searchAll(
  names: readonly string[],
  open: Open,
  { markers, scratchFolder, signal, onFile }: SearchOptions,
): Promise<SearchReport> {
  const terms = new SearchTerms(markers.flatMap(spellingsOf))
  const matches: string[] = []
  const unsearched: Unsearched[] = []
  let bytes = 0
  await withScratchEngine(scratchFolder, async (engine) => {
    const search = async (path: string, name: string) => {
      let isFound = false
      try {
        const raw = await searchBytes(path, terms)
        bytes += raw.bytes
        isFound = raw.isFound
        const where = await searchContent(path, name, terms, engine)
        if (where !== null || isFound) matches.push(where ?? name)
      } catch (error) {
        if (isPassing(error) || !existsSync(path)) throw error
        if (isFound) matches.push(name)
        else unsearched.push({ name, why: messageOf(error).split('\n', 1)[0] ?? '' })
      }
    }
    for (const [index, name] of names.entries()) {
      signal?.throwIfAborted()
      await open(name, (path) => search(path, name), engine)
      onFile?.(index + 1, names.length)
    }
  })
  return { files: names.length, bytes, matches, unsearched }
}

// The next search may succeed: another program has the file open, or memory or disk were short. All else is the file's own.
function isPassing(error: unknown): boolean {
  return error instanceof LockedError || error instanceof StorageError
}

/** Every spelling in which a text can stand in a file: as it is, and as JSON writes it; one that is a whole value, in quotes. */
export function spellingsOf({ text, is_unique }: Marker): string[] {
  const json = JSON.stringify(text)
  const ascii = json.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return is_unique ? [text, json.slice(1, -1), ascii.slice(1, -1)] : [`"${text}"`, json, ascii]
}

async function searchBytes(path: string, terms: SearchTerms) {
  const overlap = terms.longest - 1
  // The end of a piece may be the beginning of a text, so it is searched again with the next one.
  let kept = Buffer.alloc(0)
  let bytes = 0
  let isFound = false
  for await (const piece of createReadStream(path, { highWaterMark: 4 * MIB })) {
    bytes += (piece as Buffer).length
    const window = Buffer.concat([kept, piece as Buffer])
    isFound ||= terms.areIn(window)
    kept = window.subarray(Math.max(0, window.length - overlap))
  }
  return { bytes, isFound }
}

/** Searches what a file holds; null where nothing is found. */
async function searchContent(
  path: string,
  name: string,
  terms: SearchTerms,
  engine: Warehouse,
): Promise<string | null> {
  if (name.endsWith('.journal')) {
    for (const frame of readSegment(path)) {
      const payload = frame.payload()
      const texts = [payload, unescaped(payload)]
      if (texts.some((text) => terms.areIn(text))) return name
    }
  }
  if (name.endsWith('.parquet')) {
    const relation = `read_parquet(${quotePath(path)}, hive_partitioning = false)`
    if (await isIn(engine, relation, terms)) return name
  }
  if (!name.endsWith('.duckdb')) return null
  return withWarehouse({ path, mode: 'read' }, async (warehouse) => {
    for (const table of await tablesOf(warehouse)) {
      if (await isIn(warehouse, table.relation, terms)) return `${name}, table ${table.name},`
    }
    return null
  })
}

/** A page with its escapes resolved: a service may write any character as one, and a slash with a backslash before it. */
export function unescaped(payload: Buffer): Buffer {
  if (!payload.includes('\\u') && !payload.includes('\\/')) return payload
  const text = payload
    .toString()
    .replaceAll(/\\u([\da-fA-F]{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(text.replaceAll('\\/', '/'))
}

// These columns identify no one, and writing them as text would double the time.
const NO_TEXT = /^(?:BOOLEAN|DATE|TIME|INTERVAL)/
const NESTED = /\]$|^(?:STRUCT|MAP|UNION|VARIANT)/

/** Whether a row of a relation holds one of the texts: all its values, each between quotes, are one text. */
async function isIn(warehouse: Warehouse, relation: string, terms: SearchTerms): Promise<boolean> {
  const columns = await warehouse.all<{ name: string; type: string }>(
    `select column_name as name, column_type as type from (describe from ${relation})`,
  )
  const values = columns
    .filter(({ type }) => !NO_TEXT.test(type))
    .map(({ name, type }) => {
      const value = quoteIdentifier(name)
      // As JSON writes them: in the engine's own text of them, quotes depend on what the value holds.
      return NESTED.test(type) ? `to_json(${value})` : value
    })
  if (values.length === 0) return false
  for (const pattern of terms.patterns) {
    const found = await warehouse.all(
      `select 1 from ${relation}
       where regexp_matches(concat('"', concat_ws('"', ${values.join(', ')}), '"'), ${quoteText(pattern)}) limit 1`,
    )
    if (found.length > 0) return true
  }
  return false
}

/** A sentence for each file or object that could not be searched: what it is, and what to do. */
export function unsearchedIn(unsearched: readonly Unsearched[]): string[] {
  return unsearched.map(
    ({ name, why }) =>
      `${name} cannot be searched (${why}): remove it, or check it by hand and move it elsewhere`,
  )
}

/**
 * A sentence for each file or object that still names a person. Those of another data directory below `root`, such as that
 * of the demo, are one: an erasure there is a command of its own.
 */
export function remainingIn(root: string, matches: readonly string[]): string[] {
  const sentences = matches.map((path) => {
    for (let at = dirname(path); at.startsWith(root + sep); at = dirname(at)) {
      const { journal, warehouse } = dataDirectory(at)
      if (!existsSync(journal) && !existsSync(warehouse)) continue
      return `${at} still names a person who was to be erased: it is another data directory: run forget there as well, with --data-dir`
    }
    return `${path} still names a person who was to be erased`
  })
  return [...new Set(sentences)]
}
