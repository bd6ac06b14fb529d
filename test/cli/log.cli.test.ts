import { describe, expect, it } from 'vitest'
import { openSite, done } from '../helpers/run-cli.ts'

type Line = Record<string, unknown>

/** Every line of stderr; throws if one is not JSON. */
function linesOf(stderr: string): Line[] {
  return stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

describe('stderr', () => {
  it('with JOBTIDE_LOG=info contains only log lines, each with run and pipeline: what every stage did, and how it ended', async () => {
    const site = await openSite({ companies: 2 })
    const env = { JOBTIDE_LOG: 'info' }
    const lines = linesOf(done(await site.call(['run', site.pipeline], { env })).stderr)
    const [{ runs }, { credits }] = [
      await site.json<{ runs: { run_id: string }[] }>('status'),
      site.simulator.account(),
    ]
    const ofRun = lines.slice(lines.findIndex(({ msg }) => msg === 'run_began'))
    expect(new Set(ofRun.map(({ run_id: id }) => id))).toEqual(new Set([runs[0]?.run_id]))
    expect(new Set(lines.map(({ pipeline }) => pipeline))).toEqual(new Set(['test']))
    expect(new Set(lines.map(({ level }) => level))).toEqual(new Set(['info']))
    const stages = ['extract', 'load', 'build', 'publish']
    const told = (event: string) => lines.filter(({ msg }) => msg === event)
    expect(told('stage_began').map(({ stage }) => stage)).toEqual(stages)
    expect(told('stage_ended')).toMatchObject([
      { stage: 'extract', credits },
      { stage: 'load', inserted: expect.any(Number) as number, rejected: 0 },
      { stage: 'build', models: expect.any(Number) as number },
      { stage: 'publish', snapshot_id: expect.any(String) as string },
    ])
    for (const { seconds } of told('stage_ended')) expect(seconds).toBeGreaterThan(0)
    expect(told('run_ended')).toMatchObject([{ outcome: 'done', exit_code: 0 }])
    expect(told('page')).toEqual([])
  })

  it('with --log-level debug has a line for each page, with numbers only; a failure is a line with its exit code', async () => {
    const site = await openSite({ companies: 2, faults: [{ status: 403, page: 3 }] })
    const args = ['extract', site.pipeline, '--log-level', 'debug', '--concurrency', '1']
    const { exitCode, stderr } = await site.call(args)
    expect(exitCode).toBe(3)
    const lines = linesOf(stderr)
    const pages = lines.filter(({ msg }) => msg === 'page')
    const charged = site.simulator.account().log.filter((entry) => entry.credits_used > 0)
    expect(pages.map(({ page, credits_used: paid }) => [page, paid])).toEqual(
      charged.map(({ page, credits_used: paid }) => [page, paid]),
    )
    expect(stderr).not.toMatch(/Person|per_|@/)
    expect(lines.at(-1)).toMatchObject({
      level: 'error',
      msg: 'failed',
      exit_code: 3,
      pipeline: 'test',
      hint: expect.any(String) as string,
    })
  })

  it('without either contains text for people, including warnings; an unknown level is refused', async () => {
    const site = await openSite({
      companies: 1,
      faults: [{ status: 503, headers: { 'Retry-After': '0' }, page: 1 }],
    })
    const { stderr } = done(await site.call(['extract', site.pipeline]))
    expect(stderr).toMatch(/^jobtide: warning: (?:retry|paused): \S.*\(.*wait_ms \d+.*\)$/m)
    expect(stderr).not.toMatch(/^\{/m)
    const refused = await site.call(['status'], { env: { JOBTIDE_LOG: 'loud' } })
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toMatch(/JOBTIDE_LOG: expected trace, debug, .*got "loud"/)
  })
})
