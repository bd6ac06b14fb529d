/** Questions with filters, from the service to the tables: the command line against a simulator. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { callCli, done, openSite, pipelineText, type Site } from '../helpers/run-cli.ts'

const IN_GB = ['geo_country_code: gb']

/** A pipeline of the site with further lines, named after them. */
function pipelineOf({ folder }: Site, name: string, lines: readonly string[]): string {
  const path = join(folder, `${name}.yaml`)
  writeFileSync(path, pipelineText(lines).replace('name: test', `name: ${name}`))
  return path
}

const EVENTS =
  'select md5(string_agg(event_key, chr(10) order by event_key)) as hash, count(*) as n from job_change_events'
const RATES = `select
    (select count(*) from organization_headcount_monthly) as headcounts,
    (select count(*) from attrition) as rates,
    (select count(*) from tenure_survival) as tenures,
    (select count(*) from organizations where observed_until_on is not null) as observed,
    (select count(*) from organization_filters where covered_to_at is not null) as filtered,
    (select count(*) from joiners) > 0 as has_joiners`

describe('companies seen only through filters', () => {
  it('have changes but no figures; read without filters they have both, and a replay gives the same tables', async () => {
    const site = await openSite({ companies: 6, events: 1_500 })
    const filtered = pipelineOf(site, 'filtered', IN_GB)
    await site.json('run', filtered)
    const { credits: narrow } = site.simulator.account()
    const [few] = await site.query<{ n: number }>(EVENTS)
    expect(await site.query(RATES)).toMatchObject([
      { headcounts: 0, rates: 0, tenures: 0, observed: 0, filtered: 6, has_joiners: true },
    ])

    await site.json('run', site.pipeline)
    const wide = site.simulator.account().credits - narrow
    const [all] = await site.query<{ n: number; hash: string }>(EVENTS)
    expect(narrow).toBeLessThan(wide / 3)
    expect(few?.n).toBeLessThan((all?.n ?? 0) / 3)
    const [rates] = await site.query<Record<string, number>>(RATES)
    expect(rates).toMatchObject({ observed: 6, filtered: 6 })
    expect(rates?.['headcounts']).toBeGreaterThan(100)

    // The other order, in another data directory, and then all of it again.
    const other = ['--data-dir', join(site.folder, 'other')]
    done(await site.call(['extract', site.pipeline, ...other]))
    done(await site.call(['load', ...other]))
    const { stdout } = done(await site.call(['query', EVENTS, '--json', ...other]))
    expect(JSON.parse(stdout)).toMatchObject([all])
    done(await site.call(['replay']))
    expect(await site.query(EVENTS)).toEqual([all])
    expect(await site.query(RATES)).toEqual([rates])

    expect(
      await site.query('select filters, count(*) as n from ops.batches group by all order by all'),
    ).toEqual([
      { filters: 'geo_country_code=GB', n: 1 },
      { filters: null, n: 1 },
    ])
    expect(await site.json('plan', filtered)).toMatchObject({
      filters: 'geo_country_code=GB',
      read_without_filters: 6,
      never_asked: 0,
    })
    expect(await site.json('coverage')).toMatchObject({ organizations: 6, read: 12 })
    expect(await site.json('coverage', filtered)).toMatchObject({
      filters: 'geo_country_code=GB',
      read: 6,
    })
    expect(await site.json('status')).toMatchObject({
      coverage: { organizations: 6 },
      filtered_coverage: [{ filters: 'geo_country_code=GB', organizations: 6, with_gaps: 0 }],
    })
  }, 240_000)
})

describe('a pipeline file with filters that the service refuses', () => {
  it('is refused with file and line before anything is sent', async () => {
    const site = await openSite()
    const path = pipelineOf(site, 'wrong', [
      'title: VP',
      "geo_city: ' L '",
      'geo_country_code: GBR',
    ])
    for (const command of ['plan', 'run', 'extract', 'backfill']) {
      const { exitCode, stderr } = await callCli([command, path], { env: site.env })
      expect(exitCode).toBe(2)
      expect(stderr.replace(/\s+/g, ' ')).toMatch(
        /wrong\.yaml:6: title: expected 3 characters or more.*wrong\.yaml:7: geo_city: expected 3 .*wrong\.yaml:8: geo_country_code: expected two letters, such as GB/,
      )
    }
    expect(site.simulator.account().requests).toBe(0)
  })
})
