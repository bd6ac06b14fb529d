/** Whose rows a destination shows: a data directory that is poorer, restored or new does not replace them unasked. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openSite, type CliResult, type Site } from '../helpers/run-cli.ts'

function done(result: CliResult): CliResult {
  expect(result.exitCode, result.stderr).toBe(0)
  return result
}

/** A service that wants nobody back before an hour. */
async function serviceThatIsAway(): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(503, { 'retry-after': '3600' }).end()
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

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

// Each starts the command line several times.
vi.setConfig({ testTimeout: 180_000 })

describe('a data directory that is not the one a destination is fed from', () => {
  it('ends with 7 and changes nothing there, keeps what it bought, and publishes with --adopt-destination', async () => {
    const { site, shared, pointer } = await publishedSite()
    const before = pointer()
    const [[rows]] = (await figures(site, shared)) as [[number, number]]
    const fresh = ['--data-dir', join(site.folder, 'fresh')]
    const run = ['run', site.pipeline, '--limit', '2', '--snapshot-to', shared, ...fresh]

    const refused = await site.call(run)
    expect(refused.exitCode).toBe(7)
    expect(refused.stdout).toMatch(
      / ended without a snapshot in .*\n +extracted .* for [1-9]\d* credits\n/,
    )
    expect(refused.stdout).toContain(
      `  published  refused: ${shared} is fed from another journal: `,
    )
    expect(refused.stderr).toContain(`${shared} is fed from another journal: `)
    expect(refused.stderr).toContain(` ${rows.toLocaleString('en-US')} rows (`)
    expect(refused.stderr).toMatch(
      /3 organisations covered; this data directory is .*, 2 organisations covered/,
    )
    expect(refused.stderr).toContain('--adopt-destination')
    expect(pointer()).toBe(before)
    const again = await site.call([...run, '--json'])
    expect([again.exitCode, JSON.parse(again.stdout)]).toMatchObject([
      7,
      {
        exit_code: 7,
        complete: false,
        error: { exit_code: 7, destination: shared },
        publish: null,
        analyst_copy: null,
      },
    ])
    const { requests } = site.simulator.account()

    done(await site.call(['publish', '--snapshot-to', shared, '--adopt-destination', ...fresh]))
    expect((await figures(site, shared)).map(([, organizations]) => organizations)).toEqual([2, 3])
    expect(site.simulator.account().requests).toBe(requests)
    const first = await site.call(['publish', '--snapshot-to', shared])
    expect([first.exitCode, pointer() === before]).toEqual([7, false])
  })

  it('and that has read nothing publishes nothing: exit 5, and no snapshot in a new place either', async () => {
    const { site, shared, pointer } = await publishedSite()
    const before = pointer()
    const env = { JOBTIDE_BASE_URL: await serviceThatIsAway() }
    const run = async (name: string, to: string, ...more: string[]) =>
      site.call(
        ['run', site.pipeline, '--snapshot-to', to, '--data-dir', join(site.folder, name), ...more],
        { env },
      )
    const away = await run('fresh', shared)
    expect(away.exitCode).toBe(5)
    expect(away.stdout).toMatch(/published +nothing: nothing was read yet/)
    expect(pointer()).toBe(before)

    const nowhere = join(site.folder, 'nowhere')
    const first = await run('fresh2', nowhere, '--json')
    expect(first.exitCode).toBe(5)
    expect(JSON.parse(first.stdout)).toMatchObject({
      publish: { nothing_read: true, snapshot_id: null, rows: 0 },
    })
    expect(existsSync(join(nowhere, 'latest.json'))).toBe(false)
    expect(readdirSync(nowhere).filter((name) => !name.startsWith('.'))).toEqual([])
  })

  it('and was restored from there ends with 7, and goes on from it with --adopt-destination', async () => {
    const { site, shared, pointer } = await publishedSite()
    const before = pointer()
    const restored = ['--data-dir', join(site.folder, 'restored')]
    done(await site.call(['restore', shared, ...restored]))
    const refused = await site.call(['publish', '--snapshot-to', shared, ...restored])
    expect(refused.exitCode).toBe(7)
    expect(refused.stderr).toContain(
      'A restored warehouse has no journal of its own: to go on from it there, publish once with --adopt-destination.',
    )
    expect(pointer()).toBe(before)
    done(await site.call(['publish', '--snapshot-to', shared, '--adopt-destination', ...restored]))
  })
})

describe('a data directory that holds less than it did', () => {
  it('ends with 7 where the journal lost it with the list of its segments, and with --accept-shrink publishes', async () => {
    const { site, shared, pointer } = await publishedSite()
    const before = pointer()
    const { journal, warehouse } = {
      journal: join(site.dataDir, 'journal'),
      warehouse: join(site.dataDir, 'jobtide.duckdb'),
    }
    for (const name of readdirSync(journal).filter((one) => one !== 'identity'))
      rmSync(join(journal, name))
    rmSync(`${journal}.seals`)
    rmSync(warehouse)
    const few = ['run', site.pipeline, '--limit', '2', '--snapshot-to', shared]
    const refused = await site.call(few)
    expect(refused.exitCode).toBe(7)
    expect(refused.stderr).toMatch(
      /holds less than readers of .* see: rows of job_change_events [\d,]+ → [\d,]+; .*organisations covered 3 → 2/,
    )
    expect(pointer()).toBe(before)
    done(await site.call([...few, '--accept-shrink']))
    expect((await figures(site, shared)).map(([, organizations]) => organizations)).toEqual([2, 3])
  })

  it('publishes without a word where retention_days erased the rest', async () => {
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
