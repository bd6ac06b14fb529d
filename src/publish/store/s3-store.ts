/**
 * Keeps objects in an S3 bucket or an S3-compatible server: small ones as buffers, large files in parts, both with checksums that
 * the server verifies. Sends no ACL: who may read is the bucket's own business.
 */

import {
  AbortMultipartUploadCommand,
  CopyObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type GetObjectCommandOutput,
  type ListObjectVersionsCommandOutput,
  type ObjectIdentifier,
  type PutObjectCommandInput,
  type StorageClass,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { randomUUID } from 'node:crypto'
import { createReadStream, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../support/clock.ts'
import { JobtideError, asStorageError, messageOf, onDisk } from '../../support/errors.ts'
import { MIB, SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import {
  checkKey,
  type ObjectStore,
  type ObjectVersion,
  type Purge,
  type S3Address,
  type S3Options,
  type StoredObject,
} from './object-store.ts'
import { connectBucket, nullIfAbsent, statusOf, type S3Connection } from './s3-client.ts'

const PART_BYTES = 8 * MIB
// Repeats requests that the SDK does not: reading the body of an answer, and a write that met another.
const ATTEMPTS = 4
const PAUSE_MS = SECOND / 4
const REMOVE_AT_ONCE = 1_000
/** The one object of a destination on which conditional writes are proved; see probe(). */
const PROBE_KEY = 'conditional-write-probe'
/** More processes than ever open one destination at the same moment. */
const PROBES_AT_ONCE = 50

/**
 * Opens a prefix of a bucket; to write, also proves that its conditional writes work. Credentials come from the SDK's
 * own chain, and so does the region; with an endpoint it defaults to us-east-1.
 * @throws PublishError when the destination cannot be reached or written, or ignores conditions
 */
export async function openS3Store(
  address: S3Address,
  options: S3Options,
  clock: Clock,
  access: 'read' | 'write' = 'write',
): Promise<ObjectStore> {
  const connection = await connectBucket(address, options)
  const store = new S3Store(connection, options, clock)
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
  /** Headers sent with every object. */
  readonly #encryption: Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'>
  /** Headers sent with data. Servers other than AWS have their own classes. */
  readonly #ofData: { StorageClass: StorageClass | undefined }
  /** How `If-Match` must spell an ETag: quoted, as S3 gives it, or bare, as older Ceph wants it. */
  #quote = '"'

  constructor(s3: S3Connection, { sse = 'none', ...options }: S3Options, clock: Clock) {
    this.destination = s3.url
    this.#s3 = s3
    this.#clock = clock
    this.#encryption =
      sse === 'none' ? {} : { ServerSideEncryption: sse, SSEKMSKeyId: options.kms_key_id }
    this.#ofData = { StorageClass: options.storage_class as StorageClass | undefined }
  }

  /**
   * Many servers ignore the headers of conditional writes: two publishers would overwrite each other silently.
   * The test object stays: credentials that may not delete would leave one for each run.
   */
  async probe(): Promise<void> {
    const fault = await this.#probeFault()
    if (fault === null) return
    const what = `${this.destination} does not honour conditional writes: ${fault}`
    throw new PublishError(`${what}; without them two publishers would overwrite each other`, {
      hint: 'Publish to a folder, or to a server that supports If-None-Match and If-Match on PutObject.',
    })
  }

  /** The fault of the server; null for none. Other processes may write the same object meanwhile. */
  async #probeFault(): Promise<string | null> {
    // Each text is written once, so an ETag that is there again means that nothing was written between.
    const write = (expected: ObjectVersion | null) =>
      this.replace(PROBE_KEY, Buffer.from(randomUUID()), expected)
    const version = async () => (await this.get(PROBE_KEY))?.version ?? null
    if ((await write(null)) && (await write(null)))
      return 'it overwrote an object in spite of If-None-Match'
    let before = await version()
    for (let tries = 0; tries < PROBES_AT_ONCE; tries += 1) {
      if (before === null) return 'a new object was refused as if it existed'
      if (await write(before))
        return (await write(before)) ? 'it overwrote an object in spite of If-Match' : null
      const now = await version()
      // Otherwise another process was first, and the refusal was right.
      if (now === before) this.#quote = this.#quote === '' ? '"' : ''
      before = now
    }
    return 'it refused If-Match with the right ETag'
  }

  urlOf(key: string): string {
    checkKey(key)
    return `${this.destination}/${key}`
  }

  localPath(key: string): null {
    checkKey(key)
    return null
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#s3.call('write', key, () => this.#put(key, bytes, this.#ofData))
  }

  async #put(key: string, bytes: Uint8Array, more: Partial<PutObjectCommandInput>) {
    const { ETag, ServerSideEncryption: done } = await this.#s3.client.send(
      new PutObjectCommand({ ...this.#inputFor(key), ...more, Body: bytes }),
    )
    this.#proveAnswer(ETag, key)
    const { ServerSideEncryption: asked = done } = this.#encryption
    if (asked === done) return
    throw new PublishError(`the server did not encrypt ${this.urlOf(key)} with ${asked}`, {
      hint: 'Leave sse out, or use a server that supports it.',
    })
  }

  // A proxy may answer 200 in place of the server, without storing anything.
  #proveAnswer(etag: string | undefined, key: string): void {
    if (etag !== undefined) return
    const what = `the answer to writing ${this.urlOf(key)} is not from S3: it has no ETag`
    throw new PublishError(what, { hint: 'Check the endpoint: a proxy may answer in its place.' })
  }

  #inputFor(key: string) {
    return { ...this.#s3.at(key), ...this.#encryption, ChecksumAlgorithm: 'SHA256' as const }
  }

  async putFile(key: string, path: string, signal?: AbortSignal): Promise<void> {
    const { size } = onDisk(path, () => statSync(path))
    signal?.throwIfAborted()
    const body = createReadStream(path)
    // If it is stopped before it is read, reading fails.
    body.on('error', () => undefined)
    const upload = new Upload({
      client: this.#s3.client,
      params: { ...this.#inputFor(key), ...this.#ofData, Body: body },
      partSize: PART_BYTES,
    })
    // Not upload.abort(): that rejects while parts are still under way, and what they leave would be paid for. Without
    // more to read the upload waits for them, is aborted on the server, and only then fails.
    const onAbort = () => body.destroy(new Error('stopped'))
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      this.#proveAnswer((await this.#s3.call('write', key, () => upload.done())).ETag, key)
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

  async copy(from: string, to: string): Promise<void> {
    const { Bucket: bucket, Key: key } = this.#s3.at(from)
    const source = [bucket, ...key.split('/').map(encodeURIComponent)].join('/')
    const input = { ...this.#inputFor(to), ...this.#ofData, CopySource: source }
    const send = () => this.#s3.client.send(new CopyObjectCommand(input))
    const { CopyObjectResult: copied } = await this.#s3.call('write', to, send)
    this.#proveAnswer(copied?.ETag, to)
  }

  get(key: string): Promise<{ bytes: Uint8Array; version: ObjectVersion } | null> {
    return this.#read(key, undefined, async (body, { ETag = '' }) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of body) chunks.push(chunk as Uint8Array)
      return { bytes: Buffer.concat(chunks), version: ETag }
    })
  }

  async download(key: string, path: string, signal?: AbortSignal): Promise<boolean> {
    const refuse = (error: unknown) => {
      throw asStorageError(error, path)
    }
    try {
      const found = await this.#read(key, signal, async (body) => {
        const file = await open(path, 'w').catch(refuse)
        try {
          for await (const chunk of body) await file.appendFile(chunk as Uint8Array).catch(refuse)
        } finally {
          await file.close()
        }
      })
      return found !== null
    } catch (error) {
      rmSync(path, { force: true })
      throw error
    }
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

  async replace(key: string, bytes: Uint8Array, expected: ObjectVersion | null): Promise<boolean> {
    const etag = `${this.#quote}${expected?.replaceAll('"', '')}${this.#quote}`
    const condition = expected === null ? { IfNoneMatch: '*' } : { IfMatch: etag }
    const write = () => this.#put(key, bytes, condition).catch(orRefusal)
    // A write whose answer was lost may have succeeded: the SDK's second attempt then finds its own object and is
    // refused.
    const isDone = async () => {
      const stored = await this.get(key)
      return stored !== null && Buffer.from(stored.bytes).equals(bytes)
    }
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      try {
        const refused = await this.#s3.call('write', key, write)
        if (refused === undefined) return true
        if (refused === 'lost') break
      } catch (error) {
        if (await isDone().catch(() => false)) return true
        throw error
      }
      await this.#clock.sleep(PAUSE_MS * attempt)
    }
    return isDone()
  }

  async list(prefix: string): Promise<StoredObject[]> {
    const pages = await this.#pages(
      prefix,
      (input) => this.#s3.client.send(new ListObjectsV2Command(input)),
      ({ NextContinuationToken }) => ({ ContinuationToken: NextContinuationToken }),
    )
    return pages
      .flatMap(({ Contents = [] }) => Contents)
      .map(({ Key = '', Size = 0, LastModified }) => ({
        key: Key.slice(this.#s3.prefix.length),
        bytes: Size,
        modifiedAt: LastModified?.getTime() ?? 0,
      }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  // Replaces the SDK's paging, which knows neither versions nor uploads, and where a server repeats itself either never
  // ends or ends as if that were all. An object that is missing from a listing could be removed because of it.
  async #pages<Page extends { IsTruncated?: boolean | undefined }>(
    prefix: string,
    send: (input: { Bucket: string; Prefix: string }) => Promise<Page>,
    markerOf: (page: Page) => object,
  ): Promise<Page[]> {
    const under = { Bucket: this.#s3.bucket, Prefix: this.#s3.prefix + prefix }
    return this.#s3.call('list', prefix, async () => {
      const pages: Page[] = []
      for (let after = {}; ;) {
        const page = await send({ ...under, ...after })
        pages.push(page)
        if (page.IsTruncated !== true) return pages
        const next = markerOf(page)
        if (isDeepStrictEqual(next, after))
          throw new PublishError('the listing of the server does not end: it repeats a page')
        after = next
      }
    })
  }

  async remove(keys: readonly string[]): Promise<void> {
    await this.#removeAll(keys.map((key) => ({ Key: this.#s3.at(key).Key })))
  }

  /** Removes objects or versions. A missing one counts as removed. @throws PublishError naming the first that was refused */
  async #removeAll(objects: readonly ObjectIdentifier[]): Promise<void> {
    for (let at = 0; at < objects.length; at += REMOVE_AT_ONCE) {
      const some = objects.slice(at, at + REMOVE_AT_ONCE)
      const command = new DeleteObjectsCommand({
        Bucket: this.#s3.bucket,
        Delete: { Objects: some, Quiet: true },
        ChecksumAlgorithm: 'SHA256',
      })
      const key = some[0]?.Key?.slice(this.#s3.prefix.length) ?? ''
      // It answers 200 even where it removed none.
      const { Errors = [] } = await this.#s3.call('remove', key, () =>
        this.#s3.client.send(command),
      )
      const failures = Errors.filter(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion')
      const [first] = failures
      if (first === undefined) continue
      const others = failures.length === 1 ? '' : ` and ${failures.length - 1} others`
      const what = `s3://${this.#s3.bucket}/${first.Key}${others}`
      throw new PublishError(`${what} could not be removed (${first.Code})`, {
        hint:
          first.Code === 'AccessDenied'
            ? 'The credentials need s3:DeleteObject and s3:DeleteObjectVersion there, and the object must not be locked.'
            : 'Try again later.',
        context: { failures: failures.slice(0, 100) },
      })
    }
  }

  async purge({ uploadsBegunBefore, versions = false }: Purge): Promise<number> {
    const pages = versions ? await this.#versionPages() : []
    const found = pages.flatMap(({ Versions = [] }) => Versions)
    const old = found.filter(({ IsLatest }) => IsLatest !== true)
    const markers = pages.flatMap(({ DeleteMarkers = [] }) => DeleteMarkers)
    // Delete markers go last, separately: without its marker a removed object would reappear.
    for (const some of [old, markers])
      await this.#removeAll(some.map(({ Key, VersionId = 'null' }) => ({ Key, VersionId })))
    return old.length + markers.length + (await this.#abandonUploads(uploadsBegunBefore))
  }

  /** Every version of an object and marker of a removed one; none where the server says that it keeps no versions. */
  #versionPages() {
    const send = (input: { Bucket: string; Prefix: string }) =>
      this.#s3.client.send(new ListObjectVersionsCommand(input)).catch((error: unknown) => {
        if ([405, 501].includes(statusOf(error) ?? 0)) return { $metadata: {} }
        throw error
      })
    return this.#pages<ListObjectVersionsCommandOutput>('', send, (page) => ({
      KeyMarker: page.NextKeyMarker,
      VersionIdMarker: page.NextVersionIdMarker,
    }))
  }

  /** Removes the parts of uploads that began before (milliseconds since 1970 UTC); returns how many. */
  async #abandonUploads(begunBefore: number): Promise<number> {
    const { client, bucket, prefix } = this.#s3
    const pages = await this.#pages(
      '',
      (input) => client.send(new ListMultipartUploadsCommand(input)),
      (page) => ({ KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }),
    )
    let abandoned = 0
    for (const { Key = '', UploadId, Initiated } of pages.flatMap(({ Uploads = [] }) => Uploads)) {
      // Without a date it cannot be distinguished from one in progress.
      if (Initiated === undefined || Initiated.getTime() >= begunBefore) continue
      const command = new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId })
      const abort = () => client.send(command).catch(nullIfAbsent)
      if ((await this.#s3.call('remove', Key.slice(prefix.length), abort)) !== null) abandoned += 1
    }
    return abandoned
  }
}

/**
 * Lost: another writer won (412), or the object vanished (404). Otherwise it met another one (409), and perhaps both
 * failed.
 * @throws all other errors
 */
function orRefusal(error: unknown): 'lost' | 'met another' {
  const status = statusOf(error)
  if (status === 409) return 'met another'
  if (status === 412 || (error as Error).name === 'NoSuchKey') return 'lost'
  throw error
}
