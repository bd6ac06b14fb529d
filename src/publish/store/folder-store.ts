/**
 * Objects as files below one folder. A file appears under its key by link() of a finished, synced temporary file, so a
 * reader never sees half an object and a key is never written twice; the folder's file system must know hard links.
 * Symbolic links below the folder are no objects. The pointer is replaced by rename under a lock. Temporary files live in `.incoming` and are swept after a day.
 */

import { randomUUID } from 'node:crypto'
import {
  constants,
  createReadStream,
  linkSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { chmod, copyFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fsyncDirectory, syncFile } from '../../support/atomic-file.ts'
import type { Clock } from '../../support/clock.ts'
import { messageOf, StorageError, systemCode } from '../../support/errors.ts'
import type { FileModes } from '../../support/file-modes.ts'
import { DAY } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import {
  makeFolder,
  orNothing,
  placeFile,
  plainFile,
  readObject,
  removeEmptyFolder,
  writeSynced,
} from './folder-files.ts'
import {
  checkKey,
  differentSize,
  type ObjectStore,
  type ObjectVersion,
  type Purge,
  type PutOutcome,
  type StoredObject,
} from './object-store.ts'
import { withPointerLock } from './pointer-lock.ts'
import { writeWholeFile } from './whole-file.ts'

const INCOMING = '.incoming'

/**
 * Opens the store in the absolute folder `root`; to write, makes it where it is missing.
 * @param modes of what is written; null: as the process's umask says
 * @throws PublishError when the folder cannot be made, or to read, is not there
 */
export function openFolderStore(
  root: string,
  clock: Clock,
  access: 'read' | 'write' = 'write',
  modes: FileModes | null = null,
): ObjectStore {
  return guarded(root, () => {
    const store = new FolderStore(root, clock, modes)
    if (access === 'write') {
      makeFolder(join(root, INCOMING), modes)
      // What a killed publisher left behind. A day is longer than any publish, so no living publisher loses a file.
      store.sweepIncoming(clock.now() - DAY)
    } else if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new PublishError(`there is no folder ${root}`, { hint: 'Check the path.' })
    }
    return store
  })
}

class FolderStore implements ObjectStore {
  readonly destination: string
  readonly #root: string
  readonly #clock: Clock
  readonly #modes: FileModes | null

  constructor(root: string, clock: Clock, modes: FileModes | null) {
    this.destination = root
    this.#root = root
    this.#clock = clock
    this.#modes = modes
  }

  urlOf(key: string): string {
    return this.localPath(key)
  }

  localPath(key: string): string {
    checkKey(key)
    return join(this.#root, key)
  }

  async put(key: string, bytes: Uint8Array): Promise<PutOutcome> {
    return this.#putWith(key, bytes.length, (temporary) =>
      writeSynced(temporary, bytes, this.#modes),
    )
  }

  async putFile(key: string, path: string, signal?: AbortSignal): Promise<PutOutcome> {
    signal?.throwIfAborted()
    const { size } = await stat(path)
    return this.#putWith(key, size, async (temporary) => {
      await copyFile(path, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
      // It has the mode of what it was copied from.
      if (this.#modes !== null) await chmod(temporary, this.#modes.file)
      await syncFile(temporary)
    })
  }

  async #putWith(
    key: string,
    bytes: number,
    write: (temporary: string) => Promise<void>,
  ): Promise<PutOutcome> {
    const path = this.localPath(key)
    if (this.#isThere(key, bytes)) return 'already-there'
    return guardedAsync(path, () =>
      this.#withTemporary(async (temporary) => {
        await write(temporary)
        try {
          placeFile(path, this.#modes, () => linkSync(temporary, path))
          return 'written'
        } catch (error) {
          if (systemCode(error) === 'EEXIST' && this.#isThere(key, bytes)) return 'already-there'
          throw error
        }
      }),
    )
  }

  async #withTemporary<T>(work: (temporary: string) => Promise<T>): Promise<T> {
    const temporary = join(this.#root, INCOMING, randomUUID())
    try {
      return await work(temporary)
    } finally {
      rmSync(temporary, { force: true })
    }
  }

  #isThere(key: string, bytes: number): boolean {
    const path = this.urlOf(key)
    const found = guarded(path, () => plainFile(this.#root, key))
    if (found === undefined) return false
    if (found.size !== bytes) throw differentSize(path, found.size, bytes)
    return true
  }

  async get(key: string): Promise<{ bytes: Uint8Array; version: ObjectVersion } | null> {
    const path = this.urlOf(key)
    return guardedAsync(path, async () => this.#read(key))
  }

  async head(key: string): Promise<{ bytes: number } | null> {
    const path = this.urlOf(key)
    return guardedAsync(path, async () => {
      const found = plainFile(this.#root, key)
      return found === undefined ? null : { bytes: found.size }
    })
  }

  #read(key: string): ReturnType<typeof readObject> {
    return plainFile(this.#root, key) === undefined ? null : readObject(this.localPath(key))
  }

  async list(prefix: string): Promise<StoredObject[]> {
    return guardedAsync(this.#root, async () => {
      const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1)
      return [...this.#walk(folder)]
        .filter(({ key }) => key.startsWith(prefix))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    })
  }

  // While it walks others put and remove: what is gone when it gets there was removed.
  *#walk(folder: string): Generator<StoredObject> {
    for (const entry of orNothing(() => this.#entries(folder)) ?? []) {
      const key = folder + entry.name
      if (entry.isDirectory()) {
        if (key !== INCOMING) yield* this.#walk(`${key}/`)
      } else if (entry.isFile()) {
        const found = statSync(join(this.#root, key), { throwIfNoEntry: false })
        if (found) yield { key, bytes: found.size, modifiedAt: Math.trunc(found.mtimeMs) }
      }
    }
  }

  #entries(folder: string) {
    return readdirSync(join(this.#root, folder), { withFileTypes: true })
  }

  async replace(key: string, bytes: Uint8Array, expected: ObjectVersion | null): Promise<boolean> {
    const path = this.localPath(key)
    const lockPath = join(this.#root, INCOMING, `${key.replaceAll('/', '~')}.lock`)
    return guardedAsync(path, () =>
      this.#withTemporary(async (temporary) => {
        await writeSynced(temporary, bytes, this.#modes)
        return withPointerLock(lockPath, this.#clock, this.#modes, (lock) => {
          if ((this.#read(key)?.version ?? null) !== expected) return false
          placeFile(path, this.#modes, () => {
            lock.verify()
            renameSync(temporary, path)
          })
          return true
        })
      }),
    )
  }

  async download(key: string, path: string, signal?: AbortSignal): Promise<boolean> {
    const source = this.localPath(key)
    signal?.throwIfAborted()
    if ((await this.head(key)) === null) return false
    const body = createReadStream(source, signal === undefined ? {} : { signal })
    try {
      await writeWholeFile(path, body)
      return true
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof StorageError) throw error
      if (systemCode(error) === 'ENOENT') return false
      throw asPublishError(error, source)
    }
  }

  async remove(keys: readonly string[]): Promise<void> {
    const paths = keys.map((key) => this.localPath(key))
    const folders = new Set(paths.map((path) => dirname(path)))
    for (const path of paths) guarded(path, () => rmSync(path, { force: true }))
    for (const folder of folders) guarded(folder, () => this.#tidy(folder))
  }

  /** Removes a folder that became empty, then the one it was in, and makes all of it survive a power cut. */
  #tidy(folder: string): void {
    let at = folder
    while (at !== this.#root && removeEmptyFolder(at)) at = dirname(at)
    orNothing(() => fsyncDirectory(at))
  }

  async purge({ uploadsBegunBefore }: Purge): Promise<number> {
    return guarded(this.#root, () => this.sweepIncoming(uploadsBegunBefore))
  }

  /** Removes temporary files last written before then; returns how many. Lock files are left to the rules of the lock. */
  sweepIncoming(before: number): number {
    const folder = join(this.#root, INCOMING)
    const old = (orNothing(() => readdirSync(folder)) ?? [])
      .filter((name) => !name.endsWith('.lock'))
      .map((name) => join(folder, name))
      .filter((path) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? before) < before)
    for (const path of old) rmSync(path, { force: true })
    return old.length
  }
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw asPublishError(error, path)
  }
}

async function guardedAsync<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asPublishError(error, path)
  }
}

function asPublishError(error: unknown, path: string): PublishError {
  if (error instanceof PublishError) return error
  return new PublishError(`the snapshot folder refused ${path}: ${messageOf(error)}`, {
    cause: error,
  })
}
