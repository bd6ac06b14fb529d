/** What every pipeline of job changes that ships with Jobtide must hold: one suite, run for each of them. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../src/support/assets.ts'
import { DAY, MINUTE } from '../src/support/units.ts'
import { done, openSite, type Site } from './helpers/run-cli.ts'

const folder = join(packageRoot, 'pipelines')
const PIPELINES = readdirSync(folder)
  .filter((name) => !/^kind: collect$/m.test(readFileSync(join(folder, name), 'utf8')))
  .map((name) => name.replace(/\.yaml$/, ''))

interface Report {
  readonly complete: boolean
  readonly extract: { readonly pages: number; readonly events: number; readonly credits: number }
  readonly load: { readonly inserted: number; readonly updated: number; readonly rejected: number }
  readonly publish: { readonly new_files: number }
}

/** Runs the shipped pipeline over the site's organisations; the pace is lifted, so that a test does not wait for it. */
async function run(site: Site, pipeline: string): Promise<Report> {
  const pace = ['--requests-per-second', '1000']
  const list = ['--organizations', site.organizations]
  return JSON.parse(done(await site.run(['run', pipeline, ...list, ...pace, '--json'])).stdout)
}

const ledgerOf = (site: Site) =>
  site.query<{ credits: number; requests: number }>(
    'select cast(sum(credits_used) as integer) as credits, count(*) as requests from ops.pages',
  )

describe.each(PIPELINES)('pipeline %s', (pipeline) => {
  it('loads each event once, pays for each page once, leaves no gap, and a second run adds 0 rows and 0 files', async () => {
    const site = await openSite()
    const first = await run(site, pipeline)
    expect(first).toMatchObject({ complete: true, load: { updated: 0, rejected: 0 } })
    expect(first.load.inserted).toBeGreaterThan(100)
    expect(first.publish.new_files).toBeGreaterThan(8)

    const second = await run(site, pipeline)
    expect(second).toMatchObject({
      complete: true,
      load: { inserted: 0, updated: 0 },
      publish: { new_files: 0 },
    })
    expect(second.extract.pages).toBeLessThan(first.extract.pages)

    const [events] = await site.query<{ rows: number; keys: number }>(
      'select count(*) as rows, count(distinct event_key) as keys from job_change_events',
    )
    expect(events).toEqual({ rows: first.load.inserted, keys: first.load.inserted })
    const { credits, requests } = site.simulator.account()
    expect(await ledgerOf(site)).toEqual([{ credits, requests }])
    expect(
      await site.query(
        'select organization_id from ops.coverage group by organization_id having count(*) > 1',
      ),
    ).toEqual([])
  })
})

it('the nightly with a clock one day behind the service covers 8 organisations without a gap, no further than that clock, and asks a day more', async () => {
  const site = await openSite()
  await run(site, 'nightly')
  const covered = 'select max(covered_to) as reach, count(*) as intervals from ops.coverage'
  const [before] = await site.query<{ reach: string }>(covered)
  // The service's day passes, this machine's does not: which of the two clocks is right cannot be known.
  site.advance(DAY)
  await run(site, 'nightly')
  await run(site, 'nightly')
  const [after] = await site.query<{ reach: string; intervals: number }>(covered)
  expect(after?.intervals).toBe(8)
  const moved = Date.parse(after?.reach ?? '') - Date.parse(before?.reach ?? '')
  expect(moved).toBeGreaterThanOrEqual(0)
  expect(moved).toBeLessThan(5 * MINUTE)
  const [asked] = await site.query<{ days: number | null }>(
    'select min(days_ago) as days from ops.batches where run_id = (select max(run_id) from ops.runs)',
  )
  expect(asked?.days ?? Infinity).toBeGreaterThanOrEqual(2)
})
