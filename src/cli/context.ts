/** The context of a command: its options as checked values, its output, and the effects it may have. */

import {
  analystGroupFrom,
  baseUrlFrom,
  dataDirFrom,
  isLoopback,
  logLevelFrom,
  s3EndpointFrom,
  sizeFrom,
  type Environment,
} from '../config.ts'
import { dataDirectory } from '../run/data-directory.ts'
import type { Job } from '../run/job.ts'
import { ownFolder } from '../run/pipeline-file.ts'
import type { RunWorld } from '../run/stages.ts'
import { packageVersion } from '../support/assets.ts'
import type { Clock } from '../support/clock.ts'
import { ConfigError } from '../support/errors.ts'
import { letGroupRead } from '../support/file-modes.ts'
import {
  createPeopleLog,
  silentLogger,
  type LogLevel,
  type Logger,
  type Scrubber,
} from '../support/logger.ts'
import { limitMemory } from '../support/memory.ts'
import { limitSpilled } from '../warehouse/engine-settings.ts'
import type { Output } from './output.ts'
import { progressDisplay, type ProgressDisplay } from './progress.ts'
import type { Result } from './report.ts'

export interface CommonOptions {
  readonly json?: boolean
  readonly dataDir?: string
  readonly logLevel?: LogLevel
}

export interface ProcessParts {
  readonly environment: Environment
  /** Without values from `.env` files: a child process reads the current files again. */
  readonly startedWith: Environment
  readonly clock: Clock
  readonly random: () => number
  readonly scrubber: Scrubber
  readonly output: Output
  /** Where log lines go in place of text for people; null for text. */
  readonly log: Logger | null
  /** Fields on each of its lines. */
  readonly logFields: Record<string, string>
  /** Requests a clean stop; its reason is the error that the command ends with. */
  readonly stop: AbortSignal
  /** Aborts requests that are still in flight after that. */
  readonly abort: AbortSignal
}

/** What a command has: its process, and what a run needs. */
export interface Context extends ProcessParts, RunWorld {
  readonly environment: Environment
  readonly ownFolder: string | null
  readonly progress: ProgressDisplay
}

/** Runs a command once its options and the pipelines that it names are known. */
export type Start = (
  options: CommonOptions,
  pipelines: readonly string[],
  work: (context: Context) => Promise<Result>,
) => Promise<void>

/** @param pipelines that the command names */
export function createContext(
  options: CommonOptions,
  parts: ProcessParts,
  pipelines: readonly string[] = [],
): Context {
  const { environment, output, clock } = parts
  limitMemory(sizeFrom(environment, 'JOBTIDE_MEMORY_LIMIT'))
  letGroupRead(analystGroupFrom(environment))
  limitSpilled(sizeFrom(environment, 'JOBTIDE_TEMP_LIMIT'))
  // stderr carries either text for people or log lines, never both.
  const isSilent = logLevelFrom(environment, options.logLevel) === 'silent'
  const progress = progressDisplay(output, clock, parts.log !== null || isSilent)
  const below = (say: () => void) => {
    progress.stop()
    say()
  }
  const directory = dataDirectory(dataDirFrom(environment, options.dataDir))
  return {
    ...parts,
    // Permanent output goes below the progress bar.
    output: {
      ...output,
      report: (report) => below(() => output.report(report)),
      note: (text) => below(() => output.note(text)),
    },
    progress,
    logger:
      parts.log ??
      (isSilent
        ? silentLogger
        : createPeopleLog((line) => {
            progress.makeRoom()
            output.write(
              line.replace(/^jobtide: warning:/, (head) => output.paint('warning', head)),
            )
          })),
    directory,
    ownFolder: ownFolder(pipelines, directory),
    version: packageVersion(),
    s3Endpoint: s3EndpointFrom(environment),
    onProgress: (step) => progress.show(step),
    onBegun: (runId) => {
      parts.logFields['run_id'] = runId
    },
  }
}

/**
 * Refuses the pipelines and the list that ship with Jobtide, of organisations of the simulator and with limits that the user
 * did not set, at an address that is not on this machine.
 */
export function refuseBundled(job: Job, environment: Environment): void {
  if (!job.isBundled || !environment['JOBTIDE_BASE_URL']) return
  const baseUrl = baseUrlFrom(environment)
  if (isLoopback(baseUrl)) return
  const { pipeline, organizationsFile } = job
  throw new ConfigError(
    `pipeline ${pipeline} is Jobtide's own example, for the organisations of the simulator: it does not ask ${baseUrl}; nothing was sent`,
    {
      hint: 'Run `jobtide init`: it writes a pipeline for your list. There, use `jobtide run nightly`, or `jobtide backfill nightly` for a long window. To try the example, start `jobtide simulate`.',
      context: { organizations_file: organizationsFile },
    },
  )
}
