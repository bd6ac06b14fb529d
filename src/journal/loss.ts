/**
 * Checks that every sealed segment is still there and unchanged, by the list of them (seals.ts). recover.ts accepts a
 * loss.
 *
 * The cheap check, at every start that reads the journal, finds a segment that is gone, shorter or longer, or whose
 * last record is not a complete seal. The thorough check hashes every byte: `verify`, `replay` and `--accept-loss`. A
 * change in the middle that was not hashed is found when that record is read, and a segment that went together with its
 * line by the checkpoint of the history. Not found: the loss of all segments, the list and the checkpoint together.
 * Unlisted segments are being written, or the next recovery closes them: their mark says how much of them there is.
 */

import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { isFile } from '../support/atomic-file.ts'
import { EXIT, JobtideError, onDisk } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import {
  GAPS,
  SealListError,
  SegmentSummary,
  lossText,
  parseSeals,
  readMarks,
  readSealBytes,
  sealsPath,
  withoutKept,
  type FileState,
  type HeldRun,
  type SealedSegment,
} from './seals.ts'
import { endsWithSeal, listSegments, piecesOf, validPrefix } from './reader.ts'

export type Damage = ReturnType<typeof damagesOf>[number]

export type JournalState = ReturnType<typeof stateOf>

export class JournalLossError extends JobtideError {
  constructor(folder: string, damages: readonly Damage[]) {
    const all = damages.map(({ sealed: { segment, held }, what }) => {
      return { segment, what, lost: lostOf(join(folder, segment), held) }
    })
    const told = all.map(({ segment, what, lost }) => {
      return `journal segment ${join(folder, segment)} ${what}; lost with it: ${lossText(lost)}`
    })
    if (told.length > 5)
      told.splice(5, Infinity, `${told.length - 5} more segments are damaged or gone`)
    super(EXIT.storage, told.join('. '), {
      hint: 'Restore the journal from its backup: `jobtide restore-journal`. Or continue without the lost pages and buy them again: --accept-loss on run, backfill, extract or replay. Until then nothing is sent, loaded or published.',
      context: { segments: all.map(({ segment }) => segment) },
    })
  }
}

/**
 * Checks the segments below `folder` that are sealed.
 * @param depth `ends`: size, and the seal at the end; `bytes`: the hash of all of it
 * @throws JournalLossError when one is gone or changed
 * @throws SealListError when the list of them is missing or damaged
 */
export function checkSegments(folder: string, depth: 'ends' | 'bytes'): JournalState {
  for (;;) {
    // Read before the list, because a mark is removed once its segment is listed.
    const marks = readMarks(folder)
    // The list is created before the first segment, so in this order it exists whenever a segment does.
    const present = listSegments(folder)
    const list = readSealBytes(folder)
    if (list === null) {
      if (present.length + marks.size > 0) {
        throw new SealListError(sealsPath(folder), 'is missing')
      }
      return stateOf([])
    }
    const listed = parseSeals(folder, list)
    const open = [...marks.values()].filter(({ segment }) => !listed.has(segment))
    const damages = damagesOf(folder, [...listed.values(), ...open], depth)
    if (damages.length === 0) return stateOf([...listed.values()])
    // An erasure that rewrites one at this moment changes the list first.
    if (readSealBytes(folder)?.equals(list) === true) throw new JournalLossError(folder, damages)
  }
}

function stateOf(seals: readonly SealedSegment[]) {
  const there = seals.filter(({ bytes }) => bytes > 0)
  const lossy = seals.filter(({ lost }) => lost.length > 0)
  return {
    /** Existing sealed segments, and their bytes. */
    segments: there.length,
    bytes: sum(there.map(({ bytes }) => bytes)),
    losses: new Map(lossy.map(({ segment, lost }) => [segment, lost])),
    /** The newest segment when a loss was last accepted: all runs up to it may lack records. Empty for never. */
    gapsUpTo: seals.find(({ segment }) => segment === GAPS)?.upTo ?? '',
  }
}

export function damagesOf(folder: string, seals: Iterable<SealedSegment>, depth: 'ends' | 'bytes') {
  return [...seals].flatMap((sealed) => {
    const what = damageOf(join(folder, sealed.segment), sealed, depth)
    return what === null ? [] : [{ sealed, what }]
  })
}

function damageOf(path: string, sealed: SealedSegment, depth: 'ends' | 'bytes'): string | null {
  if (!isFile(path)) return sealed.bytes === 0 ? null : 'is gone'
  if (sealed.bytes === 0) return 'is back after its loss was accepted'
  const size = sizeOf(path)
  if (sealed.sha256 === null) return openDamageOf(path, size, sealed.bytes, depth)
  const states = [sealed, sealed.before].filter((state) => state?.bytes === size) as FileState[]
  if (states.length === 0) return `has ${size} bytes, not the ${sealed.bytes} it was sealed with`
  if (!endsWithSeal(path)) return 'does not end with its seal'
  if (depth === 'ends') return null
  const sha256 = hashFile(path)
  return states.some((one) => one.sha256 === sha256)
    ? null
    : 'does not hold the bytes it was sealed with'
}

// For an unlisted segment: the part that its mark states.
function openDamageOf(path: string, size: number, marked: number, depth: 'ends' | 'bytes') {
  if (size < marked) return `has ${size} bytes, and ${marked} were on the disk`
  if (depth === 'ends') return null
  const { bytes } = validPrefix(path)
  return bytes < marked ? `is damaged at byte ${bytes}, and ${marked} were on the disk` : null
}

/** The loss of a segment, as it is now: everything after the first damage. */
function lostOf(path: string, held: readonly HeldRun[]): readonly HeldRun[] {
  if (!isFile(path)) return held
  const kept = new SegmentSummary()
  validPrefix(path, (record) => kept.add(record))
  return withoutKept(held, kept.held())
}

/** Bytes and hash of a segment as it is now. @throws StorageError when the disk refuses */
export function fileState(path: string): FileState & { readonly sha256: string } {
  return { bytes: sizeOf(path), sha256: hashFile(path) }
}

function sizeOf(path: string): number {
  return onDisk(`journal segment ${path}`, () => statSync(path).size)
}

function hashFile(path: string): string {
  return onDisk(`journal segment ${path}`, () => {
    const hash = createHash('sha256')
    for (const piece of piecesOf(path)) hash.update(piece)
    return hash.digest('hex')
  })
}
