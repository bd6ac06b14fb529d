/** Files that are either the old content or the new content, whatever happens in between. */

import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  ConfigError,
  StorageError,
  asStorageError,
  messageOf,
  onDisk,
  systemCode,
  isAbsence,
} from './errors.ts'
import type { FileModes } from './file-modes.ts'
import { jsonOrNull, stableJson } from './json.ts'

/** The mode of files that name people, or hold a key. */
export const OWNER_ONLY = 0o600

const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'])
const NO_FOLDER_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** The content of a file; in pieces if it is too large for memory. */
export type FileContent = string | Uint8Array | Iterable<Uint8Array>

/**
 * Replaces `path`: temporary file in the same folder, fsync, rename, fsync of the folder, which is made if missing.
 * @param mode of the new file, before the umask @throws StorageError when the disk refuses
 */
export function writeFileAtomic(path: string, content: FileContent, mode?: number): void {
  placeFileAtomic(path, content, (temporary) => renameSync(temporary, path), mode)
}

/** Like writeFileAtomic, but does nothing if the file already has that content. */
export function replaceIfOther(path: string, content: string): void {
  if (readIfThere(path)?.equals(Buffer.from(content)) !== true) writeFileAtomic(path, content)
}

/** Like writeFileAtomic, but does nothing if `path` exists. @param mode as of placeFileAtomic */
export function createFile(path: string, content: FileContent, mode?: number): void {
  const place = (temporary: string) => {
    // If it exists, another process was quicker.
    linkOnce(temporary, path)
  }
  placeFileAtomic(path, content, place, mode)
}

/** Gives a file a second name; false if that is taken. @throws StorageError if the file system has no hard links */
export function linkOnce(file: string, path: string): boolean {
  try {
    linkSync(file, path)
    return true
  } catch (error) {
    const code = systemCode(error) ?? ''
    if (code === 'EEXIST') return false
    if (!NO_LINKS.has(code)) throw error
    throw new StorageError(
      `${path}: the file system has no hard links, or refuses this one (${code})`,
      {
        hint: 'Put the data directory and the folders of snapshots on a file system with hard links, such as ext4 or xfs, instead of FAT or a share.',
        context: { code },
        cause: error,
      },
    )
  }
}

/** As writeFileAtomic, but `place` gives the temporary file its name. @param mode of the new file, before the umask */
export function placeFileAtomic<T>(
  path: string,
  content: FileContent,
  place: (temporary: string) => T,
  mode = 0o666,
): T {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    makeFolder(dirname(path))
    // A file left by a killed process keeps its mode; a new one gets ours.
    rmSync(temporary, { force: true })
    const descriptor = openSync(temporary, 'wx', mode)
    try {
      const isWhole = typeof content === 'string' || content instanceof Uint8Array
      for (const bytes of isWhole ? [Buffer.from(content)] : content)
        for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    const placed = place(temporary)
    fsyncDirectory(dirname(path))
    return placed
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw asStorageError(error, path)
    throw new StorageError(`${path}: no file can be made there (ENOENT)`, {
      hint: 'Name another folder.',
      cause: error,
    })
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Its name survives a power cut. @param modes of new folders; null: as the process's umask says */
export function makeFolder(folder: string, modes: FileModes | null = null): void {
  const first = makeFolders(folder)
  if (first === null) return
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    if (modes !== null) chmodSync(made, modes.folder)
    fsyncDirectory(dirname(made))
  }
}

/**
 * Node's `recursive` loops forever in a folder that accepts no new one, such as /proc or a mount without its source.
 * @returns the outermost folder created; null for none @throws Error of the operating system
 */
export function makeFolders(folder: string): string | null {
  if (isFolder(folder)) return null
  const above = dirname(folder)
  const first = above === folder ? null : makeFolders(above)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process was quicker.
    if (systemCode(error) !== 'EEXIST' || !isFolder(folder)) throw error
    return first
  }
  return first ?? folder
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Whether a regular file has this name. */
export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/** Refuses to overwrite `path`, unless `isOurs` knows the file. @throws ConfigError */
export function refuseForeignFile(path: string, what: string, isOurs: (text: string) => boolean) {
  if (!existsSync(path) || (isFile(path) && isOurs(readFileSync(path).toString()))) return
  throw new ConfigError(`${path} exists and is not a ${what}`, {
    hint: 'Name another file, or move that one away. Nothing was changed.',
  })
}

/** Reads a file; null if there is none. @throws StorageError when the disk refuses */
export function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw asStorageError(error, path)
  }
}

/** The sorted names in a folder that fit `pattern`; none if it is missing. @throws StorageError when the disk refuses */
export function namesIn(folder: string, pattern: RegExp): string[] {
  const names = onDisk(folder, () => (existsSync(folder) ? readdirSync(folder) : []))
  return names.filter((name) => pattern.test(name)).toSorted()
}

/** Whether something has this name. @throws StorageError where that cannot be known, as in a folder of another account */
export function isThere(path: string): boolean {
  try {
    statSync(path)
    return true
  } catch (error) {
    if (isAbsence(error)) return false
    throw asStorageError(error, path)
  }
}

/** Reads JSON; null if the file is missing or damaged. @throws StorageError when the disk refuses */
export function readJson(path: string): unknown {
  return jsonOrNull(readIfThere(path)?.toString() ?? '')
}

/** Replaces one of Jobtide's files with a value as JSON; only its owner may read it. @throws StorageError */
export function writeJson(path: string, value: unknown): void {
  writeFileAtomic(path, `${stableJson(value, 2)}\n`, OWNER_ONLY)
}

/** Reads a file that the user named. @throws ConfigError that says why it cannot be read */
export function readNamedFile(what: string, path: string, hint: string): Buffer {
  try {
    const stat = statSync(path)
    // /dev/zero never ends. A pipe may be one of the shell's, `<(…)`.
    if (stat.isCharacterDevice() || stat.isBlockDevice()) throw new Error('it is a device')
    if (stat.isDirectory()) throw new Error('it is a folder')
    return readFileSync(path)
  } catch (error) {
    const why = systemCode(error) === 'ENOENT' ? 'there is no such file' : messageOf(error)
    throw new ConfigError(`${what} ${path}: ${why}`, { hint, cause: error })
  }
}

/** Removes a file, if it exists, so that it stays away after a power cut. @throws StorageError */
export function removeFile(path: string): void {
  onDisk(path, () => {
    try {
      // Not rmSync: if the file system refuses, it treats the file as a folder and reports ENOTDIR.
      unlinkSync(path)
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error
    }
    if (existsSync(dirname(path))) fsyncDirectory(dirname(path))
  })
}

/** Makes everything written to a file survive a power cut, however it was written. Errors are not converted. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes renames and new names in `directory` survive a power cut. */
export function fsyncDirectory(directory: string): void {
  // Windows cannot sync a folder; its file systems log renames.
  if (process.platform === 'win32') return
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } catch (error) {
    // CIFS and some FUSE file systems cannot sync a folder: a new name is only as safe as they make it.
    if (!NO_FOLDER_SYNC.has(systemCode(error) ?? '')) throw error
  } finally {
    closeSync(descriptor)
  }
}
