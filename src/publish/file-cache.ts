/**
 * Data files at hand: what a publisher compares the rows of today with. Where the store is a folder they are there already; of
 * others the files that were last published are kept beside the warehouse, and what is missing is fetched.
 */

import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { asStorageError } from '../support/errors.ts'
import type { ObjectStore } from './store/object-store.ts'

/** Local copies of content-addressed objects. */
export class FileCache {
  readonly #store: ObjectStore
  readonly #folder: string
  readonly #signal: AbortSignal | undefined

  /** @param folder of its own; made when the first file comes */
  constructor(store: ObjectStore, folder: string, signal: AbortSignal | undefined) {
    this.#store = store
    this.#folder = folder
    this.#signal = signal
  }

  /** A local file with the bytes of an object; null when the store has none. */
  async pathOf(key: string): Promise<string | null> {
    const inStore = this.#store.localPath(key)
    if (inStore !== null) return (await this.#store.head(key)) === null ? null : inStore
    const path = this.#pathFor(key)
    if (existsSync(path)) return path
    this.#guard(() => mkdirSync(this.#folder, { recursive: true }))
    return (await this.#store.download(key, path, this.#signal)) ? path : null
  }

  /** Whether a symbolic link stands where the object, or a folder of its key, would be: a store follows none. */
  isBehindLink(key: string): boolean {
    let path = this.#store.localPath(key)
    if (path === null) return false
    for (const _ of key.split('/')) {
      if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) return true
      path = dirname(path)
    }
    return false
  }

  /** Takes a file that is in the store now; the file at `path` is gone afterwards. */
  take(key: string, path: string): void {
    if (this.#store.localPath(key) !== null) {
      rmSync(path, { force: true })
      return
    }
    this.#guard(() => {
      mkdirSync(this.#folder, { recursive: true })
      renameSync(path, this.#pathFor(key))
    })
  }

  /** Forgets all but the objects of these keys. */
  keepOnly(keys: readonly string[]): void {
    if (!existsSync(this.#folder)) return
    const kept = new Set(keys.map((key) => basename(key)))
    this.#guard(() => {
      for (const name of readdirSync(this.#folder)) {
        if (!kept.has(name)) rmSync(join(this.#folder, name), { force: true })
      }
    })
  }

  // The name of an object ends in the SHA-256 of its bytes, so names of different tables never mean different bytes.
  #pathFor(key: string): string {
    return join(this.#folder, basename(key))
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      throw asStorageError(error, this.#folder)
    }
  }
}
