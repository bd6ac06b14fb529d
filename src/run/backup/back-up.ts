/**
 * Backs up the journal: a second place keeps the bought pages before anything is derived from them. Copies the missing sealed
 * segments, then replaces their list. Sends no request if nothing changed.
 */

import { join } from 'node:path'
import { journalIdentity, type Journal } from '../../journal/journal.ts'
import { listedIn } from '../../journal/seals.ts'
import { SUPPRESSED_FILE } from '../../load/suppression.ts'
import { PublishError } from '../../publish/errors.ts'
import { prefixedStore, type ObjectStore } from '../../publish/store/object-store.ts'
import { openStore } from '../../publish/store/open-store.ts'
import { readIfThere } from '../../support/atomic-file.ts'
import { EXIT, ConfigError, JobtideError, StorageError, messageOf } from '../../support/errors.ts'
import { stableJson } from '../../support/json.ts'
import { countText } from '../../support/numbers.ts'
import type { RunWorld } from '../stages.ts'
import {
  JOURNAL_FOLDER,
  LIST_KEY,
  NEVER,
  SEGMENTS_PREFIX,
  contentSha256,
  describeJournal,
  generationOf,
  isProven,
  knownBackups,
  memoryOf,
  readBackupList,
  readMemory,
  remember,
  segmentKey,
  type BackedUpSegment,
  type BackupList,
  type BackupTarget,
} from './backup-target.ts'

/**
 * Opens the place of a backup. A place below an open destination is part of it, and is not probed again.
 * @param within the destination of the snapshots, where it is open
 */
export async function openBackup(
  { place, s3 }: BackupTarget,
  { clock, s3Endpoint }: RunWorld,
  access: 'read' | 'write',
  within: ObjectStore | null = null,
): Promise<ObjectStore> {
  return within !== null && place === `${within.destination}/${JOURNAL_FOLDER}`
    ? prefixedStore(within, JOURNAL_FOLDER)
    : openStore(place, { clock, s3Endpoint, s3, access })
}

/**
 * Refuses, before anything is bought, published or moved from the inbox, a place that keeps another journal or knows
 * more than this one. A place that cannot be reached stops nothing: the journal is written first, and the backup fails
 * with an error.
 * @param within the destination of the snapshots, where it is open to be written
 * @throws ConfigError for the backup of another journal, or of a newer version
 * @throws StorageError for one that knows more, or whose list is damaged
 */
export async function checkBackup(
  target: BackupTarget,
  journal: Journal,
  world: RunWorld,
  access: 'read' | 'write' = 'read',
  within: ObjectStore | null = null,
): Promise<void> {
  try {
    const there = await readBackupList(await openBackup(target, world, access, within))
    if (there !== null) refuseOther(there.list, journal, world, target.place)
  } catch (error) {
    if (!(error instanceof PublishError)) throw error
    world.logger.warn({ place: target.place, reason: error.message }, 'backup.out_of_reach')
  }
}

/**
 * Backs the journal up. The caller holds the lock of the data directory, and nothing is written to the journal
 * meanwhile. The place is opened only if something changed since the last backup.
 * @param within the destination of the snapshots, where it is open
 * @throws PublishError when the place cannot be reached or written
 * @throws ConfigError and StorageError as {@link checkBackup}, and when a segment is not as it was sealed
 */
async function backUp(
  target: BackupTarget,
  journal: Journal,
  world: RunWorld,
  within: ObjectStore | null = null,
  here: BackupList = describeJournal(journal, world),
): Promise<void> {
  const { root } = world.directory
  const known = readMemory(root).find(({ place }) => place === target.place)
  const isSame = known?.content_sha256 === contentSha256(here) && known.problem === null
  if (isSame || here.segments.length === 0) return
  try {
    await copy(await openBackup(target, world, 'write', within), here, journal, world)
    remember(root, journal, memoryOf(target, here))
  } catch (error) {
    const reason = messageOf(error)
    remember(root, journal, { ...NEVER, ...known, ...target, problem: reason })
    if (!(error instanceof PublishError)) throw error
    throw new PublishError(`the journal was not backed up to ${target.place}: ${reason}`, {
      hint: 'All bought pages are in the journal here. The next run backs it up.',
      context: { place: target.place },
      cause: error,
    })
  }
}

async function copy(store: ObjectStore, here: BackupList, journal: Journal, world: RunWorld) {
  const { stop, onProgress } = world
  const there = await readBackupList(store)
  if (there !== null) {
    refuseOther(there.list, journal, world, store.destination)
    if (contentSha256(there.list) === contentSha256(here)) return
  }
  const before = new Set(there?.list.segments.map(segmentKey))
  const fresh = here.segments.filter((segment) => !before.has(segmentKey(segment)))
  for (const [index, segment] of fresh.entries()) {
    stop.throwIfAborted()
    const path = join(journal.folder, segment.segment)
    if (!isProven(path, segment)) {
      throw new StorageError(`journal segment ${path} is not as it was sealed`, {
        hint: '`jobtide verify` lists every fault of the journal.',
      })
    }
    // A backup that was killed may have copied it.
    const found = await store.head(segmentKey(segment))
    if (found?.bytes !== segment.bytes) await store.putFile(segmentKey(segment), path, stop)
    onProgress({ stage: 'backup', name: 'segments', done: index + 1, total: fresh.length })
  }
  const bytes = Buffer.from(`${stableJson(here, 2)}\n`)
  if (!(await store.replace(LIST_KEY, bytes, there?.version ?? null))) {
    throw new PublishError(`another process is backing up a journal to ${store.destination}`, {
      hint: 'Is a copy of this data directory running elsewhere? Stop it: only one of them may run.',
    })
  }
  // A backup from before an erasure came back, such as on an unmounted disk: segments rewritten since must not stay
  // there.
  const isBefore = (there?.list.suppression_generation ?? 0) < here.suppression_generation
  if (there !== null && isBefore) await removeOthers(store, here, world)
}

/** Removes the segments that a backup does not name, and old object versions, for good. @returns how many could not be removed */
async function removeOthers(
  store: ObjectStore,
  { segments }: BackupList,
  { clock }: RunWorld,
): Promise<number> {
  const named = new Set(segments.map(segmentKey))
  const isLeft = ({ key }: { readonly key: string }) => !named.has(key)
  const old = (await store.list(SEGMENTS_PREFIX)).filter(isLeft)
  if (old.length > 0) await store.remove(old.map(({ key }) => key))
  await store.purge({ uploadsBegunBefore: clock.now(), versions: true })
  return (await store.list(SEGMENTS_PREFIX)).filter(isLeft).length
}

/**
 * Refuses the backup of another journal, and one that knows more than the journal here, which is then an older copy.
 * @throws ConfigError for the one, StorageError for the other
 */
function refuseOther(
  there: BackupList,
  { folder, segments }: Pick<Journal, 'folder' | 'segments'>,
  { directory, clock }: RunWorld,
  place: string,
): void {
  refuseOtherJournal(
    there,
    journalIdentity(folder, clock.now()),
    place,
    'Name another place: `journal: {backup: …}` in the pipeline, or JOBTIDE_JOURNAL_BACKUP. To go on with that journal instead, run `jobtide restore-journal` in an empty data directory. Nothing was sent or changed.',
  )
  const known = new Set([...listedIn(folder, 'skip').keys(), ...segments()])
  const unknown = there.segments.filter(({ segment }) => !known.has(segment))
  const erased = generationOf(readIfThere(join(directory.root, SUPPRESSED_FILE))?.toString())
  if (unknown.length === 0 && there.suppression_generation <= erased) return
  const what =
    unknown.length > 0
      ? `${countText(unknown.length, 'segment')} that ${unknown.length === 1 ? 'is' : 'are'} not here, the newest of them ${unknown.at(-1)?.segment}`
      : 'people erased who are not erased here'
  throw new StorageError(
    `the journal is older than its backup of ${there.made_at} in ${place}, which has ${what}`,
    {
      hint: 'This may be an older copy of the data directory. Put the newer one back. Or move `journal`, `journal.seals` and `jobtide.duckdb` away, and run `jobtide restore-journal`. Nothing was sent or changed.',
    },
  )
}

/** @param here the identity of the journal here @throws ConfigError for the backup of another one */
export function refuseOtherJournal(
  { journal_id: there }: BackupList,
  here: string,
  place: string,
  hint: string,
): void {
  if (there === here) return
  throw new ConfigError(
    `${place} is the backup of another journal (${there}; the one here is ${here})`,
    { hint },
  )
}

/**
 * Backs the journal up to every known place, for commands that run no pipeline. A failure is shown in the log and in
 * `status`; the next run tries again.
 */
export async function backUpWhereKnown(journal: Journal, world: RunWorld): Promise<void> {
  await backUpEach(knownBackups(world.directory.root, journal), journal, world)
}

/**
 * Backs the journal up to each place. A failure is shown in the log and in `status`; the next run tries again.
 * @returns the first failure
 */
export async function backUpEach(
  targets: readonly BackupTarget[],
  journal: Journal,
  world: RunWorld,
  within: ObjectStore | null = null,
): Promise<JobtideError | null> {
  let first: JobtideError | null = null
  for (const target of targets) {
    try {
      await backUp(target, journal, world, within)
    } catch (error) {
      if (!(error instanceof JobtideError)) throw error
      first ??= error
      world.logger.error({ place: target.place, reason: error.message }, 'backup.failed')
      // The other places of a process that is stopped are left to the next one.
      if (world.stop.aborted) break
    }
  }
  return first
}

/**
 * Reads all of a backup.
 * @param scratchFile holds one segment at a time
 * @returns what is wrong with it, a sentence each
 */
export async function proveBackup(
  target: BackupTarget,
  journal: Journal,
  world: RunWorld,
  scratchFile: string,
): Promise<string[]> {
  const store = await openBackup(target, world, 'read')
  const list = (await readBackupList(store))?.list
  if (list === undefined) return [`no backup of the journal in ${target.place}`]
  refuseOther(list, journal, world, target.place)
  const problems: string[] = []
  for (const [index, segment] of list.segments.entries()) {
    world.stop.throwIfAborted()
    const problem = await fetchSegment(store, segment, scratchFile, world.stop)
    if (problem !== null) problems.push(problem)
    const total = list.segments.length
    world.onProgress({ stage: 'backup', name: 'proving', done: index + 1, total })
  }
  return problems
}

/** Downloads a segment into a file. @returns what is wrong with it; null if it is whole */
export async function fetchSegment(
  store: ObjectStore,
  segment: BackedUpSegment,
  path: string,
  stop: AbortSignal,
): Promise<string | null> {
  const where = store.urlOf(segmentKey(segment))
  if (!(await store.download(segmentKey(segment), path, stop))) return `${where} is not there`
  return isProven(path, segment) ? null : `${where} is not as it was written`
}

/**
 * Checks every backup before an erasure changes anything: otherwise half an erasure could be left that this version, or
 * this copy of the journal, cannot finish. A place that is out of reach or damaged does not stop the erasure in the
 * others.
 * @throws ConfigError for the backup of a newer version
 * @throws StorageError for one that knows more than this journal
 */
export async function refuseNewerBackups(world: RunWorld, journal: Journal): Promise<void> {
  for (const target of knownBackups(world.directory.root, journal)) {
    const there = await listAt(target, world).catch((error: unknown) => {
      if (!(error instanceof JobtideError) || error.exitCode === EXIT.usage) throw error
      return null
    })
    if (there?.journal_id === journalIdentity(journal.folder, world.clock.now())) {
      refuseOther(there, journal, world, target.place)
    }
  }
}

async function listAt(target: BackupTarget, world: RunWorld): Promise<BackupList | null> {
  return (await readBackupList(await openBackup(target, world, 'read')))?.list ?? null
}

/**
 * Applies an erasure to the backups: uploads the rewritten segments, and deletes all others with their old object versions.
 * The remaining objects are proved to be the segments here, which are searched here.
 * @param isLast whether nothing else of the erasure is left to do: then the backup no longer says whom it was about
 * @returns what is left, a sentence for each place
 */
export async function eraseInBackups(world: RunWorld, journal: Journal, isLast: boolean) {
  const { root } = world.directory
  const leftIn = async (target: BackupTarget): Promise<string | null> => {
    const there = await listAt(target, world)
    const known = readMemory(root).find(({ place }) => place === target.place)
    if (there === null && known !== undefined && known.backed_up_at !== null) {
      return `the backup is not there: mount its disk. ${IF_GONE}`
    }
    // Nothing of another journal is removed.
    if (there !== null) refuseOther(there, journal, world, target.place)
    const here = describeJournal(journal, world, isLast)
    await backUp(target, journal, world, null, here)
    const count = await removeOthers(await openBackup(target, world, 'write'), here, world)
    return count === 0 ? null : `${countText(count, 'old segment')} could not be removed`
  }
  const left: string[] = []
  for (const target of knownBackups(root, journal)) {
    const problem = await leftIn(target).catch((error: unknown) => {
      if (!(error instanceof JobtideError)) throw error
      return error instanceof PublishError ? `${error.message}. ${IF_GONE}` : error.message
    })
    if (problem !== null) left.push(`${target.place}: ${problem}`)
  }
  return left
}

const IF_GONE = 'If it is gone for good, remove the place from journal.backup.json'
