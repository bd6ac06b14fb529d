/**
 * What is left of a command that ran a pipeline, however it ended: `metrics.prom`, and what OpenTelemetry is sent. It never
 * changes how the command ends.
 */

import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { exportSdkEnv, telemetryFrom } from '../config.ts'
import { prometheusText, type Metric } from '../observe/metrics.ts'
import type { TracedRun } from '../observe/otel.ts'
import { readFreshness, type Freshness } from '../run/freshness.ts'
import type { EndedStage } from '../run/stage-times.ts'
import { packageVersion } from '../support/assets.ts'
import { writeFileAtomic } from '../support/atomic-file.ts'
import { ConfigError, EXIT, JobtideError, messageOf, type ExitCode } from '../support/errors.ts'
import { SECOND } from '../support/units.ts'
import type { Context } from './context.ts'
import { metricsOf, type Attempt } from './metrics.ts'

const OWNER_ONLY = 0o600

/** The longest that a run waits for OpenTelemetry when it has ended. */
const LONGEST_MS = 5 * SECOND
/** How long its libraries wait for an answer, so that they can still say what was wrong. */
const ANSWER_MS = 3 * SECOND

/** A command that runs a pipeline. */
export interface Observed {
  readonly command: string
  /** The pipeline, as it was named. */
  readonly named: string
}

/** How it went. */
interface Outcome extends Observed {
  readonly beganAt: number
  readonly exitCode: ExitCode
  /** What it ended with; null where no error was thrown. */
  readonly thrown: string | null
  readonly stages: readonly EndedStage[]
}

/** Does `work`, and measures it afterwards. @param work tells each stage that has ended */
export async function observed(
  context: Context,
  what: Observed,
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
  // A folder that a typing error names is not made for metrics.
  if (!existsSync(directory.root)) return
  try {
    const freshness = await freshnessWith(context, named)
    const name = logFields['pipeline'] ?? basename(named).replace(/\.ya?ml$/, '')
    // A sample is no run: how the last one ended, and an alert for it, stand.
    const attempt: [string, Attempt] = [name, { exitCode, at: clock.now() }]
    const attempts = new Map(command === 'plan' ? [] : [attempt])
    writeMetrics(context, freshness, attempts)
    await exportRun(context, outcome, freshness, () => metricsOf(freshness, directory, attempts))
  } catch (error) {
    logger[levelAfter([exitCode])]({ reason: messageOf(error) }, 'no_metrics')
  }
}

/** Below a warning after a failure: what a run ended with is the last line on stderr. */
function levelAfter(exitCodes: readonly number[]): 'info' | 'warn' {
  return exitCodes.every((code) => code === EXIT.done) ? 'warn' : 'info'
}

/** What is known of all pipelines in reach, and of `named`, if its file can be read. */
async function freshnessWith({ directory, clock }: Context, named: string): Promise<Freshness> {
  const scope = { directory, clock, withOthers: true, maxAgeMs: null }
  try {
    return await readFreshness({ ...scope, named: [named] })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return readFreshness({ ...scope, named: [] })
  }
}

/** Writes `metrics.prom` into the data directory. What the disk refuses is told. @param attempts as of metricsOf */
export function writeMetrics(
  { directory, logger }: Context,
  freshness: Freshness,
  attempts: ReadonlyMap<string, Attempt>,
): void {
  try {
    const text = prometheusText(metricsOf(freshness, directory, attempts))
    writeFileAtomic(join(directory.root, 'metrics.prom'), text, OWNER_ONLY)
  } catch (error) {
    const level = levelAfter([...attempts.values()].map(({ exitCode }) => exitCode))
    logger[level]({ reason: messageOf(error) }, 'no_metrics')
  }
}

/** Sends the run to OpenTelemetry, where its variables ask for it. What cannot be sent is told. */
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
    logger[levelAfter([exitCode])]({ reason }, 'not_sent_to_opentelemetry')
  }
}

// User, password and query of an address may be secret.
function publicPart(address: string): string {
  if (!URL.canParse(address)) return 'an address that is malformed'
  const { protocol, host, pathname } = new URL(address)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/** Figures as attributes of Jobtide; what is no text, number or truth value is left out. */
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
