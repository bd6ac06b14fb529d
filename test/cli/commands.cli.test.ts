/** Every command as people and programs see it: help, one JSON document, plain lines without a terminal. */

import { cpSync, readFileSync, readdirSync, writeFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { COMMANDS } from '../../src/cli/declarations.ts'
import { sqlFolder } from '../../src/support/assets.ts'
import { WATCH_ENTRIES } from '../../src/warehouse/catalog.ts'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { compareDataDirs } from '../helpers/compare-sites.ts'
import { KEY, callCli, done, openSite, runCli, startCli, type Site } from '../helpers/run-cli.ts'
import { signInTo } from '../helpers/s3-client.ts'
import { startS3Server } from '../helpers/s3-server.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

// Several complete runs.
vi.setConfig({ testTimeout: 180_000 })

describe('help', () => {
  it('lists every command within 80 characters; each but completion names --json, all --data-dir and --log-level, on stdout', async () => {
    // In its own process, as people call it.
    const { stdout: all } = done(await runCli(['--help']))
    expect(Math.max(...all.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    const names = [...all.matchAll(/^ {2}([a-z-]+)(?: \[| <|\s{2})/gm)].map(([, name = '']) => name)
    const commands = names.filter((name) => name !== 'help')
    expect(commands).toEqual(Object.keys(COMMANDS))
    for (const command of commands) {
      const { exitCode, stdout, stderr } = await callCli([command, '--help'])
      expect([exitCode, stderr]).toEqual([0, ''])
      expect(stdout).toMatch(/--data-dir[^]+--log-level/)
      expect([command, stdout.includes('--json')]).toEqual([command, command !== 'completion'])
    }
  })
})

describe('the stages one by one', () => {
  it('plan sends nothing, extract buys, load, build, publish and replay send nothing, and a replay restores every row', async () => {
    const site = await openSite({ companies: 3 })
    const plan = await site.json('plan', site.pipeline)
    expect(plan).toMatchObject({ organizations: 3, batches: 1, windows: [{ days_ago: null }] })
    expect(site.simulator.account().requests).toBe(0)

    const extracted = await site.json('extract', site.pipeline)
    const { charged_pages: charged, credits, requests } = site.simulator.account()
    expect(extracted).toMatchObject({ extract: { credits }, load: null, publish: null })
    expect(credits).toBe(charged * 10)
    expect(readdirSync(site.dataDir)).toEqual(['journal', 'journal.seals', 'locks', 'metrics.prom'])

    const loaded = await site.json<{ inserted: number }>('load')
    expect(loaded).toMatchObject({ rejected: 0 })
    expect(loaded.inserted).toBeGreaterThan(150)
    expect(await site.json('build')).toMatchObject({ models: expect.any(Array) as unknown })
    const to = join(site.dataDir, 'snapshots')
    expect(await site.json('publish', '--snapshot-to', to)).toMatchObject({ unchanged: false })
    expect(await site.json('publish', '--snapshot-to', to)).toMatchObject({
      unchanged: true,
      new_files: 0,
    })
    expect(site.simulator.account().requests).toBe(requests)

    const other = join(site.folder, 'other')
    cpSync(site.dataDir, other, { recursive: true })
    const replayed = await site.json('replay', '--data-dir', other)
    expect(replayed).toMatchObject({ credits: 0, load: { inserted: loaded.inserted } })
    expect(site.simulator.account().requests).toBe(requests)
    const { different, rows } = await compareDataDirs(site.dataDir, other)
    expect(different).toEqual({})
    expect(rows).toBeGreaterThan(700)
  })
})

/** The warehouse of a site, held open by another program until the test ends. */
async function lockWarehouse(dataDir: string): Promise<void> {
  const path = join(dataDir, 'jobtide.duckdb')
  const holder = await openWarehouse({ path, mode: 'write' })
  onTestFinished(() => holder.close())
}

describe('a run', () => {
  it('prints a line for each stage to stderr; status, coverage, credits and rejects agree with the service’s account, and go on while the warehouse is locked; rejects needs its copy for that, and exits with 8 without it', async () => {
    const site = await openSite({ companies: 3 })
    const empty = await site.call(['status'])
    expect([empty.exitCode, empty.stderr]).toEqual([10, ''])
    expect(empty.stdout).toMatch(/nothing has run yet in[^]*\n {2}→ Try `jobtide demo`/)

    const { stdout, stderr } = done(await site.call(['run', site.pipeline]))
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^extract {2}100% {2}\d+ pages, \d+ events, \d+ credits in [\d.]+ s$/),
      expect.stringMatching(/^load {5}100% {2}[\d.]+ kB in [\d.]+ s$/),
      expect.stringMatching(/^build {4}100% {2}\d+ models and checks in [\d.]+ s$/),
      expect.stringMatching(/^publish {2}100% {2}\d+ files in [\d.]+ s$/),
    ])
    expect(stdout).toMatch(/^test: run \w{26} done in [\d.]+ s\n {2}extracted {2}\d+ pages/)
    const { credits } = site.simulator.account()
    const text = done(await site.call(['status'])).stdout
    expect(text).toMatch(/^started \(UTC\) +pipeline +outcome +batches +pages +credits$/m)
    expect(text).toMatch(/^coverage +3 organisations up to /m)
    expect(text).toMatch(new RegExp(`^credits +${credits} in 1 run, ${credits} this month$`, 'm'))
    expect(text).toMatch(/^snapshot +\w{26} of /m)
    expect(await site.json('status')).toMatchObject({
      runs_total: 1,
      credits,
      warehouse: { rejects: 0 },
    })

    const total = { credits, in_doubt: 0, unexpected_charges: 0 }
    expect(await site.json('credits', site.pipeline)).toMatchObject({ total, unloaded: 0 })
    expect(await site.json('credits', '--by', 'organization')).toMatchObject({ total })
    const coverage = { organizations: 3, read: 3, never_read: 0, with_gaps: 0, warehouse: null }
    expect(await site.json('coverage', site.pipeline)).toMatchObject(coverage)
    expect(done(await site.call(['rejects'])).stdout).toMatch(
      /^no event was rejected \([\d,]+ received\)$/m,
    )

    await expectModels(site)

    await lockWarehouse(site.dataDir)
    const other = async (...args: string[]) =>
      JSON.parse(done(await site.run([...args, '--json'])).stdout) as Record<string, unknown>
    const unavailable = { unavailable: expect.stringContaining('is open in another') as unknown }
    expect(await other('status')).toMatchObject({ credits, warehouse: unavailable })
    expect(await other('credits')).toMatchObject({ total })
    expect(await other('coverage')).toMatchObject({ read: 3, warehouse: unavailable })
    expect(done(await site.run(['rejects'])).stdout).toMatch(/^no event was rejected/)
    rmSync(join(site.dataDir, 'analyst.duckdb'))
    const rejects = await site.run(['rejects'])
    expect([rejects.exitCode, rejects.stdout]).toEqual([8, ''])
    expect(rejects.stderr).toMatch(/is open in another program.*\n {2}→ Close it there/)
  })
})

describe('simulate', () => {
  it('serves a world, writes its list, accepts a given key, and reports its requests when it is stopped', async () => {
    const folder = temporaryFolder()
    const list = join(folder, 'organizations.csv')
    const faults = join(folder, 'faults.json')
    writeFileSync(faults, '[{ "status": 503, "headers": { "Retry-After": "0" } }]')
    const args = ['--port', '0', '--companies', '5', '--key', KEY, '--rate-limit', '50']
    const files = ['--organizations-out', list, '--faults', faults]
    const service = startCli(['simulate', '--json', ...args, ...files], { cwd: folder })
    onTestFinished(() => void service.process.kill('SIGKILL'))
    while (!service.stdout().includes('\n')) await pause(20)
    const { url } = JSON.parse(service.stdout()) as { url: string }
    expect(readFileSync(list, 'utf8').trimEnd().split('\n')).toHaveLength(6)

    const dataDir = join(folder, 'data')
    const env = { JOBTIDE_BASE_URL: url, JOBTIDE_API_KEY: KEY }
    const run = ['extract', 'backfill', '--organizations', list, '--data-dir', dataDir, '--json']
    const { stdout } = done(await runCli(run, { env, cwd: folder }))
    const { extract } = JSON.parse(stdout) as { extract: { pages: number; credits: number } }
    service.process.kill('SIGTERM')
    const { exitCode, stderr } = await service.ended
    expect(exitCode).toBe(0)
    expect(stderr).toMatch(
      new RegExp(
        `served \\d+ requests: ${extract.pages} charged pages, ${extract.credits} credits`,
      ),
    )
  })

  it('says that a port is taken, and that a file of faults is wrong', async () => {
    const folder = temporaryFolder()
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    writeFileSync(join(folder, 'faults.json'), '[{ "statsu": 503 }]')
    const [taken, wrong] = await Promise.all([
      callCli(['simulate', '--port', String(port), '--companies', '1']),
      callCli(['simulate', '--port', '0', '--faults', 'faults.json'], { cwd: folder }),
    ])
    expect([taken.exitCode, wrong.exitCode]).toEqual([2, 2])
    expect(taken.stderr).toMatch(
      new RegExp(`jobtide: 127.0.0.1 port ${port}: .*in use.*\n {2}→ .*--port`),
    )
    expect(wrong.stderr).toMatch(/statsu/)
  })
})

describe('a snapshot on S3', () => {
  it('is checked before a credit is spent: if it is down or read-only, exit 7 and no request; if it is lost while publishing, the next run publishes', async () => {
    const site = await openSite({ companies: 3 })
    const s3 = await startS3Server()
    onTestFinished(() => s3.close())
    signInTo(s3)
    onTestFinished(() => void vi.unstubAllEnvs())
    const args = ['run', site.pipeline, '--snapshot-to', `s3://${s3.bucket}/people`]
    const env = { JOBTIDE_S3_ENDPOINT: s3.endpoint }
    const down = await site.call(args, { env: { JOBTIDE_S3_ENDPOINT: 'http://127.0.0.1:1' } })
    expect(down.stderr).toMatch(
      /jobtide: .*127\.0\.0\.1:1 did not write.*ECONNREFUSED.*\n {2}→ It could not be reached.*Nothing was bought.*--no-publish\.\n$/,
    )
    const forbidden = { operation: 'PutObject', action: 'status', status: 403, times: 9 } as const
    s3.setFaults([forbidden])
    const unwritable = await site.call(args, { env })
    expect(unwritable.stderr).toMatch(/s3:PutObject/)
    expect([down.exitCode, unwritable.exitCode, site.simulator.account().requests]).toEqual([
      7, 7, 0,
    ])

    s3.setFaults([{ ...forbidden, key: 'tables/' }])
    const lost = await site.call(args, { env })
    expect([lost.exitCode, lost.stderr]).toEqual([7, expect.stringMatching(/next run publishes/)])
    s3.setFaults([])
    const { charged_pages: pages } = site.simulator.account()
    const { stdout, stderr } = done(await site.call(args, { env }))
    expect(stderr).not.toMatch(/warning/i)
    expect(stdout).toContain(`s3://${s3.bucket}/people`)
    expect(site.simulator.account().charged_pages).toBeLessThanOrEqual(pages + 1)
    const keys = [...s3.objects().keys()]
    expect(keys).toContain('people/latest.json')
    expect(keys.filter((key) => key.endsWith('.parquet')).length).toBeGreaterThan(8)
    expect(
      keys.filter((key) => /^people\/snapshots\/\w{26}\/manifest\.json$/.test(key)),
    ).toHaveLength(1)
  })
})

interface Listing {
  tables: {
    name: string
    kind: string
    grain: string
    key: string[]
    needs: string[]
    rows: number | null
    reads: string[]
    read_by: string[]
    columns: { name: string; type: string | null; description: string | null }[]
    checks: string[]
  }[]
}

describe('jobtide models', () => {
  it('before the first run lists every table with grain, key and lineage, and no rows', async () => {
    const nothingYet = await callCli(['models', '--json', '--data-dir', temporaryFolder()])
    expect(nothingYet.exitCode).toBe(0)
    expect(nothingYet.stderr).toContain('yet, so row counts are not known')
    const wrong = await callCli(['models', 'joinrs', '--data-dir', temporaryFolder()])
    expect(wrong.exitCode).toBe(2)
    expect(wrong.stderr).toMatch(
      /there is no table joinrs\n {2}→ Did you mean joiners\? `jobtide models` lists the \d+ tables/,
    )
    const { tables } = JSON.parse(nothingYet.stdout) as Listing
    const names = tables.map(({ name }) => name)
    // Intermediate models are shown only by name.
    const core = readdirSync(join(sqlFolder, 'models', 'core')).map((file) =>
      basename(file, '.sql'),
    )
    expect(names.filter((name) => core.includes(name))).toEqual([])
    for (const { name, grain, key, rows, reads, columns } of tables) {
      expect(grain, name).toMatch(/^One row per .+\.$/)
      expect(key.length, name).toBeGreaterThan(0)
      expect(rows, name).toBeNull()
      for (const table of reads) expect([...names, ...core, WATCH_ENTRIES], name).toContain(table)
      for (const { description } of columns) expect(description, name).toMatch(/[.…]$/)
    }
    const joiners = tables.find(({ name }) => name === 'joiners')
    expect(joiners?.key).toEqual(['organization_id', 'joined_at', 'profile_id', 'stint_number'])
    expect(joiners?.reads).toContain('moves')
    expect(joiners?.read_by).toContain('organization_weekly')
    expect(joiners?.checks).toContain('joiners_key_is_unique_and_not_null')
  })
})

/** `models` after a run shows rows and column types, and one table in full. */
async function expectModels(site: Site): Promise<void> {
  const { tables } = await site.json<Listing>('models')
  const [counted] = await site.query<{ joiners: number }>('select count(*) as joiners from joiners')
  const joiners = tables.find(({ name }) => name === 'joiners')
  expect(joiners?.rows).toBe(counted?.joiners)
  expect(joiners?.rows).toBeGreaterThan(0)
  expect(tables.filter(({ needs }) => needs.length > 0)).toHaveLength(19)
  for (const { name, kind, rows, columns } of tables.filter(({ needs }) => needs.length === 0)) {
    expect(rows === null, name).toBe(kind === 'view')
    for (const column of columns) expect(column.type, `${name}.${column.name}`).not.toBeNull()
  }
  const { stdout } = await site.call(['models', 'joiners'])
  expect(stdout).toMatch(/^joiners\n {2}One row per joining/)
  expect(stdout).toMatch(/^key {8}organization_id, joined_at, profile_id, stint_number$/m)
  expect(stdout).toMatch(/^joined_at {2}timestamp with time zone\n {2}When the person joined/m)
}

interface Sample {
  readonly batches: number
  readonly batches_read: number
  readonly credits_spent_now: number
  readonly expected_credits: number
  readonly credits_90_percent: { readonly low: number; readonly high: number }
  readonly credits_to_buy: number
}

describe('plan --sample', () => {
  it('exits with 4 over a budget of 50 credits, reads 3 of 5 batches and projects the bill; the next run buys the rest, and no page twice', async () => {
    const site = await openSite({ companies: 210, events: 9_000 })
    const args = ['plan', site.pipeline, '--sample', '3', '--data-dir', join(site.folder, 'other')]
    const broke = await site.call([...args, '--credits', '50'])
    expect([broke.exitCode, site.simulator.account().credits]).toEqual([4, 50])
    expect(broke.stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /in 5 batches is at least 50 credits fetched 5 pages for 50 credits now, .* a forecast needs 2 batches that are fetched to their end/,
    )
    expect(broke.stderr).toContain("the run's budget of 50 credits is reached")
    const other = await site.json('plan', site.pipeline, '--data-dir', join(site.folder, 'other'))
    expect(other).toMatchObject({ open_run: { pages_of_them_bought: 5 } })

    const sample = await site.json<Sample>('plan', site.pipeline, '--sample', '3')
    expect(sample).toMatchObject({ batches: 5, batches_read: 3 })
    expect(site.simulator.account().credits - 50).toBe(sample.credits_spent_now)
    const { low, high } = sample.credits_90_percent
    expect(sample.expected_credits).toBe(sample.credits_spent_now + sample.credits_to_buy)

    const { extract } = await site.json<{ extract: { credits: number } }>('extract', site.pipeline)
    const { credits, charged_pages: pages } = site.simulator.account()
    expect(credits - 50).toBe(sample.credits_spent_now + extract.credits)
    // The batches are drawn at random: projection.test.ts shows that 9 bills in 10 are within the range.
    expect(low).toBeLessThanOrEqual(sample.expected_credits)
    expect(high).toBeGreaterThanOrEqual(sample.expected_credits)
    expect(pages * 10).toBe(credits)
  })
})
