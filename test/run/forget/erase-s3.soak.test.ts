import { existsSync } from 'node:fs'
import { PutBucketVersioningCommand } from '@aws-sdk/client-s3'
import { expect, it, onTestFinished, vi } from 'vitest'
import { erase } from '../../../src/run/forget/erase.ts'
import { s3ClientOf } from '../../helpers/s3-client.ts'
import { signInTo } from '../../helpers/s3-credentials.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import { ADA, MARKERS, filesWith, forgetSite, targetAt } from './forget-fixture.ts'

it('leaves no version of an object that names them in a bucket that keeps versions', async () => {
  const server = await startS3Server()
  signInTo(server)
  const client = s3ClientOf(server)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    client.destroy()
    await server.close()
  })
  await client.send(
    new PutBucketVersioningCommand({
      Bucket: server.bucket,
      VersioningConfiguration: { Status: 'Enabled' },
    }),
  )
  const site = forgetSite({ s3Endpoint: server.endpoint })
  const target = targetAt(`s3://${server.bucket}/lake`)
  for (const night of [1, 2]) await site.night(target, night)
  const request = { profileIds: [ADA], eventsBefore: null }
  const certificate = await erase(site.erasing([target]), request)
  expect(certificate).toMatchObject({ is_complete: true, remaining: [] })
  expect(certificate?.stores[0]?.snapshots).toHaveLength(2)
  for (const [key, object] of server.objects()) {
    expect(server.versionsOf(key)).toHaveLength(1)
    expect(MARKERS.filter((text) => object.body.includes(text))).toEqual([])
  }
  expect(server.uploads()).toEqual([])
  expect(filesWith(site.directory.root, MARKERS)).toEqual([])
  expect(existsSync(site.directory.published)).toBe(false)
}, 240_000)
