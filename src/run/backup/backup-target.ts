/**
 * Where the journal is backed up, what this machine remembers of it (`journal.backup.json` in the data directory), and what a
 * backup holds: the sealed segments, each an object named by its SHA-256, and one list, which is replaced last by
 * compare-and-swap. The list has everything else that a restored journal needs, so a backup is always a whole state of it.
 */

import { join, resolve } from 'node:path'
import { z } from 'zod'
import { journalIdentity, type Journal } from '../../journal/journal.ts'
import { fileState, parseSeals, readSealBytes } from '../../journal/seals.ts'
import { readHistory } from '../../journal/read-history.ts'
import type { RunHistory } from '../../journal/run-history.ts'
import { CERTIFICATES, SUPPRESSED_FILE } from '../../load/suppression.ts'
import type { ObjectStore, S3Options } from '../../publish/store/object-store.ts'
import { absoluteAddress, isFolderAddress, withoutSlash } from '../../publish/store/open-store.ts'
import { namesIn, readIfThere, readJson, writeJson } from '../../support/atomic-file.ts'
import { isoInstant, type Clock } from '../../support/clock.ts'
import { ConfigError, StorageError } from '../../support/errors.ts'
import { isWithin } from '../../support/file-modes.ts'
import { sha256Hex } from '../../support/hash.ts'
import { jsonOrNull, refuseOtherFormat, stableJson } from '../../support/json.ts'
import { sum } from '../../support/numbers.ts'
import { WHOLE_PATH, isUnexpanded, withoutCredentials } from '../../support/text.ts'
import { newUlid } from '../../support/ulid.ts'
import { refuseOwnPlace, type DataDirectory } from '../data-directory.ts'
import { PENDING_FILE } from '../forget/pending.ts'

/** The folder of the backup below a destination of snapshots on S3. */
export const JOURNAL_FOLDER = 'journal'

export interface BackupTarget {
  /** Absolute folder, or s3:// address without a slash at its end. */
  readonly place: string
  readonly s3: S3Options
}

/**
 * Where a pipeline backs the journal up: the place it names, else below a destination on S3; null for nowhere.
 * @param said `journal.backup` of the pipeline file, or JOBTIDE_JOURNAL_BACKUP, which wins
 * @throws ConfigError for an address that is neither a folder nor on S3, or lies among Jobtide's own files
 */
export function backupTarget(
  said: string | false | undefined,
  snapshot: { readonly to: string; readonly s3: S3Options } | null,
  dataDir: string,
): BackupTarget | null {
  if (said === false) return null
  const s3 = snapshot?.s3 ?? {}
  if (said !== undefined) return { place: absolutePlace(said, dataDir), s3 }
  if (snapshot === null || isFolderAddress(snapshot.to)) return null
  return { place: `${withoutSlash(snapshot.to)}/${JOURNAL_FOLDER}`, s3 }
}

/** A place as the command line or a file names it. @throws ConfigError as {@link backupTarget} */
export function absolutePlace(place: string, dataDir: string): string {
  const hint =
    'Name a folder on another disk, or s3://bucket/prefix, in `journal: {backup: …}` or JOBTIDE_JOURNAL_BACKUP.'
  const address = absoluteAddress(place, dataDir)
  if (address === null) {
    const what = 'the journal is backed up to a folder or to s3://bucket/prefix'
    const advice = isUnexpanded(place) ? `${hint.slice(0, -1)}: ${WHOLE_PATH}` : hint
    throw new ConfigError(`${what}, not to ${withoutCredentials(place)}`, { hint: advice })
  }
  if (!isFolderAddress(address)) return withoutSlash(address)
  refuseOwnPlace(resolve(dataDir), address, 'the backup of the journal', { hint })
  return address
}

/** Whether the loss of the data directory loses the backup as well; a link to another disk lies outside. */
export function isBackupInside(root: string, place: string): boolean {
  return isFolderAddress(place) && isWithin(root, place)
}

/** The problem of such a backup, and its remedy. */
export const INSIDE = {
  problem: 'is inside the data directory, and would be lost with it',
  hint: 'In `journal: {backup: …}` or JOBTIDE_JOURNAL_BACKUP, write the full path of a folder on another disk, or s3://bucket/prefix. Then remove the old place from journal.backup.json.',
} as const

const memorySchema = z.object({
  place: z.string(),
  s3: z.custom<S3Options>(),
  /** When the last backup was made or found complete; ISO 8601, UTC; null before the first. */
  backed_up_at: z.string().nullable(),
  /** SHA-256 of all that it holds. */
  content_sha256: z.string().nullable(),
  segments: z.int(),
  bytes: z.int(),
  /** Why the last attempt failed; null if it did not. */
  problem: z.string().nullable(),
})

type BackupMemory = z.infer<typeof memorySchema>

const MEMORY_FORMAT = 1

const fileSchema = z.object({
  format_version: z.literal(MEMORY_FORMAT),
  places: z.array(memorySchema),
})

const memoryPath = (root: string) => join(root, 'journal.backup.json')

/**
 * Reads the record of the places that this data directory was backed up to; empty if the file is lost or damaged.
 * @throws ConfigError for the file of a newer version, which may know of places that this one would forget
 */
export function readMemory(root: string): readonly BackupMemory[] {
  return readFile(root) ?? []
}

/** null for a file that is lost or damaged. */
function readFile(root: string): readonly BackupMemory[] | null {
  const value = readJson(memoryPath(root))
  refuseOtherFormat(memoryPath(root), value, [MEMORY_FORMAT])
  return fileSchema.safeParse(value).data?.places ?? null
}

/**
 * The places that this data directory was backed up to: where the file is lost, those that the last run noted in the journal.
 * @param runs of the journal, where they are known; else they are read
 */
export function knownBackups(
  root: string,
  journal: Journal,
  runs?: ReadonlyMap<string, RunHistory>,
): BackupTarget[] {
  const known = readFile(root)
  if (known !== null) return known.map(({ place, s3 }) => ({ place, s3 }))
  const all = runs ?? (journal.segments().length === 0 ? new Map() : readHistory(journal).runs)
  // No run did before 0.17.
  const noted = [...all.values()].findLast(({ started }) => started.backups !== undefined)
  return (noted?.started.backups as BackupTarget[] | undefined) ?? []
}

/** The targets with their own place. */
export function eachOnce<T extends BackupTarget>(targets: readonly T[]): T[] {
  return targets.filter((one, at) => targets.findIndex(({ place }) => place === one.place) === at)
}

/** Replaces the record of a place. @throws StorageError when the disk refuses */
export function remember(root: string, journal: Journal, memory: BackupMemory): void {
  const known = readFile(root) ?? knownBackups(root, journal).map((one) => ({ ...one, ...NEVER }))
  const others = known.filter(({ place }) => place !== memory.place)
  writeJson(memoryPath(root), { format_version: MEMORY_FORMAT, places: [...others, memory] })
}

export function memoryOf(target: BackupTarget, list: BackupList): BackupMemory {
  return {
    ...target,
    backed_up_at: list.made_at,
    content_sha256: contentSha256(list),
    segments: list.segments.length,
    bytes: sum(list.segments.map(({ bytes }) => bytes)),
    problem: null,
  }
}

export const NEVER = {
  backed_up_at: null,
  content_sha256: null,
  segments: 0,
  bytes: 0,
  problem: null,
} as const

export type BackupState = ReturnType<typeof backupStates>[number]

/** The backups, as far as this machine knows. @param sealed how many sealed segments the journal has */
export function backupStates(root: string, sealed: number) {
  return readMemory(root).map(({ place, backed_up_at: at, segments, problem }) => ({
    place,
    backedUpAt: at === null ? null : new Date(at),
    segments,
    /** Sealed segments here that came after it. */
    missing: Math.max(0, sealed - segments),
    /** Why the last attempt failed; null if it did not. */
    problem,
  }))
}

export const LIST_KEY = 'backup.json'
export const SEGMENTS_PREFIX = 'segments/'

const segmentSchema = z.strictObject({
  segment: z.string().regex(/^[0-9A-HJKMNP-TV-Z]{26}\.journal$/),
  bytes: z.int().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})

export type BackedUpSegment = z.infer<typeof segmentSchema>

const LIST_FORMAT = 1

const listSchema = z.strictObject({
  format_version: z.literal(LIST_FORMAT),
  /** Identifies this state of the list. */
  id: z.ulid(),
  /** ISO 8601, UTC. */
  made_at: z.string(),
  jobtide: z.string(),
  journal_id: z.string(),
  segments: z.array(segmentSchema),
  /** The bytes of `journal.seals`. */
  seals: z.string(),
  /** How many lists of erased people preceded this one; 0 if no one was erased. */
  suppression_generation: z.int().min(0),
  /** Other files of the data directory, by name: what keeps erased people out. */
  files: z.record(
    z.string().regex(/^(?:suppressed\.json|forget\.pending\.json|certificates\/[\w.-]+\.json)$/),
    z.string(),
  ),
})

export type BackupList = z.infer<typeof listSchema>

/** The key of a segment's object: another state of a segment is another object. */
export function segmentKey({ segment, sha256 }: BackedUpSegment): string {
  return `${SEGMENTS_PREFIX}${segment.replace(/\.journal$/, '')}-${sha256}.journal`
}

interface Here {
  readonly directory: Pick<DataDirectory, 'root'>
  readonly clock: Clock
  readonly version: string
}

/** Describes a backup of the journal as it is now. The caller is the only process that writes the journal. */
export function describeJournal(
  journal: Journal,
  { directory, clock, version }: Here,
  withoutPending = false,
): BackupList {
  const seals = readSealBytes(journal.folder)
  const sealed = seals === null ? [] : [...parseSeals(journal.folder, seals).values()]
  const files = filesOf(directory.root)
  if (withoutPending) delete files[PENDING_FILE]
  return {
    format_version: LIST_FORMAT,
    id: newUlid(clock.now()),
    made_at: isoInstant(clock.now()),
    jobtide: version,
    journal_id: journalIdentity(journal.folder, clock.now()),
    // Those that exist; of a segment with an accepted partial loss, the rest.
    segments: sealed.flatMap(
      ({ segment, bytes, sha256 }) =>
        segmentSchema.safeParse({ segment, bytes, sha256 }).data ?? [],
    ),
    seals: seals?.toString() ?? '',
    suppression_generation: generationOf(files[SUPPRESSED_FILE]),
    files,
  }
}

function filesOf(root: string): Record<string, string> {
  const certificates = namesIn(join(root, CERTIFICATES), /\.json$/)
  const files: Record<string, string> = {}
  for (const name of [
    SUPPRESSED_FILE,
    PENDING_FILE,
    ...certificates.map((one) => `${CERTIFICATES}/${one}`),
  ]) {
    const text = readIfThere(join(root, name))?.toString()
    if (text !== undefined) files[name] = text
  }
  return files
}

/** The generation of a list of erased people; 0 for none. */
export function generationOf(text: string | undefined): number {
  const { generation } = Object(jsonOrNull(text ?? '')) as Record<string, unknown>
  return typeof generation === 'number' ? generation : 0
}

/** SHA-256 of the content of a list, whenever and by whichever version it was written. */
export function contentSha256(list: BackupList): string {
  return sha256Hex(stableJson({ ...list, id: '', made_at: '', jobtide: '' }))
}

/** @returns null where there is no backup @throws StorageError when the list is damaged @throws ConfigError when it is newer */
export async function readBackupList(store: ObjectStore) {
  const stored = await store.get(LIST_KEY)
  if (stored === null) return null
  const where = store.urlOf(LIST_KEY)
  const value = jsonOrNull(Buffer.from(stored.bytes).toString())
  refuseOtherFormat(where, value, [LIST_FORMAT])
  const list = listSchema.safeParse(value).data
  if (list !== undefined) return { list, version: stored.version }
  throw new StorageError(`${where} is not the list of a journal backup, or is damaged`, {
    hint: 'Restore an earlier version of that object if the bucket keeps versions, or name another place.',
  })
}

export function isProven(path: string, { sha256 }: Pick<BackedUpSegment, 'sha256'>): boolean {
  return fileState(path).sha256 === sha256
}
