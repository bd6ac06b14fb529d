/**
 * Finishes a run after the buying: load → build → publish, then closes it. A run killed before it is closed is resumed and
 * loses nothing.
 */

import type { History } from '../journal/history.ts'
import { serviceTime } from '../journal/clock-history.ts'
import { readHistory } from '../journal/read-history.ts'
import type { RunFinished } from '../journal/records.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { load, type LoadOptions, type RunsOfHistory } from '../load/load.ts'
import type { LoadReport } from '../load/merger.ts'
import { readSuppression } from '../load/suppression.ts'
import type { BuildReport } from '../model/build.ts'
import type { ObjectStore } from '../publish/store/object-store.ts'
import { JobtideError } from '../support/errors.ts'
import { makeAnalystCopy, type AnalystCopyReport } from './analyst-copy.ts'
import type { RunCommand } from './begin.ts'
import { closingOf } from './closing.ts'
import { loadDatabases, type DatabaseOutcome } from './databases.ts'
import type { Job } from './job.ts'
import type { Session } from './session.ts'
import {
  buildStage,
  loadStage,
  publishStage,
  type PublishStageReport,
  type RunWorld,
} from './stages.ts'
import { timed, type TimedParts } from './stage-times.ts'
import {
  nothingCovered,
  nothingFound,
  searchRefused,
  unknownList,
  type UnknownList,
} from './unknown-list.ts'
import { storeWatchLists } from './watch-lists.ts'

export interface RunParts extends TimedParts {
  readonly job: Job
  readonly command: RunCommand
  readonly world: RunWorld
  readonly session: Session
  /** Of the snapshots, open since before anything was bought; null for a run that publishes nothing. */
  readonly store: ObjectStore | null
}

/** The results of the stages after the buying. Stages that were not reached are null. */
export interface RunEnd {
  /** Organisations that were not read to the end; more than 0 only when the run ended early. */
  readonly unread: number
  readonly load: LoadReport | null
  readonly build: BuildReport | null
  readonly publish: PublishStageReport | null
  /** The results of loading databases. */
  readonly databases: readonly DatabaseOutcome[]
  /**
   * The error that ended the stages after the buying: a check, a reader's lock, the disk, or the publish. Bought pages are
   * kept.
   */
  readonly stageFailure: JobtideError | null
  /** The copy of the warehouse for analysts; null when nothing was published. */
  readonly analystCopy: AnalystCopyReport | null
  /** The problem of a list without an organisation that the service knows; else null. */
  readonly unknownList: UnknownList | null
  /** Why a run that nothing stopped has covered nothing; null where it covered something, or had nothing to ask for. */
  readonly nothingCovered: JobtideError | null
}

export interface BuyingEnd {
  readonly events: number
  readonly endedEarly: JobtideError | null
}

/** Loads, builds and publishes what was bought, and closes the run. */
export async function finish(parts: RunParts, run: RunHistory, buying: BuyingEnd): Promise<RunEnd> {
  const { command, world, session, seconds } = parts
  const { clock, stop } = world
  const notBackedUp = await backUpBought(parts)
  const { runs, failure, ...loaded } = await loadBought(parts, run, buying)
  let end: RunEnd = {
    ...loaded,
    build: null,
    publish: null,
    databases: [],
    stageFailure: null,
    analystCopy: null,
  }
  const told = { stage_seconds: seconds, ...refusedBy(end.load) }
  const closing = (): RunFinished => {
    // With a wrong list everything was done that could be: such a run is not resumed.
    const problem = end.unknownList?.isSure === true ? end.unknownList.problem : end.nothingCovered
    // The next run loads the changes that a database missed.
    const missed = buying.endedEarly === null ? problemIn(end.databases) : null
    return problem === null && missed === null
      ? closingOf(run, buying.endedEarly, clock, told)
      : closingOf(run, problem ?? missed, clock, { outcome: 'done', ...told })
  }
  try {
    if (command === 'extract') {
      if (notBackedUp !== null) throw notBackedUp
      await close(parts, closing())
      return end
    }
    if (failure !== null) throw failure
    end = { ...end, build: await build(parts) }
    if (end.unknownList?.isSure !== true || (await hasEvents(parts))) {
      end = { ...end, publish: await publish(parts, run) }
      end = { ...end, databases: await fillDatabases(parts) }
    }
    if (notBackedUp !== null) throw notBackedUp
    const record = closing()
    await show(parts, { closing: record, history: runs })
    session.warehouse.close()
    await close(parts, record)
  } catch (error) {
    if (!(error instanceof JobtideError) || stop.aborted) throw error
    await closeFailed(parts, run, error, end.load)
    return { ...end, stageFailure: error }
  }
  if (end.publish === null) return end
  // Last, when the warehouse is closed and shows the end of the run. Everything is published by then.
  const analystCopy = await makeAnalystCopy(world)
  const { path, problem: refused } = analystCopy
  if (refused !== null) world.logger.warn({ path, reason: refused.message }, 'no_analyst_copy')
  return { ...end, analystCopy }
}

function fillDatabases({ job, world, session }: RunParts): Promise<DatabaseOutcome[]> {
  if (job.databases.length === 0) return Promise.resolve([])
  return session.warehouse.use((warehouse) => loadDatabases(warehouse, job.databases, world))
}

/** Why the first database that missed something did. */
export function problemIn(databases: readonly DatabaseOutcome[]): JobtideError | null {
  return databases.find(({ problem }) => problem !== null)?.problem ?? null
}

// Of a wrong list alone, empty tables would tell readers that nothing ever happened.
function hasEvents({ session }: RunParts): Promise<boolean> {
  const any = 'select count(*) from (from job_change_events limit 1)'
  return session.warehouse.use(async (warehouse) => (await warehouse.number(any)) > 0)
}

/**
 * Backs up the bought pages before anything is derived from them. @returns why that failed; loading and publishing continue
 */
async function backUpBought(parts: RunParts): Promise<JobtideError | null> {
  if (parts.job.backups.length === 0) return null
  const work = () => parts.session.backUp(parts.store)
  return timed(parts, 'backup', work, (problem) => ({ is_complete: problem === null }))
}

/**
 * Reads the journal's history, and loads it. The history is freed after this function: for a long list it is as large as the
 * memory that the build needs in addition to the engine.
 */
async function loadBought(
  parts: RunParts,
  run: RunHistory,
  { events, endedEarly }: BuyingEnd,
): Promise<
  Pick<RunEnd, 'unread' | 'unknownList' | 'nothingCovered' | 'load'> & {
    readonly runs: RunsOfHistory
    readonly failure: Error | null
  }
> {
  const { job, command, world, session } = parts
  const { journal } = session
  const history = readHistory(journal)
  const readsEvents = job.collection === null && endedEarly === null
  const isSilent = readsEvents && events === 0
  const known = endedEarly === null ? history.runs.get(run.started.run_id) : undefined
  const facts = {
    unread: endedEarly === null ? 0 : unreadOrganizations(history, run),
    unknownList: isSilent
      ? unknownList(job, history, serviceTime(history, world.clock.now()))
      : null,
    nothingCovered: known === undefined ? null : nothingOf(parts, history, known),
    runs: { runs: history.runs, notRead: history.notRead, suppression: history.suppression },
  }
  if (command === 'extract') return { ...facts, load: null, failure: null }
  try {
    const report = await timed(
      parts,
      'load',
      () => session.warehouse.use((warehouse) => loadStage(warehouse, journal, world, history)),
      ({ newUnknownFields, ...counts }) => ({ ...counts, new_fields: newUnknownFields.length }),
    )
    return { ...facts, load: report, failure: null }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return { ...facts, load: null, failure: error }
  }
}

function nothingOf(
  { job, command }: RunParts,
  history: History,
  run: RunHistory,
): JobtideError | null {
  if (command === 'find') return searchRefused(run)
  return job.collection === null
    ? nothingCovered(job, history, run)
    : nothingFound(job, history, run)
}

// The journal knows every batch that was split while the run went on.
function unreadOrganizations(history: History, { started }: RunHistory): number {
  const batches = history.runs.get(started.run_id)?.batches.values() ?? []
  const unread = [...batches].filter(({ state }) => state === 'planned')
  const names = unread.flatMap(({ batch }) => batch.organizations.map(({ value }) => value))
  return new Set(names).size
}

function build(parts: RunParts): Promise<BuildReport> {
  return timed(
    parts,
    'build',
    () =>
      parts.session.warehouse.use(async (warehouse) => {
        await storeWatchLists(warehouse, parts.job, readSuppression(parts.session.journal))
        return buildStage(warehouse, parts.world, { titlesOnly: hasSpark(parts.job) })
      }),
    ({ models, checks }) => ({ models: models.length, checks: checks.length }),
  )
}

export function hasSpark({ snapshot }: Job): boolean {
  return snapshot?.spark !== undefined
}

async function publish(
  parts: RunParts,
  { started }: RunHistory,
): Promise<PublishStageReport | null> {
  const { job, world, session, store } = parts
  const { snapshot, publishing } = job
  if (snapshot === null) return null
  const by = { runId: started.run_id, writer: session.writer, store }
  return timed(
    parts,
    'publish',
    () =>
      session.warehouse.use((warehouse) =>
        publishStage(warehouse, snapshot, by, world, publishing),
      ),
    ({ snapshotId, rows, newFiles, newBytes }) => ({
      snapshot: snapshotId,
      rows,
      new_files: newFiles,
      new_bytes: newBytes,
    }),
  )
}

/** Lets the warehouse show the end of the run that the journal gets next. */
async function show(parts: RunParts, how: Pick<LoadOptions, 'closing' | 'history'>): Promise<void> {
  const { world, session } = parts
  const onProgress = () => world.abort.throwIfAborted()
  const options = { ...how, journal: session.journal, onProgress }
  await session.warehouse.use((warehouse) => load({ ...options, warehouse }))
}

async function close({ session, world }: RunParts, record: RunFinished): Promise<void> {
  await session.writer.append(record)
  const { outcome, exit_code: exitCode, message } = record
  world.logger.info({ outcome, exit_code: exitCode, message }, 'run_ended')
}

const refusedBy = (load: LoadReport | null) => (load === null ? {} : { rejected: load.rejected })

/**
 * Closes a run that failed. The error to report is the one that ended it. Where even its end cannot be noted (a full
 * disk) the run counts as killed, and is resumed all the same.
 */
export async function closeFailed(
  parts: RunParts,
  run: RunHistory,
  error: unknown,
  loaded: LoadReport | null = null,
): Promise<void> {
  const more = { stage_seconds: parts.seconds, ...refusedBy(loaded) }
  const closing = closingOf(run, error, parts.world.clock, more)
  // The warehouse may be the very thing that is out of reach, or broken as it is open; it shows the end after the next load.
  parts.session.warehouse.close()
  if (parts.command !== 'extract') {
    await show(parts, { closing }).catch(() => undefined)
  }
  await close(parts, closing).catch(() => undefined)
}
