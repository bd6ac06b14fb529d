/** Where the journal is backed up, and what this machine remembers of it: `journal.backup.json` in the data directory. */

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { Journal } from '../../journal/journal.ts'
import { readHistory } from '../../journal/read-history.ts'
import type { RunHistory } from '../../journal/run-history.ts'
import type { S3Options } from '../../publish/store/object-store.ts'
import { absoluteAddress, isFolderAddress, withoutSlash } from '../../publish/store/open-store.ts'
import { readJson, writeJson } from '../../support/atomic-file.ts'
import { ConfigError } from '../../support/errors.ts'
import { refuseOtherFormat } from '../../support/json.ts'
import { withoutCredentials } from '../../support/text.ts'
import { sum } from '../../support/numbers.ts'
import { ownEntryAt } from '../data-directory.ts'
import { contentSha256, type BackupList } from './backup-list.ts'

/** The folder of the backup below a destination of snapshots on S3. */
export const JOURNAL_FOLDER = 'journal'

/** A place that keeps a backup, and how it is reached. */
export interface BackupTarget {
  /** Absolute folder, or s3:// address without a slash at its end. */
  readonly place: string
  readonly s3: S3Options
}

/**
 * Where a pipeline backs the journal up: where it says, else below a destination on S3; null for nowhere.
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
    throw new ConfigError(`${what}, not to ${withoutCredentials(place)}`, { hint })
  }
  if (!isFolderAddress(address)) return withoutSlash(address)
  const root = resolve(dataDir)
  const own = address === root ? root : ownEntryAt(root, address)
  if (own === null) return address
  throw new ConfigError(`the journal cannot be backed up to ${address}: ${own} is Jobtide's own`, {
    hint,
  })
}

const memorySchema = z.object({
  place: z.string(),
  s3: z.custom<S3Options>(),
  /** When the last backup was made or found complete; ISO 8601, UTC; null before the first. */
  backed_up_at: z.string().nullable(),
  /** SHA-256 of all that it holds. */
  content_sha256: z.string().nullable(),
  segments: z.int(),
  bytes: z.int(),
  /** Why the last attempt failed; null where it did not. */
  problem: z.string().nullable(),
})

type BackupMemory = z.infer<typeof memorySchema>

const FORMAT_VERSION = 1

const fileSchema = z.object({
  format_version: z.literal(FORMAT_VERSION),
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
  refuseOtherFormat(memoryPath(root), value, [FORMAT_VERSION])
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
  const known = readFile(root) ?? notedBackups(journal, runs) ?? []
  return known.map(({ place, s3 }) => ({ place, s3 }))
}

/** Why it is unknown whether a backup exists; null if it is known. */
export function lostMemory(root: string, journal: Journal): string | null {
  if (readFile(root) !== null || notedBackups(journal) !== null) return null
  const state = existsSync(memoryPath(root)) ? 'damaged' : 'missing'
  // Journals from before 0.17 record that a run backed up, but not where.
  const wasMade = runsOf(journal).some(
    ({ finished }) => finished?.stage_seconds?.backup !== undefined,
  )
  return state === 'damaged' || wasMade
    ? `${memoryPath(root)}: it is ${state}, so where the journal is backed up is not known; name the pipeline that does it with --pipeline`
    : null
}

/** null where no run noted any. */
function notedBackups(
  journal: Journal,
  runs?: ReadonlyMap<string, RunHistory>,
): BackupTarget[] | null {
  const noted = [...(runs?.values() ?? runsOf(journal))].findLast(
    ({ started }) => started.backups !== undefined,
  )
  return noted?.started.backups?.map(({ place, s3 }) => ({ place, s3 })) ?? null
}

function runsOf(journal: Journal): RunHistory[] {
  return journal.segments().length === 0 ? [] : [...readHistory(journal).runs.values()]
}

/** Those targets with a place of their own. */
export function eachOnce<T extends BackupTarget>(targets: readonly T[]): T[] {
  return targets.filter((one, at) => targets.findIndex(({ place }) => place === one.place) === at)
}

/** Remembers a place in the stead of what was remembered of it. @throws StorageError when the disk refuses */
export function remember(root: string, journal: Journal, memory: BackupMemory): void {
  const known = readFile(root) ?? knownBackups(root, journal).map((one) => ({ ...one, ...NEVER }))
  const others = known.filter(({ place }) => place !== memory.place)
  writeJson(memoryPath(root), { format_version: FORMAT_VERSION, places: [...others, memory] })
}

/** What is remembered of a place that holds what `list` says. */
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

/** Of a place that was never backed up to, as far as this machine knows. */
export const NEVER = {
  backed_up_at: null,
  content_sha256: null,
  segments: 0,
  bytes: 0,
  problem: null,
} as const

/** How a backup stands, as far as this machine knows. */
export interface BackupState {
  readonly place: string
  readonly backedUpAt: Date | null
  readonly segments: number
  /** Sealed segments here that came after it. */
  readonly missing: number
  /** Why the last attempt failed; null where it did not. */
  readonly problem: string | null
}

/** @param sealed how many sealed segments the journal has */
export function backupStates(root: string, sealed: number): BackupState[] {
  return readMemory(root).map(({ place, backed_up_at: at, segments, problem }) => ({
    place,
    backedUpAt: at === null ? null : new Date(at),
    segments,
    missing: Math.max(0, sealed - segments),
    problem,
  }))
}
