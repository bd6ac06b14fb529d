/**
 * Publishing to a folder on a disk that fails: full, or with input/output errors, at any call that touches the folder,
 * once or from then on, also in the middle of a file.
 */

import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { pick, seededRandom, type Random } from '../../../src/simulator/random.ts'
import { newUlid } from '../../../src/support/ulid.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/support/units.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../../helpers/warehouse.ts'
import { newFolder } from '../fixtures.ts'
import { lakeTables } from '../lake-fixtures.ts'
import {
  contentsOf,
  expectKnownEnd,
  Witness,
  type Contents,
  type Seen,
} from './uploads-under-fire-checks.ts'
import { disk, type DiskFault } from './uploads-under-fire-disk.ts'
import {
  aNightOf,
  firedWarehouse,
  jumpingClock,
  publishAndSweep,
  SEED,
  UPLOADS as ALL_UPLOADS,
  type Outcome,
} from './uploads-under-fire-world.ts'

vi.mock('node:fs', async () => (await import('./uploads-under-fire-disk.ts')).fallibleFs())
vi.mock('node:fs/promises', async () =>
  (await import('./uploads-under-fire-disk.ts')).fallibleFsPromises(),
)

// Most uploads of the suite go to S3.
const UPLOADS = Math.ceil(ALL_UPLOADS / 4)
// What brings an object into the folder.
const WRITING = ['copyFile', 'writeFile', 'sync', 'linkSync', 'renameSync', 'fsyncSync']
const clock = jumpingClock()

/** What a process killed or failed long ago has left looks like this. */
function age(folder: string): void {
  if (!existsSync(folder)) return
  const old = (Date.now() - 25 * HOUR) / SECOND
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), old, old)
}

describe(`publishing to a folder of a failing disk, seed ${SEED}`, () => {
  it(
    `leaves ${UPLOADS} times a whole snapshot, and the next publish finishes`,
    async () => {
      const random = seededRandom(SEED)
      const fire = await FolderFire.begin(random)
      while (fire.hits.ENOSPC + fire.hits.EIO < UPLOADS) {
        const code = pick(random, ['ENOSPC', 'EIO'] as const)
        const times = pick(random, [1, 1, 2, 5, Number.POSITIVE_INFINITY])
        const only = random() < 0.5 ? undefined : pick(random, WRITING)
        const nth = 1 + Math.floor(random() * (only === undefined ? fire.calls : 6))
        await fire.publishOn({ code, only, nth, times })
        if (random() < 0.3) await fire.mend()
      }
      await fire.mend()
      process.stderr.write(`folder, seed ${SEED}: ${JSON.stringify(fire.hits)}\n`)
    },
    60_000 + UPLOADS * 3_000,
  )
})

/** A warehouse, a folder, and who looks at it. */
class FolderFire {
  /** Uploads that the disk failed. */
  readonly hits = { ENOSPC: 0, EIO: 0 }
  /** About how many calls of an upload can fail. */
  calls = 100
  readonly #random: Random
  readonly #warehouse: Warehouse
  readonly #witness: Witness
  readonly #root: string
  readonly #scratch = newFolder()
  /** What the warehouse held for the publisher of each snapshot. */
  readonly #held = new Map<string, Contents>()
  #currentId: string | null = null
  #nights = 0

  static async begin(random: Random): Promise<FolderFire> {
    const root = newFolder()
    const store = await openStore(root, { clock })
    const witness = new Witness(store, await memoryWarehouse({ threads: 1 }))
    return new FolderFire(random, await firedWarehouse(), witness, root)
  }

  constructor(random: Random, warehouse: Warehouse, witness: Witness, root: string) {
    this.#random = random
    this.#warehouse = warehouse
    this.#witness = witness
    this.#root = root
  }

  /** A night's upload while the disk fails like this; null: the same again on a disk that is well. */
  async publishOn(fault: DiskFault | null): Promise<{ outcome: Outcome; seen: Seen | null }> {
    if (fault !== null) await aNightOf(this.#warehouse, (this.#nights += 1), this.#random)
    // A lock that could not be removed names this process, which lives; ten minutes later it counts as abandoned.
    clock.advance(11 * MINUTE)
    const snapshotId = newUlid(clock.now())
    this.#held.set(snapshotId, await contentsOf(this.#warehouse, lakeTables))
    disk.breakDown(this.#root, fault)
    const outcome = await publishAndSweep({
      warehouse: this.#warehouse,
      tables: lakeTables,
      open: () => openStore(this.#root, { clock }),
      clock,
      scratchFolder: join(this.#scratch, 'scratch'),
      cacheFolder: join(this.#scratch, 'published'),
      snapshotId,
    })
    if (fault !== null && disk.struck > 0) this.hits[fault.code] += 1
    else if (fault?.only === undefined) this.calls = Math.max(100, disk.calls)
    disk.breakDown(this.#root, null)
    return { outcome, seen: await this.#check(outcome) }
  }

  /** A day later the disk is well: a publish is done, and nothing is left of all that went wrong. */
  async mend(): Promise<void> {
    for (const folder of ['in-flight', '.incoming']) age(join(this.#root, folder))
    clock.advance(25 * HOUR)
    const { outcome, seen } = await this.publishOn(null)
    expect(outcome.error).toBeUndefined()
    expect(outcome.sweep?.reason).toBeNull()
    if (seen === null) throw new Error('nothing was published')
    await this.#witness.prove(seen.manifest, clock)
    expect(existsSync(join(this.#root, 'in-flight'))).toBe(false)
    const left = readdirSync(join(this.#root, '.incoming'))
    expect(left.filter((name) => !name.endsWith('.lock'))).toEqual([])
  }

  async #check(outcome: Outcome): Promise<Seen | null> {
    const { report, snapshotId } = outcome
    expectKnownEnd(outcome)
    const seen = await this.#witness.look()
    const seenId = seen?.manifest.snapshot_id ?? null
    if (report === undefined) expect([this.#currentId, snapshotId]).toContain(seenId)
    else {
      expect(seenId).toBe(report.unchanged ? this.#currentId : snapshotId)
      expect(seen?.contents).toEqual(this.#held.get(snapshotId))
    }
    expect(seen?.contents).toEqual(seenId === null ? undefined : this.#held.get(seenId))
    this.#currentId = seenId
    return seen
  }
}
