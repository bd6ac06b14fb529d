/**
 * What happens to a warehouse of an earlier version when a command writes to it. Skipped where there is no /proc:
 * README.md says why.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect, it, vi } from 'vitest'
import { done } from '../helpers/run-cli.ts'
import { siteOf } from './fixtures.ts'

vi.setConfig({ testTimeout: 240_000 })

describe.skipIf(!existsSync('/proc/self/cwd'))('a warehouse of an earlier version', () => {
  it.each([
    ['0.11.0', 'one-erased'],
    ['0.12.0', 'nobody-erased'],
  ] as const)(
    'of %s with %s is rebuilt from the journal for 0 credits, and says so in one line',
    async (version, erased) => {
      const site = await siteOf(version, erased)
      const { stderr } = done(await site.call('build'))
      expect(stderr.match(/warehouse_rebuilt_from_the_journal/g)).toHaveLength(1)
      expect(stderr).toContain('0 credits were spent')
      expect(site.simulator.account().requests).toBe(0)
      expect(done(await site.call('build')).stderr).not.toContain('rebuilt')
    },
  )

  it('with a table of the user’s own keeps it, and is upgraded in place', async () => {
    const site = await siteOf('0.12.0', 'nobody-erased')
    const path = join(site.dataDir, 'jobtide.duckdb')
    const instance = await DuckDBInstance.create(path)
    const connection = await instance.connect()
    await connection.run('create table mine as select 42 as answer')
    connection.closeSync()
    instance.closeSync()
    const { stderr } = done(await site.call('run', 'test.yaml'))
    expect(stderr).not.toContain('rebuilt')
    const mine = done(await site.call('query', 'from mine', '--json')).stdout
    expect(JSON.parse(mine)).toEqual([{ answer: 42 }])
  })
})
