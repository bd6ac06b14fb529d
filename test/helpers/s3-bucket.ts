/** What the bucket of the S3 server for tests holds, in memory. */

import { createHash } from 'node:crypto'

/** One object as it was written. */
export interface StoredObject {
  readonly body: Buffer
  /** With its quotes, as S3 sends it. */
  readonly etag: string
  /** The SHA-256 that the client sent, in base64; of an upload in parts the one of its parts' and their number. */
  readonly sha256: string | undefined
  /** As asked for; nothing is encrypted. */
  readonly encryption:
    { readonly algorithm: string; readonly kmsKeyId: string | undefined } | undefined
  readonly storageClass: string
  readonly lastModifiedMs: number
}

/** One version of an object: its content, or a marker that says it was removed. */
export interface ObjectVersion {
  /** `null` for what was written while the bucket kept no versions. */
  readonly versionId: string
  readonly lastModifiedMs: number
  /** Undefined: a marker. */
  readonly object: StoredObject | undefined
}

/** An upload in parts that was neither completed nor aborted. */
export interface OpenUpload {
  readonly key: string
  readonly uploadId: string
  readonly begunMs: number
  readonly attributes: Pick<StoredObject, 'encryption' | 'storageClass'>
  readonly parts: Map<number, { readonly body: Buffer; readonly sha256: string | undefined }>
}

/** One bucket; it begins without keeping versions. */
export class Bucket {
  readonly uploads = new Map<string, OpenUpload>()
  keepsVersions = false
  // Of each key: what is kept, oldest first. The last one decides what is there.
  readonly #history = new Map<string, ObjectVersion[]>()
  #count = 0

  get(key: string): StoredObject | undefined {
    return this.#history.get(key)?.at(-1)?.object
  }

  /** Everything that is there, by key. */
  objects(): Map<string, StoredObject> {
    return new Map(
      [...this.#history].flatMap(([key, versions]) => {
        const object = versions.at(-1)?.object
        return object === undefined ? [] : [[key, object] as const]
      }),
    )
  }

  /** What is kept of a key, newest first. */
  versionsOf(key: string): ObjectVersion[] {
    return (this.#history.get(key) ?? []).toReversed()
  }

  keys(): string[] {
    return [...this.#history.keys()].toSorted()
  }

  /** Writes an object, or removes it where there is none given. */
  write(key: string, object: StoredObject | undefined, nowMs: number): void {
    if (!this.keepsVersions && object === undefined) {
      this.#history.delete(key)
      return
    }
    const older = this.keepsVersions ? (this.#history.get(key) ?? []) : []
    const versionId = this.keepsVersions ? this.nextId('version') : 'null'
    this.#history.set(key, [...older, { versionId, lastModifiedMs: nowMs, object }])
  }

  /** Removes one version for good. */
  removeVersion(key: string, versionId: string): void {
    const left = (this.#history.get(key) ?? []).filter((one) => one.versionId !== versionId)
    if (left.length === 0) this.#history.delete(key)
    else this.#history.set(key, left)
  }

  /** Ids sort in the order of their making. */
  nextId(kind: string): string {
    this.#count += 1
    return `${kind}-${String(this.#count).padStart(8, '0')}`
  }

  clear(): void {
    this.#history.clear()
    this.uploads.clear()
    this.keepsVersions = false
  }
}

/** The ETag of a body that was written in one request. */
export function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`
}
