/**
 * Publishing to a bucket whose credentials expire, whose clock differs, that keeps deleted objects, or that is
 * replicated.
 */

import { afterAll, afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { collectGarbage, parseKeep } from '../../../src/publish/retention.ts'
import { readCurrent } from '../../../src/publish/read-snapshot.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { verifySnapshot } from '../../../src/publish/verify.ts'
import { JobtideError, EXIT } from '../../../src/support/errors.ts'
import { realClock } from '../../../src/support/clock.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { DAY, MINUTE } from '../../../src/support/units.ts'
import { seededRandom } from '../../../src/simulator/random.ts'
import type { BucketQuirks } from '../../helpers/s3-bucket.ts'
import { keepVersions, s3ClientOf, signInTo } from '../../helpers/s3-client.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { through } from '../../helpers/through.ts'
import { IS_SOAK } from '../../helpers/tier.ts'
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

const ORDERS = IS_SOAK ? 6 : 2
let changes = 0
/** Changes the content of each event, so that the next publish writes. */
function change() {
  changes += 1
  return warehouse.run(`update job_change_events set detection_lag_days = ${changes}`)
}

const proof = (store: Awaited<ReturnType<typeof openStore>>) =>
  verifySnapshot({ store, snapshotId: null, scratchFolder: temporaryFolder() })

const WRITES = IS_SOAK ? [1, 3, 6, 9, 12] : [1, 6, 9]
it(`credentials that expire at write ${WRITES.join(', ')} of a publish: exit 7 names them, readers see a whole snapshot, and new ones finish it`, async () => {
  const { server, store } = await newStore()
  await publish(warehouse, store)
  let failed = 0
  for (const nth of WRITES) {
    await change()
    const fault = { action: 'status', status: 400, code: 'ExpiredToken', nth, times: 99 } as const
    server.setFaults([{ operation: 'PutObject', ...fault }])
    const error = await publish(warehouse, store).catch((thrown: unknown) => thrown)
    server.setFaults([])
    // A publish with fewer writes finishes before.
    if (!(error instanceof JobtideError)) continue
    failed += 1
    expect(error.exitCode).toBe(EXIT.publishFailed)
    expect(error.message).toMatch(/ did not (?:write|remove) .*ExpiredToken\)/)
    expect(error.hint).toContain('AWS_SESSION_TOKEN')
    // The Delta logs follow the pointer: the next publish updates them.
    const { findings, rows } = await proof(store)
    const wrong = findings.filter(({ kind }) => kind !== 'delta' && kind !== 'current')
    expect({ wrong, rows }).toEqual({ wrong: [], rows: 320 })
    await publish(warehouse, store)
    expect((await proof(store)).findings).toEqual([])
  }
  expect(failed).toBeGreaterThan(1)
})

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

it('a replica that gets the objects of 2 snapshots in any order shows a whole one, or names what is missing', async () => {
  const { server, store } = await newStore()
  await publish(warehouse, store)
  const first = await readCurrent(store)
  const older = server.objects()
  await change()
  const { snapshotId } = await publish(warehouse, store)
  const ids = [first?.pointer.snapshot_id, snapshotId]
  const objects = [...older, ...server.objects()].map(([key, { body }]) => ({ key, body }))
  const random = seededRandom(7)
  const seen = { whole: 0, refused: 0, empty: 0 }
  for (let order = 0; order < ORDERS; order += 1) {
    const replica = (await newStore()).store
    const shuffled = objects
      .map((object) => ({ ...object, at: random() }))
      .toSorted((a, b) => a.at - b.at)
    for (const [nth, { key, body }] of shuffled.entries()) {
      await replica.put(key.replace('root/', ''), body)
      if (nth % 8 > 0 && nth < shuffled.length - 1) continue
      const proved = await proof(replica).catch((error: unknown) => error)
      if (proved instanceof JobtideError) seen.empty += 1
      else if ((proved as Awaited<ReturnType<typeof proof>>).findings.length > 0) seen.refused += 1
      else {
        seen.whole += 1
        expect(proved).toMatchObject({ rows: 320 })
        expect(ids).toContain((await readCurrent(replica))?.pointer.snapshot_id)
      }
    }
  }
  expect(seen.refused).toBeGreaterThan(6)
})
