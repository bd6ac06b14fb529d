/** The product in one file: a service, a backfill, a night, the nightly run, and what an analyst reads afterwards. */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sourceOf, type JobChangeEvent } from '../src/simulator/events.ts'
import { DAY, HOUR } from '../src/support/units.ts'
import { viewsOf } from './helpers/compare-sites.ts'
import { openSite, type Site } from './helpers/run-cli.ts'
import { memoryWarehouse } from './helpers/warehouse.ts'
import { anEvent } from './simulator/simulator-fixture.ts'

const MOVERS = 60
const RISERS = 30
const TABLES = 9

/**
 * 60 people leave Alpha for Beta within two months, as in a deal, and 30 at Gamma become managers. The next night one
 * more leaves and one title is corrected.
 */
function eventsAround(now: number): JobChangeEvent[] {
  const at = (daysAgo: number) => ({ detectedAt: now - daysAgo * DAY, lagDays: 5 })
  const movers = Array.from({ length: MOVERS }, (_, i) => `per_mover${i}`)
  const left = movers.map((person, i) =>
    anEvent({ person, organization: 'org_alpha', type: 'left', ...at(100 + i) }),
  )
  const joined = movers.map((person, i) =>
    anEvent({ person, organization: 'org_beta', type: 'joined', ...at(90 + i) }),
  )
  const rose = Array.from({ length: RISERS }, (_, i): JobChangeEvent => {
    const choices = { person: `per_riser${i}`, organization: 'org_gamma', ...at(20 + i) }
    const event = anEvent({ ...choices, type: 'title_change' })
    return { ...event, title: { current: 'Engineering Manager', previous: 'Engineer' } }
  })
  const [first] = joined
  if (first === undefined) throw new Error('no mover')
  const nextNight = now + 10 * HOUR
  return [
    ...left,
    ...joined,
    ...rose,
    anEvent({
      person: 'per_mover0',
      organization: 'org_beta',
      type: 'left',
      detectedAt: nextNight,
    }),
    {
      ...first,
      detected_at: new Date(nextNight).toISOString(),
      title: { current: 'Staff Engineer', previous: null },
    },
  ]
}

interface Report {
  readonly extract: { readonly pages: number; readonly events: number; readonly credits: number }
  readonly load: { readonly inserted: number; readonly updated: number }
  readonly build: { readonly models: { name: string; rows: number }[]; checks_passed: number }
  readonly publish: {
    readonly snapshot_id: string
    readonly unchanged: boolean
    readonly files: number
    readonly new_files: number
  }
}

/** A table of the snapshot that latest.json points to, read with DuckDB alone. */
async function readSnapshot<Row extends object>(site: Site, sql: string): Promise<Row[]> {
  const reader = await memoryWarehouse()
  try {
    await reader.run('create schema reader; set schema = reader')
    await reader.run(viewsOf(join(site.dataDir, 'snapshots')))
    return await reader.all<Row>(sql)
  } finally {
    reader.close()
  }
}

describe('the journey', () => {
  it('buys 150 events in 3 pages for 30 credits, a night later 2 in 1 page for 10, and then none; a reader with DuckDB alone sees them', async () => {
    const site = await openSite({ source: sourceOf(eventsAround(Date.now())) })

    const backfill = await site.json<Report>('backfill', site.pipeline, '--days', 'all')
    expect(backfill.extract).toMatchObject({ pages: 3, events: 150, credits: 30 })
    expect(backfill.load).toMatchObject({ inserted: 150, updated: 0 })
    const rows = Object.fromEntries(backfill.build.models.map(({ name, rows: n }) => [name, n]))
    expect(rows).toMatchObject({ leavers: 60, joiners: 60, promotions: 30, transfers: 60 })

    site.advance(20 * HOUR)
    const nightly = await site.json<Report>('run', site.pipeline)
    expect(nightly.extract).toMatchObject({ pages: 1, events: 2, credits: 10 })
    expect(nightly.load).toMatchObject({ inserted: 1, updated: 1 })
    expect(nightly.publish.unchanged).toBe(false)
    expect(site.simulator.account()).toMatchObject({ charged_pages: 4, credits: 40 })

    const again = await site.json<Report>('run', site.pipeline)
    expect(again.load).toMatchObject({ inserted: 0, updated: 0 })
    // The coverage advanced, which readers may want to know; the data files are the same.
    expect(again.publish).toMatchObject({ new_files: 0, files: nightly.publish.files })

    const [counts] = await readSnapshot<object>(
      site,
      `select
          (select count(*)::int from job_change_events) as events,
          (select count(*)::int from person_organizations) as pairs,
          (select count(*)::int from leavers) as leavers,
          (select count(*)::int from joiners) as joiners,
          (select count(*)::int from promotions) as promotions,
          (select title from joiners where profile_id = 'per_mover0') as corrected_title`,
    )
    expect(counts).toEqual({
      events: 151,
      pairs: 150,
      leavers: 61,
      joiners: 60,
      promotions: 30,
      corrected_title: 'Staff Engineer',
    })
    const flows = await readSnapshot(
      site,
      'select from_organization_id as a, to_organization_id as b, people::int as people from transfer_candidates',
    )
    expect(flows).toEqual([{ a: 'org_alpha', b: 'org_beta', people: 60 }])

    const published = await readSnapshot<{ name: string }>(
      site,
      `select view_name as name from duckdb_views() where schema_name = 'reader' order by 1`,
    )
    expect(published.length).toBeGreaterThanOrEqual(TABLES)
    const sql = published
      .map(({ name }) => `select '${name}' as name, count(*)::int as rows from ${name}`)
      .join(' union all by name ')
    expect(await readSnapshot(site, `${sql} order by 1`)).toEqual(
      await site.query(`${sql} order by 1`),
    )
  }, 180_000)
})
