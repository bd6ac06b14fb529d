/**
 * Reads and checks the environment. Only this file reads process.env. It returns a secret as a Secret with its source.
 */

import { existsSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError, systemCode } from './support/errors.ts'
import { isReadByAll, refuseOthersFile } from './support/file-modes.ts'
import { LOG_LEVELS, LONGEST_SECRET, SHORTEST_SECRET, type LogLevel } from './support/logger.ts'
import { isLoopbackHost } from './support/loopback.ts'
import { nearest } from './support/nearest.ts'
import { Secret } from './support/secret.ts'
import { WHOLE_PATH, decodedUri, isUnexpanded, withoutTrailingSlashes } from './support/text.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A key and where it came from, for messages. */
export interface ApiKey {
  readonly secret: Secret
  readonly source: string
  /** True if every account may read the file, or a group other than this account's may write it. */
  readonly isWide: boolean
}

// All variables that Jobtide reads. Those of notify: are named by the user, and end in _URL.
const VARIABLES = [
  'API_KEY',
  'API_KEY_FILE',
  'ANALYST_GROUP',
  'BASE_URL',
  'DATA_DIR',
  'JOURNAL_BACKUP',
  'LOG',
  'MEMORY_LIMIT',
  'PG_URL',
  'S3_ENDPOINT',
  'SMTP_URL',
  'TEMP_LIMIT',
  'WEBHOOK_SECRET',
  'WEBHOOK_SECRET_FILE',
]
const PREFIX = 'JOBTIDE_'

/** Warns about variables whose names are close to one that Jobtide reads. */
export function misspelt(environment: Environment): string[] {
  const names = Object.keys(environment).filter((name) => name.startsWith(PREFIX))
  return names.flatMap((name) => {
    const typed = name.slice(PREFIX.length)
    const near = VARIABLES.includes(typed) ? undefined : nearest(typed, VARIABLES)
    if (near === undefined || environment[`${PREFIX}${near}`] !== undefined) return []
    return `${name} is not read: did you mean ${PREFIX}${near}?`
  })
}

export function processEnvironment(): Environment {
  return process.env
}

/** Sets the variables that the AWS SDK and the PostgreSQL client (PGPASSFILE) read, unless they are set. */
export function exportSdkEnv(values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (/^(?:AWS_|PG)/.test(name)) process.env[name] ??= value
  }
}

/** Stops the AWS SDK from asking for a newer Node on stderr at each start; package.json pins its version. */
export function quietSdk(): void {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true'
}

/**
 * The folder for journal and warehouse: `--data-dir`, else JOBTIDE_DATA_DIR, else ./data.
 * @throws ConfigError where no warehouse can be: DuckDB ends a path at a `?`
 */
export function dataDirFrom(environment: Environment, option: string | undefined): string {
  const path = option ?? (environment['JOBTIDE_DATA_DIR'] || './data')
  if (isUnexpanded(path)) {
    throw new ConfigError(`the data directory is ${path}`, {
      hint: `Fix --data-dir or JOBTIDE_DATA_DIR: ${WHOLE_PATH} Nothing was sent.`,
    })
  }
  if (!resolve(path).includes('?')) return path
  throw new ConfigError(`the data directory ${resolve(path)} has a ? in its path`, {
    hint: 'DuckDB cannot open a database there: name another folder with --data-dir. Nothing was sent.',
  })
}

/**
 * The requested log level: `--log-level`, else JOBTIDE_LOG; null if stderr is for people.
 * @throws ConfigError
 */
export function logLevelFrom(
  environment: Environment,
  option: LogLevel | undefined,
): LogLevel | null {
  const text = environment['JOBTIDE_LOG']?.trim()
  if (option !== undefined || !text) return option ?? null
  const level = LOG_LEVELS.find((one) => one === text)
  if (level !== undefined) return level
  throw new ConfigError(
    `JOBTIDE_LOG: expected ${LOG_LEVELS.join(', ')}, got ${JSON.stringify(text.slice(0, 40))}`,
    { hint: 'Unset it to get plain text on stderr.' },
  )
}

/**
 * A text in which `${NAME}` stands for a variable, or for what the file holds that `NAME_FILE` names.
 * @throws ConfigError naming a variable that is not set
 */
export function expandVariables(environment: Environment, text: string): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const path = environment[`${name}_FILE`]
    const value = environment[name] || (path && namedFile(`${name}_FILE`, path))
    if (value) return value
    throw new ConfigError(`${name} is not set, and notify: needs it`)
  })
}

// The message leaves the path out, because it may be a misplaced secret.
function namedFile(variable: string, path: string): string {
  const hint = `Check its value. If it is the secret itself, it belongs in ${variable.replace(/_FILE$/, '')}.`
  try {
    const found = statSync(path)
    if (!found.isFile() && !found.isFIFO()) {
      throw new ConfigError(`${variable} names a folder or a device in place of a file`, { hint })
    }
    refuseLong(found.size, variable)
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const code = systemCode(error) ?? 'unknown'
    throw new ConfigError(`${variable} names a file that cannot be read (${code})`, { hint })
  }
}

/** The address of the mail server; a file may hold it, as of {@link expandVariables}. @throws ConfigError */
export function smtpUrlFrom(environment: Environment): string {
  return expandVariables(environment, '${JOBTIDE_SMTP_URL}')
}

const SIZE = /^(\d+(?:\.\d+)?) ?([kmgt])(i?)b$/i
const SIZE_STEPS = 'kmgt'

const SIZES = {
  JOBTIDE_MEMORY_LIMIT: {
    least: 256e6,
    hint: 'It limits the memory of the whole process. The default is the limit of the machine and its control groups.',
  },
  JOBTIDE_TEMP_LIMIT: {
    least: 1e6,
    hint: 'It limits what a query or build may spill to disk next to the warehouse. The default is half of the free space, at most 16 GiB.',
  },
}

/** The size in bytes from one of these variables; null if it is not set. @throws ConfigError */
export function sizeFrom(environment: Environment, name: keyof typeof SIZES): number | null {
  const { least, hint } = SIZES[name]
  const text = environment[name]?.trim()
  if (!text) return null
  const [, amount, step = '', binary] = SIZE.exec(text) ?? []
  const power = SIZE_STEPS.indexOf(step.toLowerCase()) + 1
  const bytes = Math.round(Number(amount) * (binary === '' ? 1_000 : 1_024) ** power)
  if (bytes >= least) return bytes
  throw new ConfigError(
    `${name}: expected a size such as 800MB or 2GiB, at least ${least / 1e6}MB, got ${JSON.stringify(text.slice(0, 100))}`,
    { hint },
  )
}

const GROUPS_FILE = '/etc/group'

/**
 * The group that may read the copy for analysts, from JOBTIDE_ANALYST_GROUP: a name in /etc/group or a number; null for
 * none.
 * @throws ConfigError if this account cannot give files to it
 */
export function analystGroupFrom(environment: Environment): number | null {
  const group = environment['JOBTIDE_ANALYST_GROUP']?.trim()
  if (!group) return null
  const number = /^\d+$/.test(group) ? group : numberOfGroup(group)
  const isOurs = process.getuid?.() === 0 || process.getgroups?.().includes(Number(number))
  if (number !== undefined && isOurs === true) return Number(number)
  const why = number === undefined ? `is not in ${GROUPS_FILE}` : 'is not a group of this account'
  throw new ConfigError(`JOBTIDE_ANALYST_GROUP: the group ${group.slice(0, 100)} ${why}`, {
    hint: 'Name a group that this account is in, or give its number: `id` shows both.',
  })
}

function numberOfGroup(name: string): string | undefined {
  const lines = existsSync(GROUPS_FILE) ? readFileSync(GROUPS_FILE, 'utf8').split('\n') : []
  return lines.map((line) => line.split(':')).find(([known]) => known === name)?.[2]
}

/** Endpoint of an S3-compatible server, from JOBTIDE_S3_ENDPOINT. */
export function s3EndpointFrom(environment: Environment): string | undefined {
  return environment['JOBTIDE_S3_ENDPOINT'] || undefined
}

/** Where every pipeline backs the journal up; false for nowhere, undefined if pipelines decide. */
export function journalBackupFrom(environment: Environment): string | false | undefined {
  const place = environment['JOBTIDE_JOURNAL_BACKUP'] || undefined
  return place === 'false' ? false : place
}

/** Whether an address is on this machine. @param url absolute, such as baseUrlFrom returns */
export function isLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname)
}

/**
 * The address of the service, from JOBTIDE_BASE_URL: https, or http on loopback only, because the key travels with it.
 * @throws ConfigError
 */
export function baseUrlFrom(environment: Environment): string {
  const text = environment['JOBTIDE_BASE_URL']
  if (text === undefined || text === '') {
    throw new ConfigError('JOBTIDE_BASE_URL is not set', {
      hint: 'Set it to the address of the job-change service, for example: export JOBTIDE_BASE_URL=https://api.example.com',
    })
  }
  const url = URL.canParse(text) && !/\s/.test(text.trim()) ? new URL(text) : null
  const safe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
  if (url === null || !safe) {
    // Quotes only a part: if two variables were mixed up, the whole text holds the key.
    const got = url === null ? '' : `, got ${url.protocol}//${url.host}`
    throw new ConfigError(
      `JOBTIDE_BASE_URL must be an https address (http only for localhost)${got}`,
      { hint: 'Without https, anyone on the way could read the API key. Nothing was sent.' },
    )
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new ConfigError('JOBTIDE_BASE_URL must be an address only: no user, query or fragment', {
      hint: 'Give the key in JOBTIDE_API_KEY or JOBTIDE_API_KEY_FILE.',
    })
  }
  return `${url.origin}${withoutTrailingSlashes(url.pathname)}`
}

/**
 * The proxies to the service, from HTTPS_PROXY, else HTTP_PROXY, with the exceptions of NO_PROXY. Lower-case names win.
 * A service on this machine is reached directly.
 * @param baseUrl as baseUrlFrom returns it
 * @returns addresses for http and https, empty for none, and the hosts that are reached directly; undefined without a
 * proxy
 * @throws ConfigError naming the variable, never its value: it may hold a password
 */
export function proxiesFrom(environment: Environment, baseUrl: string) {
  const { hostname } = new URL(baseUrl)
  if (isLoopbackHost(hostname) || hostname.startsWith('127.')) return undefined
  const https = proxyFrom(environment, ['https_proxy', 'HTTPS_PROXY'])
  const http = proxyFrom(environment, ['http_proxy', 'HTTP_PROXY'])
  if (https === '' && http === '') return undefined
  return { http, https, noProxy: environment['no_proxy'] || environment['NO_PROXY'] || '' }
}

function proxyFrom(environment: Environment, names: readonly string[]): string {
  for (const name of names) {
    const text = environment[name]?.trim()
    if (!text) continue
    const url = URL.canParse(text) ? new URL(text) : null
    if (url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '') return text
    throw new ConfigError(`${name} is not the address of a proxy`, {
      hint: 'Write it as http://proxy.example.com:3128 or http://user:password@proxy.example.com:3128, or unset it. Nothing was sent.',
    })
  }
  return ''
}

/**
 * The API key, from JOBTIDE_API_KEY or the file named by JOBTIDE_API_KEY_FILE.
 * @throws ConfigError if there is none, or the file belongs to another account or every account may write it
 */
export function apiKeyFrom(environment: Environment): ApiKey {
  const key = keyFrom(environment, 'JOBTIDE_API_KEY')
  if (key !== null) return key
  throw new ConfigError('there is no API key', {
    hint: 'Set JOBTIDE_API_KEY, or JOBTIDE_API_KEY_FILE to a file with mode 0600 that holds it.',
  })
}

/**
 * The secret that signs deliveries of signals, from JOBTIDE_WEBHOOK_SECRET or the file named by
 * JOBTIDE_WEBHOOK_SECRET_FILE; null if there is none.
 * @throws ConfigError as {@link apiKeyFrom}
 */
export function webhookSecretFrom(environment: Environment): Secret | null {
  return keyFrom(environment, 'JOBTIDE_WEBHOOK_SECRET')?.secret ?? null
}

function keyFrom(environment: Environment, name: string): ApiKey | null {
  const value = environment[name]?.trim()
  if (value) return { secret: checkedKey(value, name), source: name, isWide: false }
  const path = environment[`${name}_FILE`]
  return path ? keyFromFile(`${name}_FILE`, path) : null
}

// Kubernetes and Docker mount secrets read-only, with mode 0440 for a group or 0444, and no process can change that.
function keyFromFile(source: string, path: string): ApiKey {
  const key = namedFile(source, path)
  const found = statSync(path)
  const isGroups = refuseOthersFile(path, found, `${source} (${path})`, 'change the key')
  const secret = checkedKey(key, `${source} (${path})`)
  return { secret, source: `file ${path}`, isWide: isReadByAll(found) || isGroups }
}

/** @throws ConfigError if a secret is too long to be searched for in output */
function refuseLong(length: number, source: string): void {
  if (length <= LONGEST_SECRET) return
  throw new ConfigError(`${source} is too long: it may have ${LONGEST_SECRET} characters at most`, {
    hint: 'Give the secret itself, or the path of a file that holds only the secret.',
  })
}

/**
 * The secrets among the variables, so that output can be kept free of them. A key in a file becomes known when the file
 * is read.
 * @throws ConfigError if one is too long to search for
 */
export function secretsOf(environment: Environment): string[] {
  for (const name of [...SECRETS, ...PROXY_VARIABLES])
    refuseLong(environment[name]?.length ?? 0, name)
  const mixedUp = Object.entries(environment)
    .filter(([name]) => name.startsWith('JOBTIDE_'))
    .flatMap(([, value]) => KEY_IN_VALUE.exec(value ?? '')?.[1] ?? [])
  const own = SECRETS.flatMap((name) => environment[name]?.trim() || [])
  return [...own, ...mixedUp, ...proxySecrets(environment), ...postgresSecrets(environment)]
}

const SECRETS = [
  'JOBTIDE_API_KEY',
  'JOBTIDE_WEBHOOK_SECRET',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'PGPASSWORD',
]

/** Whether a variable holds a secret, or an address with a password. */
export function isSecretName(name: string): boolean {
  return SECRETS.includes(name) || name === 'JOBTIDE_SMTP_URL' || /^\w*PG_URL$/.test(name)
}

// If a line break is lost, the key ends up in the value of another variable, which an error may quote.
const KEY_IN_VALUE = new RegExp(`(?:${SECRETS.join('|')})\\s*=\\s*["']?([^\\s"';]+)`)

const PROXY_VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY']

// Name and password of a proxy, together and one by one, encoded and decoded, even from a malformed address.
function proxySecrets(environment: Environment): string[] {
  return PROXY_VARIABLES.flatMap((name) => {
    const user = /^(?:[a-z\d+.-]*:\/\/)?(.*)@/is.exec(environment[name] ?? '')?.[1]
    if (!user) return []
    const password = user.slice(user.indexOf(':') + 1)
    return [user, password].flatMap((secret) => [secret, decodedUri(secret)])
  })
}

// The password in the address of a database, even a malformed one.
function postgresSecrets(environment: Environment): string[] {
  return Object.values(environment).flatMap((value = '') => {
    const [, password, option] =
      /^postgres(?:ql)?:\/\/(?:[^:@/]*:(.*)@|.*[?&]password=([^&#]*))/is.exec(value.trim()) ?? []
    const secret = password ?? option
    return secret === undefined ? [] : [secret, decodedUri(secret)]
  })
}

// A header cannot carry line breaks or control characters. The message never quotes the value.
function checkedKey(key: string, source: string): Secret {
  refuseLong(key.length, source)
  if (/^(["'])[^]*\1$/.test(key)) {
    throw new ConfigError(`${source} begins and ends with a quote`, {
      hint: 'The quotes are not part of the key: remove them.',
    })
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ConfigError(`${source} is empty or holds spaces or control characters`, {
      hint: 'Paste the key as the provider gave it, on one line.',
    })
  }
  if (key.length < SHORTEST_SECRET) {
    throw new ConfigError(
      `${source} is too short: a key has at least ${SHORTEST_SECRET} characters`,
      {
        hint: 'Paste the whole key as the provider gave it. Jobtide could not keep a shorter one out of logs.',
      },
    )
  }
  return new Secret(key)
}

// `simulate --key` names a made-up key that the simulator accepts.
const TAKES_A_KEY = 'simulate'
const KEY_OPTION = /^--?(?:api[-_]?key|key|token|authorization|bearer)(?:=|$)/i

/**
 * Refuses a key among the arguments, because every user of the machine can read them.
 * @throws ConfigError
 */
export function refuseKeyInArguments(argv: readonly string[], environment: Environment): void {
  const isForSimulator = argv[0] === TAKES_A_KEY
  const key = isForSimulator && isOfSimulator(environment) ? '' : environment['JOBTIDE_API_KEY']
  const secret = key?.trim() ?? ''
  const found = argv.some(
    (argument) =>
      (KEY_OPTION.test(argument) && !isForSimulator) ||
      (secret.length >= SHORTEST_SECRET && argument.includes(secret)),
  )
  if (!found) return
  throw new ConfigError(
    'an API key cannot be an argument: other users could read it in the process list',
    {
      hint: isForSimulator
        ? 'This is the key of JOBTIDE_API_KEY: give the simulator a made-up one.'
        : 'Set JOBTIDE_API_KEY, or JOBTIDE_API_KEY_FILE to a file with mode 0600 that holds it.',
    },
  )
}

/** Whether the key in the environment is made up as well: its service is a simulator on this machine. */
function isOfSimulator({ JOBTIDE_BASE_URL: url = '' }: Environment): boolean {
  return URL.canParse(url) && isLoopback(url)
}

/** How to start this program, in hints that users copy: `npx jobtide` if npx started it. */
export function commandName(environment: Environment): string {
  return environment['npm_command'] === 'exec' ? 'npx jobtide' : 'jobtide'
}

/**
 * Whether a stream gets colours: as the user says, else if it is a terminal. As in Node, FORCE_COLOR wins over
 * NO_COLOR.
 */
export function hasColours(
  { NO_COLOR: no = '', FORCE_COLOR: force, TERM: term }: Environment,
  isTerminal: boolean,
): boolean {
  if (force !== undefined) return force !== '0' && force !== 'false'
  return no === '' && isTerminal && term !== 'dumb'
}

/** Whether lines may be redrawn: the log of a CI server that claims to be a terminal would keep each of them. */
export function redraws({ CI: ci = '', TERM: term }: Environment): boolean {
  return (ci === '' || ci === 'false' || ci === '0') && term !== 'dumb'
}
