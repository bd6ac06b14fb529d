/** Writes `metrics.prom` after a command that ran a pipeline, whatever its result. Never changes how the command ends. */

import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { prometheusText } from '../observe/metrics.ts'
import { ranAt, runsOf } from '../plan/judge.ts'
import { readFreshness, rememberNotBegun, type Freshness } from '../run/pipelines.ts'
import { OWNER_ONLY, writeFileAtomic } from '../support/atomic-file.ts'
import {
  ConfigError,
  EXIT,
  JobtideError,
  isStop,
  messageOf,
  type ExitCode,
} from '../support/errors.ts'
import type { Context } from './context.ts'
import { metricsOf, type Attempt } from './metrics.ts'

interface Observed {
  readonly command: string
  /** The pipeline, as it was named. */
  readonly named: string
}

/** Does `work`, and writes the metrics afterwards. */
export async function observed(
  context: Context,
  what: Observed,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.defect
  const beganAt = context.clock.now()
  try {
    exitCode = await work()
    return exitCode
  } catch (error) {
    if (error instanceof JobtideError) exitCode = error.exitCode
    throw error
  } finally {
    await measure(context, what, exitCode, beganAt)
  }
}

async function measure(
  context: Context,
  { command, named }: Observed,
  exitCode: ExitCode,
  beganAt: number,
): Promise<void> {
  const { clock, directory, logger, logFields } = context
  // Never creates a folder for metrics, because its name may be a typing error.
  if (!existsSync(directory.root)) return
  try {
    const freshness = await freshnessWith(context, named)
    const name = logFields['pipeline'] ?? basename(named).replace(/\.ya?ml$/, '')
    const hasBegun = ranAt(runsOf(freshness.history, name)) >= beganAt
    if (exitCode !== EXIT.done && command !== 'plan' && !hasBegun && !isStop(exitCode)) {
      rememberNotBegun(directory, name, { at: clock.now(), exit_code: exitCode })
    }
    // A sample is not a run: the end of the last run and its alert remain.
    const attempt: [string, Attempt] = [name, { exitCode, at: clock.now() }]
    writeMetrics(context, freshness, new Map(command === 'plan' ? [] : [attempt]))
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
