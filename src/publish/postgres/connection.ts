/**
 * The only importer of PostgreSQL's client, which is loaded when a database is opened. Turns its errors into hints for
 * an operator.
 */

import { createReadStream, readFileSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Client, QueryResultRow } from 'pg'
import { JobtideError, LockedError, messageOf, onDisk, systemCode } from '../../support/errors.ts'
import type { PostgresAddress } from '../../support/postgres-address.ts'
import { SECOND } from '../../support/units.ts'
import { PublishError, RefusedError } from '../errors.ts'

const CONNECT_WITHIN_MS = 10 * SECOND
const CHUNK_BYTES = 1_048_576

export interface Postgres {
  /** Runs a statement, or without values several, and returns the rows of one. */
  all<Row extends QueryResultRow>(sql: string, values?: readonly string[]): Promise<Row[]>
  /** Runs a statement that changes rows, and returns how many. */
  change(sql: string): Promise<number>
  /** Runs `copy … from stdin` with the bytes of a file. */
  copyFrom(sql: string, path: string): Promise<void>
}

/**
 * Connects for `work`; what is not committed by its end is undone, also where this process dies.
 * @param signal ends a copy on its way
 * @throws PublishError, or LockedError, that says what the server or the way to it refused
 */
export async function withPostgres<T>(
  address: PostgresAddress,
  signal: AbortSignal,
  work: (database: Postgres) => Promise<T>,
): Promise<T> {
  const { Client: PostgresClient } = (await import('pg')).default
  const { from } = await import('pg-copy-streams')
  const client: Client = new PostgresClient({
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
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work({
      all: async (sql, values = []) => (await client.query(sql, [...values])).rows,
      change: async (sql) => (await client.query(sql)).rowCount ?? 0,
      copyFrom: (sql, path) =>
        pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), client.query(from(sql)), {
          signal,
        }),
    })
  } catch (error) {
    signal.throwIfAborted()
    throw asPostgresError(error, address)
  } finally {
    await client.end().catch(() => undefined)
  }
}

function tlsOf({ tls, host: servername, rootCertificate: file }: PostgresAddress) {
  if (tls === 'disable') return false
  const ca = file === null ? {} : { ca: onDisk(file, () => readFileSync(file, 'utf8')) }
  return { rejectUnauthorized: tls === 'verify-full', servername, ...ca }
}

const GRANTS =
  'The user needs `create` on the database or on the schema, `temporary` on the database, and must own the tables that it loads.'
const LATER =
  'Free what is named there, or wait, and export again. Readers still see the tables as they were.'
// The operator's remedy for a class of SQLSTATE, or for one of it; the longest match counts.
const HINTS: Readonly<Record<string, string>> = {
  '28': 'Set PGUSER and PGPASSWORD, or PGPASSFILE, to a login that the server accepts. pg_hba.conf decides who may connect from where.',
  '3D': 'Create it (`createdb`), or name another one in the address.',
  '42501': GRANTS,
  '25006': 'It is a standby, or set to read only: name the primary.',
  '53': LATER,
  '57': LATER,
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
  if (code === '55P03') {
    const hint = 'A long statement reads or changes it: end that, and export again.'
    return new LockedError(message, details(hint))
  }
  if (code === '2BP01') {
    const hint =
      'Its columns have changed. Drop the objects named there, export, and create them again. Nothing was changed.'
    return new RefusedError(`${message}: ${detail.replaceAll('\n', '; ')}`, details(hint))
  }
  // An SQLSTATE has five characters; systems name errors by words.
  if (/^[0-9A-Z]{5}$/.test(code)) {
    const hint =
      HINTS[code] ?? HINTS[code.slice(0, 2)] ?? 'Readers still see the tables as they were.'
    const where = detail === '' ? '' : `: ${detail.split('\n', 1)[0]}`
    return new PublishError(`${message}${where}`, details(hint))
  }
  if (TLS_TROUBLE.test(`${code} ${messageOf(error)}`))
    return new PublishError(message, details(TLS_HINT))
  if (code === '' && !/terminated|timeout|ended/i.test(messageOf(error))) return error
  const hint =
    'Start it, or fix its address (PGHOST, PGPORT) and the way to it. Readers still see the tables as they were.'
  return new PublishError(`${shown} cannot be reached: ${messageOf(error) || code}`, details(hint))
}
