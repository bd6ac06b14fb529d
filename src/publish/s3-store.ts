/**
 * Objects in an S3 bucket or an S3-compatible server. The only file that imports the AWS SDK; it is itself imported only
 * when a destination is on S3. Small objects go up as buffers, large files in parts: both can be sent again and carry
 * checksums that the server verifies, a plain stream neither.
 */

import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  paginateListObjectsV2,
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { asStorageError } from '../support/errors.ts'
import { MIB, MINUTE, SECOND } from '../support/units.ts'
import { PublishError } from './errors.ts'
import {
  checkKey,
  differentSize,
  type ObjectStore,
  type ObjectVersion,
  type PutOutcome,
  type StoreOptions,
  type StoredObject,
} from './object-store.ts'
import { parseS3Address, type S3Address } from './s3-address.ts'
import { describeS3Error, isAbsent, isLost, type S3Place } from './s3-errors.ts'
import {
  probeConditionalWrites,
  spellEtag,
  type Condition,
  type EtagStyle,
  type ProbeTarget,
} from './s3-probe.ts'

const PART_BYTES = 8 * MIB
const PARTS_AT_ONCE = 4
const MULTIPART_FROM_BYTES = 2 * PART_BYTES

// Fixed, so that where credentials may not delete there is one scratch object and never two.
const PROBE_KEY = 'conditional-write-probe'

/**
 * Opens `s3://bucket/prefix` and proves that its conditional writes work.
 * Credentials and region come from the SDK's own chain; with an endpoint the region defaults to us-east-1.
 * @throws PublishError when the destination is misspelt, cannot be reached or written, or ignores conditions
 */
export async function openS3Store(
  destination: string,
  options: StoreOptions,
): Promise<ObjectStore> {
  const location = { ...parseS3Address(destination), endpoint: options.s3Endpoint }
  const client = await connect(destination, options.s3Endpoint)
  const store = new S3Store(client, location)
  try {
    await store.probe(options)
    return store
  } catch (error) {
    client.destroy()
    throw error
  }
}

async function connect(destination: string, endpoint: string | undefined): Promise<S3Client> {
  const config: S3ClientConfig = {
    retryMode: 'standard',
    maxAttempts: 4,
    requestHandler: {
      connectionTimeout: 10 * SECOND,
      socketTimeout: MINUTE,
      requestTimeout: 5 * MINUTE,
      throwOnRequestTimeout: true,
    },
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
  }
  const client = new S3Client(config)
  try {
    await client.config.region()
    return client
  } catch (error) {
    client.destroy()
    if (endpoint !== undefined) return new S3Client({ ...config, region: 'us-east-1' })
    throw new PublishError(`the AWS region of ${destination} is not known`, {
      hint: 'Set AWS_REGION.',
      cause: error,
    })
  }
}

type S3Location = S3Address & { readonly endpoint: string | undefined }

class S3Store implements ObjectStore {
  readonly destination: string
  readonly #client: S3Client
  readonly #location: S3Location
  #etagStyle: EtagStyle = 'quoted'

  constructor(client: S3Client, location: S3Location) {
    this.destination = `s3://${location.bucket}/${location.prefix}`.replace(/\/$/, '')
    this.#client = client
    this.#location = location
  }

  urlOf(key: string): string {
    checkKey(key)
    return `${this.destination}/${key}`
  }

  async probe({ clock }: StoreOptions): Promise<void> {
    const target: ProbeTarget = {
      write: (bytes, condition) => this.#writeIf(PROBE_KEY, bytes, condition),
      etag: async () => (await this.#headObject(PROBE_KEY))?.etag ?? null,
    }
    this.#etagStyle = await probeConditionalWrites(target, this.destination, clock)
    // Whoever may not delete leaves one small object behind; that is no reason not to publish.
    await this.#client.send(new DeleteObjectCommand(this.#at(PROBE_KEY))).catch(() => undefined)
  }

  async put(key: string, bytes: Uint8Array): Promise<PutOutcome> {
    if (await this.#isThere(key, bytes.length)) return 'already-there'
    await this.#call('write', key, () => this.#putBuffer(key, bytes))
    return 'written'
  }

  async putFile(key: string, path: string, signal?: AbortSignal): Promise<PutOutcome> {
    signal?.throwIfAborted()
    const { size } = await readingScratch(path, stat(path))
    if (await this.#isThere(key, size)) return 'already-there'
    if (size < MULTIPART_FROM_BYTES) {
      const bytes = await readingScratch(path, readFile(path))
      await this.#call('write', key, () => this.#putBuffer(key, bytes))
      return 'written'
    }
    await this.#putInParts(key, path, size, signal)
    return 'written'
  }

  // A completed upload can answer 200 and still have failed, and a lost answer can hide that it was completed: only the
  // object itself is proof.
  async #putInParts(
    key: string,
    path: string,
    bytes: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    try {
      await this.#upload(key, path, signal)
    } catch (error) {
      if (await this.#isThere(key, bytes).catch(() => false)) return
      throw error
    }
    if (await this.#isThere(key, bytes)) return
    throw new PublishError(`${this.urlOf(key)} is not there although its upload was completed`)
  }

  async #putBuffer(key: string, bytes: Uint8Array, conditions: object = {}) {
    const target = { ...this.#at(key), ...conditions }
    return this.#client.send(
      new PutObjectCommand({ ...target, Body: bytes, ChecksumAlgorithm: 'SHA256' }),
    )
  }

  async #upload(key: string, path: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    const body = createReadStream(path)
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#at(key), Body: body, ChecksumAlgorithm: 'SHA256' },
      partSize: PART_BYTES,
      queueSize: PARTS_AT_ONCE,
      leavePartsOnError: false,
    })
    // Not upload.abort(): that rejects while parts are still under way, and what they leave would be paid for. Without
    // more to read the upload waits for them, is aborted on the server, and only then fails.
    const onAbort = () => body.destroy(new Error('stopped'))
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      await this.#call('write', key, () => upload.done())
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
      body.destroy()
    }
  }

  async #isThere(key: string, bytes: number): Promise<boolean> {
    const found = await this.head(key)
    if (found === null) return false
    if (found.bytes !== bytes) throw differentSize(this.urlOf(key), found.bytes, bytes)
    return true
  }

  async get(key: string): Promise<{ bytes: Uint8Array; version: ObjectVersion } | null> {
    return this.#call(
      'read',
      key,
      async () => {
        const answer = await this.#client.send(
          new GetObjectCommand({ ...this.#at(key), ChecksumMode: 'ENABLED' }),
        )
        const bytes = (await answer.Body?.transformToByteArray()) ?? new Uint8Array()
        return { bytes, version: answer.ETag ?? '' }
      },
      isAbsent,
    )
  }

  async head(key: string): Promise<{ bytes: number } | null> {
    const found = await this.#headObject(key)
    return found === null ? null : { bytes: found.bytes }
  }

  async #headObject(key: string): Promise<{ bytes: number; etag: string } | null> {
    return this.#call(
      'read',
      key,
      async () => {
        const answer = await this.#client.send(new HeadObjectCommand(this.#at(key)))
        return { bytes: answer.ContentLength ?? 0, etag: answer.ETag ?? '' }
      },
      isAbsent,
    )
  }

  async list(prefix: string): Promise<StoredObject[]> {
    const { bucket, prefix: root } = this.#location
    const objects: StoredObject[] = []
    await this.#call('list', prefix, async () => {
      const query = { Bucket: bucket, Prefix: root + prefix }
      for await (const page of paginateListObjectsV2({ client: this.#client }, query)) {
        for (const { Key = '', Size = 0 } of page.Contents ?? []) {
          objects.push({ key: Key.slice(root.length), bytes: Size })
        }
      }
    })
    return objects.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  async replace(key: string, bytes: Uint8Array, expected: ObjectVersion | null): Promise<boolean> {
    const condition: Condition =
      expected === null ? { absent: true } : { etag: spellEtag(expected, this.#etagStyle) }
    try {
      if ((await this.#writeIf(key, bytes, condition)) !== null) return true
    } catch (error) {
      if (await this.#holds(key, bytes).catch(() => false)) return true
      throw error
    }
    return this.#holds(key, bytes)
  }

  // A write whose answer got lost was perhaps done: the SDK's second attempt then finds its own work and is refused.
  async #holds(key: string, bytes: Uint8Array): Promise<boolean> {
    const stored = await this.get(key)
    return stored !== null && Buffer.from(stored.bytes).equals(bytes)
  }

  /** Writes under a condition; the new ETag, or null when the condition did not hold. */
  async #writeIf(key: string, bytes: Uint8Array, condition: Condition): Promise<string | null> {
    const conditions = 'etag' in condition ? { IfMatch: condition.etag } : { IfNoneMatch: '*' }
    return this.#call(
      'write',
      key,
      async () => {
        const answer = await this.#putBuffer(key, bytes, conditions)
        return answer.ETag ?? ''
      },
      isLost,
    )
  }

  #at(key: string): { Bucket: string; Key: string } {
    checkKey(key)
    return { Bucket: this.#location.bucket, Key: this.#location.prefix + key }
  }

  /** Runs one call; null where `isNothing` knows the failure as an answer, a PublishError for all others. */
  async #call<T>(action: string, key: string, work: () => Promise<T>): Promise<T>
  async #call<T>(
    action: string,
    key: string,
    work: () => Promise<T>,
    isNothing: (error: unknown) => boolean,
  ): Promise<T | null>
  async #call<T>(
    action: string,
    key: string,
    work: () => Promise<T>,
    isNothing: (error: unknown) => boolean = () => false,
  ): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      if (isNothing(error)) return null
      const { bucket, endpoint } = this.#location
      const place: S3Place = { bucket, endpoint, url: `${this.destination}/${key}` }
      throw describeS3Error(error, action, place)
    }
  }
}

async function readingScratch<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw asStorageError(error, path)
  }
}
