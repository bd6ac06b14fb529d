/** The first commands of this version on a data directory that 0.12 left. Skipped where there is no /proc: README.md says why. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { readCurrent } from '../../src/publish/manifest.ts'
import { done } from '../helpers/run-cli.ts'
import { manifestIn, newStore } from '../publish/fixtures.ts'
import { siteOf } from './fixtures.ts'

vi.setConfig({ testTimeout: 240_000 })

const HAS_PROC = existsSync('/proc/self/cwd')

it.skipIf(!HAS_PROC).each([
  ['0.11.0', 'one-erased'],
  ['0.12.0', 'nobody-erased'],
] as const)(
  'a warehouse of %s with %s is rebuilt from the journal for 0 credits, and says so in one line',
  async (version, erased) => {
    const site = await siteOf(version, erased)
    const { stderr } = done(await site.call('build'))
    expect(stderr.match(/warehouse_rebuilt_from_the_journal/g)).toHaveLength(1)
    expect(stderr).toContain('0 credits were spent')
    expect(site.simulator.account().requests).toBe(0)
    expect(done(await site.call('build')).stderr).not.toContain('rebuilt')
  },
)

it.skipIf(!HAS_PROC)(
  'drops the empty tables of endpoints that were never asked, and publishes without them',
  async () => {
    const site = await siteOf('0.12.0', 'nobody-erased')
    const store = newStore(join(site.dataDir, 'snapshots'))
    const tablesIn = async () => {
      const { stdout } = done(await site.call('query', 'show tables', '--json'))
      return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name)
    }
    const gone = ['announcements', 'company_profiles', 'job_postings', 'posts', 'signal_profiles']
    expect(await tablesIn()).toEqual(expect.arrayContaining(gone))
    const before = (await readCurrent(store))?.manifest.tables.map(({ name }) => name)
    expect(before).toEqual(expect.arrayContaining(gone))
    done(await site.call('run', 'test.yaml'))
    expect((await tablesIn()).filter((name) => gone.includes(name))).toEqual([])
    const { tables, snapshot_id: id } = await manifestIn(store)
    const shown = tables.map(({ name }) => name)
    expect(shown).toEqual(expect.arrayContaining(['answers', 'people']))
    expect(shown.filter((name) => gone.includes(name))).toEqual([])
    const views = readFileSync(
      join(site.dataDir, 'snapshots', 'snapshots', id, 'views.sql'),
      'utf8',
    )
    expect(views).toContain('people')
    expect(views).not.toContain('company_profiles')
    done(await site.call('verify'))
  },
)
