import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { logFolder, versionsOf } from '../../../src/publish/delta/log-files.ts'
import { deletionVectorOf } from '../../../src/publish/delta/deletion-vector.ts'
import { readStoredLog } from '../../../src/publish/delta/log.ts'
import { sequenceOf } from '../../../src/publish/delta/replay.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { realClock } from '../../../src/support/clock.ts'
import { signInTo } from '../../helpers/s3-credentials.ts'
import { startS3Server, type S3Server } from '../../helpers/s3-server.ts'
import { madeLake } from './made-lake.ts'

let server: S3Server

beforeEach(async () => {
  server = await startS3Server({ secretAccessKey: 'very/secret+access/key0' })
  signInTo(server)
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server.close()
})

describe('a Delta log in a bucket', () => {
  it('of 12 versions with deleted rows is read from its checkpoint, and has one winner a version', async () => {
    const store = await openStore(`s3://${server.bucket}/some/prefix`, {
      clock: realClock,
      s3Endpoint: server.endpoint,
    })
    const lake = await madeLake(store)
    const { key } = await lake.add(0, 200)
    for (let night = 0; night < 11; night += 1) {
      lake.delete(key, [night])
      const manifest = await lake.manifest()
      await Promise.all([lake.sync(manifest), lake.sync(manifest)])
    }
    const last = await lake.manifest()
    await lake.sync(last)
    const keys = (await store.list(logFolder('events'))).map((object) => object.key)
    expect(versionsOf(keys)).toEqual({
      commits: Array.from({ length: 12 }, (_, version) => version),
      checkpoints: [10],
    })
    const { state } = await readStoredLog(lake, 'events')
    expect([...state.files.values()].map((file) => file.deletionVector)).toMatchObject([
      deletionVectorOf(lake.deletedRowsOf(key) ?? []),
    ])
    expect(sequenceOf(state)).toBe(12)
  })
})
