/** `doctor`: what it finds and advises; it buys, creates and changes nothing. */

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Finding } from '../../src/run/doctor.ts'
import { memoryFinding, nodeFinding } from '../../src/run/doctor.ts'
import { DAY, MIB } from '../../src/support/units.ts'
import type { BucketQuirks } from '../helpers/s3-bucket.ts'
import { signInTo } from '../helpers/s3-client.ts'
import { startS3Server } from '../helpers/s3-server.ts'
import { done, openSite, type CliOptions, type Site } from '../helpers/run-cli.ts'

/** What `doctor` finds about the pipeline of a site, by check, and the exit code. */
async function doctor(site: Site, more?: CliOptions) {
  const { stdout, exitCode } = await site.call(['doctor', site.pipeline, '--json'], more)
  const { findings, ok } = JSON.parse(stdout) as { findings: Finding[]; ok: boolean }
  expect(exitCode).toBe(ok ? 0 : 2)
  const found = (check: string) => findings.find((one) => one.check === check)
  return { exitCode, found, findings }
}

describe('jobtide doctor', () => {
  it('exits with 0 if all is well, in lines of 80 characters, after one free request and without creating a folder', async () => {
    const site = await openSite({ companies: 2, pipelineLines: ["schedule: '15 2 * * *'"] })
    const { stdout } = done(await site.call(['doctor', site.pipeline]))
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(stdout).toMatch(/^service +ok +accepts the key: answered 400 in /m)
    expect(stdout).toMatch(/^test +ok +2 organisations in/m)
    expect(stdout).toMatch(/^test runs +ok +has not run; due \d{4}-.*T02:15:00/m)
    expect(site.simulator.account()).toMatchObject({
      requests: 1,
      by_status: { 400: 1 },
      credits: 0,
    })
    expect(existsSync(site.dataDir)).toBe(false)
  })

  it('advises on a refused key, a clock a day off, an unreadable list and a file in place of the data directory, and exits with 2', async () => {
    const site = await openSite({ companies: 2 })
    site.advance(DAY)
    writeFileSync(site.dataDir, '')
    const wrong = await doctor(site, { env: { JOBTIDE_API_KEY: 'another-key' } })
    expect(wrong.exitCode).toBe(2)
    expect(wrong.found('service')).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('refused the API key (401)') as string,
      hint: expect.stringContaining('Check JOBTIDE_API_KEY') as string,
    })
    expect(wrong.found('clock')).toMatchObject({
      state: 'warning',
      found: expect.stringMatching(/behind the service$/) as string,
    })
    expect(wrong.found('data')).toMatchObject({ state: 'problem' })
    const below = await doctor(site, { env: { JOBTIDE_DATA_DIR: join(site.dataDir, 'below') } })
    expect(below.found('data')).toEqual(wrong.found('data'))
    rmSync(site.dataDir)
    writeFileSync(site.organizations, 'only-one\n')
    const single = await doctor(site)
    expect(single.found('test')?.found).toMatch(/^1 organisation in /)
    writeFileSync(site.organizations, '')
    const unread = await doctor(site, { env: { JOBTIDE_BASE_URL: 'http://127.0.0.1:1' } })
    expect(unread.found('pipelines')).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('the list of organisations is empty') as string,
    })
    expect(unread.found('service')?.found).toContain('the connection was refused')
    expect((await doctor(site, { env: { JOBTIDE_BASE_URL: undefined } })).found('service')).toBe(
      undefined,
    )
  })

  it('names a busy service; neither it nor a run asks again before the time that the service named', async () => {
    const site = await openSite({ companies: 1 })
    done(await site.call(['extract', site.pipeline]))
    const server = createServer((_, response) => {
      response.writeHead(503, { 'Retry-After': '3600' }).end('{}')
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const busy = await doctor(site, { env: { JOBTIDE_BASE_URL: `http://127.0.0.1:${port}` } })
    expect(busy.found('service')).toMatchObject({ state: 'warning', found: 'busy: answered 503' })
    const { requests } = site.simulator.account()
    expect((await doctor(site)).found('service')).toMatchObject({
      state: 'warning',
      found: expect.stringMatching(
        /^not checked: the service accepts no request before [\d-]+T[\d:]+Z \(answered 503, at .*Z\)$/,
      ) as string,
      hint: expect.stringContaining('--forget-pause') as string,
    })
    expect((await site.call(['extract', site.pipeline])).exitCode).toBe(5)
    expect(site.simulator.account().requests).toBe(requests)
    done(await site.call(['extract', site.pipeline, '--forget-pause']))
    done(await site.call(['extract', site.pipeline]))
    expect((await doctor(site)).found('service')?.state).toBe('ok')
  })

  it('warns of each address of notify that cannot work, three here, and sends nothing', async () => {
    const notify = [
      'notify:',
      '  webhook: { url: "${JOBTIDE_ALERTS_URL}" }',
      '  email: { to: [team@example.com], from: jobtide@example.com }',
      '  heartbeat: "http://example.com/beat"',
    ]
    const site = await openSite({ companies: 1, pipelineLines: notify })
    const wrong = await doctor(site)
    expect(wrong.exitCode).toBe(0)
    expect(wrong.found('test notify')).toMatchObject({
      state: 'warning',
      found:
        'JOBTIDE_ALERTS_URL is not set, and notify: needs it; JOBTIDE_SMTP_URL is not set, and ' +
        'notify: needs it; notify.heartbeat is not https, or http on this machine',
    })
    const env = { JOBTIDE_ALERTS_URL: 'hooks.example.com/x', JOBTIDE_SMTP_URL: 'mail.example.com' }
    const named = await doctor(site, { env })
    expect(named.found('test notify')?.found).toMatch(
      /^notify.webhook.url is not https.*; JOBTIDE_SMTP_URL is not the address of a mail server/,
    )
  })

  it('finds before the first run that a destination belongs to another journal, or that a bucket ignores conditions', async () => {
    const site = await openSite({ companies: 1 })
    const fresh = { env: { JOBTIDE_DATA_DIR: join(site.folder, 'fresh') } }
    const foreign = await site.call([
      'run',
      site.pipeline,
      '--snapshot-to',
      join(site.folder, 'fresh', 'snapshots'),
    ])
    done(foreign)
    expect((await doctor(site, fresh)).found('test to')).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('shows the rows of another journal') as string,
    })
    const states = []
    for (const quirks of [{}, { ignoreConditions: true }] as BucketQuirks[]) {
      const s3 = await startS3Server(quirks)
      onTestFinished(() => s3.close())
      signInTo(s3)
      onTestFinished(() => void vi.unstubAllEnvs())
      writeFileSync(
        site.pipeline,
        `name: test\norganizations: organizations.csv\nwindow: 7\nsnapshot: { to: "s3://${s3.bucket}/x" }\n`,
      )
      const env = { JOBTIDE_S3_ENDPOINT: s3.endpoint }
      states.push((await doctor(site, { env })).found('test to')?.state)
      if (!quirks.ignoreConditions) {
        expect([...s3.objects().keys()]).toEqual(['x/conditional-write-probe'])
      }
    }
    expect(states).toEqual(['ok', 'problem'])
  })
})

it('names a database of `destinations:` that cannot be reached, and warns', async () => {
  const lines = ['destinations: [{ to: "postgres://ada@127.0.0.1:9/people", schema: jobs }]']
  const site = await openSite({ companies: 1, pipelineLines: lines })
  const { exitCode, findings } = await doctor(site)
  expect(exitCode).toBe(0)
  const found = expect.stringMatching(/127\.0\.0\.1:9\/people cannot be reached: .*ECONNREFUSED/)
  const hint = expect.stringContaining('Start it, or fix its address')
  expect(findings.filter(({ check }) => check === 'test to')).toMatchObject([
    { state: 'ok' },
    { state: 'warning', found, hint },
  ])
})

it('Node 20 is a note; memory of 300 MiB a problem, of 800 MiB a warning', () => {
  expect(nodeFinding('20.19.0')).toMatchObject({
    state: 'ok',
    found: '20.19.0; only Node 22 and newer still get fixes',
  })
  expect(nodeFinding('24.1.0')).toMatchObject({ state: 'ok', found: '24.1.0' })
  const states = [300, 800, 1_100].map((size) => memoryFinding(size * MIB).state)
  expect(states).toEqual(['problem', 'warning', 'ok'])
})
