/**
 * A data directory with fewer rows, a restored one or a new one does not replace what a destination shows unless asked
 * to.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { done, openSite, type Site } from '../helpers/run-cli.ts'

/** A site whose 3 organisations were read and published to `shared`. */
async function publishedSite() {
  const site = await openSite({ companies: 3 })
  const shared = join(site.folder, 'shared')
  done(await site.call(['run', site.pipeline, '--snapshot-to', shared]))
  return { site, shared, pointer: () => readFileSync(join(shared, 'latest.json'), 'utf8') }
}

async function figures(site: Site, destination: string) {
  const { stdout } = done(await site.call(['snapshots', destination, '--json']))
  const { snapshots } = JSON.parse(stdout) as {
    snapshots: { rows: number; coverage: { organizations: number } }[]
  }
  return snapshots.map(({ rows, coverage }) => [rows, coverage.organizations])
}

// Each test starts the command line several times.
vi.setConfig({ testTimeout: 180_000 })

describe('a data directory other than the one that feeds a destination', () => {
  it('exits with 7 before it buys, changes nothing there, and runs with --adopt-destination', async () => {
    const { site, shared, pointer } = await publishedSite()
    const before = pointer()
    const [[rows]] = (await figures(site, shared)) as [[number, number]]
    const { requests } = site.simulator.account()
    const fresh = ['--data-dir', join(site.folder, 'fresh')]
    const run = ['run', site.pipeline, '--limit', '2', '--snapshot-to', shared, ...fresh]

    const refused = await site.call(run)
    expect([refused.exitCode, refused.stdout]).toEqual([7, ''])
    expect(refused.stderr).toContain(`${shared} is fed from another journal: `)
    expect(refused.stderr).toContain(` ${rows.toLocaleString('en-US')} rows (`)
    expect(refused.stderr).toMatch(/3 organisations covered; this data directory is \w{26} of /)
    expect(refused.stderr).toMatch(/--adopt-destination.*Nothing was bought/)
    const again = await site.call([...run, '--json'])
    expect([again.exitCode, JSON.parse(again.stdout)]).toMatchObject([
      7,
      { error: { exit_code: 7, destination: shared } },
    ])
    expect([pointer(), site.simulator.account().requests]).toEqual([before, requests])

    done(await site.call([...run, '--no-publish']))
    const bought = site.simulator.account().requests
    expect((await site.call(['publish', '--snapshot-to', shared, ...fresh])).exitCode).toBe(7)
    expect(pointer()).toBe(before)
    done(await site.call(['publish', '--snapshot-to', shared, '--adopt-destination', ...fresh]))
    expect((await figures(site, shared)).map(([, organizations]) => organizations)).toEqual([2, 3])
    expect(site.simulator.account().requests).toBe(bought)
    const first = await site.call(['publish', '--snapshot-to', shared])
    expect([first.exitCode, pointer() === before]).toEqual([7, false])
  })
})

describe('a data directory that holds less than before', () => {
  it('publishes silently if retention_days erased the rest', async () => {
    const site = await openSite({ companies: 3, pipelineLines: ['retention_days: 100'] })
    const shared = join(site.dataDir, 'snapshots')
    done(await site.call(['run', site.pipeline]))
    done(await site.call(['run', site.pipeline]))
    const [[after], [before]] = (await figures(site, shared)) as [
      [number, number],
      [number, number],
    ]
    expect(after).toBeLessThan(before / 2)
  })
})
