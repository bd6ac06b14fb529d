/**
 * Erases people from the backups of the journal, in every place that may hold one, even if journal.backup.json is lost.
 * Such places are noted in the journal, named by pipelines, or lie below a destination.
 */

import { journalIdentity } from '../../journal/identity.ts'
import type { Journal } from '../../journal/journal.ts'
import { PublishError } from '../../publish/errors.ts'
import { isFolderAddress, withoutSlash } from '../../publish/store/open-store.ts'
import { EXIT, JobtideError } from '../../support/errors.ts'
import { countText } from '../../support/numbers.ts'
import type { SnapshotTarget } from '../job.ts'
import type { ErasureWorld } from '../forget/search.ts'
import { backUpInto, openBackup, refuseOther, removeOthers } from './back-up.ts'
import { describeJournal, readBackupList, type BackupList } from './backup-list.ts'
import {
  JOURNAL_FOLDER,
  eachOnce,
  knownBackups,
  lostMemory,
  readMemory,
  type BackupTarget,
} from './backup-target.ts'

interface Place extends BackupTarget {
  /** Whether the journal was backed up there; of another place that is to be seen. */
  readonly isKnown: boolean
}

function placesOf(
  { directory, declaredBackups }: ErasureWorld,
  journal: Journal,
  targets: readonly SnapshotTarget[],
): Place[] {
  const known = knownBackups(directory.root, journal)
  const below = targets
    .filter(({ to }) => !isFolderAddress(to))
    .map(({ to, s3 }) => ({ place: `${withoutSlash(to)}/${JOURNAL_FOLDER}`, s3 }))
  return eachOnce([
    ...known.map((one) => ({ ...one, isKnown: true })),
    ...[...declaredBackups(), ...below].map((one) => ({ ...one, isKnown: false })),
  ])
}

/**
 * Looks at every backup before an erasure changes anything: half an erasure would be left where this version, or this copy of the
 * journal, cannot finish it. A place that is out of reach or damaged does not keep people in the others.
 * @throws ConfigError for the backup of a newer version
 * @throws StorageError for one that knows more than this journal
 */
export async function refuseNewerBackups(
  world: ErasureWorld,
  journal: Journal,
  targets: readonly SnapshotTarget[],
): Promise<void> {
  if (journal.segments().length === 0) return
  for (const place of placesOf(world, journal, targets)) {
    const list = await listAt(place, world).catch((error: unknown) => {
      if (!(error instanceof JobtideError) || error.exitCode === EXIT.usage) throw error
      return null
    })
    if (list !== null && isOf(list, journal, world)) refuseOther(list, journal, world, place.place)
  }
}

async function listAt(place: Place, world: ErasureWorld): Promise<BackupList | null> {
  return (await readBackupList(await openBackup(place, world, 'read')))?.list ?? null
}

function isOf({ journal_id: id }: BackupList, { folder }: Journal, { clock }: ErasureWorld) {
  return id === journalIdentity(folder, clock.now())
}

/**
 * Applies an erasure to the backups: uploads the rewritten segments, and deletes all others with their old object versions.
 * The remaining objects are proved to be the segments here, which are searched here.
 * @param targets where snapshots were published
 * @param isLast whether nothing else of the erasure is left to do: then the backup no longer says whom it was about
 * @returns what is left, a sentence for each place
 */
export async function eraseInBackups(
  world: ErasureWorld,
  journal: Journal,
  targets: readonly SnapshotTarget[],
  isLast: boolean,
): Promise<string[]> {
  const lost = lostMemory(world.directory.root, journal)
  const erased: string[][] = []
  for (const place of placesOf(world, journal, targets)) {
    const left = await eraseIn(place, journal, world, isLast, lost !== null)
    if (left !== null) erased.push(left.map((problem) => `${place.place}: ${problem}`))
  }
  return lost !== null && erased.length === 0 ? [lost] : erased.flat()
}

/** @returns what is left to do there; null where there is no backup of this journal */
async function eraseIn(
  place: Place,
  journal: Journal,
  world: ErasureWorld,
  isLast: boolean,
  isMemoryLost: boolean,
): Promise<string[] | null> {
  try {
    const there = await listAt(place, world)
    if (!place.isKnown && (there === null || !isOf(there, journal, world))) return null
    if (there === null && wasMade(place, world)) return [GONE]
    // Of another journal nothing is removed.
    if (there !== null) refuseOther(there, journal, world, place.place)
    const store = await openBackup(place, world, 'write')
    const here = describeJournal(journal, world, isLast)
    await backUpInto(() => Promise.resolve(store), place, here, journal, world)
    const count = await removeOthers(store, here, world)
    return count === 0 ? [] : [`${countText(count, 'old segment')} could not be removed`]
  } catch (error) {
    if (!(error instanceof JobtideError)) throw error
    const isNowhere = isFolderAddress(place.place) || !isMemoryLost
    if (!(error instanceof PublishError)) return [error.message]
    if (!place.isKnown && isNowhere) return null
    return [place.isKnown ? `${error.message}. ${IF_GONE}` : error.message]
  }
}

const IF_GONE = 'If it is gone for good, remove the place from journal.backup.json'
const GONE = `the backup is not there: mount its disk. ${IF_GONE}`

/** Whether a backup was made there and was whole, as far as this machine remembers. */
function wasMade({ place }: Place, { directory }: ErasureWorld): boolean {
  return readMemory(directory.root).some((one) => one.place === place && one.backed_up_at !== null)
}
