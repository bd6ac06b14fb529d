/**
 * Loads tables into PostgreSQL, all in one transaction: readers see the tables before, or all of these, and wait for none. A table
 * goes over as CSV by `copy` into a temporary one; then only rows that differ are deleted and inserted, so views, grants and
 * indexes on it stay. The comment of a table says that it is ours and which content it has: what is the same is not sent again.
 */

import { isoInstant, type Clock } from '../../support/clock.ts'
import { ConfigError, LockedError } from '../../support/errors.ts'
import { sha256Hex } from '../../support/hash.ts'
import type { PostgresAddress } from '../../support/postgres-address.ts'
import {
  commentsOn,
  definitionOf,
  writeCsv,
  type ExportTable,
} from '../../warehouse/export-tables.ts'
import { quoteIdentifier } from '../../warehouse/sql-text.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { RefusedError } from '../errors.ts'
import { sha256OfFile } from '../export.ts'
import { withScratchFile, type Step } from '../scratch.ts'
import { withPostgres, type Postgres } from './connection.ts'

export interface LoadOptions {
  readonly warehouse: Warehouse
  readonly address: PostgresAddress
  /** Made where it is missing. */
  readonly schema: string
  readonly tables: readonly ExportTable[]
  /** Columns that are unique together and never null, by table; one that is not in it gets no primary key. */
  readonly keys: ReadonlyMap<string, readonly string[]>
  readonly version: string
  readonly clock: Clock
  readonly scratchFolder: string
  readonly signal: AbortSignal
  readonly onProgress?: (step: Step) => void
}

/** Of its rows some changed; null where it had this content already, and nothing was sent. */
type LoadedTable = {
  readonly name: string
  readonly rows: number
  /** Rows that were deleted or inserted; null where it had this content already, and nothing was sent. */
  readonly rowsChanged: number | null
}

interface Found {
  readonly name: string
  readonly kind: string
  readonly comment: string | null
  readonly columns: readonly (readonly [name: string, type: string])[] | null
  readonly key: readonly string[] | null
}

const FOUND = `select c.relname as name, c.relkind::text as kind, obj_description(c.oid, 'pg_class') as comment,
    (select json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) order by a.attnum)
     from pg_attribute as a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
    (select json_agg(a.attname order by k.place)
     from pg_index as i cross join unnest(i.indkey::smallint[]) with ordinality as k (attnum, place)
     join pg_attribute as a on a.attrelid = c.oid and a.attnum = k.attnum
     where i.indrelid = c.oid and i.indisprimary) as key
  from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname = $1`
// The last line of the comment of each of our tables.
const MARK = /(?:^|\n)Exported by Jobtide \S+ at \S+, content ([0-9a-f]{64})\.$/
// Settings of the user or the database may be made for short questions.
const BEGIN = `begin;
  set local search_path = pg_catalog; set local timezone = 'UTC'; set local datestyle = 'ISO';
  set local client_min_messages = warning; set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0; set local lock_timeout = '30s'`
const LONGEST_NAME = 63
// An index takes 2,704 bytes of a row.
const LONGEST_KEY = 2_000

/**
 * @throws RefusedError where a table of that name is not ours, or views keep one whose columns changed
 * @throws LockedError while another export loads the schema, or another session locks a table
 * @throws PublishError when the database refuses or cannot be reached; it stays as it was
 */
export async function loadIntoPostgres(options: LoadOptions): Promise<LoadedTable[]> {
  const { address, schema, tables, signal, onProgress } = options
  const tooLong = tables
    .flatMap(({ name, columns }) => [name, ...columns.map((column) => column.name)])
    .find((name) => Buffer.byteLength(name) > LONGEST_NAME)
  if (tooLong !== undefined)
    throw new ConfigError(`PostgreSQL accepts no name over ${LONGEST_NAME} bytes: ${tooLong}`)
  return withPostgres(address, signal, async (database) => {
    await database.all(BEGIN)
    const [lock] = await database.all<{ is_free: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as is_free',
      [`jobtide ${schema}`],
    )
    if (lock?.is_free !== true) {
      throw new LockedError(`${address.shown}: another export loads schema ${schema}`, {
        hint: 'Wait until it has ended, and export again.',
      })
    }
    const schemas = 'select 1 from pg_namespace where nspname = $1'
    if ((await database.all(schemas, [schema])).length === 0)
      await database.all(`create schema ${quoteIdentifier(schema)}`)
    const there = new Map((await foundIn(database, schema)).map((found) => [found.name, found]))
    const others = tables.flatMap(({ name }) => there.get(name) ?? []).filter((one) => !isOurs(one))
    if (others.length > 0) {
      const names = others.map(({ name }) => `${schema}.${name}`).join(', ')
      throw new RefusedError(`${address.shown}: ${names} exists, but no export made it`, {
        hint: 'Name another schema (--schema, `schema:` of the pipeline), or move the existing one away. Nothing was changed.',
      })
    }
    const staged: Staged[] = []
    const total = tables.length + 1
    for (const [done, table] of tables.entries()) {
      signal.throwIfAborted()
      onProgress?.({ done, total, name: table.name })
      staged.push(await stage(options, database, table, there.get(table.name)))
    }
    onProgress?.({ done: tables.length, total, name: 'replacing' })
    const loaded: LoadedTable[] = []
    for (const one of staged) {
      signal.throwIfAborted()
      loaded.push(await replace(options, database, one))
    }
    await database.all('commit')
    // Deleted rows leave the files of the tables; dashboards get plans for what is there now.
    for (const { name, rowsChanged } of loaded)
      if ((rowsChanged ?? 0) > 0) await database.all(`vacuum (analyze) ${placeOf(schema, name)}`)
    onProgress?.({ done: total, total, name: `${tables.length} tables` })
    return loaded
  })
}

export async function postgresTables(
  address: PostgresAddress,
  schema: string,
  signal: AbortSignal,
): Promise<string[]> {
  const found = await withPostgres(address, signal, (database) => foundIn(database, schema))
  return found.filter(isOurs).map(({ name }) => name)
}

function foundIn(database: Postgres, schema: string): Promise<Found[]> {
  return database.all<Found & Record<string, unknown>>(FOUND, [schema])
}

function isOurs({ kind, comment }: Found): boolean {
  return kind === 'r' && MARK.test(comment ?? '')
}

/** A table that is in a temporary one, or has this content already. */
type Staged = Awaited<ReturnType<typeof stage>>

async function stage(
  { warehouse, keys, scratchFolder }: LoadOptions,
  database: Postgres,
  table: ExportTable,
  found: Found | undefined,
) {
  const key = await keyOf(warehouse, table, keys.get(table.name) ?? [])
  /** Columns that it lacks; null where it must be made, or made again. */
  const added = found === undefined ? null : changeOf(found, table, key)
  const temporary = `pg_temp.${quoteIdentifier(table.name)}`
  return withScratchFile(scratchFolder, async (path) => {
    // Sorted, so that the same rows are the same bytes.
    const rows = await writeCsv(warehouse, table, path, `order by ${listOf(key) || 'all'}`)
    const content = sha256Hex(JSON.stringify([table, key, await sha256OfFile(path)]))
    const isSame = added?.length === 0 && MARK.exec(found?.comment ?? '')?.[1] === content
    if (!isSame) {
      const columns = table.columns.map(definitionOf).join(', ')
      await database.all(`create temporary table ${temporary} (${columns}) on commit drop`)
      await database.copyFrom(`copy ${temporary} from stdin (format csv, header)`, path)
      await database.all(`analyze ${temporary}`)
    }
    const isThere = found !== undefined
    return { table, key, rows, content, temporary, isThere, added, isSame }
  })
}

/** The key, where every value of it fits into an index. */
async function keyOf(warehouse: Warehouse, { name, columns }: ExportTable, key: readonly string[]) {
  const texts = columns.filter((one) => key.includes(one.name) && one.postgresType === 'text')
  if (texts.length === 0) return key
  const bytes = texts.map((one) => `strlen(${quoteIdentifier(one.name)})`).join(' + ')
  const longest = await warehouse.number(`select max(${bytes}) from ${quoteIdentifier(name)}`)
  return longest > LONGEST_KEY ? [] : key
}

/** Columns to add so that a table has this shape; null where it must be made again. */
function changeOf({ columns, key: hasKey }: Found, table: ExportTable, key: readonly string[]) {
  const wanted = new Map(table.columns.map((column) => [column.name, column]))
  const isKept = (columns ?? []).every(([name, type]) => wanted.get(name)?.postgresType === type)
  if (!isKept || (hasKey ?? []).join('\n') !== key.join('\n')) return null
  const there = new Set((columns ?? []).map(([name]) => name))
  return table.columns.filter(({ name }) => !there.has(name))
}

async function replace(
  { schema, version, clock }: LoadOptions,
  database: Postgres,
  { table, key, rows, content, temporary, isThere, added, isSame }: Staged,
): Promise<LoadedTable> {
  const { name } = table
  if (isSame) return { name, rows, rowsChanged: null }
  const place = placeOf(schema, name)
  if (added === null) {
    if (isThere) await database.all(`drop table ${place}`)
    const columns = table.columns.map(definitionOf)
    const primary = key.length === 0 ? [] : [`primary key (${listOf(key)})`]
    await database.all(`create table ${place} (${[...columns, ...primary].join(', ')})`)
  } else {
    for (const one of added)
      await database.all(`alter table ${place} add column ${definitionOf(one)}`)
  }
  const names: readonly string[] = table.columns.map((one) => one.name)
  const all = (of: string, some = names) =>
    some.map((one) => `${of}.${quoteIdentifier(one)}`).join()
  const isSameKey = `(${all('made', key)}) = (${all('kept', key)})`
  const withSame = (other: string, condition: string) =>
    key.length === 0 ? '' : ` where not exists (select from ${other} where ${condition})`
  const sameRow = `${isSameKey} and (${all('made')}) is not distinct from (${all('kept')})`
  const deleted = await database.change(
    `delete from ${place} as kept${withSame(`${temporary} as made`, sameRow)}`,
  )
  const inserted = await database.change(
    `insert into ${place} (${listOf(names)}) select ${all('made')} from ${temporary} as made${withSame(`${place} as kept`, isSameKey)}`,
  )
  const mark = `Exported by Jobtide ${version} at ${isoInstant(clock.now())}, content ${content}.`
  const comment = table.comment === null ? mark : `${table.comment}\n\n${mark}`
  await database.all(commentsOn(place, { ...table, comment }))
  return { name, rows, rowsChanged: deleted + inserted }
}

function placeOf(schema: string, name: string): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
}

function listOf(names: readonly string[]): string {
  return names.map(quoteIdentifier).join(', ')
}
