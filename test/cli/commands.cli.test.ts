/** Every command as people and programs meet it: help, one JSON document, plain lines where there is no terminal. */

import { cpSync, readFileSync, readdirSync, writeFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { compareDataDirs } from '../helpers/compare-sites.ts'
import { KEY, callCli, openSite, runCli, startCli, type CliResult } from '../helpers/run-cli.ts'
import { startS3Server } from '../helpers/s3-server.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const COMMANDS = [
  'demo',
  'run',
  'backfill',
  'plan',
  'extract',
  'load',
  'build',
  'publish',
  'replay',
  'status',
  'models',
  'titles',
  'coverage',
  'credits',
  'rejects',
  'query',
  'simulate',
] as const

function done(result: CliResult): CliResult {
  expect(result.exitCode, result.stderr).toBe(0)
  return result
}

async function emptyWarehouse(dataDir: string): Promise<void> {
  const warehouse = await openWarehouse({ path: join(dataDir, 'jobtide.duckdb'), mode: 'write' })
  warehouse.close()
}

// Whole runs one after another.
vi.setConfig({ testTimeout: 180_000 })

describe('help', () => {
  it('lists the 17 commands, and no line is longer than 80 characters', async () => {
    // In a process of its own, as people call it.
    const { stdout } = done(await runCli(['--help']))
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'))
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
  })

  it('of each command names --json, --data-dir and --log-level, and goes to stdout', async () => {
    const helps = await Promise.all(COMMANDS.map((command) => callCli([command, '--help'])))
    for (const { exitCode, stdout, stderr } of helps) {
      expect([exitCode, stderr]).toEqual([0, ''])
      expect(stdout).toMatch(/--json[^]+--data-dir[^]+--log-level/)
    }
  })
})

describe('the stages one by one', () => {
  it('plan sends nothing, extract buys, load, build, publish and replay ask the service nothing, and a replay gives every row again', async () => {
    const site = await openSite()
    const json = async (...args: string[]) =>
      JSON.parse(done(await site.call([...args, '--json'])).stdout) as Record<string, unknown>

    const plan = await json('plan', site.pipeline)
    expect(plan).toMatchObject({ organizations: 8, batches: 1, windows: [{ days_ago: null }] })
    expect(site.simulator.account().requests).toBe(0)

    const extracted = await json('extract', site.pipeline)
    const { charged_pages: charged, credits, requests } = site.simulator.account()
    expect(extracted).toMatchObject({ extract: { credits }, load: null, publish: null })
    expect(credits).toBe(charged * 10)
    expect(readdirSync(site.dataDir)).toEqual(['journal', 'journal.seals', 'locks'])

    const loaded = (await json('load')) as { inserted: number; events: number }
    expect(loaded).toMatchObject({ rejected: 0 })
    expect(loaded.inserted).toBeGreaterThan(500)
    expect(await json('build')).toMatchObject({ models: expect.any(Array) as unknown })
    const to = join(site.dataDir, 'snapshots')
    expect(await json('publish', '--snapshot-to', to)).toMatchObject({ unchanged: false })
    expect(await json('publish', '--snapshot-to', to)).toMatchObject({
      unchanged: true,
      new_files: 0,
    })
    expect(site.simulator.account().requests).toBe(requests)

    const other = join(site.folder, 'other')
    cpSync(site.dataDir, other, { recursive: true })
    const replayed = await json('replay', '--data-dir', other)
    expect(replayed).toMatchObject({ credits: 0, load: { inserted: loaded.inserted } })
    expect(site.simulator.account().requests).toBe(requests)
    const { different, rows } = await compareDataDirs(site.dataDir, other)
    expect(different).toEqual({})
    expect(rows).toBeGreaterThan(2_000)
  })

  it('prints one line for each stage to stderr where there is no terminal, and the result to stdout', async () => {
    const site = await openSite()
    const { stdout, stderr } = done(await site.call(['run', site.pipeline]))
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^extract {2}100% {2}\d+ pages, \d+ events, \d+ credits in [\d.]+ s$/),
      expect.stringMatching(/^load {5}100% {2}[\d.]+ kB in [\d.]+ s$/),
      expect.stringMatching(/^build {4}100% {2}\d+ models and checks in [\d.]+ s$/),
      expect.stringMatching(/^publish {2}100% {2}\d+ files in [\d.]+ s$/),
    ])
    expect(stdout).toMatch(/^test: run \w{26} done in [\d.]+ s\n {2}extracted {2}\d+ pages/)
    const quiet = done(await site.call(['run', site.pipeline, '--log-level', 'silent']))
    expect(quiet.stderr).toBe('')
    expect(quiet.stdout).toMatch(/loaded +nothing new: no row changed/)
    expect(quiet.stdout).toMatch(/published +.*(no new Parquet file|already shows all of it)/)
  })
})

describe('query', () => {
  const sql = `select 1::bigint as n, 'a,"b"' as t, null as nothing, true as yes,
    timestamptz '2026-01-02 03:04:05Z' as at, date '2026-01-02' as day, 1.50::decimal(9,2) as d,
    9007199254740993::bigint as big, [1, 2] as list`

  it('prints a table, CSV and JSON, and refuses everything but reading', async () => {
    const dataDir = temporaryFolder()
    const query = (...args: string[]) => callCli(['query', ...args, '--data-dir', dataDir])
    await emptyWarehouse(dataDir)

    const [table, csv, json, twoWays] = await Promise.all([
      query(sql),
      query(sql, '--format', 'csv'),
      query(sql, '--format', 'json'),
      query(sql, '--json'),
    ])
    expect(done(table).stdout.split('\n')).toEqual([
      'n  t      nothing  yes   at                    day            d               big  list',
      '1  a,"b"           true  2026-01-02T03:04:05Z  2026-01-02  1.50  9007199254740993  [1,2]',
      '(1 row)',
      '',
    ])
    expect(done(csv).stdout).toBe(
      'n,t,nothing,yes,at,day,d,big,list\n1,"a,""b""",,true,2026-01-02T03:04:05Z,2026-01-02,1.50,9007199254740993,"[1,2]"\n',
    )
    const [row] = JSON.parse(done(json).stdout) as Record<string, unknown>[]
    expect(row).toMatchObject({ n: 1, t: 'a,"b"', nothing: null, yes: true, list: [1, 2] })
    expect(row).toMatchObject({ at: '2026-01-02T03:04:05Z', big: '9007199254740993' })
    expect(twoWays.stdout).toBe(json.stdout)

    const statements = [
      'insert into job_change_events select * from job_change_events',
      'drop table job_change_events',
      `copy job_change_events to '${join(dataDir, 'stolen.csv')}'`,
      `attach '${join(dataDir, 'other.duckdb')}' as other`,
      `select * from read_csv('/etc/hostname')`,
      'set enable_external_access = true',
      'select nothing_here from job_change_events',
      ' ',
    ]
    const before = readdirSync(dataDir)
    const results = await Promise.all(statements.map((statement) => query(statement)))
    for (const [index, { exitCode, stdout, stderr }] of results.entries()) {
      expect([exitCode, stdout], statements[index]).toEqual([2, ''])
      expect(stderr).toMatch(/^jobtide: .+\n(.*\n)* {2}→ .+\n$/)
    }
    expect(readdirSync(dataDir)).toEqual(before)
  })

  it('says so where there is no SQL, and names the tables only where one is not found', async () => {
    const dataDir = temporaryFolder()
    await emptyWarehouse(dataDir)
    const stderr = async (statement: string) =>
      (await callCli(['query', statement, '--data-dir', dataDir])).stderr
    for (const nothing of [';', '/* hi */ ; -- there']) {
      expect(await stderr(nothing)).toMatch(/^jobtide: there is no SQL to run\n {2}→ Try: .+\n$/)
    }
    expect(await stderr('select * from nowhere')).toContain('\n  → Tables for analysts are in')
    const syntax = await stderr('selec 1')
    expect(syntax).toContain('syntax error at or near "selec"')
    expect(syntax).not.toContain('→')
  })
})

/** The warehouse of a site, opened by another program than the command line until the test ends. */
async function lockWarehouse(dataDir: string): Promise<void> {
  const path = join(dataDir, 'jobtide.duckdb')
  const holder = await openWarehouse({ path, mode: 'write' })
  onTestFinished(() => holder.close())
}

describe('status, coverage, credits and rejects', () => {
  it('agree with the service’s account, and go on while the warehouse is locked; rejects needs its copy for that, and ends with 8 without', async () => {
    const site = await openSite()
    const empty = await site.call(['status'])
    expect([empty.exitCode, empty.stdout]).toEqual([2, ''])
    expect(empty.stderr).toMatch(/nothing was run yet in .*\n {2}→ Try `jobtide demo`/)

    done(await site.call(['run', site.pipeline]))
    const { credits } = site.simulator.account()
    const text = done(await site.call(['status'])).stdout
    expect(text).toMatch(/^started \(UTC\) +pipeline +outcome +batches +pages +credits$/m)
    expect(text).toMatch(/^coverage +8 organisations up to /m)
    expect(text).toMatch(new RegExp(`^credits +${credits} in 1 run, ${credits} this month$`, 'm'))
    expect(text).toMatch(/^snapshot +\w{26} of /m)
    const json = async (...args: string[]) =>
      JSON.parse(done(await site.call([...args, '--json'])).stdout) as Record<string, unknown>
    expect(await json('status')).toMatchObject({
      runs_total: 1,
      credits,
      warehouse: { rejects: 0 },
    })

    const total = { credits, in_doubt: 0, unexpected_charges: 0 }
    expect(await json('credits', site.pipeline)).toMatchObject({ total, unloaded: 0 })
    for (const by of ['day', 'month', 'pipeline', 'run', 'organization']) {
      const { rows, total: sum } = (await json('credits', '--by', by)) as {
        rows: { credits: number }[]
        total: { credits: number }
      }
      expect(rows.reduce((all, row) => all + row.credits, 0)).toBeCloseTo(credits, 6)
      expect(sum.credits).toBe(credits)
    }
    const coverage = { organizations: 8, read: 8, never_read: 0, with_gaps: 0, warehouse: null }
    expect(await json('coverage', site.pipeline)).toMatchObject(coverage)
    expect(done(await site.call(['rejects'])).stdout).toMatch(/^no event was refused: all \d+ /)

    await lockWarehouse(site.dataDir)
    const other = async (...args: string[]) =>
      JSON.parse(done(await site.run([...args, '--json'])).stdout) as Record<string, unknown>
    const unavailable = { unavailable: expect.stringContaining('is open in another') as unknown }
    expect(await other('status')).toMatchObject({ credits, warehouse: unavailable })
    expect(await other('credits')).toMatchObject({ total })
    expect(await other('coverage')).toMatchObject({ read: 8, warehouse: unavailable })
    expect(done(await site.run(['rejects'])).stdout).toMatch(/^no event was refused/)
    rmSync(join(site.dataDir, 'analyst.duckdb'))
    const rejects = await site.run(['rejects'])
    expect([rejects.exitCode, rejects.stdout]).toEqual([8, ''])
    expect(rejects.stderr).toMatch(/is open in another program.*\n {2}→ Close it there/)
  })
})

describe('simulate', () => {
  it('serves a world, writes its list, takes a key of its own, and counts what it served when it is stopped', async () => {
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
    expect(taken.stderr).toMatch(new RegExp(`jobtide: port ${port}: .*in use.*\n {2}→ .*--port`))
    expect(wrong.stderr).toMatch(/statsu/)
  })
})

describe('a snapshot on S3', () => {
  it('is published with the SDK’s own variables; a server that is down ends with 7, and the next run publishes', async () => {
    const site = await openSite()
    const s3 = await startS3Server()
    onTestFinished(() => s3.close())
    const env = {
      JOBTIDE_S3_ENDPOINT: s3.endpoint,
      AWS_REGION: s3.region,
      AWS_ACCESS_KEY_ID: s3.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    }
    const args = ['run', site.pipeline, '--snapshot-to', `s3://${s3.bucket}/people`]
    const nobody = { ...env, JOBTIDE_S3_ENDPOINT: 'http://127.0.0.1:1' }
    const down = await site.run(args, { env: nobody })
    expect(down.exitCode).toBe(7)
    expect(down.stderr).toMatch(/jobtide: .*127\.0\.0\.1:1 could not be reached.*\n {2}→ .+\n$/)
    const { charged_pages: pages } = site.simulator.account()

    const { stdout, stderr } = done(await site.run(args, { env }))
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
