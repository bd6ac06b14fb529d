/**
 * The format of a journal backup: the sealed segments, each an object named by its SHA-256, and one list, which is replaced
 * last by compare-and-swap. The list holds everything else that a restored journal needs: the list of seals, the
 * identity, and what keeps erased people out. So a backup is always a whole state of the journal, the newest or the one before.
 */

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { journalIdentity } from '../../journal/identity.ts'
import type { Journal } from '../../journal/journal.ts'
import { fileState } from '../../journal/loss.ts'
import { parseSeals, readSealBytes, type SealedSegment } from '../../journal/seals.ts'
import { SUPPRESSED_FILE } from '../../load/suppression.ts'
import type { ObjectStore, ObjectVersion } from '../../publish/store/object-store.ts'
import { readIfThere } from '../../support/atomic-file.ts'
import { isoInstant } from '../../support/clock.ts'
import { StorageError } from '../../support/errors.ts'
import { sha256Hex } from '../../support/hash.ts'
import { jsonOrNull, refuseOtherFormat, stableJson } from '../../support/json.ts'
import { newUlid } from '../../support/ulid.ts'
import { CERTIFICATES } from '../data-directory.ts'
import { PENDING_FILE } from '../forget/pending.ts'
import type { RunWorld } from '../stages.ts'

export const LIST_KEY = 'backup.json'
export const SEGMENTS_PREFIX = 'segments/'

const segmentSchema = z.strictObject({
  segment: z.string().regex(/^[0-9A-HJKMNP-TV-Z]{26}\.journal$/),
  bytes: z.int().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})

/** A sealed segment as it is backed up. */
export type BackedUpSegment = z.infer<typeof segmentSchema>

const FORMAT_VERSION = 1

const listSchema = z.strictObject({
  format_version: z.literal(FORMAT_VERSION),
  /** Of this state of the list: no two are alike. */
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

/** Describes a backup of the journal as it is now. The caller is the only process that writes the journal. */
export function describeJournal(
  journal: Journal,
  { directory, clock, version }: Pick<RunWorld, 'directory' | 'clock' | 'version'>,
  withoutPending = false,
): BackupList {
  const seals = readSealBytes(journal.folder)
  const { [PENDING_FILE]: pending, ...others } = filesOf(directory.root)
  const files =
    withoutPending || pending === undefined ? others : { ...others, [PENDING_FILE]: pending }
  return {
    format_version: FORMAT_VERSION,
    id: newUlid(clock.now()),
    made_at: isoInstant(clock.now()),
    jobtide: version,
    journal_id: journalIdentity(journal.folder, clock.now()),
    segments: seals === null ? [] : segmentsIn(parseSeals(journal.folder, seals)),
    seals: seals?.toString() ?? '',
    suppression_generation: generationOf(files[SUPPRESSED_FILE]),
    files,
  }
}

/** Those that are there; of one that is accepted to be lost in part, that part. */
function segmentsIn(seals: ReadonlyMap<string, SealedSegment>): BackedUpSegment[] {
  return [...seals.values()].flatMap(
    ({ segment, bytes, sha256 }) => segmentSchema.safeParse({ segment, bytes, sha256 }).data ?? [],
  )
}

function filesOf(root: string): Record<string, string> {
  const folder = join(root, CERTIFICATES)
  const certificates = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith('.json'))
    : []
  const names = [
    SUPPRESSED_FILE,
    PENDING_FILE,
    ...certificates.map((one) => `${CERTIFICATES}/${one}`),
  ]
  const texts = names.map((name) => [name, readIfThere(join(root, name))?.toString()] as const)
  return Object.fromEntries(
    texts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
  )
}

/** The generation of a list of erased people; 0 for none. */
export function generationOf(text: string | undefined): number {
  const { generation } = Object(jsonOrNull(text ?? '')) as Record<string, unknown>
  return typeof generation === 'number' ? generation : 0
}

/** SHA-256 of what a list says, whenever and by whichever version it was written. */
export function contentSha256(list: BackupList): string {
  return sha256Hex(stableJson({ ...list, id: '', made_at: '', jobtide: '' }))
}

/** @returns null where there is no backup @throws StorageError when the list is damaged @throws ConfigError when it is newer */
export async function readBackupList(
  store: ObjectStore,
): Promise<{ readonly list: BackupList; readonly version: ObjectVersion } | null> {
  const stored = await store.get(LIST_KEY)
  if (stored === null) return null
  const where = store.urlOf(LIST_KEY)
  const value = jsonOrNull(Buffer.from(stored.bytes).toString())
  refuseOtherFormat(where, value, [FORMAT_VERSION])
  const list = listSchema.safeParse(value).data
  if (list !== undefined) return { list, version: stored.version }
  throw new StorageError(`${where} is not the list of a journal backup, or is damaged`, {
    hint: 'Restore an earlier version of that object if the bucket keeps versions, or name another place.',
  })
}

/** Whether a file is the segment as it was sealed. */
export function isProven(path: string, { sha256 }: Pick<BackedUpSegment, 'sha256'>): boolean {
  return fileState(path).sha256 === sha256
}
