/**
 * Sets file permissions: only the owner may read Jobtide's files, because they name people. Exceptions are snapshots outside
 * the data directory, which follow the user's umask, and the copy for analysts, which a group may read if the operator names
 * one. Also checks who may write files that Jobtide trusts.
 */

import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  readdirSync,
  realpathSync,
  statSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { ConfigError, systemCode } from './errors.ts'

export interface FileModes {
  readonly file: number
  readonly folder: number
}

const ROOT = 0
const WRITTEN_BY_GROUP = 0o020
const WRITTEN_BY_ALL = 0o002
const READ_BY_ALL = 0o004
const NOT_FOR_OTHERS = 0o077
const SEARCHED_BY_GROUP = 0o010
const READ_ONLY = 0o400
const READ_BY_GROUP = 0o640
let usersUmask: number | null = null
let readers: number | null = null

type Owned = Pick<Stats, 'uid' | 'gid' | 'mode'>

/** Who may write a file, except root and accounts with that primary group. Pure. */
export function writersOf({ uid, gid, mode }: Owned, account: Pick<Owned, 'uid' | 'gid'>) {
  if (uid !== account.uid && uid !== ROOT) return 'another'
  if ((mode & WRITTEN_BY_ALL) !== 0) return 'all'
  return (mode & WRITTEN_BY_GROUP) !== 0 && gid !== account.gid ? 'group' : 'none'
}

/**
 * Refuses a file that this account, root included, cannot trust. @param about the file, for messages
 * @param risk what a writer of it could do @returns whether a group may write it
 * @throws ConfigError if it belongs to another account, or every account may write it
 */
export function refuseOthersFile(path: string, found: Owned, about: string, risk: string): boolean {
  const uid = process.getuid?.()
  // Windows has no such owners.
  if (uid === undefined) return false
  const writers = writersOf(found, { uid, gid: process.getgid?.() ?? uid })
  if (writers === 'none' || writers === 'group') return writers === 'group'
  const isForeign = writers === 'another'
  const why = isForeign
    ? `belongs to another account (uid ${found.uid})`
    : 'may be written by every account'
  const remedy = isForeign ? `chown ${uid} ${path}` : `chmod 600 ${path}`
  throw new ConfigError(`${about} ${why}, which could ${risk}`, {
    hint: `Check that it still says what you wrote, then run: ${remedy}. Nothing was sent.`,
  })
}

/** Whether every account may read a file; never on Windows, which has no such modes. */
export function isReadByAll({ mode }: Pick<Owned, 'mode'>): boolean {
  return process.platform !== 'win32' && (mode & READ_BY_ALL) !== 0
}

/** From here on, only the owner may read and write what this process creates. */
export function keepFilesPrivate(): void {
  usersUmask ??= process.umask(NOT_FOR_OTHERS)
}

/** Names the group that may read the copy for analysts. @param gid null: none */
export function letGroupRead(gid: number | null): void {
  readers = gid
}

/** The modes by the user's umask; null if it is in force and nothing has to be done. */
export function usersModes(): FileModes | null {
  if (usersUmask === null) return null
  return { file: 0o666 & ~usersUmask, folder: 0o777 & ~usersUmask }
}

/** Revokes what {@link openToReaders} granted. A folder of another owner, or without modes, stays unchanged. */
export function makeFolderPrivate(folder: string): void {
  const { mode, uid, gid } = statSync(folder)
  const forOthers = mode & NOT_FOR_OTHERS
  const isOpened = gid === readers && forOthers === SEARCHED_BY_GROUP
  if (forOthers === 0 || isOpened || process.getuid?.() !== uid) return
  try {
    chmodSync(folder, mode & 0o700)
  } catch (error) {
    if (systemCode(error) !== 'EPERM' && systemCode(error) !== 'ENOTSUP') throw error
  }
}

/**
 * Grants readers access to a new copy for analysts, which replaces the one at `copy`, and to the other files for them. If a
 * group may read the copy, it can traverse the folder, but can neither list it nor read its other files.
 */
export function openToReaders(newCopy: string, copy: string, beside: string): void {
  const opened = [newCopy, ...(existsSync(beside) ? [beside] : [])]
  for (const path of opened) {
    if (readers !== null) chownSync(path, -1, readers)
    chmodSync(path, readers === null ? READ_ONLY : READ_BY_GROUP)
  }
  if (readers === null) return
  const folder = dirname(copy)
  const others = readdirSync(folder).map((name) => join(folder, name))
  for (const path of others.filter((one) => one !== copy && !opened.includes(one))) {
    const entry = lstatSync(path)
    const isWide = !entry.isSymbolicLink() && (entry.mode & NOT_FOR_OTHERS) !== 0
    if (isWide) chmodSync(path, entry.mode & 0o700)
  }
  chownSync(folder, -1, readers)
  chmodSync(folder, 0o700 | SEARCHED_BY_GROUP)
}

/** Whether `path` is `folder` or lies below it, as the disk has it: symbolic links are followed, `path` may not exist yet. */
export function isWithin(folder: string, path: string): boolean {
  return wayBelow(folder, path) !== null
}

/** The names from `folder` down to `path`, as {@link isWithin} sees it; null where `path` lies elsewhere. */
export function wayBelow(folder: string, path: string): readonly string[] | null {
  const way = relative(onDisk(folder), onDisk(path))
  const names = way.split(sep)
  return names[0] === '..' || /^[A-Za-z]:/.test(way) ? null : names
}

function onDisk(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(onDisk(parent), basename(path))
  }
}
