/** A local file that appears under its name only when it is whole and synced. */

import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fsyncDirectory } from '../../support/atomic-file.ts'
import { messageOf, StorageError, systemCode, asStorageError } from '../../support/errors.ts'

/**
 * Writes `body` to a temporary file beside `path`, syncs it and gives it that name; what was there before is replaced.
 * After a failure no temporary file remains. What `body` throws comes as it is.
 * @throws StorageError when the disk refuses
 */
export async function writeWholeFile(path: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = `${path}.${randomUUID()}.part`
  try {
    const file = await onDisk(path, open(temporary, 'wx'))
    try {
      for await (const chunk of body) await onDisk(path, file.appendFile(chunk))
      await onDisk(path, file.sync())
    } finally {
      await file.close()
    }
    await onDisk(path, rename(temporary, path))
    fsyncDirectory(dirname(path))
  } finally {
    rmSync(temporary, { force: true })
  }
}

async function onDisk<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const known = asStorageError(error, path)
    if (known instanceof StorageError) throw known
    throw new StorageError(`${path} cannot be written: ${messageOf(error)}`, {
      context: { code: systemCode(error) },
      cause: error,
    })
  }
}
