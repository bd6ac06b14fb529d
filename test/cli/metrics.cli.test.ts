import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { parsePrometheus } from '../helpers/prometheus.ts'
import { openSite, type Site } from '../helpers/run-cli.ts'

/** The metrics in a Prometheus expression, each with its labels. */
function namedIn(expression: string) {
  const found = expression.matchAll(/\b(jobtide_\w+)(?:\{([^}]*)\})?/g)
  return [...found].map(([, name = '', labels = '']) => {
    return { name, labels: [...labels.matchAll(/(\w+)=/g)].map(([, label = '']) => label) }
  })
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}

/** The expressions of the dashboard and of the alerts in deploy/README.md. */
function expressions(): string[] {
  const { panels } = JSON.parse(
    readFileSync(join(packageRoot, 'deploy/grafana/jobtide.json'), 'utf8'),
  ) as Dashboard
  const page = readFileSync(join(packageRoot, 'deploy/README.md'), 'utf8')
  const alerts = [...page.matchAll(/^ +expr: (.+)$/gm)].map(([, one = '']) => one)
  expect([panels.length, alerts.length]).toEqual([12, 3])
  return [...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)), ...alerts]
}

/** A figure of the pipeline `test` in metrics.prom, by its name and further labels. */
function measured({ dataDir }: Site) {
  const found = parsePrometheus(readFileSync(join(dataDir, 'metrics.prom'), 'utf8'))
  return (name: string, more = '') =>
    found.get(`jobtide_${name}`)?.samples.get(`{pipeline="test"${more}}`)
}

describe('metrics.prom', () => {
  it('agrees with the ledger after a run that hit its budget and one with faults, and is private; a sample is not a run', async () => {
    const site = await openSite({
      companies: 6,
      pipelineLines: [
        'limits: { credits: 5000, credits_per_month: 9000 }',
        'schedule: "15 2 * * *"',
      ],
    })
    const refused = await site.call(['extract', site.pipeline, '--limit', '5', '--credits', '20'], {
      env: { JOBTIDE_API_KEY: undefined },
    })
    expect([refused.exitCode, readdirSync(site.folder).includes('data')]).toEqual([2, false])

    const stopped = await site.call(['extract', site.pipeline, '--limit', '5', '--credits', '20'])
    expect(stopped.exitCode).toBe(4)
    const first = measured(site)
    expect(first('last_run_exit_code')).toBe(4)
    expect(first('judgement', ',id="last_run_failed"')).toBe(1)
    expect(first('judgement', ',id="never_run"')).toBe(0)
    expect(first('last_success_timestamp_seconds')).toBeUndefined()
    expect(first('credits_total')).toBe(20)

    site.simulator.setFaults([
      { reset: true, nth: 1 },
      { status: 503, headers: { 'retry-after': 0 }, nth: 3 },
      { cut: '50%', charged: true, nth: 5 },
    ])
    const before = Date.now()
    expect((await site.call(['extract', site.pipeline, '--limit', '5'])).exitCode).toBe(0)
    expect((await site.call(['load'])).exitCode).toBe(0)
    const after = measured(site)
    const { total, this_month: month } = await site.json<{
      total: Record<string, number>
      this_month: Record<string, number>
    }>('credits', site.pipeline)
    const { in_doubt: doubt = 0, credits = 0, requests, pages, events } = total
    expect(doubt).toBe(20)
    expect(after('credits_total')).toBe(credits - doubt)
    expect(after('credits_in_doubt')).toBe(doubt)
    expect(after('credits_this_month')).toBe(month['credits'])
    expect(after('credits_month_limit')).toBe(9_000)
    const outcomes = ['page', 'in_doubt', 'free'].map((outcome) =>
      after('requests_total', `,outcome="${outcome}"`),
    )
    expect(outcomes).toEqual([pages, 2, (requests ?? 0) - (pages ?? 0) - 2])
    expect(outcomes[2]).toBeGreaterThanOrEqual(1)
    expect(after('requests_unanswered')).toBe(0)
    expect([after('pages_total'), after('events_received_total')]).toEqual([pages, events])
    expect(after('last_run_exit_code')).toBe(0)
    const success = (after('last_success_timestamp_seconds') ?? 0) * 1_000
    expect(success).toBeGreaterThan(before)
    expect(success).toBeLessThan(Date.now())
    expect(after('last_run_stage_seconds', ',stage="extract"')).toBeGreaterThan(0)
    expect(after('organizations')).toBe(6)
    expect(after('organizations_never_read')).toBe(1)
    expect(after('judgement', ',id="last_run_failed"')).toBe(0)

    // Every metric of the dashboard and the alerts exists.
    const text = readFileSync(join(site.dataDir, 'metrics.prom'), 'utf8')
    const served = parsePrometheus(text)
    for (const { name, labels } of expressions().flatMap(namedIn)) {
      expect([...served.keys()], name).toContain(name)
      const sample = [...(served.get(name)?.samples.keys() ?? [])].join()
      for (const label of labels) expect(sample, name).toContain(`${label}="`)
    }

    site.simulator.setFaults([{ status: 401, times: 'always' }])
    expect((await site.call(['extract', site.pipeline, '--limit', '5'])).exitCode).toBe(3)
    expect(measured(site)('last_run_exit_code')).toBe(3)
    expect(measured(site)('last_success_timestamp_seconds')).toBe(success / 1_000)
    expect(measured(site)('credits_total')).toBe(credits - doubt)

    // The organisation that was never read costs something, whatever a day of the simulated world brings.
    site.simulator.setFaults([])
    const sample = ['plan', site.pipeline, '--days', 'all', '--sample', '2']
    const sampled = await site.call(sample)
    expect(sampled.exitCode, sampled.stderr).toBe(0)
    expect(measured(site)('last_run_exit_code')).toBe(3)
    expect(measured(site)('credits_total')).toBeGreaterThan(credits - doubt)

    const files = readdirSync(site.dataDir).filter((name) => name.startsWith('metrics'))
    expect(files).toEqual(['metrics.prom'])
    expect(statSync(join(site.dataDir, 'metrics.prom')).mode & 0o777).toBe(0o600)
  })
})
