/** Objects in an S3 bucket or an S3-compatible server: what to do when a request's outcome is not certain. */

import { readFile, stat } from 'node:fs/promises'
import type { Clock } from '../../support/clock.ts'
import { asStorageError, JobtideError, messageOf } from '../../support/errors.ts'
import { SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import {
  checkKey,
  type ObjectStore,
  type ObjectVersion,
  type Purge,
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
import { probeConditionalWrites, spellEtag, type Condition, type EtagStyle } from './s3-probe.ts'
import {
  abortUpload,
  listObjects,
  listUploads,
  listVersions,
  removeObjects,
  type ObjectName,
} from './s3-upkeep.ts'
import { writeWholeFile } from './whole-file.ts'

// Fixed, so that where credentials may not delete there is one scratch object and never two.
const PROBE_KEY = 'conditional-write-probe'

// For what the SDK does not repeat by itself: reading the body of an answer, a write that met another, and keys that a
// removal of many, which answers 200 all the same, left.
const ATTEMPTS = 4
const PAUSE_MS = SECOND / 4
// The most keys that one request can remove.
const REMOVE_AT_ONCE = 1_000
// Reasons not to remove a key that pass by themselves.
const PASSING = new Set(['InternalError', 'SlowDown', 'ServiceUnavailable', 'OperationAborted'])

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
    const target = {
      write: (bytes: Uint8Array, condition: Condition) =>
        this.#writeIf(PROBE_KEY, bytes, condition),
      etag: async () => (await this.#connection.head(PROBE_KEY))?.etag ?? null,
    }
    this.#etagStyle = await probeConditionalWrites(target, this.destination, this.#clock)
    // Credentials that may not delete leave one small object behind; that is no reason not to publish.
    await removeObjects(this.#connection, [{ key: PROBE_KEY }]).catch(() => undefined)
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#connection.put(key, bytes)
  }

  async putFile(key: string, path: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const { size } = await onDisk(path, stat(path))
    if (size >= MULTIPART_FROM_BYTES) await this.#putInParts(key, path, size, signal)
    else await this.#connection.put(key, await onDisk(path, readFile(path)))
  }

  // A completed upload can answer 200 and still have failed, and a lost answer can hide that it was completed: only the
  // object itself is proof.
  async #putInParts(key: string, path: string, bytes: number, signal?: AbortSignal): Promise<void> {
    const isThere = async () => (await this.head(key))?.bytes === bytes
    try {
      await this.#connection.putInParts(key, path, signal)
    } catch (error) {
      signal?.throwIfAborted()
      if (await isThere().catch(() => false)) return
      throw error
    }
    if (await isThere()) return
    throw new PublishError(`${this.urlOf(key)} is not there although its upload was completed`)
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
    await this.#removeAll(keys.map((key) => ({ key })))
  }

  async #removeAll(names: readonly ObjectName[]): Promise<void> {
    for (let at = 0; at < names.length; at += REMOVE_AT_ONCE) {
      await this.#removeBatch(names.slice(at, at + REMOVE_AT_ONCE))
    }
  }

  async #removeBatch(names: readonly ObjectName[]): Promise<void> {
    let left = names
    for (let attempt = 1; ; attempt += 1) {
      const failures = await removeObjects(this.#connection, left)
      const [first] = failures
      if (first === undefined) return
      if (attempt === ATTEMPTS || failures.every(({ code }) => !PASSING.has(code))) {
        const others = failures.length === 1 ? '' : ` and ${failures.length - 1} others`
        const what = `${this.destination}/${first.key}${others}`
        throw new PublishError(`${what} could not be removed (${first.code})`, {
          hint: removalHint(first.code),
          context: { failures: failures.slice(0, 100) },
        })
      }
      // The names as asked, never as answered: a version whose id an answer leaves out would be asked for as the object.
      left = left.filter(({ key, versionId }) =>
        failures.some(
          (failed) => failed.key === key && (failed.versionId ?? versionId) === versionId,
        ),
      )
      await this.#clock.sleep(PAUSE_MS * attempt)
    }
  }

  async purge({ uploadsBegunBefore, versions = false }: Purge): Promise<number> {
    let purged = versions ? await this.#removeOldVersions() : 0
    for (const upload of await listUploads(this.#connection)) {
      if (upload.begunAt >= uploadsBegunBefore) continue
      if (await abortUpload(this.#connection, upload)) purged += 1
    }
    return purged
  }

  async #removeOldVersions(): Promise<number> {
    const versions = await listVersions(this.#connection)
    const old = versions.filter(({ isLatest, isMarker }) => !isLatest && !isMarker)
    const markers = versions.filter(({ isMarker }) => isMarker)
    // Markers go last and by themselves: without its marker a removed object would be there again.
    await this.#removeAll(old)
    await this.#removeAll(markers)
    return old.length + markers.length
  }
}

function removalHint(code: string): string {
  return code === 'AccessDenied'
    ? 'The credentials need s3:DeleteObject and s3:DeleteObjectVersion there, and no lock may lie on the object.'
    : 'Try again later.'
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
