import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { otlpServer, valuesOf, type OtlpSpan } from '../helpers/otlp-server.ts'
import { parsePrometheus } from '../helpers/prometheus.ts'
import { CLI, openSite } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const JSON_OVER_HTTP = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

const took = (span: OtlpSpan) =>
  (Number(span.endTimeUnixNano) - Number(span.startTimeUnixNano)) / 1e9

describe('a run with OpenTelemetry', () => {
  it('sends one trace below its parent and every metric of metrics.prom; a second, failed run says so', async () => {
    const collector = await otlpServer()
    const site = await openSite({ companies: 2 })
    const env = {
      ...JSON_OVER_HTTP,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      TRACEPARENT: `00-${TRACE}-${PARENT}-01`,
    }
    const run = await site.run(['extract', site.pipeline], { env })
    expect([run.exitCode, run.stderr]).toEqual([0, expect.not.stringContaining('warning')])
    expect(collector.paths().toSorted()).toEqual(['/v1/metrics', '/v1/traces'])
    for (const resource of collector.resources()) {
      expect(Object.keys(resource).filter((key) => /^(?:process|host)/.test(key))).toEqual([])
      expect(resource).toMatchObject({
        'service.name': 'jobtide',
        'deployment.environment.name': 'test',
      })
    }

    const [stage, root, ...others] = collector.spans()
    expect([root?.name, stage?.name, others]).toEqual(['jobtide extract', 'extract', []])
    expect([root?.traceId, root?.parentSpanId]).toEqual([TRACE, PARENT])
    expect([stage?.traceId, stage?.parentSpanId]).toEqual([TRACE, root?.spanId])
    const { credits, log } = site.simulator.account()
    const pages = log.filter((entry) => entry.credits_used > 0).length
    const [sentRun, sentStage] = [root, stage].map((span) => valuesOf(span?.attributes ?? []))
    expect(sentRun).toMatchObject({
      'jobtide.run_id': expect.stringMatching(/^[0-9A-Z]{26}$/),
      'jobtide.pipeline': 'test',
      'jobtide.exit_code': 0,
      'jobtide.credits': credits,
      'jobtide.pages': pages,
    })
    expect(sentStage).toMatchObject({ 'jobtide.credits': credits })
    expect([root?.status.code, stage?.status.code]).toEqual([0, 0])

    const figures = parsePrometheus(readFileSync(join(site.dataDir, 'metrics.prom'), 'utf8'))
    const seconds = figures.get('jobtide_last_run_stage_seconds')?.samples
    const [extractSeconds = 0] = [...(seconds?.values() ?? [])]
    expect(took(stage as OtlpSpan)).toBeCloseTo(extractSeconds, 2)
    expect(took(root as OtlpSpan)).toBeGreaterThanOrEqual(extractSeconds)

    const units: Record<string, string> = { s: '_seconds', By: '_bytes' }
    const sent = collector.metrics().map(({ name, unit, sum, gauge }) => {
      // A total of the ledger is no counter of this process.
      expect(sum?.isMonotonic ?? false, name).toBe(false)
      const total = sum === undefined ? '' : '_total'
      const points = (sum ?? gauge)?.dataPoints ?? []
      return [
        `${name.replace('.', '_')}${units[unit] ?? ''}${total}`,
        points.map(({ asInt, asDouble }) => asInt ?? asDouble),
      ] as const
    })
    const kept = [...figures].map(([name, { samples }]) => [name, [...samples.values()]] as const)
    expect(kept.length).toBeGreaterThan(15)
    expect(Object.fromEntries(sent)).toEqual(Object.fromEntries(kept))

    site.simulator.setFaults([{ status: 401, times: 'always' }])
    const refused = await site.run(['extract', site.pipeline, '--days', 'all'], { env })
    expect(refused.exitCode, refused.stderr).toBe(3)
    const [failedStage, failed] = collector.spans().slice(2)
    expect([failed?.status.code, failedStage?.status.code]).toEqual([2, 2])
    expect(valuesOf(failed?.attributes ?? [])).toMatchObject({ 'jobtide.exit_code': 3 })
  })

  it('ends as without telemetry, at most 6 s later and with a warning, if the endpoint is down, refuses or never answers', async () => {
    const site = await openSite({ companies: 1 })
    const none = await site.run(['extract', site.pipeline])
    const ways = [
      ['http://127.0.0.1:1', /ECONNREFUSED|no answer within 5 s/],
      [(await otlpServer(400)).url, /Bad Request|400|no answer within 5 s/],
      [(await otlpServer('never')).url, /time|no answer/i],
    ] as const
    for (const [url, why] of ways) {
      const env = { ...JSON_OVER_HTTP, OTEL_EXPORTER_OTLP_ENDPOINT: url }
      const { exitCode, stderr, tookMs } = await site.run(['extract', site.pipeline], { env })
      expect(exitCode, stderr).toBe(0)
      expect(stderr).toContain(`warning: not_sent_to_opentelemetry: to ${url}: `)
      expect(stderr).toMatch(why)
      expect(tookMs - none.tookMs).toBeLessThan(6_000)
    }
    // What answers is no collector; in the protocol that is used where none is named.
    const { url } = await otlpServer('page')
    const page = { OTEL_EXPORTER_OTLP_ENDPOINT: url.replace('//', '//me:geheim-4711@') }
    const answered = await site.run(['extract', site.pipeline], { env: page })
    expect(answered.stderr).toContain(
      `not_sent_to_opentelemetry: to ${url}: Export succeeded but could not deserialize response`,
    )
    expect(answered.stderr).not.toContain('geheim')
    const disabled = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_SDK_DISABLED: 'true',
    }
    const { stderr } = await site.run(['extract', site.pipeline], { env: disabled })
    expect(stderr).not.toContain('opentelemetry')
  })

  it('ends with the message of a failed run, even if the endpoint is down', async () => {
    const site = await openSite({ companies: 6 })
    const env = { ...JSON_OVER_HTTP, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
    const { exitCode, stderr } = await site.run(['extract', site.pipeline, '--credits', '20'], {
      env,
    })
    expect([exitCode, stderr]).toEqual([4, expect.stringMatching(/budget.*\n {2}→ .*\n$/)])
  })

  it('names what to install if the libraries are missing', () => {
    const folder = temporaryFolder()
    const dist = dirname(CLI)
    for (const part of ['observe', 'support']) {
      cpSync(join(dist, part), join(folder, part), { recursive: true })
    }
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const calling = `import { sendToOpenTelemetry } from './observe/otel.js'
      console.log(await sendToOpenTelemetry({}, [], { traces: true, metrics: true }, '0'))`
    const args = ['--input-type=module', '-e', calling]
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
    const text = readFileSync(join(dist, '..', 'package.json'), 'utf8')
    const { devDependencies: known } = JSON.parse(text) as {
      devDependencies: Record<string, string>
    }
    const packages = ['@opentelemetry/api', '@opentelemetry/sdk-node']
    const install = `npm install ${packages.map((name) => `${name}@${known[name]}`).join(' ')}`
    expect([stdout, stderr]).toEqual([
      `OpenTelemetry is enabled but not installed: ${install}\n`,
      '',
    ])
  })
})
