/**
 * Objects in an S3 bucket or an S3-compatible server. Small objects go up as buffers, large files in parts: both can be
 * sent again and carry checksums that the server verifies, a plain stream neither. Sends no ACL: who may read is the
 * bucket's own business. The `s3-*.ts` files alone import the AWS SDK, and are loaded only for a destination on S3.
 */

import {
  CopyObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type GetObjectCommandOutput,
  type ObjectIdentifier,
  type PutObjectCommandInput,
  type StorageClass,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Clock } from '../../support/clock.ts'
import { asStorageError, JobtideError, messageOf } from '../../support/errors.ts'
import { GIB, MIB, SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import { writeWholeFile } from './local-files.ts'
import {
  checkKey,
  type ObjectStore,
  type ObjectVersion,
  type Purge,
  type S3Options,
  type StoreOptions,
  type StoredObject,
} from './object-store.ts'
import { connectBucket, nullIfAbsent, statusOf, type S3Connection } from './s3-connection.ts'
import { checkS3Options, parseS3Address } from './s3-options.ts'
import { ifMatch, probeConditionalWrites, type Condition, type EtagStyle } from './s3-probe.ts'
import {
  abandonUploads,
  copyInParts,
  listObjects,
  listOldVersions,
  removeObjects,
} from './s3-upkeep.ts'

const PART_BYTES = 8 * MIB
const PARTS_AT_ONCE = 4
/** As much as S3 copies with one request. */
const LARGEST_COPY = 5 * GIB
// Fixed, so that where credentials may not delete there is one scratch object and never two.
const PROBE_KEY = 'conditional-write-probe'
// For what the SDK does not repeat by itself: reading the body of an answer, a write that met another, and keys that a
// removal of many, which answers 200 all the same, left.
const ATTEMPTS = 4
const PAUSE_MS = SECOND / 4
const REMOVE_AT_ONCE = 1_000

/**
 * Opens `s3://bucket/prefix`; to write, also proves that its conditional writes work.
 * Credentials come from the SDK's own chain, and so does the region; with an endpoint it defaults to us-east-1.
 * @throws ConfigError when destination or options are misspelt; nothing was sent then
 * @throws PublishError when the destination cannot be reached or written, or ignores conditions
 */
export async function openS3Store(
  destination: string,
  { clock, s3 = {}, s3Endpoint, access = 'write', largestCopy = LARGEST_COPY }: StoreOptions,
): Promise<ObjectStore> {
  const options = s3Endpoint === undefined ? s3 : { ...s3, endpoint: s3Endpoint }
  checkS3Options(options)
  const connection = await connectBucket(parseS3Address(destination), options)
  const store = new S3Store(connection, options, clock, largestCopy)
  try {
    if (access === 'write') await store.probe()
    return store
  } catch (error) {
    connection.client.destroy()
    throw error
  }
}

class S3Store implements ObjectStore {
  readonly destination: string
  readonly #s3: S3Connection
  readonly #clock: Clock
  /** What is asked of the server with every object. */
  readonly #encryption: Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'>
  /** What is asked with data. Servers other than AWS have classes of their own. */
  readonly #ofData: { StorageClass: StorageClass | undefined }
  readonly #largestCopy: number
  #etagStyle: EtagStyle = 'quoted'

  constructor(
    s3: S3Connection,
    { sse, kms_key_id: key, storage_class: storageClass }: S3Options,
    clock: Clock,
    largestCopy: number,
  ) {
    this.#largestCopy = largestCopy
    this.destination = s3.url
    this.#s3 = s3
    this.#clock = clock
    this.#encryption =
      sse === undefined || sse === 'none' ? {} : { ServerSideEncryption: sse, SSEKMSKeyId: key }
    this.#ofData = { StorageClass: storageClass as StorageClass | undefined }
  }

  urlOf(key: string): string {
    checkKey(key)
    return `${this.destination}/${key}`
  }

  localPath(key: string): null {
    checkKey(key)
    return null
  }

  async probe(): Promise<void> {
    this.#etagStyle = await probeConditionalWrites(
      (bytes, condition) => this.#putIf(PROBE_KEY, bytes, condition),
      async () => (await this.get(PROBE_KEY))?.version ?? null,
      this.destination,
      this.#clock,
    )
    // Credentials that may not delete leave one small object behind; that is no reason not to publish.
    await removeObjects(this.#s3, [{ Key: this.#s3.at(PROBE_KEY).Key }]).catch(() => undefined)
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#s3.call('write', key, () => this.#put(key, bytes, this.#ofData))
  }

  /** One request; the new ETag. */
  async #put(key: string, bytes: Uint8Array, more: Partial<PutObjectCommandInput>) {
    const { ETag, ServerSideEncryption: done } = await this.#s3.client.send(
      new PutObjectCommand({ ...this.#inputFor(key), ...more, Body: bytes }),
    )
    const etag = this.#etagOf(ETag, key)
    const { ServerSideEncryption: asked = done } = this.#encryption
    if (asked === done) return etag
    throw new PublishError(`the server did not encrypt ${this.urlOf(key)} with ${asked}`, {
      hint: 'Leave sse out, or use a server that supports it.',
    })
  }

  // Something on the way may answer 200 in the place of a server, and nothing is stored.
  #etagOf(etag: string | undefined, key: string): string {
    if (etag !== undefined) return etag
    throw new PublishError(
      `the answer to writing ${this.urlOf(key)} is none of S3: it has no ETag`,
      {
        hint: 'Is there a proxy on the way? Check the endpoint.',
      },
    )
  }

  #inputFor(key: string) {
    return { ...this.#s3.at(key), ...this.#encryption, ChecksumAlgorithm: 'SHA256' as const }
  }

  async putFile(key: string, path: string, signal?: AbortSignal): Promise<void> {
    const { size } = await stat(path).catch((error: unknown) => {
      throw asStorageError(error, path)
    })
    signal?.throwIfAborted()
    const body = createReadStream(path)
    // Stopped before it is read: reading it fails then.
    body.on('error', () => undefined)
    const upload = new Upload({
      client: this.#s3.client,
      params: { ...this.#inputFor(key), ...this.#ofData, Body: body },
      partSize: PART_BYTES,
      queueSize: PARTS_AT_ONCE,
      leavePartsOnError: false,
    })
    // Not upload.abort(): that rejects while parts are still under way, and what they leave would be paid for. Without
    // more to read the upload waits for them, is aborted on the server, and only then fails.
    const onAbort = () => body.destroy(new Error('stopped'))
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      this.#etagOf((await this.#s3.call('write', key, () => upload.done())).ETag, key)
    } catch (error) {
      signal?.throwIfAborted()
      // A lost answer can hide that it was completed: only the object itself is proof.
      const stored = await this.head(key).catch(() => null)
      if (stored?.bytes !== size) throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
      body.destroy()
    }
  }

  async copy(from: string, to: string, bytes: number): Promise<void> {
    const { Bucket: bucket, Key: key } = this.#s3.at(from)
    const source = [bucket, ...key.split('/').map(encodeURIComponent)].join('/')
    const input = { ...this.#inputFor(to), ...this.#ofData, CopySource: source }
    const etag = await this.#s3.call('write', to, async () => {
      if (bytes > this.#largestCopy) {
        return copyInParts(this.#s3.client, input, bytes, this.#largestCopy)
      }
      return (await this.#s3.client.send(new CopyObjectCommand(input))).CopyObjectResult?.ETag
    })
    this.#etagOf(etag, to)
  }

  get(key: string): Promise<{ bytes: Uint8Array; version: ObjectVersion } | null> {
    return this.#read(key, undefined, async (body, { ETag = '' }) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of body) chunks.push(chunk as Uint8Array)
      return { bytes: Buffer.concat(chunks), version: ETag }
    })
  }

  async download(key: string, path: string, signal?: AbortSignal): Promise<boolean> {
    const done = await this.#read(key, signal, async (body) => {
      await writeWholeFile(path, body)
      return true
    })
    return done ?? false
  }

  // The SDK repeats a request, but not the reading of its answer: a connection that breaks in the middle of a body, or
  // bytes that do not have the checksum that the server announced, end here.
  async #read<T>(
    key: string,
    signal: AbortSignal | undefined,
    take: (body: Readable, answer: GetObjectCommandOutput) => Promise<T>,
  ): Promise<T | null> {
    const command = new GetObjectCommand({ ...this.#s3.at(key), ChecksumMode: 'ENABLED' })
    const options = signal === undefined ? {} : { abortSignal: signal }
    const send = () => this.#s3.client.send(command, options).catch(nullIfAbsent)
    for (let attempt = 1; ; attempt += 1) {
      try {
        signal?.throwIfAborted()
        const answer = await this.#s3.call('read', key, send)
        if (answer === null) return null
        const body = answer.Body as Readable
        // It may break before it is read, such as while a file is opened: reading it fails then, and nothing else.
        body.on('error', () => undefined)
        return await take(body, answer)
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof JobtideError) throw error
        if (attempt === ATTEMPTS) {
          throw new PublishError(`${this.urlOf(key)} could not be read to its end`, {
            hint: `The last of ${ATTEMPTS} attempts: ${messageOf(error)}.`,
            cause: error,
          })
        }
      }
      await this.#clock.sleep(PAUSE_MS * attempt, signal)
    }
  }

  async head(key: string): Promise<{ bytes: number } | null> {
    const command = new HeadObjectCommand(this.#s3.at(key))
    const send = () => this.#s3.client.send(command).catch(nullIfAbsent)
    const found = await this.#s3.call('read', key, send)
    return found === null ? null : { bytes: found.ContentLength ?? 0 }
  }

  async list(prefix: string): Promise<StoredObject[]> {
    const objects = await listObjects(this.#s3, prefix)
    return objects.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  async replace(key: string, bytes: Uint8Array, expected: ObjectVersion | null): Promise<boolean> {
    const condition: Condition =
      expected === null ? { IfNoneMatch: '*' } : ifMatch(expected, this.#etagStyle)
    try {
      if ((await this.#putIf(key, bytes, condition)) !== null) return true
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
  async #putIf(key: string, bytes: Uint8Array, condition: Condition): Promise<string | null> {
    const write = () => this.#put(key, bytes, condition).catch(orRefusal)
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const outcome = await this.#s3.call('write', key, write)
      if (typeof outcome === 'string') return outcome
      if (outcome.isLost) return null
      await this.#clock.sleep(PAUSE_MS * attempt)
    }
    return null
  }

  async remove(keys: readonly string[]): Promise<void> {
    await this.#removeAll(keys.map((key) => ({ Key: this.#s3.at(key).Key })))
  }

  async #removeAll(objects: readonly ObjectIdentifier[]): Promise<void> {
    for (let at = 0; at < objects.length; at += REMOVE_AT_ONCE) {
      await this.#removeBatch(objects.slice(at, at + REMOVE_AT_ONCE))
    }
  }

  // A second attempt asks for all of them again: what is gone by then counts as removed.
  async #removeBatch(objects: readonly ObjectIdentifier[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const failures = await removeObjects(this.#s3, objects)
      const [first] = failures
      if (first === undefined) return
      if (attempt === ATTEMPTS) {
        const others = failures.length === 1 ? '' : ` and ${failures.length - 1} others`
        const what = `s3://${this.#s3.bucket}/${first.Key}${others}`
        throw new PublishError(`${what} could not be removed (${first.Code})`, {
          hint:
            first.Code === 'AccessDenied'
              ? 'The credentials need s3:DeleteObject and s3:DeleteObjectVersion there, and no lock may lie on the object.'
              : 'Try again later.',
          context: { failures: failures.slice(0, 100) },
        })
      }
      await this.#clock.sleep(PAUSE_MS * attempt)
    }
  }

  async purge({ uploadsBegunBefore, versions = false }: Purge): Promise<number> {
    const { old, markers } = versions ? await listOldVersions(this.#s3) : { old: [], markers: [] }
    // Markers go last and by themselves: without its marker a removed object would be there again.
    await this.#removeAll(old)
    await this.#removeAll(markers)
    return old.length + markers.length + (await abandonUploads(this.#s3, uploadsBegunBefore))
  }
}

/**
 * What kept a conditional write from being done. Lost: another writer won, 412, or 404 where the object vanished
 * meanwhile. Otherwise it met another on its way, 409, and perhaps neither was done. @throws all other errors
 */
function orRefusal(error: unknown): { isLost: boolean } {
  const status = statusOf(error)
  if (status === 409) return { isLost: false }
  if (status === 412 || (error as Error).name === 'NoSuchKey') return { isLost: true }
  throw error
}
