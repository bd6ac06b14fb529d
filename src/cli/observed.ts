/**
 * Writes `metrics.prom` and sends OpenTelemetry data after a command that ran a pipeline, whatever its result. Never changes
 * how the command ends.
 */

import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { exportSdkEnv, telemetryFrom } from '../config.ts'
import { prometheusText, type Metric } from '../observe/metrics.ts'
import type { TracedRun } from '../observe/otel.ts'
import { readFreshness, type Freshness } from '../run/pipelines.ts'
import type { EndedStage } from '../run/stages.ts'
import { packageVersion } from '../support/assets.ts'
import { writeFileAtomic } from '../support/atomic-file.ts'
import { ConfigError, EXIT, JobtideError, messageOf, type ExitCode } from '../support/errors.ts'
import { SECOND } from '../support/units.ts'
import type { Context } from './context.ts'
import { metricsOf, type Attempt } from './metrics.ts'

const OWNER_ONLY = 0o600

/** The longest time that a finished run waits for OpenTelemetry. */
const LONGEST_MS = 5 * SECOND
/** The timeout of its libraries, short enough for them to report the cause. */
const ANSWER_MS = 3 * SECOND

interface Outcome {
  readonly command: string
  /** The pipeline, as it was named. */
  readonly named: string
  readonly beganAt: number
  readonly exitCode: ExitCode
  /** The error thrown; null if none. */
  readonly thrown: string | null
  readonly stages: readonly EndedStage[]
}

/** Does `work`, and reports its metrics afterwards. @param work reports each stage that has ended */
export async function observed(
  context: Context,
  what: Pick<Outcome, 'command' | 'named'>,
  work: (onStage: (stage: EndedStage) => void) => Promise<ExitCode>,
): Promise<ExitCode> {
  const beganAt = context.clock.now()
  const stages: EndedStage[] = []
  let exitCode: ExitCode = EXIT.defect
  let thrown: string | null = null
  try {
    exitCode = await work((stage) => stages.push(stage))
    return exitCode
  } catch (error) {
    if (error instanceof JobtideError) exitCode = error.exitCode
    thrown = messageOf(error)
    throw error
  } finally {
    await measure(context, { ...what, beganAt, exitCode, thrown, stages })
  }
}

async function measure(context: Context, outcome: Outcome): Promise<void> {
  const { command, named, exitCode } = outcome
  const { clock, directory, logger, logFields } = context
  // Never creates a folder for metrics, because its name may be a typing error.
  if (!existsSync(directory.root)) return
  try {
    const freshness = await freshnessWith(context, named)
    const name = logFields['pipeline'] ?? basename(named).replace(/\.ya?ml$/, '')
    // A sample is not a run: the end of the last run and its alert remain.
    const attempt: [string, Attempt] = [name, { exitCode, at: clock.now() }]
    const attempts = new Map(command === 'plan' ? [] : [attempt])
    writeMetrics(context, freshness, attempts)
    await exportRun(context, outcome, freshness, () => metricsOf(freshness, directory, attempts))
  } catch (error) {
    logger[levelAfter(exitCode)]({ reason: messageOf(error) }, 'no_metrics')
  }
}

/** Not a warning after a failure, so that the error of the run stays the last line on stderr. */
function levelAfter(...exitCodes: readonly number[]): 'info' | 'warn' {
  return exitCodes.every((code) => code === EXIT.done) ? 'warn' : 'info'
}

/** Reads the state of all pipelines in reach, and of `named` if its file can be read. */
async function freshnessWith({ directory, clock }: Context, named: string): Promise<Freshness> {
  const scope = { directory, clock, withOthers: true, maxAgeMs: null }
  try {
    return await readFreshness({ ...scope, named: [named] })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return readFreshness({ ...scope, named: [] })
  }
}

/** Writes `metrics.prom` into the data directory. Logs a write error. @param attempts as in metricsOf */
export function writeMetrics(
  { directory, logger }: Context,
  freshness: Freshness,
  attempts: ReadonlyMap<string, Attempt>,
): void {
  try {
    const text = prometheusText(metricsOf(freshness, directory, attempts))
    writeFileAtomic(join(directory.root, 'metrics.prom'), text, OWNER_ONLY)
  } catch (error) {
    const level = levelAfter(...[...attempts.values()].map(({ exitCode }) => exitCode))
    logger[level]({ reason: messageOf(error) }, 'no_metrics')
  }
}

/** Sends the run to OpenTelemetry if its variables ask for it. Logs data that cannot be sent. */
async function exportRun(
  { environment, clock, logger, logFields, scrubber }: Context,
  { command, named, beganAt, exitCode, thrown, stages }: Outcome,
  { history }: Freshness,
  metrics: () => readonly Metric[],
): Promise<void> {
  const signals = telemetryFrom(environment)
  if (signals === null) return
  exportSdkEnv({ OTEL_EXPORTER_OTLP_TIMEOUT: String(ANSWER_MS) })
  const { run_id: runId, pipeline = named } = logFields
  const run = history.runs.get(runId ?? '')
  const message = thrown ?? run?.finished?.message ?? `exit ${exitCode}`
  const { TRACEPARENT: traceparent, TRACESTATE: tracestate } = environment
  const traced: TracedRun = {
    name: `jobtide ${command}`,
    beganAt,
    endedAt: clock.now(),
    attributes: attributesOf({
      run_id: runId,
      pipeline,
      exit_code: exitCode,
      credits: run?.creditsCommitted,
      pages: run?.pages,
      events: run?.events,
    }),
    problem: exitCode === EXIT.done ? null : scrubber.scrub(message),
    stages: stages.map(({ stage: name, figures, ...times }) => ({
      name,
      ...times,
      attributes: attributesOf(figures ?? {}),
      problem: figures === null ? 'it did not end' : null,
    })),
    parent: {
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(tracestate === undefined ? {} : { tracestate }),
    },
  }
  const { sendToOpenTelemetry } = await import('../observe/otel.ts')
  const isSent = new AbortController()
  const sent = sendToOpenTelemetry(traced, metrics(), signals, packageVersion())
  const tooLong = clock
    .sleep(LONGEST_MS, isSent.signal)
    .then(() => `no answer within ${LONGEST_MS / SECOND} s`)
  const problem = await Promise.race([sent, tooLong]).finally(() => isSent.abort())
  if (problem !== null) {
    const places = new Set(signals.addresses.map(publicPart))
    const reason = `to ${[...places].join(' and ')}: ${problem}`
    logger[levelAfter(exitCode)]({ reason }, 'not_sent_to_opentelemetry')
  }
}

// User, password and query of an address may be secret.
function publicPart(address: string): string {
  if (!URL.canParse(address)) return 'an address that is malformed'
  const { protocol, host, pathname } = new URL(address)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/** Figures as attributes of Jobtide; only texts, numbers and booleans. */
function attributesOf(figures: object): Record<string, string | number | boolean> {
  const all = Object.entries(figures as Record<string, unknown>)
  return Object.fromEntries(
    all.flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? [[`jobtide.${name}`, value]]
        : [],
    ),
  )
}
