/**
 * One prefix of a bucket: connect, write and read single objects. This file and `s3-upkeep.ts` alone import the AWS SDK;
 * they are themselves imported only when a destination is on S3. Small objects go up as buffers, large files in parts: both can be sent again and carry checksums
 * that the server verifies, a plain stream neither. Sends no ACL: who may read is the bucket's own business.
 */

import {
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  type PutObjectCommandInput,
  type S3ClientConfig,
  type ServerSideEncryption,
  type StorageClass,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { MIB, MINUTE, SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import { checkKey } from './object-store.ts'
import type { S3Address } from './s3-address.ts'
import {
  describeS3Error,
  isAbsent,
  isConflict,
  isLost,
  type S3Action,
  type S3Place,
} from './s3-errors.ts'
import type { S3Options } from './s3-options.ts'

const PART_BYTES = 8 * MIB
const PARTS_AT_ONCE = 4

/** From this size on a file goes up in parts. */
export const MULTIPART_FROM_BYTES = 2 * PART_BYTES

/** An object on its way here. */
export interface IncomingObject {
  readonly body: AsyncIterable<Uint8Array>
  /** What the server announced; null when it announced nothing. */
  readonly bytes: number | null
  /** As sent; empty when none was. */
  readonly etag: string
}

/** Connects; nothing is sent yet. @throws PublishError when the region is not known */
export async function connectBucket(
  address: S3Address,
  options: S3Options,
): Promise<BucketConnection> {
  const { endpoint, region, pathStyle } = options
  const config: S3ClientConfig = {
    retryMode: 'standard',
    maxAttempts: 4,
    requestHandler: {
      connectionTimeout: 10 * SECOND,
      socketTimeout: MINUTE,
      requestTimeout: 5 * MINUTE,
      throwOnRequestTimeout: true,
    },
    forcePathStyle: pathStyle ?? endpoint !== undefined,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
  }
  const client = new S3Client(config)
  try {
    await client.config.region()
    return new BucketConnection(client, address, options)
  } catch (error) {
    client.destroy()
    if (endpoint !== undefined) {
      return new BucketConnection(
        new S3Client({ ...config, region: 'us-east-1' }),
        address,
        options,
      )
    }
    throw new PublishError(`the AWS region of s3://${address.bucket} is not known`, {
      hint: 'Set AWS_REGION, or snapshot.s3.region in the pipeline file.',
      cause: error,
    })
  }
}

/** A prefix of a bucket. Keys are relative to it. Every failure is a PublishError. */
export class BucketConnection {
  /** `s3://bucket/prefix`. */
  readonly url: string
  /** For `s3-upkeep.ts`, as `address` and `call` are. */
  readonly client: S3Client
  readonly address: S3Address
  readonly #options: S3Options

  constructor(client: S3Client, address: S3Address, options: S3Options) {
    this.url = `s3://${address.bucket}/${address.prefix}`.replace(/\/$/, '')
    this.client = client
    this.address = address
    this.#options = options
  }

  /** Drops its connections. */
  close(): void {
    this.client.destroy()
  }

  /** Writes data. */
  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.call('write', key, () => this.#put(key, bytes, this.#storageClass()))
  }

  /** Writes under a condition; the new ETag, or what kept it from writing. */
  async putIf(
    key: string,
    bytes: Uint8Array,
    condition: { readonly IfMatch: string } | { readonly IfNoneMatch: '*' },
  ): Promise<{ readonly etag: string } | 'lost' | 'conflict'> {
    const write = async () => {
      try {
        return { etag: await this.#put(key, bytes, condition) }
      } catch (error) {
        if (isLost(error)) return 'lost' as const
        if (isConflict(error)) return 'conflict' as const
        throw error
      }
    }
    return this.call('write', key, write)
  }

  async #put(key: string, bytes: Uint8Array, more: Partial<PutObjectCommandInput>) {
    const answer = await this.client.send(
      new PutObjectCommand({
        ...this.#at(key),
        ...this.#encryption(),
        ...more,
        Body: bytes,
        ChecksumAlgorithm: 'SHA256',
      }),
    )
    const { sse = 'none' } = this.#options
    if (sse !== 'none' && answer.ServerSideEncryption !== sse) {
      throw new PublishError(`the server did not encrypt ${this.url}/${key} with ${sse}`, {
        hint: 'Leave sse out, or use a server that supports it.',
      })
    }
    return answer.ETag ?? ''
  }

  /** Sends the file at `path` in parts of 8 MiB; after a failure none of them remains. */
  async putInParts(key: string, path: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    const body = createReadStream(path)
    const upload = new Upload({
      client: this.client,
      params: {
        ...this.#at(key),
        ...this.#encryption(),
        ...this.#storageClass(),
        Body: body,
        ChecksumAlgorithm: 'SHA256',
      },
      partSize: PART_BYTES,
      queueSize: PARTS_AT_ONCE,
      leavePartsOnError: false,
    })
    // Not upload.abort(): that rejects while parts are still under way, and what they leave would be paid for. Without
    // more to read the upload waits for them, is aborted on the server, and only then fails.
    const onAbort = () => body.destroy(new Error('stopped'))
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      await this.call('write', key, () => upload.done())
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
      body.destroy()
    }
  }

  /** Begins to read an object; the body fails when bytes or checksum are not what the server announced. */
  async get(key: string, signal?: AbortSignal): Promise<IncomingObject | null> {
    const read = async (): Promise<IncomingObject> => {
      const answer = await this.client.send(
        new GetObjectCommand({ ...this.#at(key), ChecksumMode: 'ENABLED' }),
        signal === undefined ? {} : { abortSignal: signal },
      )
      return {
        body: answer.Body as Readable,
        bytes: answer.ContentLength ?? null,
        etag: answer.ETag ?? '',
      }
    }
    return this.call('read', key, read, isAbsent)
  }

  /** Size and ETag of an object. */
  async head(key: string): Promise<{ bytes: number; etag: string } | null> {
    const read = async () => {
      const answer = await this.client.send(new HeadObjectCommand(this.#at(key)))
      return { bytes: answer.ContentLength ?? 0, etag: answer.ETag ?? '' }
    }
    return this.call('read', key, read, isAbsent)
  }

  #encryption(): { ServerSideEncryption?: ServerSideEncryption; SSEKMSKeyId?: string } {
    const { sse = 'none', kmsKeyId } = this.#options
    if (sse === 'none') return {}
    return {
      ServerSideEncryption: sse,
      ...(kmsKeyId === undefined ? {} : { SSEKMSKeyId: kmsKeyId }),
    }
  }

  #storageClass(): { StorageClass?: StorageClass } {
    const { storageClass } = this.#options
    // Servers other than AWS have classes of their own.
    return storageClass === undefined ? {} : { StorageClass: storageClass as StorageClass }
  }

  #at(key: string): { Bucket: string; Key: string } {
    checkKey(key)
    return { Bucket: this.address.bucket, Key: this.address.prefix + key }
  }

  /** Runs one call; null where `isNothing` knows the failure as an answer, a PublishError for all others. */
  async call<T>(action: S3Action, key: string, work: () => Promise<T>): Promise<T>
  async call<T>(
    action: S3Action,
    key: string,
    work: () => Promise<T>,
    isNothing: (error: unknown) => boolean,
  ): Promise<T | null>
  async call<T>(
    action: S3Action,
    key: string,
    work: () => Promise<T>,
    isNothing: (error: unknown) => boolean = () => false,
  ): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      if (isNothing(error)) return null
      const { bucket } = this.address
      const { endpoint } = this.#options
      const place: S3Place = { bucket, endpoint, url: `${this.url}/${key}` }
      throw describeS3Error(error, action, place)
    }
  }
}
