/**
 * Erases people, or events from before a day, from everything that a data directory keeps and published:
 *
 *     load ▶ tombstones ▶ journal ▶ warehouse ▶ snapshots ▶ databases ▶ backup ▶ copies ▶ proof ▶ certificate
 *
 * The journal is loaded first, because the warehouse knows by which texts people can be found. Tombstones, the entries
 * of the suppression list, come before anything is erased, so that no load brings people back whatever happens later.
 * Each step can be repeated. A stopped erasure begins again with the next `forget`, or at the end of the next run,
 * which know from `forget.pending.json` whom it is about and what to search for.
 */

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  eraseFromSegment,
  findInSegment,
  type CutPage,
  type ErasedSegment,
} from '../../journal/erase-events.ts'
import { openJournal, type Journal } from '../../journal/journal.ts'
import { nextMonthAt } from '../../journal/spending.ts'
import { ANY_END } from '../../load/load.ts'
import { cutting, excluded, leaveOut } from '../../load/remove-suppressed.ts'
import {
  CERTIFICATES,
  readSuppression,
  suppress,
  type Erasable,
  type Suppression,
} from '../../load/suppression.ts'
import { removeFile, writeJson } from '../../support/atomic-file.ts'
import { isoInstant } from '../../support/clock.ts'
import { EXIT, JobtideError, LockedError, messageOf, onDisk } from '../../support/errors.ts'
import { newUlid } from '../../support/ulid.ts'
import { DAY } from '../../support/units.ts'
import { compactDatabase } from '../../warehouse/erase-rows.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import { makeAnalystCopy } from '../analyst-copy.ts'
import { eraseInBackups } from '../backup/back-up.ts'
import { LIST_KEY } from '../backup/backup-target.ts'
import { databasesToErase, eraseInDatabases } from '../databases.ts'
import { REMOVED, linkedFoldersIn } from '../data-directory.ts'
import type { SnapshotTarget } from '../job.ts'
import { refuseLostJournal } from '../lost-journal.ts'
import { buildStage, loadStage, type RunWorld } from '../stages.ts'
import { withJournal } from '../session.ts'
import { knownOf, readingIn, type Known } from './known.ts'
import {
  newAmong,
  pendingIn,
  readPending,
  together,
  unfinishedSince,
  type Pending,
  type StoreFindings,
} from './pending.ts'
import {
  allOf,
  namingOf,
  remainingIn,
  searchFolder,
  searchIn,
  tell,
  unsearchedIn,
  type ErasureWorld,
  type SearchReport,
} from './search.ts'
import { eraseInTarget, refuseNewerPlaces, searchTarget } from './snapshots.ts'

/** The report of an erasure, without names. `certificates/forget-<ULID>.json` holds all of it except `path`. */
export type Certificate = ReturnType<typeof certify>

/** A certificate, and what no file tells. */
export type Erasure = NonNullable<Awaited<ReturnType<typeof erase>>>

/**
 * Erases what is asked for and what an earlier erasure left, and events of erased people that were bought since.
 * @param request no people and null: only unfinished work
 * @returns null when nothing was asked for, and nothing left
 * @param maxWaitMs how long to wait for a process that works in the data directory
 * @throws LockedError when one works there for longer, or reads the warehouse
 * @throws StorageError when the suppression list is lost
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function erase(world: ErasureWorld, request: Erasable, maxWaitMs = 0) {
  const { root, warehouse } = world.directory
  const lock = { command: 'forget', maxWaitMs }
  return withJournal(world, lock, 'refuse', async (journal, _, before) => {
    const earlier = readPending(root)
    const isNew = request.profileIds.length > 0 || request.eventsBefore !== null
    const begunAt = unfinishedSince(root)
    const pending = earlier === null && !isNew ? null : together(earlier, request)
    if (pending !== null) await refuseNewerPlaces(world, journal)
    await before.bringUp()
    const isEmpty = journal.segments().length === 0 && !existsSync(warehouse)
    if (!isEmpty) await loadAll(world, journal)
    if (pending === null) {
      if (isEmpty) return null
      await eraseFromJournal({ world, journal }, 'noted', suppressionOf(world))
      if (await rewriteIfDue(warehouse)) await eraseCopies(world)
      return null
    }
    const here = await readingIn(world.directory, (open) => knownOf(open, pending.profile_ids))
    const certificate = await eraseAll({ world, journal, isEmpty, pending }, here, isNew)
    return {
      ...certificate,
      /** The people who were not found, except those of an earlier erasure that this one continues. */
      notHere: newAmong(here.notHere, earlier),
      /** When that erasure began, milliseconds since 1970 UTC; null where there was none. */
      begunAt,
    }
  })
}

async function loadAll(world: ErasureWorld, journal: Journal): Promise<void> {
  const { directory } = world
  // A load of an empty journal would remove runs and coverage from the warehouse.
  await refuseLostJournal(journal, directory)
  await withWarehouse({ path: directory.warehouse, mode: 'write' }, (warehouse) =>
    loadStage(warehouse, journal, world),
  )
}

/** An erasure at work. */
interface Work {
  readonly world: ErasureWorld
  readonly journal: Journal
  /** Whether there is neither a journal nor a warehouse yet. */
  readonly isEmpty: boolean
  pending: Pending
}

function keep(work: Work, change: Partial<Pending>): void {
  work.pending = { ...work.pending, ...change }
  writeJson(pendingIn(work.world.directory.root), work.pending)
}

async function eraseAll(work: Work, here: Known, isNew: boolean): Promise<Certificate> {
  const { world, journal, isEmpty } = work
  const { root } = world.directory
  // Records the search terms while the data still exists, before any change.
  const terms = new Map([...work.pending.markers, ...here.markers].map((one) => [one.text, one]))
  if (isNew) keep(work, { markers: [...terms.values()] })
  const { profile_ids: profileIds, events_before: before, markers } = work.pending
  const eventsBefore = before === null ? null : Date.parse(before)
  const isNamed = namingOf(markers)
  const erased = { profileIds, pages: here.pages, isNamed, eventsBefore }
  const { suppression, ...listed } = await suppress(journal, erased, world.clock.now())
  if (!isEmpty) await eraseHere(work, suppression)
  // If only old events are erased, snapshots are left to their own retention.
  const targets = markers.length === 0 ? [] : world.targets(here.destinations)
  const unreached = await eraseInStores(work, targets)
  tell(world, 'backup')
  // A backup holds the pending erasure, with the names of people, only while it is pending.
  const isLast = unreached.length === 0
  const leftInBackups = isEmpty ? [] : await eraseInBackups(world, journal, isLast)
  tell(world, 'copies')
  await eraseCopies(world)
  tell(world, 'proof')
  const { unsearched, ...proof } = await prove(work, targets)
  // That a backup still holds the pending erasure only follows from what is unreached.
  const isFaulty = (match: string) => isLast || basename(match) !== LIST_KEY
  const remaining = [
    ...unreached,
    ...leftInBackups,
    ...remainingIn(root, proof.matches.filter(isFaulty)),
    ...unsearchedIn(unsearched),
  ]
  const certificate = certify(work, listed, proof, remaining)
  if (certificate.is_complete) removeFile(pendingIn(root))
  return certificate
}

/** Erases in the journal and the warehouse, unless that is done: then only what loads left out since. */
async function eraseHere(work: Work, suppression: Suppression): Promise<void> {
  const { world, pending } = work
  const { warehouse } = world.directory
  tell(world, 'journal')
  const which = pending.is_rebuilt ? 'noted' : 'all'
  const segments = await eraseFromJournal(work, which, suppression)
  keep(work, { segments: [...pending.segments, ...segments] })
  if (pending.is_rebuilt) return
  tell(world, 'warehouse')
  await writing(warehouse, async (open) => {
    const { rows } = await leaveOut(open, suppression)
    const all = { ...pending.rows }
    for (const [table, count] of Object.entries(rows)) all[table] = (all[table] ?? 0) + count
    keep(work, { rows: all })
  })
  await buildAgain(world, warehouse)
  keep(work, { is_rebuilt: true })
}

/** Erases in snapshots and databases. @returns a sentence for each of them that is left */
async function eraseInStores(work: Work, targets: readonly SnapshotTarget[]): Promise<string[]> {
  const { world, isEmpty } = work
  const { markers, stores: before } = work.pending
  const { warehouse } = world.directory
  tell(world, 'snapshots')
  const stores: StoreFindings[] = []
  for (const target of targets) {
    const store = await eraseInTarget(world, target, markers)
    const dropped = before.find(({ destination }) => destination === store.destination)?.snapshots
    stores.push({ ...store, snapshots: [...(dropped ?? []), ...store.snapshots] })
  }
  tell(world, 'databases')
  if (!isEmpty) {
    const inDatabases = (open: Warehouse) => eraseInDatabases(open, world)
    stores.push(...(await withWarehouse({ path: warehouse, mode: 'read' }, inDatabases)))
  }
  keep(work, { stores })
  return stores.flatMap(({ destination, problem, is_gone: isGone }) =>
    problem === null || isGone ? [] : [`${destination}: ${problem}`],
  )
}

/** Removes files derived from the erased data, and leftovers of killed processes. */
async function eraseCopies({ directory, clock, logger }: ErasureWorld): Promise<void> {
  const { root, analystCopy } = directory
  onDisk(root, () => {
    for (const name of readdirSync(root).filter((entry) => REMOVED.test(entry))) {
      rmSync(join(root, name), { recursive: true, force: true })
    }
  })
  if (!existsSync(analystCopy)) return
  const { problem } = await makeAnalystCopy({ directory, clock })
  if (problem === null) return
  // One that still names them must not stay, even if there is no other.
  logger.warn({ reason: problem.message }, 'erasure.no_analyst_copy')
  removeFile(analystCopy)
}

async function prove(work: Work, targets: readonly SnapshotTarget[]): Promise<SearchReport> {
  const { world } = work
  const { markers, stores } = work.pending
  if (markers.length === 0) return allOf([])
  const { root } = world.directory
  // The pending erasure names them on purpose, and goes when this proof holds.
  const options = searchIn(world, 'proof', markers)
  const reports = [await searchFolder(root, options, pendingIn(root))]
  for (const folder of linkedFoldersIn(root)) reports.push(await searchFolder(folder, options))
  for (const target of targets) {
    const isReached = stores.some((one) => one.destination === target.to && one.problem === null)
    const report = isReached ? await searchTarget(world, target, markers) : null
    if (report !== null) reports.push(report)
  }
  return allOf(reports)
}

function certify(
  { world: { directory, clock, version }, pending }: Work,
  listed: Omit<Awaited<ReturnType<typeof suppress>>, 'suppression'>,
  proof: Omit<SearchReport, 'unsearched'>,
  remaining: readonly string[],
) {
  const { events_before, segments, rows, stores, markers } = pending
  const now = clock.now()
  const id = newUlid(now)
  const path = join(directory.root, CERTIFICATES, `forget-${id}.json`)
  const content = {
    format_version: 3,
    id,
    /** ISO 8601, UTC. */
    made_at: isoInstant(now),
    jobtide: version,
    /** True if nothing is left anywhere. */
    is_complete: remaining.length === 0,
    /** One sentence for each thing that is left. */
    remaining,
    // The keyed hash of each person, and the suppression list, so that an older one in its place is noticed.
    ...listed,
    events_before,
    segments,
    rows,
    stores,
    /** How many texts were searched for in how many files and bytes, and where one was found. */
    proof: { texts: markers.length, ...proof },
  }
  writeJson(path, content)
  return { path, ...content }
}

/**
 * Erases, at the end of a run that has closed its journal segment, what an earlier erasure left, and what the run bought of
 * erased people: pages are kept as they come, because they were paid for.
 *
 * Events that changed and were detected more than `retentionDays` ago go a month at a time, because all of the journal and
 * the warehouse is written for it: from the first of a month on, everything goes that would come to be too old in that
 * month. So no event is ever kept for longer.
 * @param retentionDays 1 to 100,000; null keeps events of any age
 * @returns null when nothing was left to erase, or it is left to the end of the next run, because others are at work
 */
export async function eraseAfterRun(world: ErasureWorld, retentionDays: number | null) {
  const { directory, clock, logger } = world
  const suppression = suppressionOf(world)
  const cutoff = retentionDays === null ? null : nextMonthAt(clock.now()) - retentionDays * DAY
  const isDue = cutoff !== null && (suppression.eventsBefore ?? Number.NEGATIVE_INFINITY) < cutoff
  if (suppression.isEmpty && !isDue && readPending(directory.root) === null) return null
  try {
    const certificate = await erase(world, { profileIds: [], eventsBefore: isDue ? cutoff : null })
    if (certificate?.is_complete === false) {
      logger.warn({ remaining: certificate.remaining }, 'erasure.incomplete')
    }
    return certificate
  } catch (error) {
    if (!(error instanceof LockedError)) throw error
    logger.info({ reason: error.message }, 'erasure.postponed')
    return null
  }
}

export type ErasurePlan = Awaited<ReturnType<typeof planErasure>>

/**
 * Looks for people, or events from before a day, in the data directory and where snapshots were published.
 * @throws LockedError when another process writes the warehouse
 */
export async function planErasure(world: ErasureWorld, request: Erasable) {
  const { directory, clock } = world
  const earlier = readPending(directory.root)
  const { profile_ids: ids, events_before, markers: noted } = together(earlier, request)
  const eventsBefore = events_before === null ? null : Date.parse(events_before)
  const journal = openJournal(directory.journal, clock)
  const listed = readSuppression(journal)
  const { rows, suppression, markers, ...known } = await readingIn(directory, async (warehouse) => {
    const { pages, ...here } = await knownOf(warehouse, ids)
    const markers = [...noted, ...here.markers]
    const isNamed = namingOf(markers)
    const suppression = listed.including({ profileIds: ids, pages, isNamed, eventsBefore })
    const { rows } = await excluded(warehouse, suppression, 'count')
    return { ...here, markers, suppression, rows }
  })
  const segments = findInJournal(world, journal, cutting(suppression))
  const stores: StoreFindings[] = []
  for (const target of ids.length === 0 ? [] : world.targets(known.destinations)) {
    stores.push(await eraseInTarget(world, target, markers, 'find'))
  }
  stores.push(...databasesToErase(directory.root).map(({ found }) => found))
  return {
    people: ids.length,
    /** Ids of people without any data here. */
    not_here: newAmong(known.notHere, earlier),
    events_before,
    /** Whether an earlier erasure was stopped; what it left undone is in here. */
    goes_on: earlier !== null,
    segments,
    rows,
    stores,
  }
}

/**
 * Searches segments of the journal for events.
 * @throws JournalLossError if segments are lost, because the rest would look complete
 */
function findInJournal(
  world: ErasureWorld,
  journal: Journal,
  cut: CutPage,
  only?: readonly string[],
) {
  journal.check()
  const segments = journal.segments().filter((segment) => only?.includes(segment) ?? true)
  return segments.flatMap((segment, index) => {
    const found = findInSegment(journal, segment, cut)
    tell(world, 'searching the journal', index + 1, segments.length)
    return found ?? []
  })
}

/**
 * Rewrites the segments that hold events which are not kept. All of them are loaded.
 * @param which all segments, or those in which a load left such events out
 */
async function eraseFromJournal(
  { world, journal }: Pick<Work, 'world' | 'journal'>,
  which: 'all' | 'noted',
  suppression: Suppression,
): Promise<ErasedSegment[]> {
  const cut = cutting(suppression)
  return writing(world.directory.warehouse, async (warehouse) => {
    const noted = await warehouse.all<{ segment: string }>('from ops.segments_to_erase order by 1')
    const only = which === 'all' ? undefined : noted.map(({ segment }) => segment)
    const found = findInJournal(world, journal, cut, only)
    for (const { segment } of found) {
      // Before they are rewritten, so that no load begins within a record of the new segment.
      await warehouse.run('update ops.journal_positions set bytes = $2 where segment = $1', [
        segment,
        ANY_END,
      ])
    }
    const erased = found.map((one, index) => {
      tell(world, 'rewriting the journal', index, found.length)
      return eraseFromSegment(journal, one, cut)
    })
    await warehouse.run('delete from ops.segments_to_erase')
    return erased
  })
}

/**
 * Builds the models again, and writes the file again, so that no byte of deleted rows is left. If one of the user's own models
 * or checks is wrong or fails, all are left out, so that none keeps a person in.
 * @throws CheckFailedError when the tables do not pass every check
 */
async function buildAgain(world: RunWorld, path: string): Promise<void> {
  const build = (how?: Parameters<typeof buildStage>[2]) =>
    writing(path, (warehouse) => buildStage(warehouse, world, how))
  try {
    await build()
  } catch (error) {
    const { exitCode } = error instanceof JobtideError ? error : { exitCode: EXIT.defect }
    if (exitCode !== EXIT.usage && exitCode !== EXIT.checkFailed) throw error
    await build({ ownFolder: undefined })
    world.logger.warn({ reason: messageOf(error) }, 'own_models_left_out')
  }
  await rewrite(path)
}

/**
 * Keeps a restored warehouse from bringing back who was erased meanwhile: leaves out people on the suppression list of the
 * data directory, and events that are too old by it. A warehouse without any of it stays as it is.
 * @param path a warehouse that no process has open
 * @returns how many people that were
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function leaveOutErased(world: RunWorld, path: string): Promise<number> {
  const { people, rows } = await writing(path, (open) => leaveOut(open, suppressionOf(world)))
  if (Object.keys(rows).length > 0) await buildAgain(world, path)
  return people
}

/** Rewrites the file if a load deleted erased rows. @returns whether it did */
async function rewriteIfDue(path: string): Promise<boolean> {
  const due = await withWarehouse({ path, mode: 'read' }, (warehouse) =>
    warehouse.number('select count(*) from ops.suppression where not is_rewritten'),
  )
  if (due > 0) await rewrite(path)
  return due > 0
}

async function rewrite(path: string): Promise<void> {
  await compactDatabase(path)
  await writing(path, (open) => open.run('update ops.suppression set is_rewritten = true'))
}

function writing<T>(path: string, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  return withWarehouse({ path, mode: 'write' }, work)
}

function suppressionOf({ directory, clock }: RunWorld) {
  return readSuppression(openJournal(directory.journal, clock))
}
