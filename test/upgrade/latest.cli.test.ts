/**
 * The most common upgrade: from the previous release. Others run in the soak tier. Skipped where there is no /proc:
 * README.md says why.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect, it } from 'vitest'
import { lookBefore } from '../../src/warehouse/warehouse.ts'
import { done } from '../helpers/run-cli.ts'
import { VERSIONS, siteOf, type UpgradeSite } from './fixtures.ts'

const LATEST = VERSIONS.at(-1) ?? VERSIONS[0]

const rowsOf = async (site: UpgradeSite, sql: string): Promise<unknown> =>
  JSON.parse(done(await site.call('query', sql, '--json')).stdout)

// A table that was in another tier before would be found first.
const MISPLACED = `select schema_name || '.' || table_name as place from duckdb_tables()
  where table_name in (
    select table_name from duckdb_tables() group by table_name having count(distinct schema_name) > 1
  )`

describe.skipIf(!existsSync('/proc/self/cwd'))(`a warehouse of ${LATEST}`, () => {
  it('is upgraded to this version by a build for 0 credits, with each table in one tier', async () => {
    const site = await siteOf(LATEST, 'nobody-erased')
    const warehouse = join(site.dataDir, 'jobtide.duckdb')
    // None if no schema file was added since that release.
    const lacks = await lookBefore(warehouse, (_, count) => Promise.resolve(count))
    const { stderr } = done(await site.call('build'))
    const rebuilt = stderr.match(/warehouse_rebuilt_from_the_journal/g) ?? []
    expect(rebuilt).toHaveLength((lacks ?? 0) > 0 ? 1 : 0)
    expect(site.simulator.account().requests).toBe(0)
    expect(await rowsOf(site, MISPLACED)).toEqual([])
    const placed = `select schema_name from duckdb_tables() where table_name = 'title_pairs'`
    expect(await rowsOf(site, placed)).toEqual([{ schema_name: 'detail' }])
  })

  it('with a table of the user’s own is upgraded in place by a run, which publishes', async () => {
    const site = await siteOf(LATEST, 'nobody-erased')
    const instance = await DuckDBInstance.create(join(site.dataDir, 'jobtide.duckdb'))
    const connection = await instance.connect()
    await connection.run('create table mine as select 42 as answer')
    connection.closeSync()
    instance.closeSync()
    const { stderr } = done(await site.call('run', 'test.yaml'))
    expect(stderr).not.toContain('rebuilt')
    expect(await rowsOf(site, 'from mine')).toEqual([{ answer: 42 }])
    expect(await rowsOf(site, MISPLACED)).toEqual([])
    expect(done(await site.call('verify')).stdout).not.toBe('')
  })
})
