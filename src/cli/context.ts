/** The context of a command: its environment and options as checked values, its output, and the effects it may have. */

import { closeSync, fstatSync, openSync, readFileSync, statSync, type Stats } from 'node:fs'
import { dirname, basename, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import {
  analystGroupFrom,
  baseUrlFrom,
  dataDirFrom,
  isLoopback,
  isSecretName,
  logLevelFrom,
  s3EndpointFrom,
  sizeFrom,
  exportSdkEnv,
  type Environment,
} from '../config.ts'
import { dataDirectory } from '../run/data-directory.ts'
import type { Job } from '../run/job.ts'
import { ownFolder, pipelineFile } from '../run/pipeline-file.ts'
import type { RunWorld } from '../run/stages.ts'
import { packageVersion, packageRoot } from '../support/assets.ts'
import { isFile } from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { ConfigError, onDisk, systemCode } from '../support/errors.ts'
import { isReadByAll, isWithin, letGroupRead, refuseOthersFile } from '../support/file-modes.ts'
import { createPeopleLog, silentLogger, type Logger, type Scrubber } from '../support/logger.ts'
import { limitMemory } from '../support/memory.ts'
import { decodeText, isUnexpanded } from '../support/text.ts'
import { limitSpilled } from '../warehouse/engine-settings.ts'
import type { CommonOptions } from './declarations.ts'
import { progressDisplay, type Output, type ProgressDisplay } from './output.ts'
import type { Result } from './report.ts'

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

const TAKEN = /^(?:(?:JOBTIDE|AWS)_[A-Z\d_]+|(?:HTTPS?|NO)_PROXY|(?:https?|no)_proxy|PG[A-Z]+)$/
// Node.js reads it at startup, before any of our files.
const READ_BY_NODE = 'NODE_EXTRA_CA_CERTS'
// As in a pipeline file, a path is relative to the file that names it.
const PATHS = new Set(['JOBTIDE_DATA_DIR', 'JOBTIDE_API_KEY_FILE', 'JOBTIDE_WEBHOOK_SECRET_FILE'])
// A lost line end would make a key part of an address, which is sent and shown.
const SECOND_VARIABLE = /[\s;](?:export\s+)?(?:JOBTIDE|AWS)_[A-Z\d_]+\s*=/

/**
 * Reads variables for Jobtide and its libraries from `.env` in the folder of each pipeline, in the folder above where that is
 * `pipelines`, and in the current one. The environment of the process wins, then the first file that names a variable.
 * @param pipelines names or paths, as commands take them
 * @throws ConfigError where such a file belongs to another account than this one or root, or every account may write it
 */
export function withEnvFiles(environment: Environment, pipelines: readonly string[]) {
  const folders = [...pipelines.flatMap(foldersOf), resolve('.')]
  const files = [...new Set(folders)].map((folder) => join(folder, '.env')).filter(isFile)
  const found: Record<string, string> = {}
  const warnings: string[] = []
  for (const file of files) {
    const { values, warnings: ofFile } = readEnvFile(file)
    const earlier = { ...found }
    warnings.push(...ofFile)
    for (const [name, value] of Object.entries(values)) {
      if (saidBy(environment, name)) continue
      if (name === READ_BY_NODE) {
        warnings.push(`${file}: ${name} has no effect there: set it in the environment`)
      }
      // An empty value in the example file counts as unset.
      if (!TAKEN.test(name) || value === '' || saidBy(earlier, name)) continue
      // One with what only a shell replaces stays as it is, and is refused.
      const isPath = PATHS.has(name) && !isUnexpanded(value)
      found[name] = isPath ? resolve(dirname(file), value) : value
    }
  }
  exportSdkEnv(found)
  return { environment: { ...environment, ...found }, warnings }
}

// The key and the file that holds it are one setting: naming the file overrides a key set elsewhere.
const KEYS = ['JOBTIDE_API_KEY', 'JOBTIDE_API_KEY_FILE']

function saidBy(environment: Environment, name: string): boolean {
  const names = KEYS.includes(name) ? KEYS : [name]
  return names.some((one) => environment[one] !== undefined)
}

// Jobtide's own pipelines are shared by all users, so no `.env` file configures them.
function foldersOf(pipeline: string): string[] {
  const file = pipelineFile(pipeline)
  if (file === undefined || isWithin(join(packageRoot, 'pipelines'), file)) return []
  const folder = dirname(file)
  return basename(folder) === 'pipelines' ? [folder, dirname(folder)] : [folder]
}

function readEnvFile(file: string) {
  const { bytes, mode, isGroups } = onDisk(file, () => readBelieved(file))
  const values = parseEnv(decodeText(bytes)) as Record<string, string>
  for (const [name, value] of Object.entries(values)) {
    if (!TAKEN.test(name) || !SECOND_VARIABLE.test(value)) continue
    throw new ConfigError(`${file}: the value of ${name} runs into another variable`, {
      hint: 'Put each variable on its own line, without quoted line ends. Nothing was sent.',
    })
  }
  const isKey = ([name, value]: readonly [string, string]) => isSecretName(name) && value !== ''
  const warnings = [
    isGroups ? `${file} may be written by a group, which could send the key elsewhere` : [],
    isReadByAll({ mode }) && Object.entries(values).some(isKey)
      ? `${file} holds a key and others may read it`
      : [],
  ].flat()
  return { values, warnings }
}

// Checks the open file, so that replacing it meanwhile has no effect.
function readBelieved(file: string) {
  const judge = (found: Stats) => refuseOthersFile(file, found, file, 'send the key elsewhere')
  // Also one that cannot be read.
  judge(statSync(file))
  let descriptor: number | null = null
  try {
    descriptor = openSync(file, 'r')
    const found = fstatSync(descriptor)
    return { isGroups: judge(found), mode: found.mode, bytes: readFileSync(descriptor) }
  } catch (error) {
    // Ignoring settings silently could mean another service or another key.
    if (systemCode(error) !== 'EACCES') throw error
    throw new ConfigError(`this account may not read ${file}`, { hint: NOT_READABLE })
  } finally {
    if (descriptor !== null) closeSync(descriptor)
  }
}

const NOT_READABLE =
  'Let it read the file (`ls -l` shows whose it is), or set these variables in the environment: under systemd with `EnvironmentFile=` and `LoadCredential=`, as deploy/systemd does.'
