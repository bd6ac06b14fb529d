/** The session of a process that buys: the lock of the data directory, and the journal's writer. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { deliveriesIn, filesOfInbox, leftInInbox } from '../inbox/inbox.ts'
import { openJournal, type Journal, type JournalWriter } from '../journal/journal.ts'
import type { JournalRecord, SpentBefore } from '../journal/records.ts'
import { readHistory, saveCheckpoint } from '../journal/read-history.ts'
import { validPrefix } from '../journal/reader.ts'
import { readSuppression } from '../load/suppression.ts'
import { addSpentBefore, type History } from '../journal/history.ts'
import { pausedUntil } from '../journal/pauses.ts'
import { isAnswered } from '../journal/spending.ts'
import { removeFile } from '../support/atomic-file.ts'
import { waitEnd } from '../support/clock.ts'
import { expectedError, messageOf, type JobtideError } from '../support/errors.ts'
import { lookBefore, openWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { ObjectStore } from '../publish/store/object-store.ts'
import { backUpEach, checkBackup } from './backup/back-up.ts'
import { eachOnce, knownBackups, readMemory, type BackupTarget } from './backup/backup-target.ts'
import { readPending } from './forget/pending.ts'
import type { Job } from './job.ts'
import { acquireLock, type DataLock, type LockRequest } from './lock.ts'
import { LOADED, spentWithoutJournal, type LoadedSegment } from './lost-journal.ts'
import { rebuildOlder } from './rebuild.ts'
import type { RunWorld } from './stages.ts'

export interface Session {
  readonly journal: Journal
  readonly writer: JournalWriter
  /** The journal's history when the session began. */
  readonly history: History
  /** The history with what was written since. Only read it: the checkpoint at the end continues from it. */
  readonly readHistory: () => History
  readonly warehouse: ReturnType<typeof sessionWarehouse>
  readonly bringUp: WarehouseBefore['bringUp']
  /**
   * Seals what was written so far and backs the journal up. A session also does so at its end.
   * @param within the destination of the snapshots, where it is open
   * @returns why that failed; it is not tried again in this session
   */
  readonly backUp: (within?: ObjectStore | null) => Promise<JobtideError | null>
  /** Credits spent before the journal began; see lost-journal.ts. */
  readonly spentBefore: readonly SpentBefore[]
  /** Every place that the journal is or was backed up to. */
  readonly backups: readonly BackupTarget[]
}

/** The warehouse as a command found it: nothing was changed in it yet. */
export interface WarehouseBefore {
  /** The segments that it was loaded from; undefined where there is none, or it cannot be read. */
  readonly loaded: readonly LoadedSegment[] | undefined
  /** Rebuilds one of an older schema, once; called after whatever else could refuse the command. */
  readonly bringUp: () => Promise<void>
}

/**
 * Works with the lock of the data directory and a recovered journal, and gives the lock back afterwards.
 * @throws LockedError when another process works in the data directory for longer than `maxWaitMs`; default: not at all
 * @throws JournalLossError when sealed segments of the journal are lost, unless that is accepted
 * @throws JobtideError when something else there is damaged, or of a version that this one does not read; then nothing is changed
 */
export async function withJournal<T>(
  world: RunWorld,
  request: Pick<LockRequest, 'command' | 'pipeline' | 'maxWaitMs'>,
  losses: 'refuse' | 'accept',
  work: (journal: Journal, lock: DataLock, before: WarehouseBefore) => Promise<T>,
): Promise<T> {
  const { directory, clock, stop, logger } = world
  const lock = await acquireLock(directory.root, {
    ...request,
    clock,
    stop,
    onWait: ({ message }) => logger.warn({ reason: message }, 'waiting_for_lock'),
  })
  try {
    const journal = openJournal(directory.journal, clock)
    let suppression: History['suppression'] = null
    if (losses === 'refuse') {
      // Only this is kept: the rest would stay in memory until `work` ends.
      suppression = readHistory(journal).suppression
    } else {
      // A journal whose losses are to be accepted cannot be read as a whole yet.
      for (const segment of journal.segments()) validPrefix(join(journal.folder, segment))
    }
    let before: { loaded: readonly LoadedSegment[]; newFiles: number } | undefined
    if (!WRITES_JOURNAL_ALONE.has(request.command)) {
      // Reads what all steps will read. If one is refused, nothing is of this version yet: the one that wrote it still works.
      readSuppression(journal, suppression)
      readPending(directory.root)
      readMemory(directory.root)
      before = await lookBefore(directory.warehouse, async (open, newFiles) => {
        return { loaded: await open.all<LoadedSegment>(LOADED), newFiles }
      })
    }
    const files = filesOfInbox(directory.inbox)
    // Deliveries stay in the inbox if the journal is an older copy, because the newer one would lack them.
    for (const target of files.length === 0 ? [] : readMemory(directory.root)) {
      await checkBackup(target, journal, world)
    }
    for (const reason of journal.recover(losses)) {
      logger.warn({ reason }, 'journal.loss_accepted')
    }
    await takeInbox(journal, files, world)
    let isOlder = (before?.newFiles ?? 0) > 0
    const bringUp = async () => {
      if (!isOlder) return
      await rebuildOlder(journal, world, before?.loaded ?? [])
      isOlder = false
    }
    return await work(journal, lock, { loaded: before?.loaded, bringUp })
  } finally {
    await lock.release()
  }
}

/**
 * Moves the deliveries of the inbox into the journal. Killed at any point, a delivery that is moved again still counts
 * once.
 * @throws StorageError when the disk refuses; then each delivery is in the inbox, in the journal, or in both
 */
async function takeInbox(
  journal: Journal,
  files: readonly string[],
  { directory: { inbox, warehouse }, clock, logger }: RunWorld,
): Promise<void> {
  for (const file of leftInInbox(inbox, clock.now())) removeFile(file)
  // A lost journal would look like one that has just begun.
  if (files.length === 0 || (journal.segments().length === 0 && existsSync(warehouse))) return
  const writer = journal.writer()
  const taken: string[] = []
  let deliveries = 0
  try {
    for (const file of files) {
      if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) {
        logger.warn({ file, reason: 'it is not a file: it holds no deliveries' }, 'inbox.left')
        continue
      }
      try {
        for (const { id, at, body } of deliveriesIn(file)) {
          writer.write({ kind: 'delivery_received', at, delivery_id: id }, body)
          deliveries += 1
        }
        taken.push(file)
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        logger.warn({ file, reason: 'it was changed: it holds no deliveries' }, 'inbox.left')
      }
    }
  } finally {
    // Sealing it puts it on the disk.
    await writer.close()
  }
  for (const file of taken) removeFile(file)
  logger.info({ deliveries, files: taken.length }, 'inbox.taken')
}

const WRITES_JOURNAL_ALONE: ReadonlySet<string> = new Set(['extract', 'doctor'])

/**
 * As {@link withJournal}, with the journal's writer, for a process that buys.
 * @throws StorageError when the journal of a warehouse is gone, unless the job begins again
 */
export function withSession<T>(
  { pipeline, acceptLoss, beginAgain, forgetPause, backups, maxWaitMs }: Job,
  command: string,
  world: RunWorld,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const request = { command, pipeline, maxWaitMs }
  return withJournal(
    world,
    request,
    acceptLoss ? 'accept' : 'refuse',
    async (journal, lock, { loaded, bringUp }) => {
      const lost = await spentWithoutJournal(journal, world.directory, loaded)
      if (lost !== null && !beginAgain) throw lost.problem
      const spentBefore = lost?.spent ?? []
      const { length: segments } = journal.segments()
      const writer = lockedWriter(journal.writer(), lock)
      const warehouse = sessionWarehouse(world.directory.warehouse, lock)
      const backUp = backingUp(backups, journal, writer, world)
      let latest: History | undefined
      try {
        const history = readHistory(journal)
        addSpentBefore(history, spentBefore)
        if (forgetPause) await forgetPauses(history, writer, world)
        const known = knownBackups(world.directory.root, journal, history.runs)
        const places = eachOnce([...backups, ...known])
        return await work({
          journal,
          writer,
          history,
          readHistory: () => (latest = readHistory(journal)),
          warehouse,
          bringUp,
          backUp,
          spentBefore,
          backups: places,
        })
      } finally {
        warehouse.close()
        // Closing seals the segment, which a full disk refuses; the lock is still given back.
        await writer.close()
        lock.refuseLost()
        // A run that was refused wrote nothing, and leaves the directory as it was.
        if (journal.segments().length > segments) {
          keepCheckpoint(journal, latest, world.logger)
        }
        await backUp()
      }
    },
  )
}

async function forgetPauses(history: History, writer: JournalWriter, { clock, logger }: RunWorld) {
  const at = clock.now()
  const until = pausedUntil(history, at, clock.uptime?.() ?? null)
  if (until <= at) return
  const nothing = { run_id: null, at, not_before: at, reason: 'forgotten' }
  await writer.append({ kind: 'paused', ...nothing, lifts_earlier: true })
  history.pauses = []
  logger.warn({ not_before: waitEnd(until) }, 'pause_forgotten')
}

/** The warehouse of a session: opened on first use and kept open, because opening takes longer than a quiet night. */
function sessionWarehouse(path: string, lock: DataLock) {
  let open: Warehouse | null = null
  return {
    /** @throws LockedError where the lock is lost, or another process has the file open; else as openWarehouse does */
    async use<T>(work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
      // If the folder was moved, opening would make a new, empty warehouse here.
      lock.refuseLost()
      open ??= await openWarehouse({ path, mode: 'write' })
      return work(open)
    },
    /** Writes all of it into its file; a later use opens it again. */
    close() {
      open?.close()
      open = null
    },
  }
}

function backingUp(
  targets: readonly BackupTarget[],
  journal: Journal,
  writer: JournalWriter,
  world: RunWorld,
): Session['backUp'] {
  let destination: ObjectStore | null = null
  let problem: JobtideError | null = null
  return async (within = destination) => {
    destination = within
    const make = () => backUpEach(targets, journal, world, within)
    problem ??= await writer.close().then(make, (error: unknown) => {
      const notClosed = expectedError(error)
      world.logger.error({ reason: notClosed.message }, 'backup.failed')
      return notClosed
    })
    return problem
  }
}

/**
 * A writer that begins nothing after the lock is lost, so that no request leaves without its record. Answers are still
 * stored.
 */
function lockedWriter(writer: JournalWriter, lock: DataLock): JournalWriter {
  const refuseLost = (record: JournalRecord) => {
    if (!isAnswered(record)) lock.refuseLost()
  }
  // Report the lost lock instead of its consequences, such as a missing journal.
  const explain = (error: unknown): never => {
    lock.refuseLost()
    throw error
  }
  return {
    write(record, payload) {
      refuseLost(record)
      writer.write(record, payload)
    },
    async append(record, payload) {
      refuseLost(record)
      await writer.append(record, payload).catch(explain)
    },
    close: () => writer.close().catch(explain),
  }
}

// Without it the next start reads more of the journal, and nothing is lost.
function keepCheckpoint(
  journal: Journal,
  latest: History | undefined,
  logger: RunWorld['logger'],
): void {
  try {
    saveCheckpoint(journal, latest)
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, 'no_checkpoint')
  }
}
