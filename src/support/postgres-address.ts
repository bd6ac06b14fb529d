/** Resolves the address and user of a PostgreSQL from an address without a password and the variables that `psql` reads. */

import { userInfo } from 'node:os'
import { ConfigError } from './errors.ts'
import { isLoopbackHost } from './loopback.ts'
import { Secret } from './secret.ts'
import { decodedUri } from './text.ts'

export interface PostgresAddress {
  /** The address as shown and stored: without user, password and options. */
  readonly shown: string
  /** A name, or the folder of a socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  /** Absent: `PGPASSFILE` or ~/.pgpass says it, or none is needed. */
  readonly password: Secret | null
  readonly tls: Tls
  /** A file with the certificate that signs the server's; null for those that Node.js trusts. */
  readonly rootCertificate: string | null
}

const TLS = ['disable', 'require', 'verify-full'] as const
type Tls = (typeof TLS)[number]
type Environment = Readonly<Record<string, string | undefined>>

const SCHEME = /^postgres(?:ql)?:\/\//i
const VARIABLE = /^\$\{(\w+_URL)\}$/
const HINT =
  "Write postgres://user@host:5432/database and set PGPASSWORD, or name a variable that holds all of it: '${JOBTIDE_PG_URL}'. Nothing was sent."

/** Whether a text names a PostgreSQL database: its address, or a variable that holds one. */
export function isPostgresAddress(text: string): boolean {
  return SCHEME.test(text) || VARIABLE.test(text)
}

/** Checks an address as written; null if it is valid. The message does not repeat the text, which may hold a password. */
export function postgresAddressFault(text: string): string | null {
  if (VARIABLE.test(text)) return null
  if (!SCHEME.test(text) || !URL.canParse(text))
    return 'expected postgres://user@host:5432/database, or a variable that holds it, such as ${JOBTIDE_PG_URL}'
  const { password, searchParams } = new URL(text)
  const isWritten = password !== '' || searchParams.has('password')
  return isWritten ? 'a password does not belong in the address: others could read it' : null
}

/**
 * What the text does not say, the variables of `psql` do. It is an address without a password, or `${NAME_URL}`,
 * whose value may have one. @throws ConfigError, which repeats no part of the address
 */
export function postgresAddress(text: string, environment: Environment): PostgresAddress {
  const fault = postgresAddressFault(text)
  if (fault !== null) throw new ConfigError(fault, { hint: HINT })
  const [, variable] = VARIABLE.exec(text) ?? []
  const value = variable === undefined ? text : (environment[variable]?.trim() ?? '')
  if (!SCHEME.test(value) || !URL.canParse(value)) {
    const why = value === '' ? 'is not set' : 'holds no address postgres://user@host:5432/database'
    throw new ConfigError(`${variable ?? 'the address'} ${why}`, { hint: HINT })
  }
  const url = new URL(value)
  const said = (key: string, name: string) => url.searchParams.get(key) || environment[name] || null
  const host =
    decodedUri(url.hostname).replace(/^\[(.*)\]$/, '$1') || said('host', 'PGHOST') || 'localhost'
  const port = Number(url.port || said('port', 'PGPORT') || 5432)
  const user = decodedUri(url.username) || said('user', 'PGUSER') || userInfo().username
  const database = decodedUri(url.pathname.slice(1)) || said('dbname', 'PGDATABASE') || user
  const password = decodedUri(url.password) || said('password', 'PGPASSWORD')
  const isSocket = host.startsWith('/')
  const isHere = isSocket || isLoopbackHost(host)
  const asked = said('sslmode', 'PGSSLMODE') ?? (isHere ? 'disable' : 'verify-full')
  const tls = TLS.find((mode) => mode === asked)
  if (tls === undefined) {
    throw new ConfigError(`sslmode: expected ${TLS.join(', ')}`, {
      hint: 'require encrypts without verifying the server. verify-full verifies it. Nothing was sent.',
    })
  }
  const place = host.includes(':') ? `[${host}]` : host
  return {
    shown: isSocket
      ? `postgres:///${database}?host=${host}&port=${port}`
      : `postgres://${place}:${port}/${database}`,
    host,
    port,
    database,
    user,
    password: password === null ? null : new Secret(password),
    tls,
    rootCertificate: said('sslrootcert', 'PGSSLROOTCERT'),
  }
}
