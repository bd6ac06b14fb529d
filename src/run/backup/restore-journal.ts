/**
 * Brings a journal back from its backup:
 *
 *     segments, proved ▶ what keeps erased people out ▶ list of seals ▶ the folder gets its name
 *
 * Until the last step there is no journal, so no command works with half of one; killed at any point, the command begins again
 * where it was. Of a journal that lost a piece only that is brought back.
 */

import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { IDENTITY_FILE } from '../../journal/identity.ts'
import { openJournal, type Journal } from '../../journal/journal.ts'
import { JournalLossError } from '../../journal/loss.ts'
import { readHistory, removeCheckpoint } from '../../journal/read-history.ts'
import { readSegment } from '../../journal/reader.ts'
import { SealListError, listedIn, sealsPath } from '../../journal/seals.ts'
import { monthlyCredits } from '../../journal/spending.ts'
import { LIST_FORMATS, SUPPRESSED_FILE } from '../../load/suppression.ts'
import { PublishError } from '../../publish/errors.ts'
import { readCurrent } from '../../publish/manifest.ts'
import type { ObjectStore } from '../../publish/store/object-store.ts'
import { openStore } from '../../publish/store/open-store.ts'
import {
  OWNER_ONLY,
  fsyncDirectory,
  makeFolders,
  readIfThere,
  writeFileAtomic,
} from '../../support/atomic-file.ts'
import { ConfigError, StorageError, onDisk } from '../../support/errors.ts'
import { jsonOrNull, refuseOtherFormat } from '../../support/json.ts'
import { sum } from '../../support/numbers.ts'
import { PENDING_FILE, PENDING_FORMATS } from '../forget/pending.ts'
import {
  JOURNAL_FOLDER,
  generationOf,
  isProven,
  memoryOf,
  readBackupList,
  remember,
  type BackedUpSegment,
  type BackupList,
  type BackupTarget,
} from './backup-target.ts'
import { fetchSegment, openBackup, type BackupWorld } from './back-up.ts'

export interface RestoredJournal {
  readonly place: string
  /** When the backup was made; ISO 8601, UTC. */
  readonly madeAt: string
  readonly segments: number
  readonly bytes: number
  /** Segments that were sealed here after the backup, and are lost. */
  readonly lost: number
  /** Credits in the journal, and in the newest snapshot next to the backup; null if none is readable. */
  readonly credits: number
  readonly creditsPublished: number | null
}

/**
 * Restores the journal. The caller holds the lock of the data directory.
 * @throws ConfigError where a whole journal is here, or no backup there, or one of a newer version
 * @throws StorageError when the backup lacks a segment, or one is not as it was written; nothing is here then that was not before
 * @throws PublishError when the place cannot be reached
 */
export async function restoreJournal(
  target: BackupTarget,
  world: BackupWorld,
): Promise<RestoredJournal> {
  const { directory, clock } = world
  const journal = openJournal(directory.journal, clock)
  const isHere = journal.segments().length > 0
  if (isHere) refuseWhole(journal)
  const store = await openBackup(target, world, 'read')
  const list = (await readBackupList(store))?.list
  if (list === undefined) {
    throw new ConfigError(`there is no backup of a journal in ${target.place}`, {
      hint: 'Is the address right? It is where backup.json lies. Nothing was changed.',
    })
  }
  const known = existsSync(sealsPath(journal.folder))
    ? [...listedIn(journal.folder, 'skip').keys()]
    : []
  const there = new Set(list.segments.map(({ segment }) => segment))
  const lost = known.filter(
    (segment) => !there.has(segment) && !existsSync(join(journal.folder, segment)),
  )
  if (isHere) await mend(store, list, journal, world)
  else {
    const restoring = join(directory.root, 'journal.restoring')
    await fetchSegments(store, list.segments, restoring, world)
    // Everything is read before anything is put in place: data of a newer version is left to that version.
    refuseNewerFiles(list, directory.root)
    writeFileAtomic(sealsPath(restoring), list.seals)
    readHistory(openJournal(restoring, clock))
    place(list, restoring, journal)
  }
  journal.check('bytes')
  const memory = memoryOf(target, list)
  remember(directory.root, journal, memory)
  return {
    place: target.place,
    madeAt: list.made_at,
    segments: memory.segments,
    bytes: memory.bytes,
    lost: lost.length,
    credits: sum([...monthlyCredits(readHistory(journal).spending, null).values()]),
    creditsPublished: await publishedCredits(target, world),
  }
}

/** @throws ConfigError where nothing of the journal is lost */
function refuseWhole(journal: Journal): void {
  try {
    journal.check('bytes')
  } catch (error) {
    if (error instanceof JournalLossError || error instanceof SealListError) return
    throw error
  }
  throw new ConfigError(
    `the journal in ${dirname(journal.folder)} is complete, so there is nothing to restore`,
    {
      hint: 'Name an empty folder with --data-dir, or rebuild the warehouse from this journal with `jobtide replay`. Nothing was changed.',
    },
  )
}

/** Restores what a journal lost. Whole segments stay, including those after the backup. */
async function mend(
  store: ObjectStore,
  list: BackupList,
  journal: Journal,
  world: BackupWorld,
): Promise<void> {
  const { folder } = journal
  const identity = readIfThere(join(folder, IDENTITY_FILE))?.toString().trim()
  if (identity !== undefined && identity !== list.journal_id) {
    throw new ConfigError(
      `${store.destination} is the backup of another journal (${list.journal_id}; the one here is ${identity})`,
      { hint: 'Name the backup of this one. Nothing was changed.' },
    )
  }
  const seals = listedIn(folder, 'skip')
  const isWhole = ({ segment }: BackedUpSegment) => {
    const { sha256 = null } = seals.get(segment) ?? {}
    const path = join(folder, segment)
    return sha256 !== null && existsSync(path) && isProven(path, { sha256 })
  }
  const missing = list.segments.filter((segment) => !isWhole(segment))
  refuseNewerFiles(list, dirname(folder))
  await fetchSegments(store, missing, folder, world, (path) => `${path}.${process.pid}.tmp`)
  const listed = new Set(list.segments.map(({ segment }) => segment))
  // A list that names more than the backup is not replaced.
  const isListLost = seals.size === 0 && journal.segments().every((segment) => listed.has(segment))
  placeFiles(list, dirname(folder))
  if (isListLost) writeFileAtomic(sealsPath(folder), list.seals)
  if (identity === undefined)
    writeFileAtomic(join(folder, IDENTITY_FILE), `${list.journal_id}\n`, OWNER_ONLY)
  removeCheckpoint(folder)
}

/** @param nameOf what a segment is called until it is proved and read; default: as it will be */
async function fetchSegments(
  store: ObjectStore,
  segments: readonly BackedUpSegment[],
  folder: string,
  { stop, onProgress }: BackupWorld,
  nameOf = (path: string) => path,
): Promise<void> {
  onDisk(folder, () => makeFolders(folder))
  for (const [index, segment] of segments.entries()) {
    stop.throwIfAborted()
    const path = join(folder, segment.segment)
    // Already fetched by a killed restore.
    if (!existsSync(path) || !isProven(path, segment)) {
      const fetched = nameOf(path)
      const problem = await fetchSegment(store, segment, fetched, stop)
      if (problem !== null) {
        throw new StorageError(`the backup of the journal is damaged: ${problem}`, {
          hint: 'Restore that object if the bucket keeps versions, and run the same command again. Until then nothing is restored.',
        })
      }
      if (fetched !== path) {
        // Data of a newer version is left to that version.
        const records = readSegment(fetched)
        while (records.next().done !== true);
        onDisk(path, () => renameSync(fetched, path))
      }
    }
    onProgress({ stage: 'backup', name: 'segments', done: index + 1, total: segments.length })
  }
}

function refuseNewerFiles({ files }: BackupList, root: string): void {
  const formats = { [SUPPRESSED_FILE]: LIST_FORMATS, [PENDING_FILE]: PENDING_FORMATS }
  for (const [name, read] of Object.entries(formats)) {
    refuseOtherFormat(join(root, name), jsonOrNull(files[name] ?? ''), read)
  }
}

/** Puts everything into its place. */
function place(list: BackupList, restoring: string, { folder }: Journal): void {
  const root = dirname(folder)
  writeFileAtomic(join(restoring, IDENTITY_FILE), `${list.journal_id}\n`, OWNER_ONLY)
  placeFiles(list, root)
  onDisk(folder, () => {
    renameSync(sealsPath(restoring), sealsPath(folder))
    // It holds no segment, but at most an identity and a checkpoint of the missing ones.
    rmSync(folder, { recursive: true, force: true })
    renameSync(restoring, folder)
    fsyncDirectory(root)
  })
}

/** Restores what keeps erased people out; a newer list here stays, with its files. */
function placeFiles(list: BackupList, root: string): void {
  const here = generationOf(readIfThere(join(root, SUPPRESSED_FILE))?.toString())
  const isNewer = here > list.suppression_generation
  for (const [name, text] of Object.entries(list.files)) {
    if (isNewer && existsSync(join(root, name))) continue
    onDisk(root, () => makeFolders(dirname(join(root, name))))
    writeFileAtomic(join(root, name), text, OWNER_ONLY)
  }
}

/** The credits spent by the newest snapshot, if the backup lies below its destination. */
async function publishedCredits(
  { place: of, s3 }: BackupTarget,
  { clock, s3Endpoint, logger }: BackupWorld,
): Promise<number | null> {
  const destination = of.slice(0, -JOURNAL_FOLDER.length - 1)
  if (!of.endsWith(`/${JOURNAL_FOLDER}`)) return null
  try {
    const store = await openStore(destination, { clock, s3Endpoint, s3, access: 'read' })
    return (await readCurrent(store))?.manifest.credits.total ?? null
  } catch (error) {
    if (!(error instanceof PublishError)) throw error
    logger.warn({ destination, reason: error.message }, 'restore.no_snapshot')
    return null
  }
}
