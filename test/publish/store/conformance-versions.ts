/** Shared suite: buckets that keep versions; encryption and storage class of objects. */

import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { beforeAll, describe, expect } from 'vitest'
import { clientOf, status } from './conformance-client.ts'
import type { Conformance } from './store-conformance.ts'

/** Describes what is kept besides the latest bytes. */
export function describeVersions(conformance: Conformance): void {
  describeKeptVersions(conformance)
  describeEncryption(conformance)
}

function describeKeptVersions({ bucket, check }: Conformance): void {
  describe('versions', () => {
    const target = bucket()
    const s3 = clientOf(target)
    const at = (Key: string) => ({ Bucket: target().bucket, Key })
    const put = (key: string, Body: string) => s3().send(new PutObjectCommand({ ...at(key), Body }))
    const text = async (key: string, more: object = {}) =>
      (await s3().send(new GetObjectCommand({ ...at(key), ...more }))).Body?.transformToString()
    const versions = async (Prefix: string, more: object = {}) =>
      s3().send(new ListObjectVersionsCommand({ Bucket: target().bucket, Prefix, ...more }))

    beforeAll(async () => {
      await put('before', '1')
      const enabled = { VersioningConfiguration: { Status: 'Enabled' as const } }
      await s3().send(new PutBucketVersioningCommand({ Bucket: target().bucket, ...enabled }))
    })

    check('are kept from the moment they are asked for', async () => {
      const { Status } = await s3().send(
        new GetBucketVersioningCommand({ Bucket: target().bucket }),
      )
      expect(Status).toBe('Enabled')
      await put('before', '2')
      const { Versions = [] } = await versions('before')
      expect(Versions.map(({ IsLatest }) => IsLatest)).toEqual([true, false])
      expect(Versions[1]?.VersionId).toBe('null')
      expect(await text('before', { VersionId: 'null' })).toBe('1')
    })
    check('2 puts and a removal leave 2 versions and a marker, each with an id', async () => {
      const first = await put('kept', '1')
      const second = await put('kept', '2')
      const removed = await s3().send(new DeleteObjectCommand(at('kept')))
      expect(removed.DeleteMarker).toBe(true)
      const { Versions = [], DeleteMarkers = [] } = await versions('kept')
      expect(Versions.map(({ VersionId }) => VersionId)).toEqual([
        second.VersionId,
        first.VersionId,
      ])
      expect(Versions.map(({ IsLatest }) => IsLatest)).toEqual([false, false])
      expect(DeleteMarkers.map(({ VersionId }) => VersionId)).toEqual([removed.VersionId])
      await expect(text('kept')).rejects.toMatchObject(status(404))
      expect(await text('kept', { VersionId: first.VersionId })).toBe('1')
    })
    check('removing the marker brings the object back', async () => {
      await put('back', '1')
      const { VersionId } = await s3().send(new DeleteObjectCommand(at('back')))
      await s3().send(new DeleteObjectCommand({ ...at('back'), VersionId }))
      expect(await text('back')).toBe('1')
    })
    check('removing a version is for good, alone and among many', async () => {
      const ids: (string | undefined)[] = []
      for (const body of ['1', '2', '3']) ids.push((await put('gone', body)).VersionId)
      await s3().send(new DeleteObjectCommand({ ...at('gone'), VersionId: ids[0] }))
      const Objects = [{ Key: 'gone', VersionId: ids[1] }]
      await s3().send(
        new DeleteObjectsCommand({ Bucket: target().bucket, Delete: { Objects, Quiet: true } }),
      )
      const { Versions = [] } = await versions('gone')
      expect(Versions.map(({ VersionId }) => VersionId)).toEqual([ids[2]])
      await expect(text('gone', { VersionId: ids[0] })).rejects.toMatchObject(status(404))
    })
    check('5 of 2 keys are listed 2 by 2, newest first', async () => {
      const ids: (string | undefined)[] = []
      for (const key of ['p/a', 'p/a', 'p/b', 'p/b', 'p/b']) {
        ids.push((await put(key, String(ids.length))).VersionId)
      }
      const found: (string | undefined)[] = []
      let markers: object = {}
      for (let isMore = true; isMore && found.length < 9;) {
        const page = await versions('p/', { MaxKeys: 2, ...markers })
        found.push(...(page.Versions ?? []).map(({ VersionId }) => VersionId))
        isMore = page.IsTruncated === true
        markers = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
      }
      expect(found).toEqual([1, 0, 4, 3, 2].map((index) => ids[index]))
    })
  })

  describe('a bucket without versions', () => {
    const target = bucket()
    const s3 = clientOf(target)
    check('lists 1 version without an id, the latest', async () => {
      const at = { Bucket: target().bucket }
      for (const Body of ['1', '2']) {
        await s3().send(new PutObjectCommand({ ...at, Key: 'k', Body }))
      }
      const { Versions = [], DeleteMarkers = [] } = await s3().send(
        new ListObjectVersionsCommand(at),
      )
      expect(Versions.map(({ VersionId, IsLatest }) => [VersionId, IsLatest])).toEqual([
        ['null', true],
      ])
      expect(DeleteMarkers).toEqual([])
    })
  })
}

function describeEncryption({ bucket, check, server }: Conformance): void {
  describe('encryption and storage class', () => {
    const target = bucket()
    const s3 = clientOf(target)
    const at = (Key: string) => ({ Bucket: target().bucket, Key })
    const put = (key: string, more: object) =>
      s3().send(new PutObjectCommand({ ...at(key), Body: 'secret', ...more }))
    const head = (key: string) => s3().send(new HeadObjectCommand(at(key)))

    check('aws:kms with a key is confirmed by PUT and HEAD', async () => {
      const asked = { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: server.kmsKeyId } as const
      expect(await put('kms', asked)).toMatchObject(asked)
      expect(await head('kms')).toMatchObject(asked)
      const { Body } = await s3().send(new GetObjectCommand(at('kms')))
      expect(await Body?.transformToString()).toBe('secret')
    })
    check('aws:kms is confirmed when an upload in parts is begun', async () => {
      const asked = { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: server.kmsKeyId } as const
      const begun = await s3().send(new CreateMultipartUploadCommand({ ...at('parts'), ...asked }))
      expect(begun.ServerSideEncryption).toBe('aws:kms')
    })
    check('aws:kms with a key that there is not answers 400', async () => {
      const asked = { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'no-such-key' }
      await expect(put('no-key', asked)).rejects.toMatchObject(status(400))
    })
    check('AES256 is confirmed by PUT and HEAD', async () => {
      const asked = { ServerSideEncryption: 'AES256' } as const
      expect(await put('aes', asked)).toMatchObject(asked)
      expect(await head('aes')).toMatchObject(asked)
    })
    check('an encryption that there is not answers 400', async () => {
      await expect(put('rot13', { ServerSideEncryption: 'rot13' })).rejects.toMatchObject(
        status(400),
      )
    })
    check('STANDARD_IA is kept', async () => {
      await put('class', { StorageClass: 'STANDARD_IA' })
      expect((await head('class')).StorageClass).toBe('STANDARD_IA')
    })
    check('a storage class that there is not answers 400', async () => {
      await expect(put('attic', { StorageClass: 'ATTIC' })).rejects.toMatchObject(status(400))
    })
  })
}
