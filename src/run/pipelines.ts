/**
 * The pipelines that a command judges, schedules and measures, and their state: those named, else those of the current folder
 * and of the journal.
 */

import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { serviceTime } from '../journal/clock-history.ts'
import type { History } from '../journal/history.ts'
import { openJournal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import { coverageReport, wantedOf, type Wanted } from '../plan/coverage-report.ts'
import type { Schedule } from '../plan/due.ts'
import {
  judge,
  ranAt,
  runsOf,
  type JudgedPipeline,
  type Judgement,
  type JudgingOptions,
} from '../plan/judge.ts'
import type { NotifySpec } from '../plan/pipeline-fields.ts'
import { readableParts, type ReadableParts } from '../plan/pipeline.ts'
import { packageRoot } from '../support/assets.ts'
import { readJson, writeJson } from '../support/atomic-file.ts'
import { isoInstant, minuteText, type Clock } from '../support/clock.ts'
import { ConfigError } from '../support/errors.ts'
import { eachOnce, type BackupTarget } from './backup/backup-target.ts'
import type { DataDirectory } from './data-directory.ts'
import { unfinishedSince } from './forget/pending.ts'
import { readBackupTarget, readJob, type Job } from './job.ts'
import { LOCK_FOLDER, holderOf } from './lock.ts'
import { pipelineFile, pipelineFilesIn, unlessWrong } from './pipeline-file.ts'

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
    found.push(await readOne(argument, dataDir, 'named', isTolerant))
  }
  if (history === null) return found
  const folder = resolve('pipelines')
  // Jobtide's own are examples: they count once they have run.
  const isExample = existsSync(folder) && realpathSync(folder) === join(packageRoot, 'pipelines')
  for (const path of pipelineFilesIn(folder)) {
    const file = await readOne(path, dataDir, isExample ? 'example' : 'own', true)
    if (!found.some(({ name }) => name === file.name)) found.push(file)
  }
  const names = new Set(found.map(({ name }) => name))
  const ran = [...history.runs.values()].filter(({ started }) => started.command !== 'find')
  const others = [...new Set(ran.map(({ started }) => started.pipeline))].filter(
    (name) => !names.has(name),
  )
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
async function readOne(
  argument: string,
  dataDir: string,
  kind: 'named' | 'own' | 'example',
  isTolerant: boolean,
): Promise<KnownPipeline> {
  const isExpected = (schedule: Schedule | null) =>
    kind === 'named' || (kind === 'own' && schedule !== null)
  try {
    const job = await readJob(argument, {}, dataDir)
    const { pipeline: name, schedule, notify, skipped, question } = job
    const wanted = wantedOf(question)
    const about = { name, schedule, notify, skipped, wanted, argument, job }
    return { ...about, problem: null, isExpected: isExpected(schedule) }
  } catch (error) {
    if (!isTolerant || !(error instanceof ConfigError)) throw error
    const { name, schedule, notify } = partsOf(argument)
    return {
      ...UNKNOWN,
      name: name ?? basename(argument).replace(/\.ya?ml$/, ''),
      schedule,
      isExpected: isExpected(schedule),
      notify,
      argument,
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

/** Where the pipelines in ./pipelines back the journal up, each place once. A file that is wrong counts for nothing here. */
export function declaredBackups(dataDir: string): BackupTarget[] {
  const files = pipelineFilesIn(resolve('pipelines'))
  return eachOnce(
    files.flatMap((file) => unlessWrong(() => readBackupTarget(file, {}, dataDir)) ?? []),
  )
}

export type Freshness = Awaited<ReturnType<typeof readFreshness>>

interface FreshnessOptions {
  readonly directory: DataDirectory
  readonly clock: Clock
  /** Names or paths of pipelines; empty for all in reach. */
  readonly named: readonly string[]
  /** Whether a named one that cannot be read is judged, as others are. */
  readonly isTolerant?: boolean
  /** Also all others in reach. */
  readonly withOthers?: boolean
  /** Milliseconds; null for any age. */
  readonly maxAgeMs: number | null
}

/**
 * Reads the journal and the pipeline files, and judges.
 * @throws ConfigError when a named pipeline cannot be read, unless that is judged
 * @throws JournalLossError when sealed segments of the journal are lost
 */
export async function readFreshness(options: FreshnessOptions) {
  const { directory, clock, named, isTolerant, withOthers = named.length === 0, maxAgeMs } = options
  // In this order, because a run that ends meanwhile has then written its end.
  const working: JudgingOptions['working'] = existsSync(directory.root)
    ? await holderOf(directory.root)
    : null
  const history = readHistory(openJournal(directory.journal, clock))
  const others = withOthers ? history : null
  const known = await readPipelines(named, directory.root, others, isTolerant)
  const nowMs = clock.now()
  const serverNowMs = serviceTime(history, nowMs)
  // Computed once for all callers, because a long list takes a while.
  const pipelines: KnownPipeline[] = known.map((pipeline) => {
    const { wanted } = pipeline
    return { ...pipeline, coverage: wanted && coverageReport(wanted, history, serverNowMs) }
  })
  const judgements = judge(pipelines, history, { nowMs, serverNowMs, working, maxAgeMs })
  const pending = working === null ? pendingErasure(directory) : []
  const notBegun = judgeNotBegun(directory, pipelines, history)
  return {
    history,
    pipelines,
    /** On which pipeline a process works now; null when none does. */
    working,
    /** Empty when all is as it should be. */
    judgements: [...judgements, ...notBegun, ...pending],
    /** Milliseconds since 1970 UTC. */
    nowMs,
  }
}

/** An erasure that was begun, and is not proved. */
function pendingErasure({ root }: DataDirectory): Judgement[] {
  const since = unfinishedSince(root)
  if (since === null) return []
  return [
    {
      id: 'erasure_pending',
      pipeline: null,
      message: `an erasure begun on ${isoInstant(since).slice(0, 10)} is not complete`,
      hint: '`jobtide forget --yes` continues it, and names what blocks it. Each run does the same.',
      runId: null,
      since,
    },
  ]
}

/** The last run of each pipeline that ended before it began, such as one without a key: the journal knows only runs that began. */
const notBegunSchema = z.record(z.string(), z.object({ at: z.int(), exit_code: z.int() }))

const notBegunIn = ({ root }: Pick<DataDirectory, 'root'>) =>
  join(root, LOCK_FOLDER, 'not-begun.json')

/** Remembers such a run. @param end at: milliseconds since 1970 UTC */
export function rememberNotBegun(
  directory: Pick<DataDirectory, 'root'>,
  pipeline: string,
  end: { readonly at: number; readonly exit_code: number },
): void {
  const path = notBegunIn(directory)
  if (!existsSync(dirname(path))) return
  writeJson(path, { ...notBegunSchema.safeParse(readJson(path)).data, [pipeline]: end })
}

function judgeNotBegun(
  directory: DataDirectory,
  pipelines: readonly JudgedPipeline[],
  history: History,
): Judgement[] {
  const known = notBegunSchema.safeParse(readJson(notBegunIn(directory))).data ?? {}
  return pipelines.flatMap(({ name }) => {
    const end = known[name]
    if (end === undefined || end.at <= ranAt(runsOf(history, name))) return []
    const { at: since, exit_code: code } = end
    const message = `the last run of ${name} ended at ${minuteText(since)} UTC with exit ${code} before it began`
    const hint = `\`jobtide doctor\` names the cause. Then run \`jobtide run ${name}\`.`
    return [{ id: 'last_run_failed', pipeline: name, message, hint, runId: null, since }]
  })
}
