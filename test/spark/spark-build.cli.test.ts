/**
 * Nights whose models Spark builds, after a backfill that DuckDB published: after each night, every table equals the
 * one that DuckDB builds from the same rows. One night if JOBTIDE_SPARK_PYTHON names a Python with PySpark; 5 in `npm
 * run test:soak`, or JOBTIDE_SPARK_NIGHTS. Before the second, two people are erased; from the third on, a table has a
 * new column, and tables are split by year. After the last, a build of the same rows publishes nothing.
 */

import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { worldSightings } from '../../src/simulator/world.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { DAY, MINUTE } from '../../src/support/units.ts'
import { done, openSite, worldOf, type Site } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { rounds } from '../helpers/tier.ts'
import { differences, manifestAt } from './compare.ts'
import { environmentOf, findPython, submitCommand } from './python.ts'

const NIGHTS = rounds('JOBTIDE_SPARK_NIGHTS', 1, 5)
const COMPANIES = 12
const BETWEEN_NIGHTS = 6 * DAY
const { python, why } = findPython()

/**
 * A copy of the command line in which `detection_lag` has one more column, and tables are split by year like large
 * ones.
 */
function installNewer(): string {
  const folder = temporaryFolder()
  for (const name of ['dist', 'sql', 'spark', 'config', 'pipelines', 'package.json']) {
    cpSync(join(packageRoot, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'node_modules'))
  const edit = (path: readonly string[], ...replaced: readonly [string, string][]) => {
    const file = join(folder, ...path)
    let text = readFileSync(file, 'utf8')
    for (const [from, to] of replaced) {
      expect(text.split(from), from).toHaveLength(2)
      text = text.replace(from, to)
    }
    writeFileSync(file, text)
  }
  const last = ' as first_seen_lag_days_p99\n'
  edit(
    ['sql', 'models', 'marts', 'detection_lag.sql'],
    ['\nwith\n', '\n--   lag_days_max: The most days after which one was detected.\nwith\n'],
    [last, `${last.trimEnd()},\n    max(lag_days) as lag_days_max\n`],
  )
  edit(['dist', 'publish', 'export.js'], ['SPLIT_ABOVE_ROWS = 1_000_000', 'SPLIT_ABOVE_ROWS = 100'])
  // The separate modules, one of them edited.
  return join(folder, 'dist', 'cli', 'process.js')
}

/** The new and changed events of a night, as reported by its run. */
interface Loaded {
  readonly load: { readonly inserted: number; readonly updated: number }
}

/** Two people of the warehouse, erased everywhere. */
async function forgetTwo(site: Site): Promise<void> {
  const people = await site.query<{ profile_id: string }>(
    'select profile_id from people order by 1 limit 2',
  )
  const ids = people.map(({ profile_id: id }) => id)
  expect(ids).toHaveLength(2)
  done(await site.run(['forget', ...ids, '--yes', '--pipeline', site.pipeline]))
}

/** Enough events that one is corrected in the coming nights. */
function eventsWithCorrections(): number {
  const until = Date.now() + NIGHTS * BETWEEN_NIGHTS
  for (let events = 4_000; ; events += 1_000) {
    const world = worldOf({ companies: COMPANIES, events })
    const isCorrected = [...worldSightings(world)].some(({ event, isCorrection }) => {
      const at = Date.parse(event.detected_at)
      return isCorrection && at > Date.now() && at < until
    })
    if (isCorrected) return events
  }
}

describe.skipIf(python === null)(`models that Spark builds ${why && `(skipped: ${why})`}`, () => {
  it('are built by a package whose own tests pass', () => {
    const args = ['-m', 'unittest', 'discover', '-s', 'tests', '-t', '.']
    execFileSync(python ?? '', args, { cwd: join(packageRoot, 'spark'), stdio: 'pipe' })
  })

  it(
    `equal those of DuckDB after each of ${NIGHTS} nights: with corrected and late events, erased people from the second, and a new column from the third`,
    { timeout: 180 * MINUTE },
    async () => {
      const submit = JSON.stringify(submitCommand(python ?? ''))
      const site = await openSite({
        companies: COMPANIES,
        events: eventsWithCorrections(),
        pipelineLines: [`build: {engine: spark, submit: ${submit}}`],
      })
      const env = environmentOf(python ?? '')
      const newer = installNewer()
      const lake = join(site.dataDir, 'snapshots')
      let updated = 0
      for (let night = 0; night <= NIGHTS; night += 1) {
        if (night === 2) await forgetTwo(site)
        const cli = night >= 3 ? { cli: newer } : {}
        const how = night === 0 ? ['--days', '300', '--engine', 'duckdb'] : ['--days', '365']
        const ran = done(await site.run(['run', site.pipeline, ...how, '--json'], { env, ...cli }))
        const { load } = JSON.parse(ran.stdout) as Loaded
        expect(load.inserted, `night ${night}`).toBeGreaterThan(0)
        site.advance(BETWEEN_NIGHTS)
        if (night === 0) continue
        updated += load.updated
        done(await site.run(['build'], cli))
        const ofDuckDb = join(temporaryFolder(), 'lake')
        const to = ['--pipeline', site.pipeline, '--snapshot-to', ofDuckDb]
        done(await site.run(['publish', '--engine', 'duckdb', ...to], cli))
        const built = await manifestAt(lake)
        expect(built.spark?.version, `night ${night}`).toMatch(/^4\./)
        const joiners = built.tables.find(({ name }) => name === 'joiners')
        expect(joiners?.partition_by === null, `night ${night}`).toBe(night < 3)
        expect(await differences(built, await manifestAt(ofDuckDb)), `night ${night}`).toEqual([])
      }
      expect(updated).toBeGreaterThan(0)
      const late = await site.query<{ n: number }>(
        `select count(*)::int as n from job_change_events
         where first_run_id <> (select min(first_run_id) from job_change_events)
           and first_seen_at - changed_at > interval 60 day`,
      )
      expect(late[0]?.n).toBeGreaterThan(0)
      if (NIGHTS === 1) return
      const { snapshot_id: last } = await manifestAt(lake)
      done(await site.run(['publish', '--pipeline', site.pipeline], { env, cli: newer }))
      expect((await manifestAt(lake)).snapshot_id).toBe(last)
    },
  )
})
