/**
 * Publishes whose Spark job, or who themselves, are killed, and two at once. A stand-in does the job (stand-in-job.mjs), so that
 * a kill costs seconds; 2 kills, 20 in `npm run test:soak`. JOBTIDE_KILLS and JOBTIDE_KILL_SEED choose others.
 */

import { copyFileSync, cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { realClock } from '../../src/support/clock.ts'
import { DAY } from '../../src/support/units.ts'
import { done, openSite, type Site } from '../helpers/run-cli.ts'
import { rounds, seedOf } from '../helpers/tier.ts'
import { manifestIn } from '../publish/fixtures.ts'
import { differences } from './compare.ts'

const KILLS = rounds('JOBTIDE_KILLS', 2, 20)
const SEED = seedOf('JOBTIDE_KILL_SEED')
const PACE_MS = 20

const manifestAt = (lake: string) => manifestIn(openFolderStore(lake, realClock))

const publishArgs = (
  site: Site,
  { data, lake }: { data: string; lake: string },
  engine = 'spark',
) => [
  'publish',
  '--pipeline',
  site.pipeline,
  '--engine',
  engine,
  '--data-dir',
  data,
  '--snapshot-to',
  lake,
]

/** A night that is published by Spark, one after it that is not yet, and what DuckDB makes of both. */
async function twoNights() {
  const site = await openSite({
    companies: 6,
    events: 6_000,
    pipelineLines: [
      'build:',
      `  submit: [${process.execPath}, ${join(import.meta.dirname, 'stand-in-job.mjs')}, built.duckdb, "${PACE_MS}"]`,
    ],
  })
  const at = (name: string) => join(site.folder, name)
  const night = async (engine: readonly string[]) => {
    done(await site.call(['run', site.pipeline, '--no-publish', '--days', '60']))
    copyFileSync(join(site.dataDir, 'jobtide.duckdb'), at('built.duckdb'))
    for (const lake of engine) {
      done(await site.call(publishArgs(site, { data: site.dataDir, lake: at(lake) }, lake)))
    }
  }
  await night(['spark'])
  site.advance(DAY)
  await night(['duckdb'])
  const before = await manifestAt(at('spark'))
  const wanted = await manifestAt(at('duckdb'))
  expect((await differences(before, wanted)).length).toBeGreaterThan(20)
  return { site, at, before, wanted }
}

describe('a Spark build', () => {
  it(`leaves the snapshot before, or the whole new one, at ${KILLS} kills of job or publisher`, async () => {
    const { site, at, before, wanted } = await twoNights()
    const random = seededRandom(SEED)
    const trial = (name: string) => {
      const of = { data: at(`${name}-data`), lake: at(`${name}-lake`) }
      cpSync(site.dataDir, of.data, { recursive: true })
      cpSync(at('spark'), of.lake, { recursive: true })
      return of
    }
    const { tookMs } = done(await site.run(publishArgs(site, trial('clean'))))
    let kept = 0
    for (let kill = 0; kill < KILLS; kill += 1) {
      const of = trial(`kill-${kill}`)
      const ofJob = kill % 2 === 0
      const afterMs = Math.round(random() * tookMs)
      const story = `seed ${SEED}, kill ${kill} of the ${ofJob ? 'job' : 'publisher'} after ${afterMs} ms`
      // Of its own time: a job takes about half of that of its publish.
      const env = ofJob ? { STAND_IN_DIES_AFTER_MS: String(afterMs / 2) } : {}
      const running = site.start(publishArgs(site, of), { env })
      if (!ofJob) {
        await pause(afterMs)
        running.process.kill('SIGKILL')
      }
      const { exitCode, stderr } = await running.ended
      if (ofJob && exitCode !== 0)
        expect(stderr, story).toContain('the Spark job ended with SIGKILL')
      const now = await manifestAt(of.lake)
      const isNew = now.snapshot_id !== before.snapshot_id
      if (!isNew) kept += 1
      if (isNew) expect(await differences(now, wanted), story).toEqual([])
      else expect(now, story).toEqual({ ...before, destination: now.destination })
      done(await site.run(publishArgs(site, of)))
      // Not before: a publish that dies after its pointer moved leaves its Delta logs to the next one.
      const verified = await site.call(['verify', of.lake, '--data-dir', of.data])
      expect(verified.exitCode, `${story}: ${verified.stdout}`).toBe(0)
      expect(await differences(await manifestAt(of.lake), wanted), story).toEqual([])
    }
    expect(kept).toBeGreaterThan(0)
  }, 600_000)

  it('that is published by two at once is published by one, and the other says so', async () => {
    const { site, at, before, wanted } = await twoNights()
    cpSync(site.dataDir, at('other-data'), { recursive: true })
    const both = [site.dataDir, at('other-data')].map((data) =>
      site.run(publishArgs(site, { data, lake: at('spark') })),
    )
    const ended = await Promise.all(both)
    const won = ended.filter(({ exitCode }) => exitCode === 0)
    const lost = ended.filter(({ exitCode }) => exitCode !== 0)
    expect([won.length, lost.length]).toEqual([1, 1])
    expect(lost[0]?.stderr).toMatch(/another publisher (?:moved|has written)/)
    const now = await manifestAt(at('spark'))
    expect(now.snapshot_id).not.toBe(before.snapshot_id)
    expect(await differences(now, wanted)).toEqual([])
    done(await site.run(publishArgs(site, { data: at('other-data'), lake: at('spark') })))
    expect(await differences(await manifestAt(at('spark')), wanted)).toEqual([])
  }, 120_000)
})
