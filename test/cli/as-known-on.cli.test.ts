/** Reading tables as known on a day: by `query`, and by another program with the file that a build writes. */

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { openSite } from '../helpers/run-cli.ts'

const JOINERS =
  "select count(*)::int as joiners from joiners_as_known_on(current_date - 90, seen_by := 'service')"

it('query and a program that runs as_known_on.sql first see the same joiners; no macro is stored', async () => {
  const site = await openSite()
  await site.json('run', site.pipeline)
  const [known] = await site.query<{ joiners: number }>(JOINERS)
  const [now] = await site.query<{ joiners: number }>(
    'select count(*)::int as joiners from joiners',
  )
  expect(known?.joiners).toBeGreaterThan(10)
  expect(known?.joiners).toBeLessThan(now?.joiners ?? 0)

  const file = join(site.dataDir, 'as_known_on.sql')
  const copy = { path: join(site.dataDir, 'analyst.duckdb'), mode: 'read' as const }
  const inCopy = await withWarehouse(copy, async (warehouse) => {
    const stored =
      "select count(*)::int as n from duckdb_functions() where function_name like '%known_on'"
    expect(await warehouse.all(stored)).toEqual([{ n: 0 }])
    await warehouse.run(readFileSync(file, 'utf8'))
    return warehouse.all(JOINERS)
  })
  expect(inCopy).toEqual([known])

  // A night that changes nothing leaves the file alone.
  const { mtimeMs } = statSync(file)
  await site.json('run', site.pipeline)
  expect(statSync(file).mtimeMs).toBe(mtimeMs)
})
