/**
 * Makes a new journal of what a warehouse knows, where its own is gone. The warehouse stays as it is, and is loaded with all
 * of the new journal when that takes its place:
 *
 *     records in a folder of their own ▶ positions in the warehouse ▶ list of seals ▶ folder
 *
 * The folder comes last: stopped before, the journal is as gone as it was, and the same command does it again.
 */

import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { IDENTITY_FILE } from '../../journal/identity.ts'
import { openJournal, type Journal, type JournalWriter } from '../../journal/journal.ts'
import { noteLostCharges } from '../../journal/lost-charges.ts'
import { removeMarks } from '../../journal/open-marks.ts'
import { sealsPath } from '../../journal/seals.ts'
import { followList } from '../../load/leave-out.ts'
import { readSuppression, type Suppression } from '../../load/suppression.ts'
import {
  OWNER_ONLY,
  fsyncDirectory,
  readIfThere,
  writeFileAtomic,
} from '../../support/atomic-file.ts'
import { ConfigError, StorageError, onDisk } from '../../support/errors.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import type { DataDirectory } from '../data-directory.ts'
import { DEFAULT_MAX_WAIT_MS, acquireLock } from '../lock.ts'
import type { RunWorld } from '../stages.ts'
import { writeRecords } from './records.ts'
import { readUnloaded, unloadedTotals, type UnloadedTotals } from './unloaded.ts'

/** What a warehouse knows, and what a journal made of it does not. */
export interface SalvageReport extends LedgerReport, UnloadedTotals {}

interface LedgerReport {
  readonly events: number
  readonly requests: number
  readonly credits: number
  readonly organizations: number
  readonly runs: number
  /** Sightings of events whose page is not known. */
  readonly unplaced: number
  /** Batches that were begun and not read to their end, whose pages are kept and asked for again. */
  readonly openBatches: number
}

type SalvageWorld = Pick<RunWorld, 'directory' | 'clock' | 'onProgress' | 'stop'>

const COUNTS = `
  select (select count(*) from job_change_events)::double as events,
    (select count(*) from ops.pages)::double as requests,
    (select coalesce(sum(credits_used), 0) from ops.pages)::double as credits,
    (select count(*) from ops.organizations_asked)::double as organizations,
    (select count(*) from ops.runs)::double as runs,
    (select coalesce(sum(greatest(times_seen - 2, 0)), 0) from job_change_events)::double as unplaced,
    (select count(*) from ops.batches where state = 'planned')::double as "openBatches"`

/**
 * Says what a salvage would keep, and changes nothing.
 * @throws ConfigError when there is a journal, or nothing to make one of
 */
export async function planSalvage({ directory, clock }: SalvageWorld): Promise<SalvageReport> {
  refuseUnlessGone(openJournal(directory.journal, clock), directory)
  return withWarehouse({ path: directory.warehouse, mode: 'read' }, async (open) => {
    const found = await reportOf(open, directory)
    return { ...found, ...unloadedTotals(await readUnloaded(open, directory.journal)) }
  })
}

/**
 * Makes the journal.
 * @throws ConfigError as planSalvage does
 * @throws LockedError when another process works in the data directory, or has the warehouse open
 * @throws StorageError when the suppression list is lost, or events and ledger do not fit together
 */
export async function salvage(world: SalvageWorld): Promise<SalvageReport> {
  const { directory, clock, stop } = world
  const request = { command: 'salvage', clock, stop, maxWaitMs: DEFAULT_MAX_WAIT_MS }
  const lock = await acquireLock(directory.root, request)
  const made = openJournal(`${directory.journal}.salvage`, clock)
  try {
    refuseUnlessGone(openJournal(directory.journal, clock), directory)
    removeMade(made)
    const suppression = readSuppression(made)
    const report = await withWarehouse(
      { path: directory.warehouse, mode: 'write' },
      async (open) => {
        const found = await reportOf(open, directory)
        const lost = await readUnloaded(open, directory.journal)
        await followNewest(open, suppression)
        await fill(open, made, world)
        onDisk(made.folder, () => noteLostCharges(made.folder, directory.journal, lost))
        await moveToEnd(open, made)
        await open.run('checkpoint')
        return { ...found, ...unloadedTotals(lost) }
      },
    )
    lock.refuseLost()
    takePlace(made, directory)
    return report
  } finally {
    removeMade(made)
    lock.release()
  }
}

function refuseUnlessGone(journal: Journal, { root, warehouse }: DataDirectory): void {
  const { length } = journal.segments()
  if (length > 0) {
    throw new ConfigError(`${journal.folder} has ${length} segments: the journal is not gone`, {
      hint: 'Where some of them are lost, --accept-loss on run, backfill, extract or replay goes on with the others.',
    })
  }
  if (existsSync(warehouse)) return
  throw new ConfigError(`there is no warehouse in ${root} to make a journal of`, {
    hint: 'Put `journal` and `journal.seals` back from a backup, or name another folder with --data-dir.',
  })
}

async function reportOf(warehouse: Warehouse, { root }: DataDirectory): Promise<LedgerReport> {
  const [report] = await warehouse.all<LedgerReport>(COUNTS)
  if (report !== undefined && report.requests > 0) return report
  throw new ConfigError(`the warehouse in ${root} has no ledger: it was restored from a snapshot`, {
    hint: 'Snapshots hold neither coverage nor what was asked: nothing can be made of them. Put `journal` and `journal.seals` back from a backup.',
  })
}

// Events of people who are on the list by now must not go into the journal.
async function followNewest(warehouse: Warehouse, suppression: Suppression): Promise<void> {
  const [followed] = await warehouse.all<{ list: string | null }>(
    'select list from ops.suppression',
  )
  const list = followed?.list ?? null
  if (list !== null && !suppression.lists.includes(list)) {
    throw new StorageError(
      'the warehouse follows a suppression list that suppressed.json does not know',
      {
        hint: 'Put the newest suppressed.json back: without it people who were erased would come back. Nothing was changed.',
      },
    )
  }
  await followList(warehouse, suppression)
}

async function fill(warehouse: Warehouse, made: Journal, world: SalvageWorld): Promise<void> {
  const { clock, stop, onProgress } = world
  const writer: JournalWriter = made.writer()
  try {
    await writeRecords(warehouse, writer, clock.now(), (done, total) => {
      stop.throwIfAborted()
      onProgress({ stage: 'salvage', name: `${done} of ${total} requests`, done, total })
    })
    const { list: mac, lists } = readSuppression(made)
    if (mac !== null) {
      writer.write({ kind: 'suppression_changed', at: clock.now(), generation: lists.length, mac })
    }
  } finally {
    await writer.close()
  }
}

/** What is loaded of the new journal: all of it. */
async function moveToEnd(warehouse: Warehouse, made: Journal): Promise<void> {
  await warehouse.transaction(async () => {
    await warehouse.run('delete from ops.journal_positions')
    for (const segment of made.segments()) {
      const bytes = BigInt(statSync(join(made.folder, segment)).size)
      await warehouse.run('insert into ops.journal_positions values ($1, $2)', [segment, bytes])
    }
  })
}

function takePlace(made: Journal, { journal, root }: DataDirectory): void {
  onDisk(journal, () => {
    const identity = readIfThere(join(journal, IDENTITY_FILE))
    if (identity !== null) writeFileAtomic(join(made.folder, IDENTITY_FILE), identity, OWNER_ONLY)
    // The list before was the last witness of charges that were not loaded; this one holds them.
    renameSync(sealsPath(made.folder), sealsPath(journal))
    rmSync(journal, { recursive: true, force: true })
    renameSync(made.folder, journal)
    fsyncDirectory(root)
    // Of segments that this list says are gone; before it was there, they counted.
    removeMarks(journal)
  })
}

function removeMade({ folder }: Journal): void {
  onDisk(folder, () => {
    for (const path of [folder, sealsPath(folder)]) rmSync(path, { recursive: true, force: true })
    removeMarks(folder)
  })
}
