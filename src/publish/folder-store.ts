/**
 * Objects as files below one folder. A file appears under its key by link() of a finished, synced temporary file, so a
 * reader never sees half an object and a key is never written twice; the folder's file system must know hard links.
 * The pointer is replaced by rename under a lock. Temporary files live in `.incoming` and are swept after a day.
 */

import { createHash, randomUUID } from 'node:crypto'
import {
  constants,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { copyFile, open, readdir, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fsyncDirectory, writeFileAtomic } from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { messageOf, systemCode } from '../support/errors.ts'
import { DAY } from '../support/units.ts'
import { PublishError } from './errors.ts'
import {
  checkKey,
  differentSize,
  type ObjectStore,
  type ObjectVersion,
  type PutOutcome,
  type StoredObject,
} from './object-store.ts'
import { withPointerLock } from './pointer-lock.ts'

const INCOMING = '.incoming'

/**
 * Opens the store in the absolute folder `root`, making it where it is missing.
 * @throws PublishError when the folder cannot be made
 */
export function openFolderStore(root: string, clock: Clock): ObjectStore {
  return guarded(root, () => {
    mkdirSync(join(root, INCOMING), { recursive: true })
    sweep(join(root, INCOMING), clock)
    return new FolderStore(root, clock)
  })
}

// What a killed publisher left behind. A day is longer than any publish, so no living publisher loses a file.
// Lock files are left to the rules of the lock.
function sweep(folder: string, clock: Clock): void {
  for (const name of readdirSync(folder).filter((entry) => !entry.endsWith('.lock'))) {
    const path = join(folder, name)
    const modifiedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? clock.now()
    if (clock.now() - modifiedMs > DAY) rmSync(path, { force: true })
  }
}

class FolderStore implements ObjectStore {
  readonly destination: string
  readonly #root: string
  readonly #clock: Clock

  constructor(root: string, clock: Clock) {
    this.destination = root
    this.#root = root
    this.#clock = clock
  }

  urlOf(key: string): string {
    checkKey(key)
    return join(this.#root, key)
  }

  async put(key: string, bytes: Uint8Array): Promise<PutOutcome> {
    return this.#putWith(key, bytes.length, async (temporary) => {
      const file = await open(temporary, 'wx')
      try {
        await file.writeFile(bytes)
        await file.sync()
      } finally {
        await file.close()
      }
    })
  }

  async putFile(key: string, path: string, signal?: AbortSignal): Promise<PutOutcome> {
    signal?.throwIfAborted()
    const { size } = await stat(path)
    return this.#putWith(key, size, async (temporary) => {
      await copyFile(path, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
      const file = await open(temporary, 'r+')
      try {
        await file.sync()
      } finally {
        await file.close()
      }
    })
  }

  async #putWith(
    key: string,
    bytes: number,
    write: (temporary: string) => Promise<void>,
  ): Promise<PutOutcome> {
    const path = this.urlOf(key)
    if (this.#isThere(key, bytes)) return 'already-there'
    const temporary = join(this.#root, INCOMING, randomUUID())
    return guardedAsync(path, async () => {
      try {
        await write(temporary)
        makeFolder(dirname(path))
        linkSync(temporary, path)
        fsyncDirectory(dirname(path))
        return 'written'
      } catch (error) {
        if (systemCode(error) === 'EEXIST' && this.#isThere(key, bytes)) return 'already-there'
        throw error
      } finally {
        rmSync(temporary, { force: true })
      }
    })
  }

  #isThere(key: string, bytes: number): boolean {
    const path = this.urlOf(key)
    const found = guarded(path, () => statSync(path, { throwIfNoEntry: false }))
    if (found === undefined) return false
    if (found.size !== bytes) throw differentSize(path, found.size, bytes)
    return true
  }

  async get(key: string): Promise<{ bytes: Uint8Array; version: ObjectVersion } | null> {
    const path = this.urlOf(key)
    return guardedAsync(path, async () => readObject(path))
  }

  async head(key: string): Promise<{ bytes: number } | null> {
    const path = this.urlOf(key)
    return guardedAsync(path, async () => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found?.isFile() === true ? { bytes: found.size } : null
    })
  }

  async list(prefix: string): Promise<StoredObject[]> {
    return guardedAsync(this.#root, async () => {
      const entries = await readdir(this.#root, { recursive: true, withFileTypes: true })
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((path) => ({ path, key: relative(this.#root, path).split(sep).join('/') }))
        .filter(({ key }) => key.startsWith(prefix) && !key.startsWith(`${INCOMING}/`))
        .map(({ path, key }) => ({ key, bytes: statSync(path).size }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    })
  }

  async replace(key: string, bytes: Uint8Array, expected: ObjectVersion | null): Promise<boolean> {
    const path = this.urlOf(key)
    const lockPath = join(this.#root, INCOMING, `${key.replaceAll('/', '~')}.lock`)
    return guardedAsync(path, async () =>
      withPointerLock(lockPath, this.#clock, (lock) => {
        if ((readObject(path)?.version ?? null) !== expected) return false
        lock.verify()
        writeFileAtomic(path, bytes)
        return true
      }),
    )
  }
}

/** A file and its version: the SHA-256 of its bytes, because a file has no version of its own. */
function readObject(path: string): { bytes: Uint8Array; version: ObjectVersion } | null {
  try {
    const bytes = readFileSync(path)
    return { bytes, version: createHash('sha256').update(bytes).digest('hex') }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

/** Makes a folder, and makes the new names survive a power cut. */
function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true })
  if (first === undefined) return
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    fsyncDirectory(dirname(made))
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
