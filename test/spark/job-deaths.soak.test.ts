/**
 * Publishes that are killed, or whose Spark job is, and two at once. A stand-in does the job (stand-in-job.mjs), so
 * that a kill costs seconds; 2 kills, 20 in `npm run test:soak`. JOBTIDE_KILLS and JOBTIDE_KILL_SEED choose others.
 */

import { copyFileSync, cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/simulator/random.ts'
import { DAY } from '../../src/support/units.ts'
import { done, openSite, type Site } from '../helpers/run-cli.ts'
import { rounds, seedOf } from '../helpers/tier.ts'
import { differences, manifestAt } from './compare.ts'

const KILLS = rounds('JOBTIDE_KILLS', 2, 20)
const SEED = seedOf('JOBTIDE_KILL_SEED')
const PACE_MS = 20
const HELPERS = import.meta.dirname

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

const STAND_IN = [process.execPath, join(HELPERS, 'stand-in-job.mjs'), 'built.duckdb', `${PACE_MS}`]

/** A night that Spark has published, an unpublished one after it, and DuckDB's result for both. */
async function twoNights() {
  const site = await openSite({
    companies: 6,
    events: 6_000,
    pipelineLines: ['build:', `  submit: ${JSON.stringify(STAND_IN)}`],
  })
  const at = (name: string) => join(site.folder, name)
  const night = async (engine: 'spark' | 'duckdb') => {
    done(await site.call(['run', site.pipeline, '--no-publish', '--days', '60']))
    copyFileSync(join(site.dataDir, 'jobtide.duckdb'), at('built.duckdb'))
    const args = publishArgs(site, { data: site.dataDir, lake: at(engine) }, engine)
    done(await site.run(args))
  }
  await night('spark')
  site.advance(DAY)
  await night('duckdb')
  const before = await manifestAt(at('spark'))
  const wanted = await manifestAt(at('duckdb'))
  expect((await differences(before, wanted)).length).toBeGreaterThan(20)
  /** A copy of the state before the second night is published. */
  const trial = (name: string) => {
    const of = { data: at(`${name}-data`), lake: at(`${name}-lake`) }
    cpSync(site.dataDir, of.data, { recursive: true })
    cpSync(at('spark'), of.lake, { recursive: true })
    return of
  }
  /** Whether the snapshot is the whole new one rather than the previous one. */
  const isNew = async (lake: string, story: string): Promise<boolean> => {
    const now = await manifestAt(lake)
    const is = now.snapshot_id !== before.snapshot_id
    if (is) expect(await differences(now, wanted), story).toEqual([])
    else expect(now, story).toEqual({ ...before, destination: now.destination })
    return is
  }
  return { site, at, before, wanted, trial, isNew }
}

describe('a Spark build', () => {
  it(`leaves the previous snapshot or the whole new one after ${KILLS} kills of job or publisher`, async () => {
    const { site, wanted, trial, isNew } = await twoNights()
    const random = seededRandom(SEED)
    const { tookMs } = done(await site.run(publishArgs(site, trial('clean'))))
    let kept = 0
    for (let kill = 0; kill < KILLS; kill += 1) {
      const of = trial(`kill-${kill}`)
      const ofJob = kill % 2 === 0
      const afterMs = Math.round(random() * tookMs)
      const story = `seed ${SEED}, kill ${kill} of the ${ofJob ? 'job' : 'publisher'} after ${afterMs} ms`
      // Relative to the job: it takes about half the time of its publish.
      const env = ofJob ? { STAND_IN_DIES_AFTER_MS: String(afterMs / 2) } : {}
      const running = site.start(publishArgs(site, of), { env })
      if (!ofJob) {
        await pause(afterMs)
        running.process.kill('SIGKILL')
      }
      const { exitCode, stderr } = await running.ended
      if (ofJob && exitCode !== 0)
        expect(stderr, story).toContain('the Spark job ended with SIGKILL')
      if (!(await isNew(of.lake, story))) kept += 1
      done(await site.run(publishArgs(site, of)))
      // Not earlier, because a publish that dies after its pointer moved leaves its Delta logs to the next one.
      const verified = await site.call(['verify', of.lake, '--data-dir', of.data])
      expect(verified.exitCode, `${story}: ${verified.stdout}`).toBe(0)
      expect(await differences(await manifestAt(of.lake), wanted), story).toEqual([])
    }
    expect(kept).toBeGreaterThan(0)
  }, 600_000)

  it('published twice at once is published by one, and the other says so', async () => {
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
