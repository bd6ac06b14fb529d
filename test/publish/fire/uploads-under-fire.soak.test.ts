/**
 * Uploads to S3 in which something goes wrong: refusals, resets, lost answers, bodies that are cut, uploads in parts that
 * fail after a 200, publishers killed before or after any request. JOBTIDE_UPLOADS says how many; JOBTIDE_UPLOADS_SEED
 * repeats one.
 */

import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { INTENT_PREFIX, intentKey } from '../../../src/publish/sweep/intent.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { seededRandom, type Random } from '../../../src/simulator/random.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { newUlid } from '../../../src/support/ulid.ts'
import { HOUR } from '../../../src/support/units.ts'
import type { TableDefinition } from '../../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import type { S3Fault } from '../../helpers/s3-faults.ts'
import { signInTo } from '../../helpers/s3-credentials.ts'
import { startS3Server, type S3LogEntry, type S3Server } from '../../helpers/s3-server.ts'
import { memoryWarehouse } from '../../helpers/warehouse.ts'
import { newFolder } from '../fixtures.ts'
import { lakeTables } from '../lake-fixtures.ts'
import {
  bucketEyes,
  contentsOf,
  expectKnownEnd,
  Witness,
  type Contents,
} from './uploads-under-fire-checks.ts'
import { drawFaults, failuresInParts, type Draw } from './uploads-under-fire-faults.ts'
import {
  aNightOf,
  addLetters,
  firedWarehouse,
  jumpingClock,
  largeTable,
  lettersAnew,
  openLine,
  publishAndSweep,
  SEED,
  UPLOADS,
  type Outcome,
} from './uploads-under-fire-world.ts'

// Of the uploads some are of a large file; each of the others is small.
const IN_PARTS = Math.ceil(UPLOADS / 8)
// Then nobody is killed, a day passes, and all must be in order.
const SERIES = 6
const LONGEST_MS = 60_000 + UPLOADS * 5_000

const clock = jumpingClock()
let server: S3Server

beforeAll(async () => {
  server = await startS3Server({ storageClock: clock })
  signInTo(server)
})

// The SDK draws how long it pauses before it asks again: not at all.
beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  return () => vi.restoreAllMocks()
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await server.close()
})

describe(`publishing to S3 under fire, seed ${SEED}`, () => {
  it(
    `leaves ${UPLOADS - IN_PARTS} times a whole snapshot, and the next publish finishes`,
    async () => {
      const fire = await newFire('small', lakeTables, seededRandom(SEED))
      await fire.shoot(UPLOADS - IN_PARTS)
    },
    LONGEST_MS,
  )

  it(
    `leaves ${IN_PARTS} times a whole snapshot of files that go up in parts, and no part`,
    async () => {
      const fire = await newFire('large', [...lakeTables, largeTable], seededRandom(SEED + 1))
      await fire.shoot(IN_PARTS, failuresInParts)
    },
    LONGEST_MS,
  )
})

it('leaves no intent when the answers to it are lost 4 times and nobody was killed', async () => {
  const fire = await newFire('intents', lakeTables, seededRandom(SEED))
  const [put, answers] = [{ operation: 'PutObject', key: INTENT_PREFIX }, { times: 4 }] as const
  const outcome = await fire.publishUnder([{ ...put, ...answers, action: 'reset-after-commit' }])
  expect(outcome.error).toMatchObject({ exitCode: EXIT.publishFailed })
  expect([...server.objects().keys()].filter((key) => key.includes(INTENT_PREFIX))).toEqual([])
})

/** A warehouse, a destination, and who looks at it. */
async function newFire(name: string, tables: readonly TableDefinition[], random: Random) {
  const warehouse = await firedWarehouse()
  if (tables.includes(largeTable)) await addLetters(warehouse)
  return new Fire(name, tables, random, warehouse, await memoryWarehouse({ threads: 1 }))
}

class Fire {
  readonly #prefix: string
  readonly #tables: readonly TableDefinition[]
  readonly #random: Random
  readonly #warehouse: Warehouse
  readonly #witness: Witness
  readonly #folder = newFolder()
  /** What the warehouse held for the publisher of each snapshot. */
  readonly #held = new Map<string, Contents>()
  /** How many uploads each kind of trouble hit. */
  readonly #hits = new Map<string, number>()
  #currentId: string | null = null
  /** Uploads in parts that were open before the last upload. */
  #openBefore: ReadonlySet<string> = new Set()
  #nights = 0
  #caches = 0
  /** How many requests the last upload took that nothing hit. */
  #requests = 60

  constructor(
    prefix: string,
    tables: readonly TableDefinition[],
    random: Random,
    warehouse: Warehouse,
    reader: Warehouse,
  ) {
    this.#prefix = prefix
    this.#tables = tables
    this.#random = random
    this.#warehouse = warehouse
    this.#witness = new Witness(bucketEyes(server, `${prefix}/`), reader)
  }

  /** Goes on until `hits` uploads were hit, first by what is given, and then proves that all is in order. */
  async shoot(hits: number, first: readonly Draw[] = []): Promise<void> {
    const count = () => [...this.#hits.values()].reduce((total, one) => total + one, 0)
    for (let shots = 1; count() < hits; shots += 1) {
      await this.#shot(first[shots - 1])
      if (shots % SERIES === 0) await this.#mend()
    }
    await this.#mend()
    const counts = [...this.#hits].map(([trouble, times]) => `${trouble}: ${times}`).toSorted()
    process.stderr.write(`${this.#prefix}, seed ${SEED}: ${counts.join(', ')}\n`)
  }

  /** One upload under these faults. */
  async publishUnder(faults: readonly S3Fault[]): Promise<Outcome> {
    server.setFaults(faults)
    const outcome = await this.#publish({ compact: false })
    server.setFaults([])
    return outcome
  }

  /** One upload in which something goes wrong. */
  async #shot(given: Draw | undefined): Promise<void> {
    const random = this.#random
    // Then intents of killed publishers count no more, and the sweep is under fire, too.
    if (random() < 0.4) clock.advance(25 * HOUR)
    const inParts = await this.#changeSomething(given !== undefined)
    const draw = given ?? drawFaults(random, this.#requests, inParts)
    const logged = server.log().length
    this.#openBefore = new Set(server.uploads().map(({ uploadId }) => uploadId))
    server.setFaults(draw.faults)
    const outcome = await this.#publish({ compact: random() < 0.1 })
    const wasHit = server.faultsHit() > 0
    server.setFaults([])
    const log = server.log().slice(logged)
    if (wasHit) this.#hits.set(draw.trouble, (this.#hits.get(draw.trouble) ?? 0) + 1)
    else this.#requests = Math.max(10, log.length)
    await this.#check(outcome)
    if (draw.isKill && wasHit) return
    this.#checkLeftovers(outcome, log, draw)
  }

  /** Returns whether a file will go up in parts; `large`: one must. */
  async #changeSomething(large: boolean): Promise<boolean> {
    this.#nights += 1
    await aNightOf(this.#warehouse, this.#nights, this.#random)
    const inParts = large || (this.#tables.includes(largeTable) && this.#random() < 0.85)
    const all = large || this.#random() < 0.9
    if (inParts) await lettersAnew(this.#warehouse, this.#nights, all)
    return inParts
  }

  async #publish(choices: { compact: boolean }): Promise<Outcome> {
    // A machine that is new, or whose disk was lost, has to fetch what it compares with.
    if (this.#random() < 0.15) this.#caches += 1
    const line = await openLine(server.endpoint)
    const snapshotId = newUlid(clock.now())
    this.#held.set(snapshotId, await contentsOf(this.#warehouse, this.#tables))
    try {
      return await publishAndSweep({
        ...choices,
        warehouse: this.#warehouse,
        tables: this.#tables,
        open: () =>
          openStore(`s3://${server.bucket}/${this.#prefix}`, { clock, s3Endpoint: line.endpoint }),
        clock,
        scratchFolder: join(this.#folder, 'scratch'),
        cacheFolder: join(this.#folder, `published-${this.#caches}`),
        snapshotId,
      })
    } finally {
      line.cut()
    }
  }

  /** What readers see is the snapshot before or this one, all of it, and this one when it was said to be published. */
  async #check(outcome: Outcome): Promise<void> {
    const { snapshotId, report } = outcome
    expectKnownEnd(outcome)
    const seen = await this.#witness.look()
    const seenId = seen?.manifest.snapshot_id ?? null
    if (report === undefined) expect([this.#currentId, snapshotId]).toContain(seenId)
    else expect(seenId).toBe(report.unchanged ? this.#currentId : snapshotId)
    expect(seen?.contents).toEqual(seenId === null ? undefined : this.#held.get(seenId))
    if (report !== undefined) expect(seen?.contents).toEqual(this.#held.get(snapshotId))
    this.#currentId = seenId
  }

  /** Whoever was not killed has cleared up, unless the server kept it from that. */
  #checkLeftovers({ snapshotId }: Outcome, log: readonly S3LogEntry[], draw: Draw): void {
    const failed = (operation: S3LogEntry['operation'], of = '') =>
      log.some(
        (entry) => entry.operation === operation && entry.key.includes(of) && !isFine(entry.status),
      )
    const wereKept = draw.faults.some(({ action }) => action === 'refuse-keys')
    const isPartLost = failed('CreateMultipartUpload') || failed('AbortMultipartUpload')
    const known = this.#openBefore
    const added = server.uploads().filter(({ uploadId }) => !known.has(uploadId))
    if (!isPartLost) expect(added).toEqual([])
    const intent = intentKey(snapshotId)
    const isInDoubt = failed('PutObject', 'latest.json')
    if (isInDoubt || wereKept || failed('DeleteObjects')) return
    expect([...server.objects().keys()]).not.toContain(`${this.#prefix}/${intent}`)
  }

  /**
   * A day later somebody publishes what there was to publish, and nobody disturbs it: it is done, and nothing is left of
   * all that went wrong.
   */
  async #mend(): Promise<void> {
    clock.advance(25 * HOUR)
    const outcome = await this.#publish({ compact: false })
    await this.#check(outcome)
    expect(outcome.error).toBeUndefined()
    expect(outcome.sweep?.reason).toBeNull()
    const seen = await this.#witness.look()
    if (seen === null) throw new Error('nothing was published')
    await this.#witness.prove(seen.manifest, clock)
    expect(server.uploads()).toEqual([])
    const keys = [...server.objects().keys()]
    expect(keys.filter((key) => key.startsWith(`${this.#prefix}/${INTENT_PREFIX}`))).toEqual([])
  }
}

function isFine(status: number): boolean {
  return status >= 200 && status < 300
}
