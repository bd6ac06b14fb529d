/** The paths below a data directory. */

import { lstatSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ConfigError, systemCode } from '../support/errors.ts'
import { isWithin, wayBelow } from '../support/file-modes.ts'

/** Jobtide's own folders and files, also with a further extension (`journal.seals`). */
const OWN_NAMES = [
  'journal',
  'jobtide.duckdb',
  'analyst.duckdb',
  'as_known_on.sql',
  'locks',
  'scratch',
  'published',
  'reports',
  'certificates',
  'databases',
  'outbox',
  'inbox',
  'suppressed.json',
  'forget.pending.json',
  'metrics.prom',
  'demo',
]

/**
 * The names of files that a run or an erasure removes or empties: reports, which can be made again, and remains of
 * killed processes: unfinished private files and databases, folders of searches, and spill files of queries.
 */
export const REMOVED =
  /^(?:(?:forget\.pending|suppressed)\.json\.\d+\.tmp|scratch(?:\.(?:forget|export)-\d+)?|published|reports|journal\.(?:salvage(?:\.seals)?|restoring(?:\.seals)?)|(?:jobtide|analyst)\.duckdb(?:\.(?:new|tmp|replay|restore|erased))+(?:\.wal|\.[\da-f-]{36})?)$/

// Each is replaced with a new file. The target of a link would stay unchanged, and with it the erased people.
const REPLACED = [
  ...['jobtide.duckdb', 'analyst.duckdb'].flatMap((name) => [name, `${name}.wal`]),
  'suppressed.json',
  'forget.pending.json',
]

/** The first file of Jobtide in `root` that is a symbolic link, and could not stay one; undefined if none is. */
export function replacedLinkIn(root: string): string | undefined {
  return REPLACED.map((name) => join(root, name)).find(
    (path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true,
  )
}

/** The folders of Jobtide in `root` that are symbolic links: their targets belong to it. */
export function linkedFoldersIn(root: string): string[] {
  const links = readdirSync(root, { withFileTypes: true }).filter((one) => one.isSymbolicLink())
  return links
    .filter(({ name }) => OWN_NAMES.some((own) => isNamed(name, own)))
    .map(({ name }) => join(root, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
}

/** Refuses a data directory that is a file, or lies below one. @throws ConfigError */
export function refuseFile(root: string): void {
  if (isFileOrBelow(root)) throw notAFolder(root)
}

export function notAFolder(root: string, cause?: unknown): ConfigError {
  return new ConfigError(`the data directory ${root} is not a folder, or lies below a file`, {
    hint: 'Name a folder with --data-dir.',
    cause,
  })
}

/** Whether `path` cannot become a folder, because it or what it lies in is a file. */
export function isFileOrBelow(path: string): boolean {
  try {
    return !statSync(path).isDirectory()
  } catch (error) {
    return systemCode(error) === 'ENOTDIR'
  }
}

export function dataDirectory(root: string) {
  const path = resolve(root)
  return {
    root: path,
    journal: join(path, 'journal'),
    warehouse: join(path, 'jobtide.duckdb'),
    /** The copy of the warehouse for analysts. */
    analystCopy: join(path, 'analyst.duckdb'),
    /** The statements that read tables as known on a day, for analysts; a build writes it. */
    asKnownOn: join(path, 'as_known_on.sql'),
    /** Deliveries that the journal does not have yet. */
    inbox: join(path, 'inbox'),
    /** Files in the making; may be deleted whenever nothing runs. */
    scratch: join(path, 'scratch'),
    /** Pages for people; made again from the warehouse, and emptied by an erasure. */
    reports: join(path, 'reports'),
    /** Copies of published files whose store is not a folder; may be deleted whenever nothing runs. */
    published: join(path, 'published'),
  }
}

export type DataDirectory = Readonly<ReturnType<typeof dataDirectory>>

function isNamed(name: string, own: string): boolean {
  return name === own || name.startsWith(`${own}.`)
}

/** The file or folder of Jobtide in the data directory `root` that is `path` or contains it; else null. */
export function ownEntryAt(root: string, path: string): string | null {
  const [first = ''] = wayBelow(root, path) ?? []
  const isIt = (own: string) => isNamed(first, own) || isWithin(join(root, own), path)
  const own = OWN_NAMES.find(isIt)
  if (own === undefined) return null
  return join(root, first.startsWith(own) ? first : own)
}

/** Names of files that a folder rarely has, so that it was meant to be a file. */
const FILE_NAME =
  /\.(?:csv|tsv|txt|xlsx?|ods|html?|pdf|json|ndjson|jsonl|parquet|sql|sqlite3?|db|zip|gz|tar)$/i

/** Refuses the name of a file where a folder is written. @throws ConfigError @param hint how to get one file */
export function refuseFileName(option: string, path: string, hint: string): void {
  if (!FILE_NAME.test(path)) return
  throw new ConfigError(`${option} ${path}: this is a folder, and the name is that of a file`, {
    hint: `${hint} Nothing was changed.`,
  })
}

/**
 * Refuses to write `what` where Jobtide keeps its own files.
 * @param allowed the folder for just that
 * @throws ConfigError
 */
export function refuseOwnPlace(
  root: string,
  path: string,
  what: string,
  { hint = 'Name another place. Nothing was changed.', allowed = '' } = {},
): void {
  const own = path === root ? root : ownEntryAt(root, path)
  if (own === null || own === allowed) return
  throw new ConfigError(`${what} cannot go to ${path}: Jobtide keeps its own files in ${own}`, {
    hint,
  })
}
