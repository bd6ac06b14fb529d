/**
 * Erases people, or events from before a day, from everything that a data directory keeps and published:
 *
 *     load ▶ tombstones ▶ journal ▶ warehouse ▶ snapshots ▶ backup ▶ copies ▶ proof ▶ certificate
 *
 * The journal is loaded first, because the warehouse knows by which texts people can be found. Tombstones, the entries
 * of the suppression list, come before anything is erased, so that no load brings people back whatever happens later.
 * Each step can be repeated. A stopped erasure begins again with the next `forget`, or at the end of the next run,
 * which know from `forget.pending.json` whom it is about and what to search for.
 */

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { openJournal, type Journal } from '../../journal/journal.ts'
import { nextMonthAt } from '../../journal/spending.ts'
import { CERTIFICATES, readSuppression, suppress, type Erasable } from '../../load/suppression.ts'
import { removeFile, writeJson } from '../../support/atomic-file.ts'
import { isoInstant } from '../../support/clock.ts'
import { LockedError, onDisk } from '../../support/errors.ts'
import { newUlid } from '../../support/ulid.ts'
import { DAY } from '../../support/units.ts'
import { withWarehouse } from '../../warehouse/warehouse.ts'
import { analystCopyPath, makeAnalystCopy } from '../analyst-copy.ts'
import { eraseInBackups } from '../backup/back-up.ts'
import { LIST_KEY } from '../backup/backup-target.ts'
import { eraseInDatabases } from '../databases.ts'
import { REMOVED, linkedFoldersIn } from '../data-directory.ts'
import type { SnapshotTarget } from '../job.ts'
import { refuseLostJournal } from '../lost-journal.ts'
import { loadStage } from '../stages.ts'
import { withJournal } from '../session.ts'
import {
  newAmong,
  pendingIn,
  readPending,
  together,
  unfinishedSince,
  type Pending,
} from './pending.ts'
import { eraseFromJournal, rebuildWithout, rewriteIfDue } from './rebuild.ts'
import {
  allOf,
  knownOf,
  readingIn,
  remainingIn,
  searchFolder,
  searchIn,
  tell,
  unsearchedIn,
  type ErasureWorld,
  type Known,
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
    const ids = pending?.profile_ids ?? []
    const here = isEmpty
      ? await readingIn(world.directory, (nothing) => knownOf(nothing, ids))
      : await loadAndLook(world, journal, ids)
    if (pending !== null) {
      const certificate = await eraseAll(world, journal, pending, here, { isNew, isEmpty })
      return {
        ...certificate,
        /** The people who were not found, except those of an earlier erasure that this one continues. */
        notHere: newAmong(here.notHere, earlier),
        /** When that erasure began, milliseconds since 1970 UTC; null where there was none. */
        begunAt,
      }
    }
    if (isEmpty) return null
    await eraseFromJournal(world, 'noted')
    if (await rewriteIfDue(warehouse)) await eraseCopies(world)
    return null
  })
}

/** @param isEmpty whether there is neither a journal nor a warehouse yet */
async function eraseAll(
  world: ErasureWorld,
  journal: Journal,
  begun: Pending,
  here: Known,
  { isNew, isEmpty }: { readonly isNew: boolean; readonly isEmpty: boolean },
): Promise<Certificate> {
  const { root, warehouse } = world.directory
  let pending = begun
  const keep = (change: Partial<Pending>) => {
    pending = { ...pending, ...change }
    writeJson(pendingIn(root), pending)
  }
  // Records the search terms while the data still exists, before any change.
  const terms = new Map([...pending.markers, ...here.markers].map((one) => [one.text, one]))
  if (isNew) keep({ markers: [...terms.values()] })
  const { profile_ids: profileIds, events_before: before, markers } = pending
  const eventsBefore = before === null ? null : Date.parse(before)
  const erased = { profileIds, pages: here.pages, eventsBefore }
  const suppressed = await suppress(journal, erased, world.clock.now())
  if (!isEmpty) {
    tell(world, 'journal')
    const which = pending.is_rebuilt ? 'noted' : 'all'
    const segments = await eraseFromJournal(world, which, markers)
    keep({ segments: [...pending.segments, ...segments] })
  }
  if (!isEmpty && !pending.is_rebuilt) {
    tell(world, 'warehouse')
    await rebuildWithout(world, warehouse, { profileIds, markers }, (deleted) => {
      const rows = { ...pending.rows }
      for (const [table, count] of Object.entries(deleted)) rows[table] = (rows[table] ?? 0) + count
      keep({ rows })
    })
    keep({ is_rebuilt: true })
  }
  // If only old events are erased, snapshots are left to their own retention.
  const targets = markers.length === 0 ? [] : world.targets(here.destinations)
  tell(world, 'snapshots')
  const stores = await eraseInTargets(world, targets, pending)
  tell(world, 'databases')
  const databases = isEmpty
    ? []
    : await withWarehouse({ path: warehouse, mode: 'read' }, (open) =>
        eraseInDatabases(open, world),
      )
  keep({ stores: [...stores, ...databases] })
  tell(world, 'backup')
  const unreached = pending.stores.flatMap(({ destination, problem, is_gone: isGone }) =>
    problem === null || isGone ? [] : [`${destination}: ${problem}`],
  )
  // A backup holds the pending erasure, with the names of people, only while it is pending.
  const isLast = unreached.length === 0
  const leftInBackups = isEmpty ? [] : await eraseInBackups(world, journal, isLast)
  tell(world, 'copies')
  await eraseCopies(world)
  tell(world, 'proof')
  const { unsearched, ...proof } = await prove(world, targets, pending)
  // That a backup still holds the pending erasure only follows from what is unreached.
  const isFaulty = (match: string) => isLast || basename(match) !== LIST_KEY
  const remaining = [
    ...unreached,
    ...leftInBackups,
    ...remainingIn(root, proof.matches.filter(isFaulty)),
    ...unsearchedIn(unsearched),
  ]
  const certificate = certify(world, pending, suppressed, proof, remaining)
  if (certificate.is_complete) removeFile(pendingIn(root))
  return certificate
}

/** Loads the journal, and returns what the warehouse then knows about the people. */
async function loadAndLook(world: ErasureWorld, journal: Journal, ids: readonly string[]) {
  const { directory } = world
  // A load of an empty journal would remove runs and coverage from the warehouse.
  await refuseLostJournal(journal, directory)
  return withWarehouse({ path: directory.warehouse, mode: 'write' }, async (warehouse) => {
    await loadStage(warehouse, journal, world)
    return knownOf(warehouse, ids)
  })
}

async function eraseInTargets(
  world: ErasureWorld,
  targets: readonly SnapshotTarget[],
  { markers, stores }: Pending,
): Promise<Pending['stores']> {
  const found: Pending['stores'] = []
  for (const target of targets) {
    const store = await eraseInTarget(world, target, markers)
    const before = stores.find(({ destination }) => destination === store.destination)
    found.push({ ...store, snapshots: [...(before?.snapshots ?? []), ...store.snapshots] })
  }
  return found
}

/** Removes files derived from the erased data, and leftovers of killed processes. */
async function eraseCopies({ directory, clock, logger }: ErasureWorld): Promise<void> {
  const { root } = directory
  onDisk(root, () => {
    for (const name of readdirSync(root).filter((entry) => REMOVED.test(entry))) {
      rmSync(join(root, name), { recursive: true, force: true })
    }
  })
  const copy = analystCopyPath(directory)
  if (!existsSync(copy)) return
  const { problem } = await makeAnalystCopy({ directory, clock })
  if (problem === null) return
  // One that still names them must not stay, even if there is no other.
  logger.warn({ reason: problem.message }, 'erasure.no_analyst_copy')
  removeFile(copy)
}

async function prove(
  world: ErasureWorld,
  targets: readonly SnapshotTarget[],
  { markers, stores }: Pending,
): Promise<SearchReport> {
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
  { directory, clock, version }: ErasureWorld,
  { events_before, segments, rows, stores, markers }: Pending,
  suppressed: Awaited<ReturnType<typeof suppress>>,
  proof: Omit<SearchReport, 'unsearched'>,
  remaining: readonly string[],
) {
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
    ...suppressed,
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
  const suppression = readSuppression(openJournal(directory.journal, clock))
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
