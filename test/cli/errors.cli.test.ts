/** What an operator sees when something fails: one sentence, what to do next and the exit code, and nothing is lost. */

import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openInbox } from '../../src/inbox/inbox.ts'
import { realClock } from '../../src/support/clock.ts'
import { openWarehouse, withWarehouse } from '../../src/warehouse/warehouse.ts'
import { leaksOf } from '../helpers/canary.ts'
import { selfSignedCertificate } from '../helpers/certificate.ts'
import { startConnectProxy } from '../helpers/connect-proxy.ts'
import {
  CLI,
  KEY,
  callCli,
  done,
  eventsOfTheWorld,
  openSite,
  pipelineText,
  runCli,
  type CliResult,
  type Site,
} from '../helpers/run-cli.ts'
import { installedWith } from '../helpers/installed.ts'
import { smallDisk } from '../helpers/small-disk.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

interface Expected {
  readonly exitCode: number
  /** In the sentence. */
  readonly says: RegExp
  /** In what to do next. */
  readonly next: RegExp
}

/** Checks a failed command that ran with `--json`: stderr for people, stdout for programs, no secret in either. */
function expectProblem(result: CliResult, { exitCode, says, next }: Expected, secret = KEY): void {
  expect(result.exitCode, result.stderr).toBe(exitCode)
  // Rows of failed checks may come in between.
  const problem = /^jobtide: (?<sentence>.+)\n(?: {2}[^→].*\n)* {2}→ (?<next>.+)\n$/m.exec(
    result.stderr,
  )?.groups
  expect(problem?.['sentence'], result.stderr).toMatch(says)
  expect(problem?.['next']).toMatch(next)
  expect(result.stderr).not.toMatch(/^ {4}at /m)
  const { error } = JSON.parse(result.stdout) as {
    error: { message: string; hint: string; exit_code: number }
  }
  expect(error.exit_code).toBe(exitCode)
  expect(error.message).toMatch(says)
  expect(error.hint).toMatch(next)
  expect(leaksOf(secret, { stdout: result.stdout, stderr: result.stderr })).toEqual([])
}

/** Checks a command without `--json`, or one that printed its report and then its error. */
function expectWords(result: CliResult, { exitCode, says, next }: Expected): void {
  expect(result.exitCode, result.stderr).toBe(exitCode)
  expect(result.stderr).toMatch(says)
  expect(result.stderr).toMatch(next)
  expect(result.stderr).not.toMatch(/\n\s+at /)
}

const COMPANIES = 3

/** Loads all bought pages and checks that the warehouse has every event that the service has sent so far. */
async function expectWholeWorld(site: Site): Promise<void> {
  expect((await site.call(['load'])).exitCode).toBe(0)
  const events = eventsOfTheWorld(COMPANIES)
  expect(events).toBeGreaterThan(150)
  expect(await site.query('select count(*) as events from job_change_events')).toEqual([{ events }])
}

describe('the service refuses', () => {
  it('exits with 3 for a wrong key after 1 request, and shows the wrong key nowhere', async () => {
    const site = await openSite({ companies: 1 })
    const wrong = 'wrong+key/of=somebody'
    const env = { JOBTIDE_API_KEY: wrong }
    const limits = ['--concurrency', '1', '--json']
    const result = await site.call(['extract', site.pipeline, ...limits], { env })
    expectProblem(result, { exitCode: 3, says: /API key \(401\)/, next: /JOBTIDE_API_KEY/ }, wrong)
    expect(site.simulator.account()).toMatchObject({ requests: 1, credits: 0 })
    expect(leaksOf(wrong, {}, site.folder)).toEqual([])
    const logged = await site.call(['extract', site.pipeline, '--log-level', 'trace'], { env })
    expect(leaksOf(wrong, { stderr: logged.stderr }, site.folder)).toEqual([])
    done(await site.call(['extract', site.pipeline]))
    expect(leaksOf(KEY, {}, site.folder)).toEqual([])
  })

  it('exits with 3 for a plan without the data; with the data it continues after the bought pages', async () => {
    const site = await openSite({ companies: COMPANIES, faults: [{ status: 403, page: 3 }] })
    const result = await site.call(['extract', site.pipeline, '--json'])
    expectProblem(result, { exitCode: 3, says: /plan.*403/, next: /Ask the provider/ })
    expect(result.stderr).toMatch(/^extract +\d+% {2}2 pages, 100 events, 20 credits\n/)
    done(await site.call(['extract', site.pipeline]))
    const charged = site.simulator.account().log.filter((entry) => entry.credits_used > 0)
    expect(charged.map(({ page }) => page)).toEqual(charged.map((_, index) => index + 1))
    await expectWholeWorld(site)
  })

  it('quarantines an untracked company by name and continues with the 3 others', async () => {
    const site = await openSite({ companies: COMPANIES })
    const ids = site.simulator.organizations().map((one) => one.organization_id)
    const untracked = 'https://network.example/company/nobody-tracks-this'
    writeFileSync(site.organizations, [...ids, untracked].join('\n'))
    const { exitCode, stdout } = await site.call(['extract', site.pipeline])
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(
      /quarantined +1 organisation, the others continued\n +\S*nobody-tracks-this:/,
    )
    expect(stdout).toMatch(/tried again after 7 days/)
    await expectWholeWorld(site)
  })

  it('exits with 5 and names the time if the service asks for a pause of an hour, also at the next start', async () => {
    const faults = [{ status: 503, headers: { 'Retry-After': '3600' }, page: 2 }]
    const site = await openSite({ companies: COMPANIES, faults })
    for (const requests of [2, 2]) {
      const result = await site.call(['extract', site.pipeline, '--json'])
      expectWords(result, {
        exitCode: 5,
        says: /no request before \d{4}-\d\d-\d\dT/,
        next: /again after \d{4}-\d\d-\d\dT/,
      })
      expect(JSON.parse(result.stdout)).toMatchObject({ complete: false, exit_code: 5 })
      expect(site.simulator.account().requests).toBe(requests)
    }
  })

  it('exits with 4 at a budget of 30 credits and keeps the 3 pages; the next run buys each of the others once', async () => {
    const site = await openSite({ companies: COMPANIES })
    const result = await site.call(['extract', site.pipeline, '--credits', '30', '--json'])
    expectWords(result, {
      exitCode: 4,
      says: /jobtide: the run's budget of 30 credits is reached/,
      next: /→ .*--credits/,
    })
    expect(JSON.parse(result.stdout)).toMatchObject({
      complete: false,
      extract: { pages: 3, credits: 30 },
    })
    done(await site.call(['extract', site.pipeline]))
    await expectWholeWorld(site)
    const charged = site.simulator.account().log.filter((entry) => entry.credits_used > 0)
    const pages = charged.map(({ page }) => page ?? 0).toSorted((a, b) => a - b)
    expect(pages).toEqual(pages.map((_, index) => index + 1))
  })
})

it('a service is reached through HTTPS_PROXY with the certificate of NODE_EXTRA_CA_CERTS; the password is shown nowhere', async () => {
  const site = await openSite({ companies: 2 })
  const { cert, key } = selfSignedCertificate('service.test')
  const simulatorPort = Number(new URL(site.simulator.url).port)
  const tls = createTlsServer({ cert, key }, (socket) => {
    const upstream = connect(simulatorPort, '127.0.0.1')
    socket.pipe(upstream).pipe(socket)
    for (const end of [socket, upstream]) end.on('error', () => end.destroy())
  })
  await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void tls.close())
  const proxy = await startConnectProxy({ port: (tls.address() as AddressInfo).port })
  const certificate = join(site.folder, 'ca.pem')
  writeFileSync(certificate, cert)
  const env = {
    JOBTIDE_BASE_URL: 'https://service.test',
    HTTPS_PROXY: `http://crew:geheim%2F77@127.0.0.1:${proxy.port}`,
    NODE_EXTRA_CA_CERTS: certificate,
  }
  const args = ['extract', site.pipeline, '--log-level', 'trace']
  const { stdout, stderr } = done(await site.run(args, { env }))
  expect(site.simulator.account().charged_pages).toBeGreaterThan(1)
  expect(new Set(proxy.asked)).toEqual(new Set(['service.test:443']))
  expect(new Set(proxy.credentials)).toEqual(new Set(['crew:geheim/77']))
  expect(stdout + stderr).not.toMatch(/geheim/)
})

it('a proxy that answers 407 to CONNECT ends a first run with 5, says what it wants, and publishes nothing', async () => {
  const site = await openSite({ companies: 1, pipelineLines: ['limits: { max_wait: 1s }'] })
  const proxy = await startConnectProxy({ status: 407 })
  const env = {
    JOBTIDE_BASE_URL: 'https://service.test',
    HTTPS_PROXY: `http://crew:geheim77@127.0.0.1:${proxy.port}`,
  }
  const result = await site.call(['run', site.pipeline], { env })
  expect(result.exitCode, result.stderr).toBe(5)
  expect(result.stderr).toMatch(
    /the proxy answered 407: it wants a user name .*\n {2}→ Check .*HTTPS_PROXY/,
  )
  expect(result.stdout).toContain('published  nothing')
  expect(result.stdout + result.stderr).not.toContain('geheim77')
  expect(new Set(proxy.asked)).toEqual(new Set(['service.test:443']))
  expect(readdirSync(join(site.dataDir, 'snapshots'))).not.toContain('latest.json')
})

describe('lists and pipeline files', () => {
  const files = [
    ['an empty list', [], '\uFEFF\r\n\r\n', [], /organizations\.csv: the list .* is empty/],
    ['an unknown key', ['budget: 5'], 'a\n', [], /test\.yaml:6: budget: unknown key; allo/],
    ['a missing list', [], 'a\n', ['--organizations', 'x.csv'], /x\.csv: there is no such/],
  ] as const
  it.each(files)('refuses %s before the first request', async (_, lines, list, options, says) => {
    const site = await openSite({ companies: 1 })
    writeFileSync(site.organizations, list)
    writeFileSync(site.pipeline, pipelineText(lines))
    const result = await site.call(['run', site.pipeline, ...options, '--json'])
    expectProblem(result, { exitCode: 2, says, next: /./ })
    expect(site.simulator.account().requests).toBe(0)
  })
})

describe('settings', () => {
  it('without an address, or with an invalid key, exit with 2 before the first request', async () => {
    const site = await openSite({ companies: 1 })
    const run = (env: Record<string, string | undefined>) =>
      site.call(['run', site.pipeline, '--json'], { env })
    const address = await run({ JOBTIDE_BASE_URL: undefined })
    expectProblem(address, { exitCode: 2, says: /JOBTIDE_BASE_URL is not set/, next: /https/ })
    const key = await run({ JOBTIDE_API_KEY: 'two\nlines' })
    expectProblem(key, { exitCode: 2, says: /empty or holds spaces/, next: /Paste/ })
    expect(site.simulator.account().requests).toBe(0)
  })

  it('reads a key from a file, with a warning if others may read it', async () => {
    const site = await openSite({ companies: 1 })
    const file = join(site.folder, 'key')
    writeFileSync(file, `${KEY}\n`, { mode: 0o600 })
    const env = { JOBTIDE_API_KEY: undefined, JOBTIDE_API_KEY_FILE: file }
    for (const [mode, isWarned] of [
      [0o440, false],
      [0o444, true],
    ] as const) {
      chmodSync(file, mode)
      const { exitCode, stderr } = await site.call(['extract', site.pipeline], { env })
      expect([exitCode, stderr.includes('others may read or change it')]).toEqual([0, isWarned])
    }
  })

  const commandLines = [
    ['a key as an option', ['run', 'test.yaml', '--api-key', KEY], /cannot be an argument/],
    ['the key in any argument', ['query', `select '${KEY}'`], /cannot be an argument/],
    ['an unknown option', ['run', 'test.yaml', '--quick'], /unknown option '--quick'/],
    ['an unknown command', ['fly'], /unknown command 'fly'/],
    ['a missing argument', ['run'], /missing required argument 'pipeline'/],
    ['--credits 5', ['backfill', '--credits', '5'], /whole number from 10 to/],
    ['--credits 9 of find', ['find', 'posts', 'keyword=x', '--credits', '9'], /number from 10 to/],
    ['--credits 0x10', ['run', 'x', '--credits', '0x10'], /whole number from 10 to/],
    ['--credits 5e2', ['run', 'x', '--credits', '5e2'], /whole number from 10 to/],
    ['--requests-per-second 1e2', ['run', 'x', '--requests-per-second', '1e2'], /number above 0/],
    ['an empty --gone', ['forget', 'per_1', '--gone', ''], /--gone.*not empty/],
    [
      '--format xml',
      ['query', 'select 1', '--format', 'xml'],
      /choices are table, csv, spreadsheet, json/,
    ],
  ] as const
  it.each(commandLines)('refuses %s', async (what, args, says) => {
    const env = { JOBTIDE_API_KEY: KEY }
    // Once in its own process, for its real stdout, stderr and exit code.
    const run = what === 'an unknown option' ? runCli : callCli
    const result = await run([...args, '--json'], { env, cwd: temporaryFolder() })
    expectProblem(result, { exitCode: 2, says, next: /jobtide|JOBTIDE_API_KEY/ })
  })
})

describe('the data directory', () => {
  const stages = [['load'], ['build'], ['publish', '--snapshot-to', 'snapshots'], ['replay']]
  it.each(stages.map((args) => ({ command: args[0], args })))(
    'without any run: $command exits with 2, and leaves nothing but its lock',
    async ({ args }) => {
      const folder = temporaryFolder()
      const result = await callCli([...args, '--json'], { cwd: folder })
      const says = /nothing has run yet in .*data|there is no journal in .*data/
      expectProblem(result, { exitCode: 2, says, next: /Run a pipeline first.*--data-dir/ })
      expect(readdirSync(join(folder, 'data'))).toEqual(['locks'])
    },
  )

  const reading = 'status coverage credits rejects models report digest export verify'
  const commands = [
    ...`load replay demo ${reading}`.split(' '),
    'forget per_1',
    'export-person per_1',
    'query from_nothing',
    'extract PIPELINE',
    'plan PIPELINE',
  ]
  it.each(commands)('that is a file: %s exits with 2 and sends 0 requests', async (command) => {
    const site = await openSite({ companies: 1 })
    const args = command.replace('PIPELINE', site.pipeline).split(' ')
    for (const dataDir of [site.organizations, join(site.organizations, 'below')]) {
      const result = await site.call([...args, '--data-dir', dataDir, '--json'])
      expectProblem(result, { exitCode: 2, says: /is not a folder/, next: /--data-dir/ })
    }
    expect(site.simulator.account().requests).toBe(0)
  })

  it.each(['titles titles.txt', 'schema run', 'completion bash', 'init project'])(
    'that is a file does not matter to %s, which uses none',
    async (command) => {
      const folder = temporaryFolder()
      writeFileSync(join(folder, 'data'), '')
      writeFileSync(join(folder, 'titles.txt'), 'CEO\n')
      const { exitCode } = await callCli(command.split(' '), { cwd: folder })
      expect(exitCode).toBe(0)
    },
  )

  it.each(['', ' '])('named %j, as by an unset variable, is refused with exit 2', async (empty) => {
    const folder = temporaryFolder()
    const result = await callCli(['status', '--data-dir', empty, '--json'], { cwd: folder })
    expectProblem(result, { exitCode: 2, says: /--data-dir.*not empty/, next: /status --help/ })
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('a slow reader', () => {
  it('of stderr gets all 120 kB, even if stdout was read first', async () => {
    const folder = temporaryFolder()
    const word = 'x'.repeat(120_000)
    const script = '{ "$1" "$2" "$3" --json 2>&3 | cat >out; } 3>&1 | { sleep 1; cat >err; }'
    const args = ['-c', script, 'sh', process.execPath, CLI, word]
    await promisify(execFile)('sh', args, { cwd: folder })
    const [out, err] = ['out', 'err'].map((name) => readFileSync(join(folder, name), 'utf8'))
    expect(JSON.parse(out ?? '')).toMatchObject({ error: { exit_code: 2 } })
    expect(err).toContain(word)
    expect(err).toMatch(/--help\n$/)
  })
})

describe('the disk', () => {
  it('that is read-only: exit 9 with one sentence, and nothing is sent', async () => {
    const disk = smallDisk(100)
    if (disk === null) {
      process.stdout.write('skipped: no small file system can be mounted here (read-only)\n')
      return
    }
    disk.makeReadOnly()
    const site = await openSite()
    const args = ['run', site.pipeline, '--data-dir', join(disk.folder, 'data'), '--json']
    expectProblem(await site.call(args), { exitCode: 9, says: /read-only/, next: /--data-dir/ })
    expect(site.simulator.account().requests).toBe(0)
  })

  const disks = [
    ['journal', 60, /(journal|pace).*full/],
    ['warehouse', 700, /disk refused a write|disk is full/],
  ] as const
  it.each(disks)(
    'that is full below the %s loses nothing: with free space the run continues',
    async (what, kilobytes, says) => {
      const disk = smallDisk(kilobytes)
      if (disk === null) {
        process.stdout.write(`skipped: no small file system can be mounted here (${what})\n`)
        return
      }
      const site = await openSite()
      const there = ['--data-dir', disk.folder]
      const pipeline = [site.pipeline, '--concurrency', '1']
      const first = what === 'journal' ? 'extract' : 'run'
      const result = await site.call([first, ...pipeline, ...there, '--json'])
      expectProblem(result, { exitCode: 9, says, next: /Free space/ })
      const charged = site.simulator.account().charged_pages
      // Half a warehouse does not count: `status` says so in a sentence, and that the run failed.
      const status = await site.call(['status', ...there])
      expect(status.exitCode, status.stderr).toBe(10)
      disk.enlarge()
      if (what === 'journal') done(await site.call(['extract', ...pipeline, ...there]))
      done(await site.call(['load', ...there]))
      const { charged_pages: pages, log } = site.simulator.account()
      // All pages were bought before the warehouse filled the disk.
      if (what === 'warehouse') expect(pages - charged).toBe(0)
      const sql = 'select count(*) as events from job_change_events'
      const { stdout } = done(await site.call(['query', sql, '--json', ...there]))
      expect((JSON.parse(stdout) as { events: number }[])[0]?.events).toBeGreaterThan(500)
      // The page that the disk refused was bought twice.
      const bought = log.filter((entry) => entry.credits_used > 0)
      const twice = bought.length - new Set(bought.map(({ page }) => page)).size
      expect(twice).toBeLessThanOrEqual(1)
    },
  )
})

describe('another program', () => {
  it('holds the warehouse: the pages are bought, the run exits with 8, and the next load reads them', async () => {
    const site = await openSite({ companies: COMPANIES })
    const path = join(site.dataDir, 'jobtide.duckdb')
    await withWarehouse({ path, mode: 'write' }, () => Promise.resolve())
    const reader = await openWarehouse({ path, mode: 'read' })
    // This process is the other program.
    const result = await site.run(['run', site.pipeline, '--json'])
    expectProblem(result, { exitCode: 8, says: /open in another program/, next: /Close it there/ })
    const { charged_pages: pages } = site.simulator.account()
    expect(pages).toBeGreaterThan(3)
    reader.close()
    await expectWholeWorld(site)
    expect(site.simulator.account().charged_pages - pages).toBe(0)
  })
})

it('a defect exits with 1, and asks for a report', async () => {
  const site = await openSite({ companies: 1 })
  done(await site.call(['extract', site.pipeline]))
  done(await site.call(['load']))
  const cli = installedWith({ 'sql/reports/status.sql': 'select no_such_column' })
  const { exitCode, stderr } = await site.run(['status'], { cli })
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('Please report it')])
})

describe('after the extraction', () => {
  it('exits with 6 if a check fails: nothing is published, and the tables of the last build stay', async () => {
    const site = await openSite({ companies: 1 })
    done(await site.call(['run', site.pipeline]))
    const before = await site.query('select count(*) as joiners from joiners')
    const cli = installedWith({ 'sql/checks/nobody_joins.sql': 'select event_key from joiners\n' })
    const result = await site.run(['run', site.pipeline, '--json'], { cli })
    expectProblem(result, {
      exitCode: 6,
      says: /1 check failed: nobody_joins$/,
      next: /last good build stay live/,
    })
    expect(result.stderr).toMatch(
      /\n {2}nobody_joins: \d+ rows, the first 5 of them\n {4}event_key\n(?: {4}[0-9a-f]{32}\n){5} {2}→ /,
    )
    expect(await site.query('select count(*) as joiners from joiners')).toEqual(before)
    const [snapshots] = await site.query<{ n: number }>('select count(*) as n from ops.snapshots')
    expect(snapshots?.n).toBe(1)
    expect((await site.call(['status'])).stdout).toMatch(/1 failed check\b/)
  })
})

it('anything else than a file in the inbox is named and stays there, and the deliveries next to it are loaded', async () => {
  const site = await openSite({ companies: 1 })
  const inbox = join(site.dataDir, 'inbox')
  const body = { event: 'person_activity', job_id: 's', changes: [{ event_id: 'e1' }] }
  await openInbox(inbox, realClock).keep(JSON.stringify(body))
  mkdirSync(join(inbox, 'x.ndjson'))
  execFileSync('mkfifo', [join(inbox, 'y.ndjson')])
  const loaded = done(await site.call(['load']))
  for (const name of ['x', 'y'])
    expect(loaded.stderr).toMatch(
      new RegExp(`it is not a file: it holds no deliveries .*${name}[.]ndjson`),
    )
  expect(readdirSync(inbox).filter((name) => name.endsWith('.ndjson'))).toHaveLength(2)
  expect(await site.query('select count(*)::int as n from answers')).toEqual([{ n: 1 }])
})
