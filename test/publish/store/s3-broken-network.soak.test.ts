/**
 * Publishes through a network that breaks connections at any byte, and verifies through a good one: on the S3 server of
 * these tests, or on the real one of `test/s3/radosgw.sh`.
 */

import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, expect, it, onTestFinished, vi } from 'vitest'
import { collectGarbage, parseKeep } from '../../../src/publish/retention.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { verifySnapshot } from '../../../src/publish/verify.ts'
import { seededRandom } from '../../../src/simulator/random.ts'
import { realClock } from '../../../src/support/clock.ts'
import { JobtideError } from '../../../src/support/errors.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { realBucket, realServer, signInTo } from '../../helpers/s3-client.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { rounds } from '../../helpers/tier.ts'
import { publish, smallWarehouse } from '../fixtures.ts'

const ROUNDS = rounds('JOBTIDE_BROKEN_NETWORKS', 3, 60)
// Most connections carry a few requests of a few kB.
const LONGEST_BYTES = 60_000

afterAll(() => void vi.unstubAllEnvs())

/** A proxy to a port that breaks each connection after this many bytes in both directions, while `isBroken`. */
async function openBrokenWay(port: number, random: () => number) {
  const way = { isBroken: false, broken: 0, port: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    let left = Infinity
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', end).on('close', end)
      from.on('data', (bytes: Buffer) => {
        if (!way.isBroken) left = Infinity
        else if (left === Infinity) left = random() * LONGEST_BYTES
        to.write(bytes.subarray(0, Math.max(0, left)))
        left -= bytes.length
        if (left >= 0) return
        way.broken += 1
        client.resetAndDestroy()
        upstream.resetAndDestroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  way.port = (server.address() as AddressInfo).port
  return way
}

it(`${ROUNDS} publishes over connections that break at any byte: done, or exit 7 and the previous snapshot is whole`, async () => {
  const isReal = realServer('ENDPOINT') !== ''
  const own = isReal ? null : await startS3Server()
  onTestFinished(() => own?.close())
  const target = own ?? (await realBucket())
  signInTo(target)
  const way = await openBrokenWay(Number(new URL(target.endpoint).port), seededRandom(ROUNDS))
  const openAt = (endpoint: string) =>
    openStore(`s3://${target.bucket}/root`, {
      clock: realClock,
      s3: { endpoint, region: target.region },
    })
  const straight = await openAt(target.endpoint)
  const warehouse = await smallWarehouse()
  onTestFinished(() => warehouse.close())
  const store = await openAt(`http://127.0.0.1:${way.port}`)
  let { snapshotId } = await publish(warehouse, store)
  let failed = 0
  for (let round = 1; round <= ROUNDS; round += 1) {
    await warehouse.run(`update job_change_events set detection_lag_days = ${round}`)
    way.isBroken = true
    try {
      ;({ snapshotId } = await publish(warehouse, store))
      await collectGarbage({ store, keep: parseKeep(2), olderThanMs: 0, logger: silentLogger })
    } catch (error) {
      if (!(error instanceof JobtideError)) throw error
      failed += 1
    }
    way.isBroken = false
    const proof = { store: straight, snapshotId: null, scratchFolder: temporaryFolder() }
    const { findings, rows } = await verifySnapshot(proof)
    const wrong = findings.filter(({ kind }) => kind !== 'delta' && kind !== 'current')
    expect({ wrong, rows }).toEqual({ wrong: [], rows: 320 })
  }
  await warehouse.run('update job_change_events set detection_lag_days = 0')
  expect((await publish(warehouse, store)).snapshotId).not.toBe(snapshotId)
  expect(way.broken).toBeGreaterThan(ROUNDS)
  process.stdout.write(
    `${way.broken} connections broken, ${failed} of ${ROUNDS} publishes failed\n`,
  )
}, 600_000)
