/** Whatever goes wrong between a publisher and its store, readers see a whole snapshot, and the next publish finishes. */

import fc from 'fast-check'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { collectGarbage } from '../../src/publish/gc/gc.ts'
import { parseKeep } from '../../src/publish/gc/retention.ts'
import { objectsOf } from '../../src/publish/manifest.ts'
import { listSnapshots, readCurrent } from '../../src/publish/read-snapshot.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { openStore } from '../../src/publish/store/open-store.ts'
import { verifySnapshot } from '../../src/publish/verify/verify.ts'
import { realClock, type Clock } from '../../src/support/clock.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { signInTo } from '../helpers/s3-client.ts'
import { startS3Server, type S3Fault, type S3Server } from '../helpers/s3-server.ts'
import { rounds } from '../helpers/tier.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { publish, smallWarehouse } from './fixtures.ts'

const ROUNDS = rounds('JOBTIDE_FAULTY_PUBLISHES', 6, 150)

const clock: Clock = { ...realClock, sleep: async (_ms, signal) => signal?.throwIfAborted() }

let server: S3Server
let store: ObjectStore
beforeAll(async () => {
  server = await startS3Server()
  signInTo(server)
  store = await openStore(`s3://${server.bucket}/lake`, { clock, s3Endpoint: server.endpoint })
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await server.close()
})

const faults = fc.array(
  fc
    .tuple(
      fc.record({
        operation: fc.constantFrom('PutObject', 'GetObject', 'ListObjectsV2', 'DeleteObjects'),
        nth: fc.integer({ min: 1, max: 20 }),
        times: fc.constantFrom(1, 4, 99),
      }),
      fc.oneof(
        fc.record({ action: fc.constant('status'), status: fc.constantFrom(403, 409, 500, 503) }),
        fc.record({ action: fc.constantFrom('reset', 'reset-after-commit', 'cut') }),
      ),
    )
    .map(([where, what]) => ({ ...where, ...what })),
  { minLength: 1, maxLength: 3 },
) as fc.Arbitrary<S3Fault[]>

/** What a snapshot names and the store has not. */
async function missing(): Promise<string[]> {
  const there = new Set((await store.list('tables/')).map(({ key }) => key))
  const manifests = await listSnapshots(store)
  return manifests
    .flatMap(objectsOf)
    .map(({ key }) => key)
    .filter((key) => !there.has(key))
}

it(`${ROUNDS} publishes with 1 to 3 kinds of faults leave every snapshot whole, and the one after each is proved`, async () => {
  const warehouse = await smallWarehouse()
  await publish(warehouse, store, { clock })
  const gc = { store, keep: parseKeep(2), olderThanMs: 0, logger: silentLogger }
  const seen = { failed: 0, published: 0 }
  let round = 0
  const change = () => {
    round += 1
    return warehouse.run(
      `update job_change_events set detection_lag_days = ${round} where event_type = 'left'`,
    )
  }
  await fc.assert(
    fc.asyncProperty(faults, async (injected) => {
      await change()
      server.setFaults(injected)
      await publish(warehouse, store, { clock })
        .then(() => collectGarbage(gc))
        .then(
          () => (seen.published += 1),
          () => (seen.failed += 1),
        )
      server.setFaults([])
      expect(await missing()).toEqual([])

      await change()
      const report = await publish(warehouse, store, { clock })
      expect((await readCurrent(store))?.pointer.snapshot_id).toBe(report.snapshotId)
      await collectGarbage(gc)
      expect(await missing()).toEqual([])
      const scratchFolder = join(temporaryFolder(), 'verify')
      const { findings, rows } = await verifySnapshot({ store, snapshotId: null, scratchFolder })
      expect({ findings, rows }).toEqual({ findings: [], rows: 320 })
    }),
    { numRuns: ROUNDS, endOnFailure: true },
  )
  expect(seen.failed + seen.published).toBe(ROUNDS)
  warehouse.close()
}, 1_200_000)
