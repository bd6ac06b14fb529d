/** `models`: every table for analysts, with what a person or a program needs to use it. */

import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sqlFolder } from '../../src/support/assets.ts'
import { openSite, callCli, type CliResult } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

interface Listing {
  tables: {
    name: string
    kind: string
    grain: string
    key: string[]
    rows: number | null
    reads: string[]
    read_by: string[]
    columns: { name: string; type: string | null; description: string | null }[]
    checks: string[]
  }[]
}

const listing = ({ stdout }: CliResult) => JSON.parse(stdout) as Listing

describe('jobtide models', () => {
  it('before the first run lists every table with grain, key and lineage, and no rows', async () => {
    const nothingYet = await callCli(['models', '--json', '--data-dir', temporaryFolder()])
    expect(nothingYet.exitCode).toBe(0)
    expect(nothingYet.stderr).toContain('yet: rows are not known')
    const { tables } = listing(nothingYet)
    const names = tables.map(({ name }) => name)
    // Steps on the way: shown when they are asked for by name.
    const core = readdirSync(join(sqlFolder, 'models', 'core')).map((file) =>
      basename(file, '.sql'),
    )
    expect(names.filter((name) => core.includes(name))).toEqual([])
    for (const { name, grain, key, rows, reads, columns } of tables) {
      expect(grain, name).toMatch(/^One row per .+\.$/)
      expect(key.length, name).toBeGreaterThan(0)
      expect(rows, name).toBeNull()
      for (const table of reads) expect([...names, ...core], name).toContain(table)
      for (const { description } of columns) expect(description, name).toMatch(/[.…]$/)
    }
    const joiners = tables.find(({ name }) => name === 'joiners')
    expect(joiners?.key).toEqual(['organization_id', 'joined_at', 'profile_id'])
    expect(joiners?.reads).toContain('moves')
    expect(joiners?.read_by).toContain('organization_weekly')
    expect(joiners?.checks).toContain('joiners_key_is_unique_and_not_null')
  })

  it('after a run tells rows and column types, and one table in full within 80 columns', async () => {
    const site = await openSite()
    expect((await site.call(['run', site.pipeline, '--no-publish'])).exitCode).toBe(0)
    const { tables } = listing(await site.call(['models', '--json']))
    const [counted] = await site.query<{ joiners: number }>(
      'select count(*) as joiners from joiners',
    )
    const joiners = tables.find(({ name }) => name === 'joiners')
    expect(joiners?.rows).toBe(counted?.joiners)
    expect(joiners?.rows).toBeGreaterThan(0)
    for (const { name, kind, rows, columns } of tables) {
      expect(rows === null, name).toBe(kind === 'view')
      for (const column of columns) expect(column.type, `${name}.${column.name}`).not.toBeNull()
    }
    const { stdout } = await site.call(['models', 'joiners'])
    expect(stdout).toMatch(/^joiners\n {2}One row per joining/)
    expect(stdout).toMatch(/^key {8}organization_id, joined_at, profile_id$/m)
    expect(stdout).toMatch(/^joined_at {2}timestamp with time zone\n {2}When the person joined/m)
    const longest = stdout.split('\n').filter((line) => line.includes(' ') && line.length > 80)
    expect(longest.filter((line) => !/^\s*\S+$/.test(line))).toEqual([])
  })

  it('refuses a table that is not there, with those that are', async () => {
    const result = await callCli(['models', 'joinrs', '--data-dir', temporaryFolder()])
    expect(result.exitCode).toBe(2)
    expect(result.stderr).toMatch(/there is no table joinrs\n {2}→ The tables are: .*joiners, /)
  })
})
