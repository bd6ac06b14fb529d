/** Starts the job of a Spark build, and waits for its end. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { PipelineSpec } from '../plan/pipeline.ts'
import { PublishError } from '../publish/errors.ts'
import { ConfigError } from '../support/errors.ts'
import type { Logger } from '../support/logger.ts'

/** How Spark builds the models, as a pipeline file says it. */
export interface SparkBuild {
  /** The command that starts the job and waits for its end. */
  readonly submit: readonly string[]
  /** The destination as Spark calls it; null: as Jobtide does. */
  readonly address: string | null
}

/**
 * The Spark settings of a pipeline; undefined if DuckDB builds. @param engine the override of the command line
 * @throws ConfigError when it does not say how a job is started
 */
export function sparkBuildOf(build: PipelineSpec['build'], engine: 'duckdb' | 'spark' | undefined) {
  const { engine: said = 'duckdb', submit, address } = build ?? {}
  if ((engine ?? said) === 'duckdb') return undefined
  if (submit !== undefined) return { submit, address: address ?? null }
  throw new ConfigError('the pipeline does not say how a Spark job is started', {
    hint: 'Add `build: {engine: spark, submit: [spark-submit, …]}` to it. Nothing was sent.',
  })
}

export interface SubmitWorld {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly logger: Logger
  readonly stop: AbortSignal
}

/**
 * Runs the command to its end, with the address of the job in the place of `{job}`; where no argument has that, as the last
 * argument. What it prints goes to the log.
 * @throws PublishError when it cannot be started, or ends with another code than 0
 */
export async function submitJob(
  { submit }: SparkBuild,
  address: string,
  { environment, logger, stop }: SubmitWorld,
): Promise<void> {
  const isNamed = submit.some((part) => part.includes('{job}'))
  const [program = '', ...args] = isNamed
    ? submit.map((part) => part.replaceAll('{job}', address))
    : [...submit, address]
  // Our own key is of no use there.
  const env = Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith('JOBTIDE_')),
  )
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], signal: stop })
  const last: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      logger.debug({ line }, 'spark')
      if (line.trim() !== '') last.push(line.trim())
      if (last.length > 5) last.shift()
    })
  }
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = await new Promise<string | number | Error | null>((resolve) => {
    child.once('error', (error) => child.pid === undefined && resolve(error))
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  process.removeListener('exit', kill)
  stop.throwIfAborted()
  if (ended instanceof Error) {
    const hint = 'Fix `build: {submit: …}` in the pipeline file.'
    throw new PublishError(`${program} cannot be started: ${ended.message}`, { hint })
  }
  if (ended === 0) return
  const hint = 'What it printed is in the log at level debug.'
  throw new PublishError(`the Spark job ended with ${ended}: ${last.join(' | ')}`, { hint })
}
