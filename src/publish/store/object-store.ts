/**
 * A place that keeps objects, for the publisher: put, read, list, delete, and move one small pointer by
 * compare-and-swap. It knows nothing of tables or snapshots. Every failure of a store is a PublishError.
 */

import { rmSync } from 'node:fs'
import type { Clock } from '../../support/clock.ts'
import { onDisk } from '../../support/errors.ts'
import type { FileModes } from '../../support/file-modes.ts'
import { PublishError } from '../errors.ts'

/** As src/plan/pipeline-fields.ts describes them. Small objects that coordinate publishers have the default class. */
export interface S3Options {
  readonly region?: string | undefined
  readonly endpoint?: string | undefined
  readonly path_style?: boolean | undefined
  /** Default: `none`. */
  readonly sse?: 'none' | 'AES256' | 'aws:kms' | undefined
  /** Default: the account's own key. */
  readonly kms_key_id?: string | undefined
  readonly storage_class?: string | undefined
}

export interface S3Address {
  readonly bucket: string
  /** Empty, or ends in a slash. */
  readonly prefix: string
}

export interface StoreOptions {
  readonly clock: Clock
  /** Address of an S3-compatible server from the environment; wins over `s3.endpoint`. */
  readonly s3Endpoint?: string | undefined
  readonly s3?: S3Options | undefined
  /** Default `write`: a missing folder is made, a bucket's conditional writes are tried. With `read` nothing is written. */
  readonly access?: 'read' | 'write' | undefined
  /** Of files and folders below a folder. Default: as the process's umask says. */
  readonly modes?: FileModes | null
}

/** One state of one object, as its store names it; only good for `replace` on the same key. */
export type ObjectVersion = string

export interface StoredObject {
  readonly key: string
  readonly bytes: number
  /** When it was written, by the store's clock, in milliseconds since 1970 UTC. */
  readonly modifiedAt: number
}

/** Objects that no listing shows, and which of them are removed. */
export interface Purge {
  /** Parts of uploads that began before (milliseconds since 1970 UTC, by the store's clock) and were never completed. */
  readonly uploadsBegunBefore: number
  /** Also versions that are not the latest, and markers of removed objects. Default: false. */
  readonly versions?: boolean
}

/** A folder or a bucket. Keys are relative, such as `tables/joiners/all/….parquet`; see {@link checkKey}. */
export interface ObjectStore {
  /** Where it is, as the operator wrote it or would write it. Holds no secret. */
  readonly destination: string
  /** The absolute address of an object, as DuckDB's `read_parquet` takes it. */
  urlOf(key: string): string
  /** The path of an object where the store is a folder, whether or not it is there; null elsewhere. */
  localPath(key: string): string | null
  /** Writes an object, whole or not at all; what was there before is replaced. */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** As `put`, from a local file of any size. */
  putFile(key: string, path: string, signal?: AbortSignal): Promise<void>
  /** As `put`, from another object of the store, which S3 does up to 5 GiB; nothing of it passes through here. */
  copy(from: string, to: string): Promise<void>
  /**
   * Writes `bytes` if the object is still `expected` (null: if there is none). `bytes` must differ from everything that
   * was ever stored there.
   * @returns false when another writer was first
   */
  replace(key: string, bytes: Uint8Array, expected: ObjectVersion | null): Promise<boolean>
  /** Reads a small object; null when there is none. */
  get(key: string): Promise<{ bytes: Uint8Array; version: ObjectVersion } | null>
  /** Writes an object of any size to the local file `path`, where a failure leaves nothing; false for no such object. */
  download(key: string, path: string, signal?: AbortSignal): Promise<boolean>
  /** The size of an object; null when there is none. */
  head(key: string): Promise<{ bytes: number } | null>
  /** Every object whose key starts with `prefix`, sorted by key. */
  list(prefix: string): Promise<StoredObject[]>
  /** Removes objects; a missing one is not an error. A store that keeps versions keeps those. */
  remove(keys: readonly string[]): Promise<void>
  /** Permanently removes objects that no listing shows; returns how many uploads and versions. */
  purge(what: Purge): Promise<number>
}

// S3 allows 1,024 bytes of key; 900 leaves room for the prefix of the destination.
const LONGEST_KEY = 900
const SEGMENT = /^[A-Za-z0-9_=-][A-Za-z0-9._=-]*$/

/** Whether a key means the same in a folder, in a URL and in SQL. */
export function isPlainKey(key: string): boolean {
  return key.length <= LONGEST_KEY && key.split('/').every((segment) => SEGMENT.test(segment))
}

/** Lets only {@link isPlainKey plain keys} pass. @throws PublishError for others */
export function checkKey(key: string): void {
  if (isPlainKey(key)) return
  throw new PublishError(`${JSON.stringify(key)} cannot be the key of an object`, {
    hint: 'Keys are segments of A-Z a-z 0-9 . _ = - between slashes; no segment starts with a dot.',
  })
}

/** Everything below a prefix of a store as a store. @param prefix one segment of a key, without a slash */
export function prefixedStore(store: ObjectStore, prefix: string): ObjectStore {
  const at = (key: string) => `${prefix}/${key}`
  return {
    destination: `${store.destination}/${prefix}`,
    urlOf: (key) => store.urlOf(at(key)),
    localPath: (key) => store.localPath(at(key)),
    put: (key, bytes) => store.put(at(key), bytes),
    putFile: (key, path, signal) => store.putFile(at(key), path, signal),
    copy: (from, to) => store.copy(at(from), at(to)),
    replace: (key, bytes, expected) => store.replace(at(key), bytes, expected),
    get: (key) => store.get(at(key)),
    download: (key, path, signal) => store.download(at(key), path, signal),
    head: (key) => store.head(at(key)),
    async list(under) {
      const found = await store.list(at(under))
      return found.map((object) => ({ ...object, key: object.key.slice(prefix.length + 1) }))
    },
    remove: (keys) => store.remove(keys.map(at)),
    purge: (what) => store.purge(what),
  }
}

/** Removes all below a folder, whatever wrote it. */
export async function removeFolder(store: ObjectStore, folder: string): Promise<void> {
  const path = store.localPath(folder)
  if (path !== null) return onDisk(path, () => rmSync(path, { recursive: true, force: true }))
  await store.remove((await store.list(`${folder}/`)).map(({ key }) => key).filter(isPlainKey))
}
