/**
 * Sends the trace and metrics of a finished run to OpenTelemetry. Its optional libraries, configured by their own variables,
 * are loaded only here.
 */

import type * as OpenTelemetry from '@opentelemetry/api'
import { jsonOrNull } from '../support/json.ts'
import { messageOf, systemCode } from '../support/errors.ts'
import type { Labels, Metric } from './metrics.ts'

/** The signals to send. */
export interface Signals {
  readonly traces: boolean
  readonly metrics: boolean
}

type Attributes = Readonly<Record<string, string | number | boolean>>

/** A span; times in milliseconds since 1970 UTC. */
export interface RunSpan {
  readonly name: string
  readonly beganAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  /** Why it failed; null if it did not. */
  readonly problem: string | null
}

export interface TracedRun extends RunSpan {
  readonly stages: readonly RunSpan[]
  /** The trace context (W3C) of the run's caller; may be empty. */
  readonly parent: { readonly traceparent?: string; readonly tracestate?: string }
}

const INSTALL = 'npm install @opentelemetry/api@1.9.1 @opentelemetry/sdk-node@0.223.0'
const UNITS = { seconds: 's', bytes: 'By' } as const

/**
 * Sends `run` and `metrics`; resolves when they are accepted or cannot be. @param version of Jobtide @returns why something
 * was not sent; null if all was
 */
export async function sendToOpenTelemetry(
  run: TracedRun,
  metrics: readonly Metric[],
  signals: Signals,
  version: string,
): Promise<string | null> {
  const libraries = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-node'),
  ]).catch((error: unknown) => {
    if (systemCode(error) === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  })
  if (libraries === null) return `OpenTelemetry is enabled but not installed: ${INSTALL}`
  const [api, { NodeSDK, resources }] = libraries
  const problems: string[] = []
  const sdk = new NodeSDK({
    resource: resources.resourceFromAttributes({
      'service.name': 'jobtide',
      'service.version': version,
    }),
    // Without the attributes of the process, which reveal its account and paths.
    resourceDetectors: [resources.envDetector],
    logRecordProcessors: [],
    ...(signals.traces ? {} : { spanProcessors: [] }),
    ...(signals.metrics ? {} : { metricReaders: [] }),
  })
  const note = (...parts: readonly unknown[]) => void problems.push(problemText(parts))
  const ignore = () => undefined
  const logger = { error: note, warn: note, info: ignore, debug: ignore, verbose: ignore }
  api.diag.setLogger(logger, { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true })
  try {
    sdk.start()
    if (signals.traces) trace(api, run, version)
    if (signals.metrics) observe(api.metrics.getMeter('jobtide', version), metrics)
    await sdk.shutdown()
  } catch (error) {
    note(messageOf(error))
  } finally {
    for (const part of [api.trace, api.metrics, api.propagation, api.context, api.diag]) {
      part.disable()
    }
  }
  return problems.length === 0 ? null : [...new Set(problems)].join('; ')
}

// The libraries report an error as it is or as JSON with its stack, after their own name. An answer they did not understand
// may be long and is left out.
function problemText(parts: readonly unknown[]): string {
  const texts = parts.flatMap((part) => {
    if (part instanceof Error) return messageOf(part)
    if (typeof part !== 'string') return []
    const { message = part } = Object(jsonOrNull(part)) as { message?: string }
    return message
  })
  return texts.slice(texts.length > 1 && /^\S+$/.test(texts[0] ?? '') ? 1 : 0).join(' ')
}

type Api = typeof OpenTelemetry

function trace(api: Api, run: TracedRun, version: string): void {
  const tracer = api.trace.getTracer('jobtide', version)
  const parent = api.propagation.extract(api.ROOT_CONTEXT, run.parent)
  const begin = ({ name, beganAt, attributes }: RunSpan, above = parent) =>
    tracer.startSpan(name, { startTime: beganAt, attributes }, above)
  const end = (span: ReturnType<typeof begin>, { endedAt, problem }: RunSpan) => {
    if (problem !== null) span.setStatus({ code: api.SpanStatusCode.ERROR, message: problem })
    span.end(endedAt)
  }
  const root = begin(run)
  for (const stage of run.stages) end(begin(stage, api.trace.setSpan(parent, root)), stage)
  end(root, run)
}

// Gauges instead of counters: OpenTelemetry's counters start with the process, so ledger totals would be counted again by each.
function observe(meter: ReturnType<Api['metrics']['getMeter']>, metrics: readonly Metric[]): void {
  for (const { name, kind, unit, help, samples } of metrics) {
    const options = { description: help, unit: unit === undefined ? '1' : UNITS[unit] }
    const instrument =
      kind === 'counter'
        ? meter.createObservableUpDownCounter<Labels>(`jobtide.${name}`, options)
        : meter.createObservableGauge<Labels>(`jobtide.${name}`, options)
    instrument.addCallback((result) => {
      for (const { labels, value } of samples) result.observe(value, labels)
    })
  }
}
