/**
 * Loads tables into PostgreSQL, all in one transaction: readers see the tables before, or all of these, and wait for none. A table
 * goes over as CSV by `copy` into a temporary one; then only rows that differ are deleted and inserted, so views, grants and
 * indexes on it stay. The comment of a table says that it is ours and which content it has: what is the same is not sent again.
 * The only importer of PostgreSQL's client, which is loaded when a database is opened.
 */

import { createReadStream, readFileSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { isoInstant, type Clock } from '../support/clock.ts'
import {
  ConfigError,
  JobtideError,
  LockedError,
  messageOf,
  onDisk,
  systemCode,
} from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import type { PostgresAddress } from '../support/postgres-address.ts'
import { SECOND } from '../support/units.ts'
import { commentsOn, definitionOf, writeCsv, type ExportTable } from '../warehouse/export-tables.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { PublishError, RefusedError } from './errors.ts'
import { sha256OfFile } from './export.ts'
import { withScratchFile, type Step } from './scratch.ts'

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

interface LoadedTable {
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
const CONNECT_WITHIN_MS = 10 * SECOND
const CHUNK_BYTES = 1_048_576
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
    await database.query(BEGIN)
    const { rows: free } = await database.query(
      'select where pg_try_advisory_xact_lock(hashtextextended($1, 0))',
      [`jobtide ${schema}`],
    )
    if (free.length === 0) {
      throw new LockedError(`${address.shown}: another export loads schema ${schema}`, {
        hint: 'Wait until it has ended, and export again.',
      })
    }
    const schemas = 'select 1 from pg_namespace where nspname = $1'
    if ((await database.query(schemas, [schema])).rows.length === 0)
      await database.query(`create schema ${quoteIdentifier(schema)}`)
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
    await database.query('commit')
    // Deleted rows leave the files of the tables; dashboards get plans for what is there now.
    for (const { name, rowsChanged } of loaded)
      if ((rowsChanged ?? 0) > 0) await database.query(`vacuum (analyze) ${placeOf(schema, name)}`)
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

async function foundIn(database: Client, schema: string): Promise<Found[]> {
  return (await database.query<Found>(FOUND, [schema])).rows
}

function isOurs({ kind, comment }: Found): boolean {
  return kind === 'r' && MARK.test(comment ?? '')
}

/** A table that is in a temporary one, or has this content already. */
type Staged = Awaited<ReturnType<typeof stage>>

async function stage(
  { warehouse, keys, scratchFolder, signal }: LoadOptions,
  database: Client,
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
      const { from } = await import('pg-copy-streams')
      const columns = table.columns.map(definitionOf).join(', ')
      await database.query(`create temporary table ${temporary} (${columns}) on commit drop`)
      const copy = database.query(from(`copy ${temporary} from stdin (format csv, header)`))
      await pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), copy, { signal })
      await database.query(`analyze ${temporary}`)
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
  database: Client,
  { table, key, rows, content, temporary, isThere, added, isSame }: Staged,
): Promise<LoadedTable> {
  const { name } = table
  if (isSame) return { name, rows, rowsChanged: null }
  const place = placeOf(schema, name)
  if (added === null) {
    if (isThere) await database.query(`drop table ${place}`)
    const columns = table.columns.map(definitionOf)
    const primary = key.length === 0 ? [] : [`primary key (${listOf(key)})`]
    await database.query(`create table ${place} (${[...columns, ...primary].join(', ')})`)
  } else {
    for (const one of added)
      await database.query(`alter table ${place} add column ${definitionOf(one)}`)
  }
  const names: readonly string[] = table.columns.map((one) => one.name)
  const all = (of: string, some = names) =>
    some.map((one) => `${of}.${quoteIdentifier(one)}`).join()
  const isSameKey = `(${all('made', key)}) = (${all('kept', key)})`
  const withSame = (other: string, condition: string) =>
    key.length === 0 ? '' : ` where not exists (select from ${other} where ${condition})`
  const sameRow = `${isSameKey} and (${all('made')}) is not distinct from (${all('kept')})`
  const deleted = await database.query(
    `delete from ${place} as kept${withSame(`${temporary} as made`, sameRow)}`,
  )
  const inserted = await database.query(
    `insert into ${place} (${listOf(names)}) select ${all('made')} from ${temporary} as made${withSame(`${place} as kept`, isSameKey)}`,
  )
  const mark = `Exported by Jobtide ${version} at ${isoInstant(clock.now())}, content ${content}.`
  const comment = table.comment === null ? mark : `${table.comment}\n\n${mark}`
  await database.query(commentsOn(place, { ...table, comment }))
  return { name, rows, rowsChanged: (deleted.rowCount ?? 0) + (inserted.rowCount ?? 0) }
}

function placeOf(schema: string, name: string): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
}

function listOf(names: readonly string[]): string {
  return names.map(quoteIdentifier).join(', ')
}

/**
 * Connects for `work`; what is not committed by its end is undone, also where this process dies.
 * @param signal its reason is thrown where `work` fails after it
 * @throws PublishError, or LockedError, that says what the server or the way to it refused
 */
async function withPostgres<T>(
  address: PostgresAddress,
  signal: AbortSignal,
  work: (database: Client) => Promise<T>,
): Promise<T> {
  const { Client: PostgresClient } = (await import('pg')).default
  const database = new PostgresClient({
    host: address.host,
    port: address.port,
    database: address.database,
    user: address.user,
    ...(address.password === null ? {} : { password: address.password.reveal() }),
    ssl: tlsOf(address),
    application_name: 'jobtide',
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    keepAlive: true,
  })
  // A connection that breaks between two statements fails the next one.
  database.on('error', () => undefined)
  try {
    await database.connect()
    return await work(database)
  } catch (error) {
    signal.throwIfAborted()
    throw asPostgresError(error, address)
  } finally {
    await database.end().catch(() => undefined)
  }
}

function tlsOf({ tls, host: servername, rootCertificate: file }: PostgresAddress) {
  if (tls === 'disable') return false
  const ca = file === null ? {} : { ca: onDisk(file, () => readFileSync(file, 'utf8')) }
  return { rejectUnauthorized: tls === 'verify-full', servername, ...ca }
}

const GRANTS =
  'The user needs `create` on the database or on the schema, `temporary` on the database, and must own the tables that it loads.'
const UNCHANGED = 'Readers still see the tables as they were.'
const LATER = `Free what is named there, or wait, and export again. ${UNCHANGED}`
// The operator's remedy for a class of SQLSTATE, or for one of it; the longest match counts.
const HINTS: Readonly<Record<string, string>> = {
  '28': 'Set PGUSER and PGPASSWORD, or PGPASSFILE, to a login that the server accepts. pg_hba.conf decides who may connect from where.',
  '3D': 'Create it (`createdb`), or name another one in the address.',
  '42501': GRANTS,
  '25006': 'It is a standby, or set to read only: name the primary.',
  '53': LATER,
  '57': LATER,
  '2BP01':
    'Its columns have changed. Drop the objects named there, export, and create them again. Nothing was changed.',
  '55P03': 'A long statement reads or changes it: end that, and export again.',
  '23505': 'Two rows have the key of one table: report it as a defect, with the name of the table.',
}
const TLS_TROUBLE = /certificate|self.signed|SSL|TLS|altname/i
const TLS_HINT =
  'Name the certificate of its authority with ?sslrootcert=FILE. ?sslmode=require encrypts without verifying the server, ?sslmode=disable does not encrypt.'
const NO_PASSWORD = /client password must be a/

/** Names the database; messages of a server or system contain no password. */
function asPostgresError(error: unknown, { shown, user }: PostgresAddress): unknown {
  if (error instanceof JobtideError || !(error instanceof Error)) return error
  const code = systemCode(error) ?? ''
  const detail = 'detail' in error && typeof error.detail === 'string' ? error.detail : ''
  const message = `${shown}: ${messageOf(error)}`
  const context = { database: shown, ...(code === '' ? {} : { code }) }
  const details = (hint: string) => ({ hint, context, cause: error })
  if (NO_PASSWORD.test(messageOf(error))) {
    const hint = 'Set PGPASSWORD, or PGPASSFILE to a file with mode 0600 that holds it.'
    const what = `${shown}: it requires a password for ${user}, but none is set`
    return new PublishError(what, { hint, context })
  }
  // An SQLSTATE has five characters; systems name errors by words.
  if (/^[0-9A-Z]{5}$/.test(code)) {
    const hint = HINTS[code] ?? HINTS[code.slice(0, 2)] ?? UNCHANGED
    if (code === '55P03') return new LockedError(message, details(hint))
    if (code === '2BP01')
      return new RefusedError(`${message}: ${detail.replaceAll('\n', '; ')}`, details(hint))
    const where = detail === '' ? '' : `: ${detail.split('\n', 1)[0]}`
    return new PublishError(`${message}${where}`, details(hint))
  }
  if (TLS_TROUBLE.test(`${code} ${messageOf(error)}`))
    return new PublishError(message, details(TLS_HINT))
  if (code === '' && !/terminated|timeout|ended/i.test(messageOf(error))) return error
  const hint = `Start it, or fix its address (PGHOST, PGPORT) and the way to it. ${UNCHANGED}`
  return new PublishError(`${shown} cannot be reached: ${messageOf(error) || code}`, details(hint))
}
