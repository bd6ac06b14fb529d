/**
 * Brings a journal back from its backup, all of it or what it lost:
 *
 *     segments, proved ▶ what keeps erased people out ▶ list of seals ▶ the segments get their place
 *
 * A journal that is gone gets its place in one step, so no command works with half of it; of a journal that is here, the list of
 * seals says what is still lost. Killed at any point, the command continues where it was.
 */

import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { IDENTITY_FILE, openJournal, type Journal } from '../../journal/journal.ts'
import {
  JournalLossError,
  SealListError,
  listedIn,
  parseSeals,
  sealsPath,
} from '../../journal/seals.ts'
import { readHistory, removeCheckpoint } from '../../journal/read-history.ts'
import { readSegment } from '../../journal/reader.ts'
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
import type { RunWorld } from '../stages.ts'
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
import { fetchSegment, openBackup, refuseOtherJournal } from './back-up.ts'

/**
 * Restores the journal. The caller holds the lock of the data directory.
 * @throws ConfigError where a whole journal is here, or no backup there, or one of another journal or a newer version
 * @throws StorageError when the backup lacks a segment, or one is not as it was written; nothing is here then that was not before
 * @throws PublishError when the place cannot be reached
 */
export async function restoreJournal(target: BackupTarget, world: RunWorld) {
  const { root, journal: folder } = world.directory
  const journal = openJournal(folder, world.clock)
  const isHere = journal.segments().length > 0
  if (isHere) refuseWhole(journal)
  const store = await openBackup(target, world, 'read')
  const list = (await readBackupList(store))?.list
  if (list === undefined) {
    throw new ConfigError(`there is no backup of a journal in ${target.place}`, {
      hint: 'Check the address: it must hold backup.json. Nothing was changed.',
    })
  }
  const identity = isHere ? readIfThere(join(folder, IDENTITY_FILE))?.toString().trim() : undefined
  const hint = 'Name the backup of this one. Nothing was changed.'
  if (identity !== undefined) refuseOtherJournal(list, identity, store.destination, hint)
  const seals = listedIn(folder, 'skip')
  const there = new Set(list.segments.map(({ segment }) => segment))
  const lost = [...seals.keys()].filter(
    (segment) => !there.has(segment) && !existsSync(join(folder, segment)),
  )
  const missing = list.segments.filter(({ segment }) => {
    const { sha256 = null } = seals.get(segment) ?? {}
    const path = join(folder, segment)
    return sha256 === null || !existsSync(path) || !isProven(path, { sha256 })
  })
  const restoring = join(root, 'journal.restoring')
  refuseNewer(list, root, restoring)
  await fetchSegments(store, missing, restoring, world)
  placeFiles(list, root)
  // A list that names more than the backup is not replaced.
  const isListLost = seals.size === 0 && journal.segments().every((segment) => there.has(segment))
  if (!isHere || isListLost) writeFileAtomic(sealsPath(folder), list.seals)
  place(list, restoring, folder, isHere)
  journal.check('bytes')
  const memory = memoryOf(target, list)
  remember(root, journal, memory)
  return {
    place: target.place,
    /** When the backup was made; ISO 8601, UTC. */
    madeAt: list.made_at,
    segments: memory.segments,
    bytes: memory.bytes,
    /** Segments that were sealed here after the backup, and are lost. */
    lost: lost.length,
    credits: sum([...monthlyCredits(readHistory(journal).spending, null).values()]),
    /** Credits in the newest snapshot next to the backup; null if none is readable. */
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

/** Brings segments here, proves and reads them: data of a newer version is left to that version. */
async function fetchSegments(
  store: ObjectStore,
  segments: readonly BackedUpSegment[],
  folder: string,
  { stop, onProgress }: RunWorld,
): Promise<void> {
  const wanted = new Set(segments.map(({ segment }) => segment))
  onDisk(folder, () => {
    makeFolders(folder)
    // Left by a killed restore of another backup.
    for (const name of readdirSync(folder).filter((one) => !wanted.has(one))) {
      rmSync(join(folder, name))
    }
  })
  for (const [index, segment] of segments.entries()) {
    stop.throwIfAborted()
    const path = join(folder, segment.segment)
    // Already fetched by a killed restore.
    const isFetched = existsSync(path) && isProven(path, segment)
    const problem = isFetched ? null : await fetchSegment(store, segment, path, stop)
    if (problem !== null) {
      throw new StorageError(`the backup of the journal is damaged: ${problem}`, {
        hint: 'Restore that object if the bucket keeps versions, and run the same command again. Until then nothing is restored.',
      })
    }
    const records = readSegment(path)
    while (records.next().done !== true);
    onProgress({ stage: 'backup', name: 'segments', done: index + 1, total: segments.length })
  }
}

/** @throws ConfigError for files of a newer version: they are left to that version */
function refuseNewer({ files, seals }: BackupList, root: string, restoring: string): void {
  parseSeals(restoring, Buffer.from(seals))
  const formats = { [SUPPRESSED_FILE]: LIST_FORMATS, [PENDING_FILE]: PENDING_FORMATS }
  for (const [name, read] of Object.entries(formats)) {
    refuseOtherFormat(join(root, name), jsonOrNull(files[name] ?? ''), read)
  }
}

/** Gives the fetched segments their place: each in a journal that is here, else the whole folder at once. */
function place(list: BackupList, restoring: string, folder: string, isHere: boolean): void {
  const identity = join(isHere ? folder : restoring, IDENTITY_FILE)
  if (!existsSync(identity)) writeFileAtomic(identity, `${list.journal_id}\n`, OWNER_ONLY)
  if (isHere) removeCheckpoint(folder)
  onDisk(folder, () => {
    if (isHere) {
      for (const name of readdirSync(restoring)) {
        renameSync(join(restoring, name), join(folder, name))
      }
      fsyncDirectory(folder)
      rmSync(restoring, { recursive: true })
    } else {
      // It holds at most an identity and a checkpoint of the missing segments.
      rmSync(folder, { recursive: true, force: true })
      renameSync(restoring, folder)
    }
    fsyncDirectory(dirname(folder))
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
  { clock, s3Endpoint, logger }: RunWorld,
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
