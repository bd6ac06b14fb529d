/** Publishing through a proxy, to a bucket that loses objects, whose clock differs, or that keeps deleted objects. */

import { afterAll, afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { collectGarbage, parseKeep } from '../../../src/publish/retention.ts'
import { readCurrent } from '../../../src/publish/manifest.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { verifySnapshot } from '../../../src/publish/verify.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { realClock } from '../../../src/support/clock.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { DAY, MINUTE } from '../../../src/support/units.ts'
import type { BucketQuirks } from '../../helpers/s3-bucket.ts'
import { keepVersions, s3ClientOf, signInTo } from '../../helpers/s3-client.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { through } from '../../helpers/through.ts'
import { publish, smallWarehouse } from '../fixtures.ts'

const warehouse = await smallWarehouse()
afterAll(() => warehouse.close())
afterEach(() => void vi.unstubAllEnvs())

/** A server with a bucket, and a store in it. */
async function newStore(quirks: BucketQuirks = {}, isVersioned = false) {
  const server = await startS3Server(quirks)
  onTestFinished(() => server.close())
  signInTo(server)
  const client = s3ClientOf(server)
  if (isVersioned) await keepVersions(client, server.bucket)
  client.destroy()
  const open = () =>
    openStore('s3://test-bucket/root', { clock: realClock, s3: { endpoint: server.endpoint } })
  return { server, open, store: await open() }
}

let changes = 0
/** Changes the content of each event, so that the next publish writes. */
function change() {
  changes += 1
  return warehouse.run(`update job_change_events set detection_lag_days = ${changes}`)
}

const proof = (store: Awaited<ReturnType<typeof openStore>>) =>
  verifySnapshot({ store, snapshotId: null, scratchFolder: temporaryFolder() })

it.each(['/tables/job_change_events/', '/views.sql', '/manifest.json', '/latest.json'])(
  'a write of %s that a proxy answers with 200 is exit 7: readers keep the previous snapshot',
  async (key) => {
    const { server, store } = await newStore()
    const { snapshotId } = await publish(warehouse, store)
    await change()
    const fault = { operation: 'PutObject', key, action: 'page-in-200', times: 99 } as const
    server.setFaults([fault])
    await expect(publish(warehouse, store)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining('is not from S3: it has no ETag'),
    })
    server.setFaults([])
    expect((await readCurrent(store))?.pointer.snapshot_id).toBe(snapshotId)
    await publish(warehouse, store)
    expect(await proof(store)).toMatchObject({ rows: 320 })
  },
)

it.each(['tables/job_change_events/', '/manifest.json'])(
  '%s lost before the pointer moves is exit 7: readers keep the previous snapshot',
  async (part) => {
    const { store } = await newStore()
    const { snapshotId } = await publish(warehouse, store)
    await change()
    const forgetful = through(store, async (name, key, work) => {
      const result = await work()
      if (name.startsWith('put') && String(key).includes(part)) await store.remove([String(key)])
      return result
    })
    await expect(publish(warehouse, forgetful)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringMatching(`${part}\\S* was written but is missing`),
    })
    expect((await readCurrent(store))?.pointer.snapshot_id).toBe(snapshotId)
  },
)

it.each([
  ['20 minutes ahead', 20 * MINUTE],
  ['a day behind', -DAY],
])(
  'a server whose clock is %s refuses one request, and later ones are signed with its time',
  async (_, aheadMs) => {
    const { server, store } = await newStore({ aheadMs })
    await publish(warehouse, store)
    expect(await proof(store)).toMatchObject({ findings: [], rows: 320 })
    const refused = server.log().filter(({ status }) => status === 403).length
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(5)
  },
)

it('a bucket with object lock accepts 3 publishes and their garbage collection, and names what it keeps', async () => {
  const { server, store } = await newStore({ isLocked: true }, true)
  for (let nth = 0; nth < 3; nth += 1) {
    await change()
    await publish(warehouse, store)
    const gc = { store, keep: parseKeep(1), olderThanMs: 0, logger: silentLogger }
    await collectGarbage(gc)
    expect(await proof(store)).toMatchObject({ findings: [], rows: 320 })
  }
  await expect(store.purge({ versions: true, uploadsBegunBefore: 0 })).rejects.toMatchObject({
    exitCode: EXIT.publishFailed,
    message: expect.stringMatching(/could not be removed \(AccessDenied\)/),
  })
  expect(await proof(store)).toMatchObject({ findings: [], rows: 320 })
  expect(server.versionsOf('root/latest.json')).toHaveLength(3)
})
