import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { parsePrometheus } from '../helpers/prometheus.ts'
import { openSite } from '../helpers/run-cli.ts'

async function until(holds: () => boolean, about: () => string): Promise<void> {
  for (let looks = 0; looks < 1_000 && !holds(); looks += 1) await pause(50)
  expect(holds(), about()).toBe(true)
}

describe('schedule', () => {
  it('resumes a stopped run, stops it cleanly on SIGTERM and exits with 0; when started again, finishes it and reports health 200', async () => {
    const slow = [{ slow: { delay_ms: 250 }, times: 'always' as const }]
    const site = await openSite({ companies: 4, faults: slow })
    appendFileSync(site.pipeline, 'schedule: "15 2 * * *"\n')
    const pagesAsked = (count: number) => () => site.simulator.account().requests >= count
    const stopped = site.start(['run', site.pipeline])
    await until(pagesAsked(2), stopped.stderr)
    stopped.process.kill('SIGTERM')
    expect((await stopped.ended).exitCode).toBe(143)

    const asked = site.simulator.account().requests
    const args = ['schedule', site.pipeline, '--health-port', '0', '--log-level', 'info']
    const first = site.start(args)
    await until(pagesAsked(asked + 2), first.stderr)
    first.process.kill('SIGTERM')
    const drained = await first.ended
    expect(drained.exitCode, drained.stderr).toBe(0)
    const lines = drained.stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.filter(({ msg }) => msg === 'run_began')).toHaveLength(1)
    expect(lines.filter(({ msg }) => msg === 'run_over')).toMatchObject([
      { about: 'test: exit 143' },
    ])

    site.simulator.setFaults([])
    const second = site.start(args)
    await until(() => second.stderr().includes('run_over'), second.stderr)
    expect(second.stderr()).toContain('test: exit 0')
    const url = /http:\/\/127\.0\.0\.1:\d+\/health/.exec(second.stderr())?.[0] ?? ''
    const health = await fetch(url)
    expect([health.status, await health.json()]).toMatchObject([
      200,
      { fresh: true, judgements: [] },
    ])
    expect((await fetch(url.replace('/health', '/'))).status).toBe(404)
    const metrics = await fetch(url.replace('/health', '/metrics'))
    expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const figures = parsePrometheus(await metrics.text())
    const { credits: paid } = site.simulator.account()
    expect(figures.get('jobtide_credits_total')?.samples.get('{pipeline="test"}')).toBe(paid)
    for (const name of ['jobtide_last_run_exit_code', 'jobtide_last_run_rejects']) {
      expect(figures.get(name)?.samples.get('{pipeline="test"}'), name).toBe(0)
    }
    const stages = [...(figures.get('jobtide_last_run_stage_seconds')?.samples.keys() ?? [])]
    expect(stages).toEqual(
      ['extract', 'load', 'build', 'publish'].map((one) => `{pipeline="test",stage="${one}"}`),
    )
    const kept = () => parsePrometheus(readFileSync(join(site.dataDir, 'metrics.prom'), 'utf8'))
    await until(() => kept().get('jobtide_running')?.samples.get('') === 0, second.stderr)
    expect([...kept().keys()]).toEqual([...figures.keys()])
    second.process.kill('SIGTERM')
    expect((await second.ended).exitCode).toBe(0)

    const bought = site.simulator.account().log.filter((entry) => entry.credits_used > 0)
    const pages = bought.map(({ page }) => page)
    expect(new Set(pages).size).toBe(pages.length)
    const { credits } = await site.json('status')
    expect(credits).toBe(site.simulator.account().credits)
  })

  it('of two processes on one data directory resumes a stopped run once, and the other one says that it waits', async () => {
    const slow = [{ slow: { delay_ms: 400 }, times: 'always' as const }]
    const site = await openSite({ companies: 4, faults: slow })
    appendFileSync(site.pipeline, 'schedule: "15 2 * * *"\n')
    const stopped = site.start(['run', site.pipeline])
    await until(() => site.simulator.account().requests >= 1, stopped.stderr)
    stopped.process.kill('SIGTERM')
    expect((await stopped.ended).exitCode).toBe(143)
    const args = ['schedule', site.pipeline, '--log-level', 'info']
    const both = [site.start(args), site.start(args)]
    const told = () => both.map(({ stderr }) => stderr()).join('\n')
    await until(() => told().includes('"msg":"run_over"'), told)
    expect(told()).toContain(`another \`jobtide schedule\` runs a pipeline in ${site.dataDir}`)
    expect(told().split('"msg":"run_due"')).toHaveLength(2)
    for (const { process } of both) process.kill('SIGTERM')
    expect(await Promise.all(both.map(async ({ ended }) => (await ended).exitCode))).toEqual([0, 0])
  })

  it('answers 503 while its file is missing, and uses no other pipeline of that name', async () => {
    const site = await openSite({ companies: 1 })
    const folder = join(site.folder, 'pipelines')
    const file = join(folder, 'nightly.yaml')
    mkdirSync(folder)
    const text = readFileSync(site.pipeline, 'utf8').replace(
      'organizations.csv',
      site.organizations,
    )
    writeFileSync(file, `${text}schedule: "15 2 * * *"\n`)
    for (const named of [[], ['nightly']]) {
      const args = ['schedule', ...named, '--health-port', '0', '--log-level', 'info']
      const schedule = site.start(args)
      await until(() => schedule.stderr().includes('next_due'), schedule.stderr)
      const url = /http:\/\/127\.0\.0\.1:\d+\/health/.exec(schedule.stderr())?.[0] ?? ''
      renameSync(file, `${file}.away`)
      const health = await fetch(url)
      const body = await health.text()
      expect([health.status, body]).toEqual([
        503,
        expect.stringMatching(/no pipeline has a schedule|there is no pipeline/),
      ])
      // No restart would fix that.
      const live = await fetch(url.replace('/health', '/live'))
      expect([live.status, await live.json()]).toEqual([200, { live: true }])
      renameSync(`${file}.away`, file)
      schedule.process.kill('SIGTERM')
      expect((await schedule.ended).exitCode).toBe(0)
    }
  })

  it('warns about a pipeline whose list is missing, but not that there is no schedule', async () => {
    const site = await openSite({ companies: 1 })
    const other = join(site.folder, 'other.yaml')
    const scheduled = `${readFileSync(site.pipeline, 'utf8')}schedule: "15 2 * * *"\n`
    writeFileSync(site.pipeline, scheduled)
    const listless = scheduled.replace('name: test', 'name: other')
    writeFileSync(other, listless.replace('organizations.csv', 'gone.csv'))
    const args = ['schedule', site.pipeline, other, '--health-port', '0', '--log-level', 'info']
    const schedule = site.start(args)
    await until(() => schedule.stderr().includes('"msg":"unreadable"'), schedule.stderr)
    expect(schedule.stderr()).toMatch(/"level":"warn".*gone[.]csv.*"msg":"unreadable"/)
    const url = /http:\/\/127\.0\.0\.1:\d+\/health/.exec(schedule.stderr())?.[0] ?? ''
    renameSync(site.organizations, `${site.organizations}.away`)
    const { judgements } = (await (await fetch(url)).json()) as { judgements: { id: string }[] }
    expect(judgements.map(({ id }) => id)).toEqual([
      'pipeline_unreadable',
      'never_run',
      'pipeline_unreadable',
      'never_run',
    ])
    schedule.process.kill('SIGTERM')
    expect((await schedule.ended).exitCode).toBe(0)

    const { exitCode, stderr } = await site.call(['schedule', other])
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/gone[.]csv: /)])
    expect(stderr).not.toContain('has a schedule')
  })

  it('prints with --json, when it starts, where its health is and when what is due', async () => {
    const site = await openSite({ companies: 1, pipelineLines: ['schedule: "15 2 29 2 *"'] })
    const args = ['schedule', site.pipeline, '--health-port', '0', '--json']
    const schedule = site.start(args)
    await until(() => schedule.stdout().endsWith('\n'), schedule.stderr)
    const told = JSON.parse(schedule.stdout()) as Record<string, unknown>
    expect(told).toEqual({
      schema_version: 2,
      pid: schedule.process.pid,
      health_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/health$/) as string,
      due: [{ pipeline: 'test', at: expect.stringMatching(/-02-29T02:15:00\.000Z$/) as string }],
    })
    expect((await fetch(String(told['health_url']))).status).toBe(503)
    schedule.process.kill('SIGTERM')
    expect((await schedule.ended).exitCode).toBe(0)
  })

  it('refuses to start without a schedule', async () => {
    const site = await openSite({ companies: 1 })
    const { exitCode, stderr } = await site.call(['schedule'])
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/no pipeline has a schedule/)])
    mkdirSync(join(site.folder, 'pipelines'))
    renameSync(site.pipeline, join(site.folder, 'pipelines', 'test.yaml'))
    const mistyped = await site.call(['schedule', 'tes'])
    expect(mistyped.exitCode).toBe(2)
    expect(mistyped.stderr).toContain('there is no pipeline "tes"\n  → Did you mean test? ')
  })
})
