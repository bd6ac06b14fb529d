/**
 * The pipelines that a command judges, schedules and measures: those named, else those of the current folder and of the
 * journal.
 */

import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { History } from '../journal/history.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { wantedOf } from '../plan/coverage-report.ts'
import type { Schedule } from '../plan/due.ts'
import type { Wanted } from '../plan/coverage-report.ts'
import type { JudgedPipeline } from '../plan/judge.ts'
import type { NotifySpec } from '../plan/pipeline-fields.ts'
import { readableParts, type ReadableParts } from '../plan/pipeline.ts'
import { packageRoot } from '../support/assets.ts'
import { ConfigError } from '../support/errors.ts'
import { absolutePlace, eachOnce, type BackupTarget } from './backup/backup-target.ts'
import { readBackupTarget, readJob, type Job } from './job.ts'
import { pipelineFile, pipelineFilesIn } from './pipeline-file.ts'

/** A pipeline, and its job where its file is in reach and says one. */
export interface KnownPipeline extends JudgedPipeline {
  /** The wanted coverage; null where no file states it. */
  readonly wanted: Wanted | null
  /** Its argument on the command line: its name, or the path of its file. */
  readonly argument: string
  readonly job: Job | null
  /** The destinations of messages, even if the file as a whole cannot be read. */
  readonly notify: NotifySpec | null
}

/**
 * Reads pipelines.
 * @param named names below pipelines/ or paths
 * @param history of the data directory: all files of pipelines/ in the current folder are added, and the pipelines that it has
 *   runs of; null for none but those named
 * @param isTolerant whether a named one that cannot be read is a `problem`, as others are
 * @throws ConfigError when a named one cannot be read
 */
export async function readPipelines(
  named: readonly string[],
  dataDir: string,
  history: Pick<History, 'runs'> | null,
  isTolerant = false,
): Promise<KnownPipeline[]> {
  const found: KnownPipeline[] = []
  for (const argument of named) {
    found.push(
      isTolerant
        ? await readFile(argument, dataDir, 'named')
        : known(argument, await readJob(argument, {}, dataDir), true),
    )
  }
  if (history === null) return found
  const folder = resolve('pipelines')
  // Jobtide's own are examples: they count once they have run.
  const isExample = existsSync(folder) && realpathSync(folder) === join(packageRoot, 'pipelines')
  for (const path of pipelineFilesIn(folder)) {
    const file = await readFile(path, dataDir, isExample ? 'example' : 'own')
    if (!found.some(({ name }) => name === file.name)) found.push(file)
  }
  const names = new Set(found.map(({ name }) => name))
  const byHand = (run: RunHistory) => run.started.command === 'find'
  const ran = new Set(
    [...history.runs.values()].flatMap((run) => (byHand(run) ? [] : run.started.pipeline)),
  )
  const others = [...ran].filter((name) => !names.has(name))
  return [...found, ...others.map((name) => ({ ...UNKNOWN, name, argument: name }))]
}

const UNKNOWN = {
  schedule: null,
  wanted: null,
  problem: null,
  isExpected: false,
  job: null,
  notify: null,
}

// A file that cannot be read is a pipeline that will not run: that is judged like a run that failed.
async function readFile(
  path: string,
  dataDir: string,
  kind: 'named' | 'own' | 'example',
): Promise<KnownPipeline> {
  const isExpected = (schedule: Schedule | null) =>
    kind === 'named' || (kind === 'own' && schedule !== null)
  try {
    const job = await readJob(path, {}, dataDir)
    return known(path, job, isExpected(job.schedule))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const { name, schedule, notify } = partsOf(path)
    return {
      ...UNKNOWN,
      name: name ?? basename(path).replace(/\.ya?ml$/, ''),
      schedule,
      isExpected: isExpected(schedule),
      notify,
      argument: path,
      problem: error.message,
    }
  }
}

/** The description of a pipeline, as far as its file can be read. */
export function partsOf(argument: string): ReadableParts {
  const path = pipelineFile(argument) ?? argument
  try {
    return readableParts(readFileSync(path, 'utf8'))
  } catch {
    return readableParts('')
  }
}

function known(argument: string, job: Job, isExpected: boolean): KnownPipeline {
  const { pipeline: name, schedule, question, skipped } = job
  const wanted = wantedOf(question)
  return {
    name,
    schedule,
    wanted,
    skipped,
    problem: null,
    isExpected,
    argument,
    job,
    notify: job.notify,
  }
}

/**
 * Where pipelines back the journal up, each place once. A file that is wrong counts for nothing here.
 * @param named pipelines in addition to those in ./pipelines
 * @param said what JOBTIDE_JOURNAL_BACKUP names
 */
export function declaredBackups(
  named: readonly string[],
  said: string | false | undefined,
  dataDir: string,
): BackupTarget[] {
  const files = [...named, ...pipelineFilesIn(resolve('pipelines'))]
  const declared = files.flatMap((file): BackupTarget[] => {
    try {
      const overrides = [{}, { journalBackup: said }]
      return overrides.flatMap((one) => readBackupTarget(file, one, dataDir) ?? [])
    } catch (error) {
      if (error instanceof ConfigError) return []
      throw error
    }
  })
  const place = typeof said === 'string' ? absolutePlace(said, dataDir) : null
  return eachOnce([...declared, ...(place === null ? [] : [{ place, s3: {} }])])
}
