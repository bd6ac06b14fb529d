/** Runs the commands of the README unchanged (executed.ts says which, and how their output is compared). */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { describePages } from './executed.ts'

const site = describePages(['README.md'])

it('views.sql gives any DuckDB the tables of the snapshot that the README made', async () => {
  const snapshots = join(site.folder(), 'data', 'snapshots', 'snapshots')
  const latest = readdirSync(snapshots).toSorted().at(-1) ?? ''
  const engine = await openWarehouse({ path: ':memory:', mode: 'write' })
  try {
    await engine.run('create schema there; use there')
    await engine.run(readFileSync(join(snapshots, latest, 'views.sql'), 'utf8'))
    const [count] = await engine.all<{ rows: bigint }>('select count(*) as rows from joiners')
    expect(Number(count?.rows)).toBeGreaterThan(100)
  } finally {
    engine.close()
  }
})
