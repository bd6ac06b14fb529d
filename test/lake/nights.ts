/** What engines of others are given to read: many nights of made tables, and two nights of the real ones. */

import { syncDeltaLogs } from '../../src/publish/delta/sync.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { DAY } from '../../src/support/units.ts'
import { done, openSite, type Site } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { MadeLake, YOUNG_COLUMN, putPointer } from '../publish/delta/made-lake.ts'

const NIGHTS = 25
/** As many organisations as the demo has, and partitions large enough that a night lists rows as deleted in them. */
const WORLD = { companies: 150, events: 60_000 }

/** Publishes two tables for 26 nights: one never has a deleted row, one has thousands and gets a column. */
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
      // A few rows here and there, a block of them, and in the end enough for a bitmap instead of an array.
      busy.delete(base.key, [night * 997, night * 10_007])
      if (night === 5) busy.delete(other.key, [0, 65_535, 65_536, 69_999])
      if (night === 9) busy.delete(base.key, range(131_072, 200_000, 3))
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

function range(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => from + index * step)
}

/** Runs the command line for two nights over 150 organisations; the second leaves deleted rows. */
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
