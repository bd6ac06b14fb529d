/**
 * Two publishers with different rows at one destination, each with its own connection, with random pauses before each
 * thing they do: who moves the pointer wins, who comes too late says so, and nothing of the two is ever mixed.
 */

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { mixSeeds, seededRandom, type Random } from '../../../src/simulator/random.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { newUlid } from '../../../src/support/ulid.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import { signInTo } from '../../helpers/s3-credentials.ts'
import { startS3Server, type S3Server } from '../../helpers/s3-server.ts'
import { rounds } from '../../helpers/tier.ts'
import { memoryWarehouse } from '../../helpers/warehouse.ts'
import { meetAtPointer, newFolder, storeAfter } from '../fixtures.ts'
import { lakeTables } from '../lake-fixtures.ts'
import { bucketEyes, contentsOf, Witness, type Contents } from './uploads-under-fire-checks.ts'
import {
  aNightOf,
  firedWarehouse,
  jumpingClock,
  openLine,
  publishAndSweep,
  SEED,
  type Outcome,
} from './uploads-under-fire-world.ts'

const ENCOUNTERS = rounds('JOBTIDE_ENCOUNTERS', 4, 50)
const LONGEST_PAUSE_MS = 4

const clock = jumpingClock()
let server: S3Server

beforeAll(async () => {
  server = await startS3Server({ storageClock: clock })
  signInTo(server)
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await server.close()
})

/** A machine that publishes. */
interface Machine {
  readonly warehouse: Warehouse
  readonly folder: string
}

/** Both publish at once; `connect` may put something between a publisher and its store. */
async function bothPublish(
  machines: readonly Machine[],
  prefix: string,
  held: Map<string, Contents>,
  connect: (store: ObjectStore, index: number) => ObjectStore,
  headStartMs = 0,
): Promise<Outcome[]> {
  const publishing = machines.map(async ({ warehouse, folder }, index) => {
    if (index > 0) await pause(headStartMs)
    const line = await openLine(server.endpoint)
    const snapshotId = newUlid(clock.now())
    held.set(snapshotId, await contentsOf(warehouse, lakeTables))
    const s3Endpoint = line.endpoint
    const outcome = await publishAndSweep({
      warehouse,
      tables: lakeTables,
      open: async () =>
        connect(await openStore(`s3://${server.bucket}/${prefix}`, { clock, s3Endpoint }), index),
      clock,
      scratchFolder: join(folder, 'scratch'),
      cacheFolder: join(folder, 'published'),
      snapshotId,
    })
    line.cut()
    return outcome
  })
  return Promise.all(publishing)
}

/** A store that hesitates before everything it is asked. */
function hesitating(store: ObjectStore, random: Random): ObjectStore {
  return storeAfter(store, async () => {
    if (random() < 0.5) await pause(random() * LONGEST_PAUSE_MS)
  })
}

async function twoMachines(): Promise<Machine[]> {
  const warehouses = [await firedWarehouse('first'), await firedWarehouse('second')]
  return warehouses.map((warehouse) => ({ warehouse, folder: newFolder() }))
}

async function newWitness(prefix: string): Promise<Witness> {
  return new Witness(bucketEyes(server, `${prefix}/`), await memoryWarehouse({ threads: 1 }))
}

/** Fails unless this is how a publisher ends that was not the first. */
function expectLost({ error, report }: Outcome): void {
  expect(report).toBeUndefined()
  expect(error).toMatchObject({
    exitCode: EXIT.publishFailed,
    message: expect.stringMatching(/^another publisher moved .*latest\.json from .* to 01/),
  })
}

describe(`two publishers at once, seed ${SEED}`, () => {
  it('that meet at the pointer: one wins, the other ends with exit code 7', async () => {
    const held = new Map<string, Contents>()
    const outcomes = await bothPublish(await twoMachines(), 'meeting', held, meetAtPointer(2))
    const winners = outcomes.filter(({ report }) => report !== undefined)
    expect(winners).toHaveLength(1)
    for (const outcome of outcomes) if (!winners.includes(outcome)) expectLost(outcome)
    const witness = await newWitness('meeting')
    const seen = await witness.look()
    expect(seen?.manifest.snapshot_id).toBe(winners[0]?.snapshotId)
    expect(seen?.contents).toEqual(held.get(winners[0]?.snapshotId ?? ''))
  })

  it(`${ENCOUNTERS} times with random pauses: readers see one or the other, never a mixture`, async () => {
    const held = new Map<string, Contents>()
    const machines = await twoMachines()
    const witness = await newWitness('pairs')
    const counts = { met: 0, 'one after the other': 0, one: 0 }
    let before: string | null = null
    /** How long a publish takes on this machine now. */
    let lastedMs = 500
    for (let n = 1; n <= ENCOUNTERS; n += 1) {
      const random = seededRandom(mixSeeds(SEED, n))
      for (const [index, { warehouse }] of machines.entries()) {
        await aNightOf(warehouse, 2 * n + index, random)
      }
      let isOver = false
      const watching = watch(witness, held, () => isOver)
      const hesitate = (store: ObjectStore, index: number) =>
        hesitating(store, seededRandom(mixSeeds(SEED, n, index)))
      const headStartMs = random() < 0.4 ? 0 : random() * lastedMs
      const beganAt = performance.now()
      const outcomes = await bothPublish(machines, 'pairs', held, hesitate, headStartMs)
      lastedMs = performance.now() - beganAt - headStartMs
      isOver = true
      await watching
      const [losers, others] = split(outcomes, ({ report }) => report === undefined)
      for (const loser of losers) expectLost(loser)
      // Who has nothing new publishes nothing.
      const winners = others.filter(({ report }) => report?.unchanged === false)
      const kind =
        losers.length === 1 ? 'met' : winners.length === 2 ? 'one after the other' : 'one'
      counts[kind] += 1

      const seen = await witness.look()
      if (seen === null) throw new Error('nothing was published')
      const { snapshot_id: id, previous } = seen.manifest
      expect(seen.contents).toEqual(held.get(id))
      const [first, last] = split(winners, ({ snapshotId }) => snapshotId !== id)
      expect(id).toBe(winners.length === 0 ? before : last[0]?.snapshotId)
      if (last.length > 0)
        expect(previous?.snapshot_id ?? null).toBe(first[0]?.snapshotId ?? before)
      await witness.prove(seen.manifest, clock)
      before = id
    }
    expect(counts.met).toBeGreaterThan(0)
    process.stderr.write(`pairs, seed ${SEED}: ${JSON.stringify(counts)}\n`)
  }, 600_000)
})

/** Those for whom `test` holds, and the others. */
function split<T>(all: readonly T[], test: (one: T) => boolean): [T[], T[]] {
  return [all.filter(test), all.filter((one) => !test(one))]
}

/** Reads the published set again and again while others publish. */
async function watch(
  witness: Witness,
  held: ReadonlyMap<string, Contents>,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const seen = await witness.look()
    if (seen !== null) expect(seen.contents).toEqual(held.get(seen.manifest.snapshot_id))
    await pause(20)
  }
}
