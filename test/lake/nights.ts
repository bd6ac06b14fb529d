/** The tables that other engines read: many nights of made-up tables, and two nights of the real ones. */

import { expect } from 'vitest'
import { syncDeltaLogs } from '../../src/publish/delta.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { DAY } from '../../src/support/units.ts'
import { clockAhead, done, openSite, type Site } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { MadeLake, YOUNG_COLUMN, putPointer } from '../publish/delta/made-lake.ts'

const NIGHTS = 25
const WORLD = { companies: 150, events: 60_000 }

/** Publishes two tables for 26 nights: one only gains files; the other also loses files, and gains a column. */
export async function publishMadeNights(store: ObjectStore): Promise<void> {
  const warehouse = await memoryWarehouse()
  const calm = new MadeLake(store, warehouse, 'calm')
  const busy = new MadeLake(store, warehouse, 'busy')
  await calm.add(0, 1_000, 'changed_year=2019')
  const base = await busy.add(0, 300_000, 'changed_year=2019')
  const other = await busy.add(300_000, 70_000, 'changed_year=2020')
  for (let night = 0; night <= NIGHTS; night += 1) {
    if (night > 0) {
      await calm.add(1_000 * night, 40)
      const { key } = await busy.add(370_000 + night * 100, 100, 'changed_year=2020')
      if (night === 5) {
        busy.drop(other.key)
        await busy.add(300_000, 70_001, 'changed_year=2020')
      }
      if (night === 9) busy.drop(base.key)
      if (night === 13) busy.columns = [...busy.columns, YOUNG_COLUMN]
      if (night % 6 === 0) busy.drop(key)
    }
    const manifest = await calm.manifest()
    const both = { ...manifest, tables: [...manifest.tables, await busy.describe()] }
    await putPointer(store, both)
    const scratchFolder = temporaryFolder()
    await syncDeltaLogs({ store, warehouse, scratchFolder, manifest: both, logger: silentLogger })
  }
  warehouse.close()
}

/** Runs the command line for two nights over 150 organisations. */
export async function publishRealNights(
  destination: string,
  env: Readonly<Record<string, string>>,
): Promise<Site> {
  const site = await openSite(WORLD)
  for (let night = 0; night < 2; night += 1) {
    const run = ['run', site.pipeline, '--days', '365', '--snapshot-to', destination]
    done(await site.run(run, { env }))
    site.advance(DAY)
  }
  return site
}

/**
 * Runs the command line for these nights up to today, by its own clock and the service's. Of the world's events some are
 * detected months late, and some are corrected after the first night.
 */
export async function publishNightsInAFolder(nights: number): Promise<Site> {
  const site = await openSite(WORLD)
  for (let ago = nights - 1; ago >= 0; ago -= 1) {
    const aheadMs = -ago * DAY
    site.advance(ago === nights - 1 ? aheadMs : DAY)
    done(await site.run(['run', site.pipeline], { env: { NODE_OPTIONS: clockAhead(aheadMs) } }))
  }
  const [{ late, corrected } = { late: 0, corrected: 0 }] = await site.query<
    Readonly<Record<'late' | 'corrected', number>>
  >(`select (select count(*) from job_change_events
      where detected_at > current_date - interval '${nights} days' and changed_at < detected_at - interval '90 days') as late,
    (select count(*) from event_corrections) as corrected`)
  expect(late).toBeGreaterThan(0)
  expect(corrected).toBeGreaterThan(0)
  return site
}
