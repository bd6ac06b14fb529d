/**
 * Keeps objects as files below one folder. A file gets its name by rename() or link() of a finished, synced temporary
 * file in `.incoming`, so a reader never sees half an object. Symbolic links are not objects. The pointer is replaced
 * under a lock of the operating system.
 */

import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  constants,
  existsSync,
  linkSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fsyncDirectory, linkOnce, makeFolder, syncFile } from '../../support/atomic-file.ts'
import type { Clock } from '../../support/clock.ts'
import {
  StorageError,
  asStorageError,
  messageOf,
  storageHint,
  systemCode,
  isAbsence,
} from '../../support/errors.ts'
import type { FileModes } from '../../support/file-modes.ts'
import { sha256Hex } from '../../support/hash.ts'
import { DAY, SECOND } from '../../support/units.ts'
import { tryProcessLock, type ProcessLock } from '../../warehouse/process-lock.ts'
import { PublishError } from '../errors.ts'
import {
  checkKey,
  type ObjectStore,
  type ObjectVersion,
  type Purge,
  type StoredObject,
} from './object-store.ts'

const INCOMING = '.incoming'
const LOCK = 'pointer.lock'
const LOCKED_AT_MOST_MS = 10 * SECOND
const LOOK_AGAIN_MS = 20
// A folder that becomes empty is removed, perhaps right before an object is put into it.
const PLACE_TRIES = 5
const NEW = { flag: 'wx' }

/** @param modes of what is written; null: as the umask says @throws PublishError if it cannot be made or read */
export function openFolderStore(
  root: string,
  clock: Clock,
  access: 'read' | 'write' = 'write',
  modes: FileModes | null = null,
): ObjectStore {
  return guarded(root, () => {
    const store = new FolderStore(root, clock, modes)
    if (access === 'write') store.prepare()
    else if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new PublishError(`there is no folder ${root}`, { hint: 'Check the path.' })
    }
    return store
  })
}

class FolderStore implements ObjectStore {
  readonly destination: string
  readonly #clock: Clock
  readonly #modes: FileModes | null

  constructor(root: string, clock: Clock, modes: FileModes | null) {
    this.destination = root
    this.#clock = clock
    this.#modes = modes
  }

  /** Makes the folder, tries a file and a link in it, and removes what a publisher left behind that was killed a day ago. */
  prepare(): void {
    makeFolder(this.#incoming(), this.#modes)
    const [file, link] = [this.#incoming(randomUUID()), this.#incoming(randomUUID())]
    try {
      writeFileSync(file, '', NEW)
      linkOnce(file, link)
    } finally {
      for (const path of [link, file]) rmSync(path, { force: true })
    }
    this.#removeTemporaries(this.#clock.now() - DAY)
  }

  urlOf(key: string): string {
    return this.localPath(key)
  }

  localPath(key: string): string {
    checkKey(key)
    return join(this.destination, key)
  }

  #incoming(name = ''): string {
    return join(this.destination, INCOMING, name)
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#write(key, (temporary) => writeFile(temporary, bytes, NEW))
  }

  async putFile(key: string, path: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const mode = constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE
    await this.#write(key, (temporary) => copyFile(path, temporary, mode))
  }

  copy(from: string, to: string): Promise<void> {
    return this.putFile(to, this.localPath(from))
  }

  async replace(key: string, bytes: Uint8Array, expected: ObjectVersion | null): Promise<boolean> {
    const write = (temporary: string) => writeFile(temporary, bytes, NEW)
    return this.#write(key, write, async (temporary, path) => {
      if (expected === null) return this.#name(temporary, path, linkSync)
      const lock = await this.#lock()
      try {
        if ((await this.get(key))?.version !== expected) return false
        return this.#name(temporary, path, renameSync)
      } finally {
        await lock.release()
      }
    })
  }

  /** Writes a temporary file and syncs it; `place` gives it its name. */
  async #write(
    key: string,
    write: (temporary: string) => Promise<void>,
    place = async (temporary: string, path: string) => this.#name(temporary, path, renameSync),
  ): Promise<boolean> {
    const path = this.localPath(key)
    const temporary = this.#incoming(randomUUID())
    try {
      await write(temporary)
      // A copy has the mode of its original.
      if (this.#modes !== null) chmodSync(temporary, this.#modes.file)
      await syncFile(temporary)
      return await place(temporary, path)
    } catch (error) {
      throw asPublishError(error, path)
    } finally {
      rmSync(temporary, { force: true })
    }
  }

  /** Makes the folder where it is missing, and gives a file its name; false where link() finds one there. */
  #name(temporary: string, path: string, give: (from: string, to: string) => void): boolean {
    for (let attempt = 1; ; attempt += 1) {
      makeFolder(dirname(path), this.#modes)
      try {
        give(temporary, path)
        fsyncDirectory(dirname(path))
        return true
      } catch (error) {
        const code = systemCode(error)
        if (code === 'EEXIST') return false
        if (code !== 'ENOENT' || attempt === PLACE_TRIES) throw error
      }
    }
  }

  /** Takes the lock of the pointer, for the milliseconds in which it is compared and replaced. */
  async #lock(): Promise<ProcessLock> {
    const path = this.#incoming(LOCK)
    const giveUpAt = this.#clock.monotonic() + LOCKED_AT_MOST_MS
    const isNew = !existsSync(path)
    for (;;) {
      const lock = await tryProcessLock(path)
      // Lets other users publish there.
      if (lock !== null && isNew && this.#modes !== null) chmodSync(path, this.#modes.file)
      if (lock !== null) return lock
      if (this.#clock.monotonic() >= giveUpAt) {
        const what = `another publisher holds the lock of the pointer: ${path}`
        throw new PublishError(what, { hint: 'Run publish again when it is done.' })
      }
      await this.#clock.sleep(LOOK_AGAIN_MS)
    }
  }

  // A file has no version: the hash of its bytes stands for one.
  async get(key: string): Promise<{ bytes: Uint8Array; version: ObjectVersion } | null> {
    const path = this.localPath(key)
    const read = () => (this.#find(key) && undefinedIfMissing(() => readFileSync(path))) ?? null
    const bytes = guarded(path, read)
    return bytes && { bytes, version: sha256Hex(bytes) }
  }

  /** The plain file of a key. A symbolic link is refused, as are files behind one: it could lead anywhere. */
  #find(key: string): Stats | undefined {
    const path = undefinedIfMissing(() => realpathSync(this.localPath(key)))
    if (path === undefined || path !== join(realpathSync(this.destination), key)) return undefined
    const found = statSync(path, { throwIfNoEntry: false })
    return found?.isFile() === true ? found : undefined
  }

  async download(key: string, path: string): Promise<boolean> {
    if ((await this.head(key)) === null) return false
    try {
      await copyFile(this.localPath(key), path)
      return true
    } catch (error) {
      rmSync(path, { force: true })
      throw asStorageError(error, path)
    }
  }

  async head(key: string): Promise<{ bytes: number } | null> {
    const found = guarded(this.localPath(key), () => this.#find(key))
    return found === undefined ? null : { bytes: found.size }
  }

  async list(prefix: string): Promise<StoredObject[]> {
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1)
    return guarded(this.destination, () => [...this.#walk(folder)])
      .filter(({ key }) => key.startsWith(prefix))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  // While it walks, others put and remove objects: an object that is gone when it gets there was removed.
  *#walk(folder: string): Generator<StoredObject> {
    const path = join(this.destination, folder)
    const entries = undefinedIfMissing(() => readdirSync(path, { withFileTypes: true }))
    for (const entry of entries ?? []) {
      const key = folder + entry.name
      if (entry.isDirectory()) {
        if (key !== INCOMING) yield* this.#walk(`${key}/`)
      } else if (entry.isFile()) {
        const found = statSync(join(path, entry.name), { throwIfNoEntry: false })
        if (found) yield { key, bytes: found.size, modifiedAt: Math.trunc(found.mtimeMs) }
      }
    }
  }

  async remove(keys: readonly string[]): Promise<void> {
    const paths = keys.map((key) => this.localPath(key))
    for (const path of paths) guarded(path, () => rmSync(path, { force: true }))
    for (const folder of new Set(paths.map((path) => dirname(path))))
      guarded(folder, () => this.#removeEmpty(folder))
  }

  /** Removes a folder that became empty, then the one it was in. */
  #removeEmpty(folder: string): void {
    let at = folder
    try {
      for (; at !== this.destination; at = dirname(at)) rmdirSync(at)
    } catch (error) {
      if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(systemCode(error) ?? '')) throw error
    }
    undefinedIfMissing(() => fsyncDirectory(at))
  }

  async purge({ uploadsBegunBefore }: Purge): Promise<number> {
    return guarded(this.destination, () => this.#removeTemporaries(uploadsBegunBefore))
  }

  #removeTemporaries(before: number): number {
    const old = (undefinedIfMissing(() => readdirSync(this.#incoming())) ?? [])
      .filter((name) => name !== LOCK)
      .map((name) => this.#incoming(name))
      .filter((path) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? before) < before)
    for (const path of old) rmSync(path, { force: true })
    return old.length
  }
}

function undefinedIfMissing<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (isAbsence(error)) return undefined
    throw error
  }
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw asPublishError(error, path)
  }
}

function asPublishError(error: unknown, path: string): PublishError {
  if (error instanceof PublishError) return error
  const code = systemCode(error) ?? ''
  const told = asStorageError(error, path)
  const why = code === 'ENOENT' ? 'its folder is gone (ENOENT)' : messageOf(error)
  const words = told instanceof StorageError ? told.message : `${path}: ${why}`
  // Of this process or machine: another folder would not help.
  const hint = code === 'EMFILE' || code === 'ENFILE' ? { hint: storageHint(code) } : {}
  return new PublishError(`the snapshot folder refused ${words}`, { ...hint, cause: error })
}
