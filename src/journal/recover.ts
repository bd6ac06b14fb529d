/**
 * Closes the segments that killed processes left open, and, on request, continues without lost ones. A segment that is
 * on the list of seals was closed: it is never cut, sealed again or removed here, unless its loss is accepted.
 */

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fsyncDirectory, isFile, removeFile, writeFileAtomic } from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { onDisk } from '../support/errors.ts'
import { encodeFrame } from './frame.ts'
import {
  GAPS,
  SealListError,
  appendSeal,
  listedIn,
  readMarks,
  readSealBytes,
  removeMarks,
  renewSeals,
  rewriteSeals,
  sealsPath,
  JournalLossError,
  checkSegments,
  damagesOf,
  fileState,
  type SealLine,
  type SealedSegment,
  type Damage,
} from './seals.ts'
import { lossText, withoutKept } from './spending.ts'
import { refuseUnnamedLoss, removeCheckpoint } from './read-history.ts'
import {
  type JournalDamagedError,
  type Prefix,
  listSegments,
  piecesOf,
  validPrefix,
} from './reader.ts'

/**
 * Closes and lists every segment that is not listed. Call it only while holding the data directory's lock, when no other
 * process can be writing. With `accept`, the list then says which segments exist, and what is lost of each; runs that
 * began before are not resumed, because the lost part of their plans is not always known. Stopped at any point, it can be
 * called again.
 * @returns a sentence for each loss that was accepted
 * @throws JournalLossError when a listed segment is damaged or gone, and that is not accepted
 * @throws JournalDamagedError when one that is not listed is damaged, and that is not accepted
 */
export function recoverSegments(folder: string, clock: Clock, losses: 'refuse' | 'accept') {
  const accepts = losses === 'accept'
  const accepted: string[] = []
  makeCertain(folder)
  if (accepts && !isListWhole(folder)) {
    const listed = listedIn(folder, 'skip')
    rewriteSeals(folder, [...listed.values(), gapsLine(folder, listed)])
    accepted.push(
      `${sealsPath(folder)} is rebuilt from the segments that are there; a run in them is not resumed, because what it lost is not known`,
    )
  }
  // A mark is removed once the line of its segment is on the disk: if a mark is left, the line may be missing.
  renewSeals(folder, readMarks(folder).size > 0)
  if (!accepts) checkSegments(folder, 'ends')
  const listed = listedIn(folder, 'refuse')
  const open = [...readMarks(folder).values()].filter(({ segment }) => !listed.has(segment))
  const damages = damagesOf(folder, accepts ? [...listed.values(), ...open] : open, 'bytes')
  if (!accepts && damages.length > 0) throw new JournalLossError(folder, damages)
  for (const damage of damages) accepted.push(acceptDamage(folder, damage, clock))
  const known = listedIn(folder, 'refuse')
  for (const segment of listSegments(folder).filter((name) => !known.has(name))) {
    const file = closeSegment(join(folder, segment), clock, (damage) => {
      if (!accepts) throw damage
      // Before they are removed: if stopped in between, the run would seem whole.
      noteGaps(folder)
      accepted.push(
        `${damage.message}; accepted as lost: everything after it; credits that were charged for it cannot be counted`,
      )
    })
    if (file !== null) appendSeal(folder, { segment, ...file })
  }
  if (accepts) {
    if (lacksBeginning(folder)) noteGaps(folder)
    // It names the segments that it has read, and the accepted loss may be in them.
    removeCheckpoint(folder)
  }
  removeMarks(folder)
  return accepted
}

/** Syncs the files that a killed process had named, and removes those that it had only begun to write. */
function makeCertain(folder: string): void {
  if (!existsSync(folder)) return
  onDisk(folder, () => {
    for (const name of readdirSync(folder)) {
      if (/^(?!identity).*\.\d+\.tmp$/.test(name)) rmSync(join(folder, name))
    }
    for (const one of [dirname(folder), folder]) fsyncDirectory(one)
  })
}

/**
 * Seals the complete records of a segment, in a new file: it is unknown which bytes of the old one are on the disk,
 * because after a failed fsync the system takes unwritten bytes for written. Null when no record remains, and so no
 * file.
 */
function closeSegment(
  path: string,
  clock: Clock,
  onDamage?: (damage: JournalDamagedError) => void,
) {
  const prefix = validPrefix(path)
  if (prefix.damage !== null) onDamage?.(prefix.damage)
  if (prefix.records === 0) {
    removeFile(path)
    return null
  }
  writeFileAtomic(path, sealedBytes(path, prefix, clock))
  return { ...fileState(path), held: prefix.held }
}

function* sealedBytes(path: string, prefix: Prefix, clock: Clock): Generator<Buffer> {
  const { bytes, records, sealed } = prefix
  const hash = createHash('sha256')
  for (const piece of piecesOf(path, bytes)) {
    hash.update(piece)
    yield piece
  }
  if (sealed) return
  const seal = { kind: 'seal', at: clock.now(), records, sha256: hash.digest('hex') } as const
  yield encodeFrame(seal, undefined, bytes)
}

function acceptDamage(folder: string, { sealed, what }: Damage, clock: Clock): string {
  const { segment, held } = sealed
  const path = join(folder, segment)
  const kept = isFile(path) ? closeSegment(path, clock) : null
  const lost = kept === null ? held : withoutKept(held, kept.held)
  if (lost.length > 0) noteGaps(folder)
  const { bytes, sha256 } = kept ?? { bytes: 0, sha256: null }
  appendSeal(folder, { segment, bytes, sha256, held, lost, before: null })
  return `journal segment ${path} ${what}; accepted as lost: ${lossText(lost)}`
}

function isListWhole(folder: string): boolean {
  if (readSealBytes(folder) === null && listSegments(folder).length > 0) return false
  try {
    listedIn(folder, 'refuse')
    refuseUnnamedLoss(folder)
    return true
  } catch (error) {
    if (error instanceof SealListError) return false
    throw error
  }
}

function noteGaps(folder: string): void {
  appendSeal(folder, gapsLine(folder, listedIn(folder, 'refuse')))
}

function gapsLine(folder: string, listed: ReadonlyMap<string, SealedSegment>): SealLine {
  const upTo = [...listed.keys(), ...listSegments(folder)].toSorted().at(-1) ?? ''
  return { segment: GAPS, upTo }
}

// A segment that was lost together with its line may have held the beginning of a run that continues in another one.
function lacksBeginning(folder: string): boolean {
  const listed = listedIn(folder, 'refuse')
  const known = listed.get(GAPS)?.upTo ?? ''
  const sealed = [...listed.values()]
  const begun = new Set(sealed.flatMap(({ held }) => held.map(({ started }) => started?.run_id)))
  const later = sealed.filter(({ segment }) => segment > known)
  return later.some(({ held }) => held.some(({ run_id: runId }) => !begun.has(runId)))
}
