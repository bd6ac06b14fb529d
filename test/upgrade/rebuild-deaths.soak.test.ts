/**
 * SIGKILL and a full disk while a warehouse of an earlier version is rebuilt from the journal: the old file stays until
 * the new one is complete, the next command succeeds, and nothing is bought. Skipped where there is no /proc: README.md
 * says why.
 */

import { copyFileSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { sha256Hex } from '../../src/support/hash.ts'
import { lookBefore } from '../../src/warehouse/warehouse.ts'
import { done } from '../helpers/run-cli.ts'
import { smallDisk } from '../helpers/small-disk.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { siteOf, type UpgradeSite } from './fixtures.ts'

vi.setConfig({ testTimeout: 600_000 })

const KILLS = 24
const EVENTS = 57
const BOUGHT = { requests: 1, charged_pages: 1, credits: 10 }

const warehouseOf = (site: UpgradeSite) => join(site.dataDir, 'jobtide.duckdb')
const sha256Of = (site: UpgradeSite) => sha256Hex(readFileSync(warehouseOf(site)))

/** The number of schema files that the warehouse lacks; it holds every event. */
async function lacksOf(site: UpgradeSite): Promise<number> {
  const looked = await lookBefore(warehouseOf(site), async (open, lacks) => ({
    lacks,
    events: await open.number('select count(*) from job_change_events'),
  }))
  expect(looked?.events).toBe(EVENTS)
  return looked?.lacks ?? -1
}

/**
 * Kills a build this many milliseconds after it began a new file.
 * @returns how long it lived after that
 */
async function killedBuild(site: UpgradeSite, afterMs: number): Promise<number> {
  const madeAt = () =>
    statSync(`${warehouseOf(site)}.replay`, { throwIfNoEntry: false })?.birthtimeMs
  // The leftovers of the last kill.
  const left = madeAt()
  const build = site.start('build')
  let isOver = false
  const ended = build.ended.finally(() => {
    isOver = true
  })
  while (!isOver && [undefined, left].includes(madeAt())) await pause(5)
  const begunAt = performance.now()
  while (!isOver && performance.now() - begunAt < afterMs) await pause(5)
  build.process.kill('SIGKILL')
  await ended
  return performance.now() - begunAt
}

describe.skipIf(!existsSync('/proc/self/cwd'))(
  'the rebuild of a warehouse of an earlier version',
  () => {
    it.each(['0.11.0', '0.12.0'] as const)(
      `of %s is killed ${KILLS} times: the file is the old one, byte for byte, or the whole new one`,
      async (version) => {
        const site = await siteOf(version, 'nobody-erased')
        const old = sha256Of(site)
        const lacked = await lacksOf(site)
        expect(lacked).toBeGreaterThan(0)
        const saved = join(site.folder, 'saved.duckdb')
        copyFileSync(warehouseOf(site), saved)
        const tookMs = await killedBuild(site, Number.POSITIVE_INFINITY)
        expect(await lacksOf(site)).toBe(0)
        let killed = 0
        for (let kill = 0; kill < KILLS; kill += 1) {
          if (sha256Of(site) !== old) copyFileSync(saved, warehouseOf(site))
          // From the start of the new file; the last kills come after it has replaced the old one.
          await killedBuild(site, (tookMs * (kill + 1)) / (KILLS - 1))
          const isOld = sha256Of(site) === old
          if (isOld) killed += 1
          // The leftovers of a killed engine do not disturb readers.
          expect(await lacksOf(site)).toBe(isOld ? lacked : 0)
          done(await site.call('status'))
        }
        expect(killed).toBeGreaterThan(KILLS / 2)
        process.stdout.write(`${version}: ${killed} of ${KILLS} kills left the old file\n`)
        done(await site.call('build'))
        expect(await lacksOf(site)).toBe(0)
        expect(existsSync(`${warehouseOf(site)}.replay`)).toBe(false)
        expect(site.simulator.account().requests).toBe(0)
        done(await site.call('run', 'test.yaml'))
        expect(site.simulator.account()).toMatchObject(BOUGHT)
      },
    )

    it.each([50, 1_000, 4_000, 8_000, 12_000])(
      'on a disk with %i kB free: exit 9, the old file stays, and with more space the next run continues',
      async (room) => {
        const around = temporaryFolder()
        const disk = smallDisk(null, around)
        if (disk === null) {
          process.stdout.write('skipped: no small file system can be mounted here\n')
          return
        }
        const site = await siteOf('0.11.0', 'nobody-erased', undefined, around)
        const old = sha256Of(site)
        const lacked = await lacksOf(site)
        disk.leave(room)
        for (const command of [['build'], ['run', 'test.yaml']]) {
          const refused = await site.call(...command)
          expect([command[0], refused.exitCode], refused.stderr).toEqual([command[0], 9])
          expect(sha256Of(site)).toBe(old)
          expect(await lacksOf(site)).toBe(lacked)
        }
        expect(existsSync(`${warehouseOf(site)}.replay`)).toBe(false)
        expect(site.simulator.account().requests).toBe(0)
        disk.enlarge()
        done(await site.call('run', 'test.yaml'))
        expect(site.simulator.account()).toMatchObject(BOUGHT)
      },
    )
  },
)
