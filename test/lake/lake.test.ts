/**
 * Engines that we did not write read what we publish, through the Delta log. Skipped unless JOBTIDE_LAKE_PYTHON names a
 * Python that has them; README.md beside this says how.
 */

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openFolderStore } from '../../src/publish/folder-store.ts'
import { syncDeltaLogs } from '../../src/publish/delta/sync.ts'
import { realClock } from '../../src/support/clock.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { MadeLake, YOUNG_COLUMN, putPointer } from '../publish/delta/made-lake.ts'

const PYTHON = process.env['JOBTIDE_LAKE_PYTHON']
/** Where to leave the folder, to look at it afterwards; else it is gone after the test. */
const KEEP = process.env['JOBTIDE_LAKE_FOLDER']
const NIGHTS = 25
const TIMEOUT_MS = 600_000

/** Publishes two tables for 26 nights: one never has a deleted row, one has thousands and gets a column. */
async function publishNights(folder: string): Promise<void> {
  const warehouse = await memoryWarehouse()
  const store = openFolderStore(folder, realClock)
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

describe.skipIf(PYTHON === undefined)('engines of others', () => {
  it(
    'read 26 versions of 2 tables with deleted rows, checkpoints and a new column as they are',
    async () => {
      const folder = KEEP ?? temporaryFolder()
      await publishNights(folder)
      const script = join(import.meta.dirname, 'read_with.py')
      const printed = execFileSync(PYTHON ?? '', [script, folder], { encoding: 'utf8' })
      process.stdout.write(printed)
      expect(printed).toContain('calm')
      expect(printed).not.toContain('DIFFERENT')
    },
    TIMEOUT_MS,
  )
})
