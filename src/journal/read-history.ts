/**
 * Reads a journal's history: from the checkpoint, where there is one, and the records that came after it. A checkpoint
 * is only a shortcut: it names how far each segment was read, and whatever does not fit (another version, a segment that
 * is gone or shorter, a changed byte) makes it count as absent, so that all of the journal is read again.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { readIfThere, removeFile, writeFileAtomic } from '../support/atomic-file.ts'
import { crc32Hex } from '../support/hash.ts'
import { emptyHistory, foldLoss, foldRecord, type History } from './history.ts'
import { checkSegments, SealListError, listedIn, sealsPath, type JournalState } from './seals.ts'
import { listSegments, readSegment } from './reader.ts'

export const CHECKPOINT_FILE = 'history.checkpoint'

// To be raised whenever History, or what a record adds to it, changes: an older checkpoint is then not used.
const CHECKPOINT_FORMAT = 28
const FIRST_LINE = /^jobtide history (\d+) ([0-9a-f]{8})\n/
const LONGEST_FIRST_LINE = 64

type JournalFolder = { readonly folder: string }

interface Checkpoint {
  readonly history: History
  readonly positions: Map<string, number>
  /** Checksum of the losses in it: once another loss is accepted, it is discarded. */
  readonly losses: string
}

/**
 * The totals of the journal's headers.
 * @throws JournalLossError when a sealed segment is lost, and that was not accepted
 */
export function readHistory({ folder }: JournalFolder): History {
  const read = foldAll(folder)
  readAsFar.set(read.history, read)
  return read.history
}

/** How far the journal was read for each history in memory. */
const readAsFar = new WeakMap<History, Checkpoint>()

/**
 * Writes a checkpoint of the history, so that the next start does not read the whole journal.
 * @param latest what {@link readHistory} returned last and nothing changed: only later records are read, into it. Over
 *   39,163 organisations that takes half of the time.
 * @throws StorageError when the disk refuses; the journal is still complete
 */
export function saveCheckpoint({ folder }: JournalFolder, latest?: History): void {
  if (listSegments(folder).length === 0) return
  // Segments that are not listed may not be on the disk.
  const listed = new Set(listedIn(folder, 'refuse').keys())
  const read = latest && readAsFar.get(latest)
  const isListed =
    read !== undefined && [...read.positions.keys()].every((name) => listed.has(name))
  const body = serialize(foldAll(folder, listed, isListed ? read : undefined))
  const line = `jobtide history ${CHECKPOINT_FORMAT} ${crc32Hex(body)}\n`
  writeFileAtomic(join(folder, CHECKPOINT_FILE), Buffer.concat([Buffer.from(line), body]))
}

/** Removes the checkpoint below `folder`; the next run writes another. @throws StorageError when the disk refuses */
export function removeCheckpoint(folder: string): void {
  removeFile(join(folder, CHECKPOINT_FILE))
}

/** @param only the segments to be read; all @param kept where to continue */
function foldAll(
  folder: string,
  only?: ReadonlySet<string>,
  kept = readCheckpoint(folder),
): Checkpoint {
  // The order matters: another process may seal a segment and write a checkpoint meanwhile.
  const { losses: lost, gapsUpTo } = checkSegments(folder, 'ends')
  const sizes = sizesOfSegments(folder)
  if (kept !== null) refuseUnnamedLoss(folder, kept, sizes)
  const losses = crc32Hex(JSON.stringify([gapsUpTo, ...lost]))
  const isThere = ([segment, bytes]: [string, number]) => (sizes.get(segment) ?? -1) >= bytes
  const isUsed = kept?.losses === losses && [...kept.positions].every(isThere)
  const { history, positions } = isUsed ? kept : { history: emptyHistory(), positions: new Map() }
  // A checkpoint has the losses.
  const added: JournalState['losses'] = isUsed ? new Map() : lost
  const present = new Set([...sizes.keys()].filter((name) => only?.has(name) ?? true))
  for (const segment of [...new Set([...present, ...added.keys()])].toSorted()) {
    history.hasGaps = !isUsed && segment <= gapsUpTo
    const from = positions.get(segment) ?? 0
    // No file is opened that has nothing new.
    const hasMore = present.has(segment) && (from === 0 || sizes.get(segment) !== from)
    for (const frame of hasMore ? readSegment(join(folder, segment), from) : []) {
      foldRecord(history, frame)
      positions.set(segment, frame.end)
    }
    foldLoss(history, added.get(segment) ?? [])
  }
  return { history, positions, losses }
}

/**
 * Refuses a list that lost lines together with their segments: every segment that the checkpoint has read must exist or
 * be listed.
 * @throws SealListError when the list does not name a segment that is gone, or is damaged
 */
export function refuseUnnamedLoss(
  folder: string,
  kept = readCheckpoint(folder),
  sizes = sizesOfSegments(folder),
): void {
  const gone = [...(kept?.positions.keys() ?? [])].filter((name) => !sizes.has(name))
  const named = gone.length > 0 ? listedIn(folder, 'refuse') : new Map()
  const unnamed = gone.find((name) => !named.has(name))
  if (unnamed === undefined) return
  throw new SealListError(sealsPath(folder), `no longer names ${unnamed}, which is gone`)
}

/** The bytes of each segment in the folder, oldest first. */
function sizesOfSegments(folder: string): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  for (const name of listSegments(folder)) {
    const size = statSync(join(folder, name), { throwIfNoEntry: false })?.size
    if (size !== undefined) sizes.set(name, size)
  }
  return sizes
}

function readCheckpoint(folder: string): Checkpoint | null {
  const bytes = readIfThere(join(folder, CHECKPOINT_FILE)) ?? Buffer.alloc(0)
  const firstLine = FIRST_LINE.exec(bytes.toString('latin1', 0, LONGEST_FIRST_LINE))
  if (firstLine?.[1] !== String(CHECKPOINT_FORMAT)) return null
  const body = bytes.subarray(firstLine[0].length)
  if (crc32Hex(body) !== firstLine[2]) return null
  try {
    return deserialize(body) as Checkpoint
  } catch {
    // A newer Node.js may have written it in a way that this one does not read.
    return null
  }
}
