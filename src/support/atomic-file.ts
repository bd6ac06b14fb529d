/** Files that are either the old content or the new content, whatever happens in between. */

import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { asStorageError } from './errors.ts'

/**
 * Replaces `path` by `content`: a temporary file beside it, fsync, rename, fsync of the folder.
 * Creates missing folders.
 * @throws StorageError when the disk refuses
 */
export function writeFileAtomic(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    mkdirSync(dirname(path), { recursive: true })
    const descriptor = openSync(temporary, 'w')
    try {
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(temporary, path)
    fsyncDirectory(dirname(path))
  } catch (error) {
    rmSync(temporary, { force: true })
    throw asStorageError(error, path)
  }
}

/** Makes renames and new names in `directory` survive a power cut. */
export function fsyncDirectory(directory: string): void {
  // Windows has no handle of a folder to sync; its file systems log renames by themselves.
  if (process.platform === 'win32') return
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
