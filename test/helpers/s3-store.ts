/**
 * What the bucket holds, in memory, and the conditions under which it may change.
 * `commit` and `remove` check and change in one synchronous step: of many writers with one condition, one wins.
 */
import type { Checksum, ChecksumAlgorithm, ChecksumType } from './s3-checksums.ts'
import { S3Error, notImplemented } from './s3-errors.ts'

/** What a client attached to an object and gets back with it. Header names are lower-case. */
export interface ObjectAttributes {
  /** User metadata, names without `x-amz-meta-`. */
  readonly metadata: Readonly<Record<string, string>>
  /** Content-Type, Cache-Control and their like. */
  readonly headers: Readonly<Record<string, string>>
  /** How it lies encrypted; undefined where nobody asked for it. */
  readonly encryption: Encryption | undefined
  readonly storageClass: string
}

/** Encryption at rest that a client asked for. Nothing is really encrypted here. */
export interface Encryption {
  readonly algorithm: 'AES256' | 'aws:kms'
  readonly kmsKeyId: string | undefined
}

/** One object as it was committed. */
export interface StoredObject extends ObjectAttributes {
  readonly body: Buffer
  /** With its quotes, as S3 sends it. */
  readonly etag: string
  readonly checksum: Checksum | undefined
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

/** Whether a bucket keeps versions: it begins without and cannot go back there. */
export type Versioning = 'Off' | 'Enabled' | 'Suspended'

/** One part of an upload that is not complete yet. */
export interface UploadedPart {
  readonly body: Buffer
  readonly etag: string
  readonly checksum: Checksum | undefined
  readonly lastModifiedMs: number
}

/** A multipart upload that was neither completed nor aborted. */
export interface MultipartUpload {
  readonly uploadId: string
  readonly key: string
  readonly initiatedMs: number
  readonly attributes: ObjectAttributes
  readonly checksum:
    { readonly algorithm: ChecksumAlgorithm; readonly type: ChecksumType } | undefined
  readonly parts: Map<number, UploadedPart>
}

/** Ways in which S3-compatible servers treat conditional writes differently from S3. */
export interface ConditionQuirks {
  /** If-Match and If-None-Match on writes do nothing. */
  readonly ignoreConditions?: boolean
  /** Only an If-Match without quotes can match, as in radosgw up to release 18. */
  readonly bareEtagOnly?: boolean
}

/** One bucket. */
export class BucketStore {
  readonly objects = new Map<string, StoredObject>()
  readonly uploads = new Map<string, MultipartUpload>()
  versioning: Versioning = 'Off'
  // Of each key that was ever written: what is kept, oldest first. The last one decides what `objects` shows.
  readonly #history = new Map<string, ObjectVersion[]>()
  readonly #quirks: ConditionQuirks
  #uploadCount = 0
  #versionCount = 0

  constructor(quirks: ConditionQuirks) {
    this.#quirks = quirks
  }

  /** Forgets all objects, versions and uploads. Ids are not used again. */
  clear(): void {
    this.objects.clear()
    this.#history.clear()
    this.versioning = 'Off'
    this.uploads.clear()
  }

  /**
   * The object, or
   * @throws S3Error NoSuchKey
   */
  get(key: string): StoredObject {
    const object = this.objects.get(key)
    if (object === undefined) throw noSuchKey(key)
    return object
  }

  /**
   * Stores `object` if the conditional headers allow it.
   * @throws S3Error PreconditionFailed, or NoSuchKey when If-Match names an object that is not there
   */
  commit(key: string, object: StoredObject, headers: ReadonlyMap<string, string>): ObjectVersion {
    this.#checkConditions(key, headers)
    return this.#append(key, object.lastModifiedMs, object)
  }

  /**
   * Removes the object if the conditional headers allow it; removing what is not there succeeds.
   * @returns the marker, where the bucket keeps versions
   */
  remove(
    key: string,
    headers: ReadonlyMap<string, string>,
    nowMs: number,
  ): ObjectVersion | undefined {
    this.#checkConditions(key, headers)
    if (this.versioning !== 'Off') return this.#append(key, nowMs, undefined)
    this.#history.delete(key)
    this.objects.delete(key)
    return undefined
  }

  /** Removes one version for good; what it was, or undefined when there was none. */
  removeVersion(key: string, versionId: string): ObjectVersion | undefined {
    const history = this.#history.get(key) ?? []
    const removed = history.find((version) => version.versionId === versionId)
    this.#settle(
      key,
      history.filter((version) => version !== removed),
    )
    return removed
  }

  /** What is kept of a key, newest first. */
  versionsOf(key: string): ObjectVersion[] {
    return (this.#history.get(key) ?? []).toReversed()
  }

  /** Every key of which something is kept. */
  keys(): string[] {
    return [...this.#history.keys()]
  }

  #append(key: string, lastModifiedMs: number, object: StoredObject | undefined): ObjectVersion {
    this.#versionCount += 1
    const isKept = this.versioning === 'Enabled'
    const versionId = isKept ? `version-${String(this.#versionCount).padStart(8, '0')}` : 'null'
    const version = { versionId, lastModifiedMs, object }
    // There is one version without an id at most.
    const older = (this.#history.get(key) ?? []).filter((other) => other.versionId !== versionId)
    this.#settle(key, [...older, version])
    return version
  }

  #settle(key: string, history: ObjectVersion[]): void {
    if (history.length > 0) this.#history.set(key, history)
    else this.#history.delete(key)
    const object = history.at(-1)?.object
    if (object === undefined) this.objects.delete(key)
    else this.objects.set(key, object)
  }

  /** Opens an upload under a new id. Ids sort in the order of their making. */
  openUpload(upload: Omit<MultipartUpload, 'uploadId' | 'parts'>): MultipartUpload {
    this.#uploadCount += 1
    const uploadId = `upload-${String(this.#uploadCount).padStart(8, '0')}`
    const opened = { ...upload, uploadId, parts: new Map<number, UploadedPart>() }
    this.uploads.set(uploadId, opened)
    return opened
  }

  /**
   * The open upload with this id and key, or
   * @throws S3Error NoSuchUpload
   */
  upload(uploadId: string, key: string): MultipartUpload {
    const upload = this.uploads.get(uploadId)
    if (upload?.key !== key) {
      throw new S3Error(
        'NoSuchUpload',
        'The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.',
        { UploadId: uploadId },
      )
    }
    return upload
  }

  #checkConditions(key: string, headers: ReadonlyMap<string, string>): void {
    if (this.#quirks.ignoreConditions) return
    const current = this.objects.get(key)
    const ifNoneMatch = headers.get('if-none-match')
    if (ifNoneMatch !== undefined) {
      if (ifNoneMatch !== '*') throw notImplemented('If-None-Match')
      if (current !== undefined) throw preconditionFailed('If-None-Match')
    }
    const ifMatch = headers.get('if-match')
    if (ifMatch !== undefined) {
      if (current === undefined) throw noSuchKey(key)
      const isUnreadable = this.#quirks.bareEtagOnly === true && ifMatch.startsWith('"')
      if (isUnreadable || !etagMatches(ifMatch, current.etag)) throw preconditionFailed('If-Match')
    }
  }
}

/** Whether an If-Match value, a comma-separated list or `*`, names `etag`. Quotes are optional. */
export function etagMatches(condition: string, etag: string): boolean {
  return condition
    .split(',')
    .map((candidate) => candidate.trim())
    .some((candidate) => candidate === '*' || isSameEtag(candidate, etag))
}

/** Whether two ETags are the same, with or without quotes. */
export function isSameEtag(a: string, b: string): boolean {
  return a.replace(/^"(.*)"$/, '$1') === b.replace(/^"(.*)"$/, '$1')
}

/** What S3 answers when a condition does not hold. */
export function preconditionFailed(condition: string): S3Error {
  return new S3Error(
    'PreconditionFailed',
    'At least one of the pre-conditions you specified did not hold',
    { Condition: condition },
  )
}

/** What S3 answers where a key holds nothing. */
export function noSuchKey(key: string): S3Error {
  return new S3Error('NoSuchKey', 'The specified key does not exist.', { Key: key })
}
