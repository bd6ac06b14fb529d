/**
 * Objects in an S3 bucket or an S3-compatible server: what to do when a request's outcome is not certain. The requests
 * themselves are in `s3-client.ts` and `s3-upkeep.ts`.
 */

import { readFile, stat } from 'node:fs/promises'
import type { Clock } from '../../support/clock.ts'
import { asStorageError, JobtideError, messageOf } from '../../support/errors.ts'
import { SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import {
  checkKey,
  differentSize,
  type ObjectStore,
  type ObjectVersion,
  type Purge,
  type PutOutcome,
  type StoreOptions,
  type StoredObject,
} from './object-store.ts'
import { parseS3Address } from './s3-address.ts'
import {
  connectBucket,
  MULTIPART_FROM_BYTES,
  type BucketConnection,
  type IncomingObject,
} from './s3-client.ts'
import { checkS3Options } from './s3-options.ts'
import {
  probeConditionalWrites,
  spellEtag,
  type Condition,
  type EtagStyle,
  type ProbeTarget,
} from './s3-probe.ts'
import { abortUploads, removeAll, removeOldVersions } from './s3-removal.ts'
import { listObjects, removeObjects } from './s3-upkeep.ts'
import { writeWholeFile } from './whole-file.ts'

// Fixed, so that where credentials may not delete there is one scratch object and never two.
const PROBE_KEY = 'conditional-write-probe'

// For what the SDK does not repeat by itself: reading the body of an answer, and a write that met another.
const ATTEMPTS = 4
const PAUSE_MS = SECOND / 4

/**
 * Opens `s3://bucket/prefix`; to write, also proves that its conditional writes work.
 * Credentials come from the SDK's own chain, and so does the region; with an endpoint it defaults to us-east-1.
 * @throws ConfigError when destination or options are misspelt; nothing was sent then
 * @throws PublishError when the destination cannot be reached or written, or ignores conditions
 */
export async function openS3Store(
  destination: string,
  { clock, s3 = {}, s3Endpoint, access = 'write' }: StoreOptions,
): Promise<ObjectStore> {
  const options = s3Endpoint === undefined ? s3 : { ...s3, endpoint: s3Endpoint }
  checkS3Options(options)
  const connection = await connectBucket(parseS3Address(destination), options)
  const store = new S3Store(connection, clock)
  try {
    if (access === 'write') await store.probe()
    return store
  } catch (error) {
    connection.close()
    throw error
  }
}

class S3Store implements ObjectStore {
  readonly destination: string
  readonly #connection: BucketConnection
  readonly #clock: Clock
  #etagStyle: EtagStyle = 'quoted'

  constructor(connection: BucketConnection, clock: Clock) {
    this.destination = connection.url
    this.#connection = connection
    this.#clock = clock
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
    const target: ProbeTarget = {
      write: (bytes, condition) => this.#writeIf(PROBE_KEY, bytes, condition),
      etag: async () => (await this.#connection.head(PROBE_KEY))?.etag ?? null,
    }
    this.#etagStyle = await probeConditionalWrites(target, this.destination, this.#clock)
    // Whoever may not delete leaves one small object behind; that is no reason not to publish.
    await removeObjects(this.#connection, [{ key: PROBE_KEY }]).catch(() => undefined)
  }

  async put(key: string, bytes: Uint8Array): Promise<PutOutcome> {
    if (await this.#isThere(key, bytes.length)) return 'already-there'
    await this.#connection.put(key, bytes)
    return 'written'
  }

  async putFile(key: string, path: string, signal?: AbortSignal): Promise<PutOutcome> {
    signal?.throwIfAborted()
    const { size } = await onDisk(path, stat(path))
    if (await this.#isThere(key, size)) return 'already-there'
    if (size < MULTIPART_FROM_BYTES)
      await this.#connection.put(key, await onDisk(path, readFile(path)))
    else await this.#putInParts(key, path, size, signal)
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
      await this.#connection.putInParts(key, path, signal)
    } catch (error) {
      if (await this.#isThere(key, bytes).catch(() => false)) return
      throw error
    }
    if (await this.#isThere(key, bytes)) return
    throw new PublishError(`${this.urlOf(key)} is not there although its upload was completed`)
  }

  async #isThere(key: string, bytes: number): Promise<boolean> {
    const found = await this.head(key)
    if (found === null) return false
    if (found.bytes !== bytes) throw differentSize(this.urlOf(key), found.bytes, bytes)
    return true
  }

  async get(key: string): Promise<{ bytes: Uint8Array; version: ObjectVersion } | null> {
    return this.#reading(key, undefined, async (body, version) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of body) chunks.push(chunk)
      return { bytes: Buffer.concat(chunks), version }
    })
  }

  async download(key: string, path: string, signal?: AbortSignal): Promise<boolean> {
    const done = await this.#reading(key, signal, async (body) => {
      await writeWholeFile(path, body)
      return true
    })
    return done ?? false
  }

  // The SDK repeats a request, but not the reading of its answer: a connection that breaks in the middle of a body ends here.
  async #reading<T>(
    key: string,
    signal: AbortSignal | undefined,
    take: (body: AsyncIterable<Uint8Array>, version: ObjectVersion) => Promise<T>,
  ): Promise<T | null> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        signal?.throwIfAborted()
        const incoming = await this.#connection.get(key, signal)
        return incoming === null ? null : await take(wholeBody(incoming), incoming.etag)
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
    const found = await this.#connection.head(key)
    return found === null ? null : { bytes: found.bytes }
  }

  async list(prefix: string): Promise<StoredObject[]> {
    const objects = await listObjects(this.#connection, prefix)
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
    const header = 'etag' in condition ? { IfMatch: condition.etag } : { IfNoneMatch: '*' as const }
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const outcome = await this.#connection.putIf(key, bytes, header)
      if (outcome === 'lost') return null
      if (outcome !== 'conflict') return outcome.etag
      await this.#clock.sleep(PAUSE_MS * attempt)
    }
    return null
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) checkKey(key)
    await removeAll(
      this.#connection,
      keys.map((key) => ({ key })),
      this.#clock,
    )
  }

  async purge({ uploadsBegunBefore, versions = false }: Purge): Promise<number> {
    const removed = versions ? await removeOldVersions(this.#connection, this.#clock) : 0
    return removed + (await abortUploads(this.#connection, uploadsBegunBefore))
  }
}

/** The body of an answer; fails where it ends early. */
async function* wholeBody({ body, bytes }: IncomingObject): AsyncGenerator<Uint8Array> {
  let received = 0
  for await (const chunk of body) {
    received += chunk.length
    yield chunk
  }
  if (bytes !== null && received !== bytes) {
    throw new Error(`${received} of ${bytes} bytes arrived`)
  }
}

async function onDisk<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw asStorageError(error, path)
  }
}
