/**
 * Who may read what Jobtide writes: its owner alone, because it names people. Only what is meant for others, a snapshot in a
 * folder outside of the data directory, has the modes that the user's own umask gives.
 */

import { chmodSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { systemCode } from './errors.ts'

/** Permission bits of new files and folders. */
export interface FileModes {
  readonly file: number
  readonly folder: number
}

const NOT_FOR_OTHERS = 0o077
let usersUmask: number | null = null

/** From here on whatever this process makes is readable and writable by its owner alone. */
export function keepFilesPrivate(): void {
  usersUmask ??= process.umask(NOT_FOR_OTHERS)
}

/** The modes that the user's umask gives; null where it is in force, and nothing has to be done for them. */
export function usersModes(): FileModes | null {
  if (usersUmask === null) return null
  return { file: 0o666 & ~usersUmask, folder: 0o777 & ~usersUmask }
}

/**
 * Takes a folder away from all but its owner. One of another owner is left as it is, and so is one on a file system that
 * knows no modes.
 */
export function makeFolderPrivate(folder: string): void {
  const { mode, uid } = statSync(folder)
  if ((mode & NOT_FOR_OTHERS) === 0 || process.getuid?.() !== uid) return
  try {
    chmodSync(folder, mode & 0o700)
  } catch (error) {
    if (systemCode(error) !== 'EPERM' && systemCode(error) !== 'ENOTSUP') throw error
  }
}

/** Whether `path` is `folder` or lies below it, as the disk has it: symbolic links are followed, `path` may not exist yet. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(onDisk(folder), onDisk(path))
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !/^[A-Za-z]:/.test(way))
}

function onDisk(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(onDisk(parent), basename(path))
  }
}
