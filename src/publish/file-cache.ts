/**
 * Objects of a snapshot as local files. Where the store is a folder they are there already; of others the files that were
 * last published are kept beside the warehouse, for the next publish to compare with, and what is missing is fetched.
 */

import { existsSync, lstatSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { makeFolders } from '../support/atomic-file.ts'
import { EXIT, JobtideError, onDisk, type ErrorDetails } from '../support/errors.ts'
import { sha256OfFile } from './parquet.ts'
import type { ObjectStore } from './store/object-store.ts'

/** A published snapshot is not what it was. Nothing was made of it. */
export class DamagedSnapshotError extends JobtideError {
  constructor(what: string, details: Omit<ErrorDetails, 'hint'> = {}) {
    super(EXIT.checkFailed, `the snapshot is damaged: ${what}`, {
      hint: '`jobtide verify` names everything that is wrong with it; take another one (`jobtide snapshots`).',
      ...details,
    })
  }
}

export interface NamedObject {
  readonly key: string
  readonly bytes: number
  readonly sha256: string
}

/** The object as a local file, or what is wrong with it. */
export type Fetched =
  | { readonly kind: 'whole'; readonly path: string }
  | { readonly kind: 'missing' | 'size' | 'sha256'; readonly message: string }

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
    onDisk(this.#folder, () => makeFolders(this.#folder))
    return (await this.#store.download(key, path, this.#signal)) ? path : null
  }

  /** Brings an object here and proves size and SHA-256. @throws PublishError when the store refuses */
  async fetch({ key, bytes, sha256 }: NamedObject): Promise<Fetched> {
    const path = await this.pathOf(key)
    if (path === null) {
      const message = this.#isBehindLink(key)
        ? 'it lies behind a symbolic link, which is not followed'
        : 'it is not there'
      return { kind: 'missing', message }
    }
    const { size } = statSync(path)
    if (size !== bytes) {
      const what = size < bytes ? 'cut short' : 'changed'
      return { kind: 'size', message: `it has ${size} bytes where ${bytes} belong: it was ${what}` }
    }
    const found = await sha256OfFile(path)
    if (found === sha256) return { kind: 'whole', path }
    return { kind: 'sha256', message: `its bytes are others: their SHA-256 is ${found}` }
  }

  /** As `fetch`, for those who need the object whole. @throws DamagedSnapshotError when it is not */
  async fetchWhole(object: NamedObject): Promise<string> {
    const fetched = await this.fetch(object)
    if (fetched.kind === 'whole') return fetched.path
    throw new DamagedSnapshotError(`${object.key}: ${fetched.message}`)
  }

  /** Takes a file that is in the store now; the file at `path` is gone afterwards. */
  take(key: string, path: string): void {
    if (this.#store.localPath(key) !== null) return rmSync(path, { force: true })
    onDisk(this.#folder, () => {
      makeFolders(this.#folder)
      renameSync(path, this.#pathFor(key))
    })
  }

  keepOnly(keys: readonly string[]): void {
    if (!existsSync(this.#folder)) return
    const kept = new Set(keys.map((key) => basename(key)))
    onDisk(this.#folder, () => {
      for (const name of readdirSync(this.#folder)) {
        if (!kept.has(name)) rmSync(join(this.#folder, name), { force: true })
      }
    })
  }

  /** Whether a symbolic link stands where the object, or a folder of its key, would be: a store follows none. */
  #isBehindLink(key: string): boolean {
    let path = this.#store.localPath(key)
    if (path === null) return false
    for (const _ of key.split('/')) {
      if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) return true
      path = dirname(path)
    }
    return false
  }

  // The name of an object ends in the SHA-256 of its bytes, so names of different tables never mean different bytes.
  #pathFor(key: string): string {
    return join(this.#folder, basename(key))
  }
}
