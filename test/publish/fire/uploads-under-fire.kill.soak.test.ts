/**
 * SIGKILL at random moments of `jobtide publish` into a folder: what readers see is whole after each, and after the next
 * publish `jobtide verify` proves it. 100 kills; JOBTIDE_PUBLISH_KILLS chooses others.
 */

import { existsSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { computedModels } from '../../../src/model/computed-models.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { LEASE_KEY } from '../../../src/publish/sweep/sweep-lease.ts'
import { seededRandom } from '../../../src/simulator/random.ts'
import { isoInstant, realClock } from '../../../src/support/clock.ts'
import { HOUR, SECOND } from '../../../src/support/units.ts'
import { publishedTables, readModelFiles } from '../../../src/warehouse/catalog.ts'
import { withWarehouse } from '../../../src/warehouse/warehouse.ts'
import { openSite, type Site } from '../../helpers/run-cli.ts'
import { rounds } from '../../helpers/tier.ts'
import { memoryWarehouse } from '../../helpers/warehouse.ts'
import { contentsOf, Witness, type Contents } from './uploads-under-fire-checks.ts'
import { SEED } from './uploads-under-fire-world.ts'

const KILLS = rounds('JOBTIDE_PUBLISH_KILLS', 20, 100)
// Then a publish is left alone and verified.
const SERIES = 5

const tables = [...publishedTables(readModelFiles()), ...computedModels]

/** A warehouse of 8 organisations, built and never published. */
async function builtSite(): Promise<Site> {
  const site = await openSite()
  const backfill = ['backfill', site.pipeline, '--days', 'all', '--no-publish']
  const { exitCode, stderr } = await site.run(backfill)
  expect(exitCode, stderr).toBe(0)
  return site
}

/** Changes rows of three tables; returns what the warehouse holds then. */
function changeRows(site: Site, n: number): Promise<Contents> {
  const path = join(site.dataDir, 'jobtide.duckdb')
  return withWarehouse({ path, mode: 'write' }, async (warehouse) => {
    await warehouse.run(`
      update job_change_events set title_current = 'Corrected ${n}' where hash(event_key) % 50 = ${n % 50};
      update joiners set title = 'Corrected ${n}' where hash(event_key) % 10 = ${n % 10};
      delete from leavers where hash(event_key) % 100 = ${n % 100}`)
    return contentsOf(warehouse, tables)
  })
}

/** Lets what killed publishers left look as if a day had passed, and the lease of a killed sweeper be over. */
function age(root: string, isIntentOld: boolean): void {
  const old = (Date.now() - 25 * HOUR) / SECOND
  for (const name of ['in-flight', '.incoming']) {
    const folder = join(root, name)
    if (!isIntentOld || !existsSync(folder)) continue
    for (const file of readdirSync(folder)) utimesSync(join(folder, file), old, old)
  }
  const path = join(root, LEASE_KEY)
  if (!existsSync(path)) return
  const lease = JSON.parse(readFileSync(path, 'utf8')) as { expires_at: string | null }
  if (lease.expires_at === null) return
  writeFileSync(path, JSON.stringify({ ...lease, expires_at: isoInstant(Date.now() - 2 * HOUR) }))
}

describe(`publishing to a folder and being killed, seed ${SEED}`, () => {
  it(
    `leaves ${KILLS} times a whole snapshot, proved after the next publish`,
    async () => {
      const random = seededRandom(SEED)
      const site = await builtSite()
      const root = join(site.folder, 'snapshots')
      const publish = ['publish', '--snapshot-to', root, '--keep', '3']
      let seen = await changeRows(site, 0)
      const first = await site.run(publish)
      expect(first.exitCode, first.stderr).toBe(0)
      const store = await openStore(root, { clock: realClock })
      const witness = new Witness(store, await memoryWarehouse({ threads: 1 }))
      let longestMs = first.tookMs
      let kills = 0
      let nights = 0
      let moved = 0

      const mend = async (isIntentOld: boolean) => {
        age(root, isIntentOld)
        const now = await changeRows(site, (nights += 1))
        const { exitCode, stderr, tookMs } = await site.run(publish)
        expect(exitCode, stderr).toBe(0)
        longestMs = tookMs
        const proof = await site.run(['verify', root])
        expect(proof.exitCode, proof.stdout + proof.stderr).toBe(0)
        expect((await witness.look())?.contents).toEqual(now)
        seen = now
      }

      while (kills < KILLS) {
        age(root, random() < 0.5)
        const now = await changeRows(site, (nights += 1))
        const running = site.start(publish)
        await Promise.race([pause(longestMs * (0.25 + 0.8 * random())), running.ended])
        running.process.kill('SIGKILL')
        const { exitCode, signal, stderr } = await running.ended
        const contents = (await witness.look())?.contents
        if (signal === null) {
          expect(exitCode, stderr).toBe(0)
          expect(contents).toEqual(now)
        } else {
          kills += 1
          expect([seen, now]).toContainEqual(contents)
          if (contents?.['joiners'] === now['joiners']) moved += 1
        }
        seen = contents ?? {}
        if (kills % SERIES === 0) await mend(random() < 0.5)
      }
      await mend(true)
      expect(existsSync(join(root, 'in-flight'))).toBe(false)
      process.stderr.write(`kill -9, seed ${SEED}: ${kills}, ${moved} after the pointer moved\n`)
    },
    120_000 + KILLS * 15_000,
  )
})
