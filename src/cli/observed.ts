/** What is left of a command that ran a pipeline, however it ended: `metrics.prom`. It never changes how the command ends. */

import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { prometheusText } from '../observe/metrics.ts'
import { readFreshness, type Freshness } from '../run/freshness.ts'
import { writeFileAtomic } from '../support/atomic-file.ts'
import { ConfigError, EXIT, JobtideError, messageOf, type ExitCode } from '../support/errors.ts'
import type { Context } from './context.ts'
import { metricsOf, type Attempt } from './metrics.ts'

const OWNER_ONLY = 0o600

/** Does `work`, which runs `named`, and writes the metrics afterwards. */
export async function observed(
  context: Context,
  named: string,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.defect
  try {
    exitCode = await work()
    return exitCode
  } catch (error) {
    if (error instanceof JobtideError) exitCode = error.exitCode
    throw error
  } finally {
    await measure(context, named, exitCode)
  }
}

async function measure(context: Context, named: string, exitCode: ExitCode): Promise<void> {
  const { clock, directory, logger, logFields } = context
  // A folder that a typing error names is not made for metrics.
  if (!existsSync(directory.root)) return
  try {
    const freshness = await freshnessWith(context, named)
    const name = logFields['pipeline'] ?? basename(named).replace(/\.ya?ml$/, '')
    writeMetrics(context, freshness, new Map([[name, { exitCode, at: clock.now() }]]))
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, 'no_metrics')
  }
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

/** Writes `metrics.prom` into the data directory. What the disk refuses is a warning. @param attempts as of metricsOf */
export function writeMetrics(
  { directory, logger }: Context,
  freshness: Freshness,
  attempts: ReadonlyMap<string, Attempt>,
): void {
  try {
    const text = prometheusText(metricsOf(freshness, directory, attempts))
    writeFileAtomic(join(directory.root, 'metrics.prom'), text, OWNER_ONLY)
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, 'no_metrics')
  }
}
