/**
 * Reads a journal's history: from the checkpoint, where there is one, and the records that came after it. A checkpoint
 * is only a shortcut: it names how far each segment was read, and whatever does not fit (another version, a segment that
 * is gone or shorter, a changed byte) makes it count as absent, so that all of the journal is read again.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import { readIfThere, writeFileAtomic } from '../support/atomic-file.ts'
import { foldLoss } from './fold-loss.ts'
import type { HeldRun } from './held.ts'
import { countUnanswered, emptyHistory, foldRecord, type History } from './history.ts'
import type { Journal } from './journal.ts'
import type { JournalState } from './loss.ts'
import type { SuppressionChanged } from './records.ts'

/** Name of the checkpoint in the journal's folder. */
export const CHECKPOINT_FILE = 'history.checkpoint'

// To be raised whenever History, or what a record adds to it, changes: an older checkpoint is then not used.
const CHECKPOINT_FORMAT = 3
const FIRST_LINE = /^jobtide history (\d+) ([0-9a-f]{8})\n/
const LONGEST_FIRST_LINE = 64

/** A history and the bytes of each segment that are in it. */
interface Checkpoint {
  readonly history: History
  readonly positions: Map<string, number>
  /** Checksum of the losses that are in it: with another one accepted, it is thrown away. */
  readonly losses: string
}

/**
 * Everything the journal's headers add up to.
 * @throws JournalLossError when a sealed segment is lost, and that was not accepted
 */
export function readHistory(journal: Journal): History {
  return countUnanswered(foldAll(journal).history)
}

/** What the journal says of the newest suppression list, whatever else is in it; null where there never was one. */
export function newestSuppression(journal: Journal): SuppressionChanged | null {
  const checkpoint = readCheckpoint(journal, checksumOf(journal.check().losses))
  let newest = checkpoint?.history.suppression ?? null
  for (const segment of journal.segments()) {
    for (const { record } of journal.read(segment, checkpoint?.positions.get(segment) ?? 0)) {
      if (record.kind !== 'suppression_changed') continue
      if ((newest?.generation ?? 0) < record.generation) newest = record
    }
  }
  return newest
}

/**
 * Keeps what the journal adds up to now, so that the next start need not read all of it.
 * @throws StorageError when the disk refuses; the journal is whole all the same
 */
export function saveCheckpoint(journal: Journal): void {
  if (journal.segments().length === 0) return
  const body = serialize(foldAll(journal))
  const line = `jobtide history ${CHECKPOINT_FORMAT} ${checksum(body)}\n`
  writeFileAtomic(checkpointPath(journal), Buffer.concat([Buffer.from(line), body]))
}

function foldAll(journal: Journal): Checkpoint {
  const { losses } = journal.check()
  const checksumOfLosses = checksumOf(losses)
  const known = readCheckpoint(journal, checksumOfLosses)
  if (known !== null) return foldSegments(journal, known, new Map())
  const nothing = { history: emptyHistory(), positions: new Map(), losses: checksumOfLosses }
  return foldSegments(journal, nothing, losses)
}

function checksumOf(losses: JournalState['losses']): string {
  return checksum(Buffer.from(JSON.stringify([...losses])))
}

/** @param losses those that are not in `checkpoint` */
function foldSegments(
  journal: Journal,
  checkpoint: Checkpoint,
  losses: ReadonlyMap<string, readonly HeldRun[]>,
): Checkpoint {
  const { history, positions } = checkpoint
  const present = new Set(journal.segments())
  for (const segment of [...new Set([...present, ...losses.keys()])].toSorted()) {
    const frames = present.has(segment) ? journal.read(segment, positions.get(segment) ?? 0) : []
    for (const frame of frames) {
      foldRecord(history, frame)
      positions.set(segment, frame.end)
    }
    foldLoss(history, losses.get(segment) ?? [])
  }
  return checkpoint
}

function readCheckpoint(journal: Journal, losses: string): Checkpoint | null {
  const bytes = readIfThere(checkpointPath(journal)) ?? Buffer.alloc(0)
  const firstLine = FIRST_LINE.exec(bytes.toString('latin1', 0, LONGEST_FIRST_LINE))
  if (firstLine?.[1] !== String(CHECKPOINT_FORMAT)) return null
  const body = bytes.subarray(firstLine[0].length)
  if (checksum(body) !== firstLine[2]) return null
  const checkpoint = checkpointIn(body)
  if (checkpoint === null || checkpoint.losses !== losses) return null
  return fits(checkpoint, journal) ? checkpoint : null
}

// A newer Node.js may have written it in a way that this one does not read.
function checkpointIn(body: Buffer): Checkpoint | null {
  try {
    return deserialize(body) as Checkpoint
  } catch {
    return null
  }
}

function fits({ positions }: Checkpoint, journal: Journal): boolean {
  const present = new Set(journal.segments())
  for (const [segment, bytes] of positions) {
    if (!present.has(segment)) return false
    if (statSync(join(journal.folder, segment)).size < bytes) return false
  }
  return true
}

function checkpointPath(journal: Journal): string {
  return join(journal.folder, CHECKPOINT_FILE)
}

function checksum(body: Uint8Array): string {
  return crc32(body).toString(16).padStart(8, '0')
}
