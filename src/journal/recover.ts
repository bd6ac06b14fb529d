/**
 * Closes what killed processes left open, and, where that is asked for, goes on without what is lost. A segment that is
 * on the list of seals was closed: it is never cut, sealed again or removed here, unless its loss is accepted.
 */

import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { fsyncDirectory } from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { asStorageError } from '../support/errors.ts'
import { encodeFrame } from './frame.ts'
import { Holdings, lossText, withoutKept } from './held.ts'
import { checkSegments, damagesOf, hashFile, fileState, type Damage } from './loss.ts'
import { refuseUnnamedLoss, removeCheckpoint } from './read-history.ts'
import { listSegments, refuse, validPrefix, type OnDamage } from './reader.ts'
import {
  GAPS,
  SealListError,
  appendSeal,
  listedIn,
  readSealBytes,
  rewriteSeals,
  sealsPath,
  type SealLine,
  type SealedSegment,
} from './seals.ts'

/**
 * Closes and lists every segment that is not listed.
 * @returns a sentence for each loss that was accepted
 * @throws JournalLossError when a listed segment is damaged or gone, and that is not accepted
 * @throws JournalDamagedError when one that is not listed is damaged, and that is not accepted
 */
export function recoverSegments(
  folder: string,
  clock: Clock,
  losses: 'refuse' | 'accept',
): string[] {
  if (losses === 'accept') return acceptLosses(folder, clock)
  checkSegments(folder, 'ends')
  closeSegments(folder, clock, refuse)
  return []
}

function closeSegments(folder: string, clock: Clock, onDamage: OnDamage): void {
  const listed = listedIn(folder, 'refuse')
  for (const segment of listSegments(folder)) {
    if (listed.has(segment)) continue
    const file = closeSegment(join(folder, segment), clock, onDamage)
    if (file !== null) appendSeal(folder, { segment, ...file })
  }
}

type ClosedSegment = Pick<SealedSegment, 'bytes' | 'sha256' | 'held'>

/** Cuts off what is no record, and seals; null when no record is left, and so no file. */
function closeSegment(path: string, clock: Clock, onDamage: OnDamage): ClosedSegment | null {
  const holdings = new Holdings()
  const prefix = validPrefix(path, (record) => holdings.add(record), onDamage)
  try {
    if (prefix.records === 0) {
      rmSync(path)
      fsyncDirectory(join(path, '..'))
      return null
    }
    if (prefix.torn) truncateSync(path, prefix.bytes)
    if (!prefix.sealed) sealFile(path, prefix.records, clock)
    return { ...fileState(path), held: holdings.held() }
  } catch (error) {
    throw asStorageError(error, `journal segment ${path}`)
  }
}

function sealFile(path: string, records: number, clock: Clock): void {
  const sha256 = hashFile(path)
  const file = openSync(path, 'a')
  try {
    const seal = encodeFrame({ kind: 'seal', at: clock.now(), records, sha256 })
    for (let written = 0; written < seal.length;) written += writeSync(file, seal, written)
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Makes the list say what is there, and what of each segment is lost. Runs that had begun by then are not resumed: what of
 * their plans is lost cannot be told in every case. Stopped at any point, it can be called again.
 */
function acceptLosses(folder: string, clock: Clock): string[] {
  const accepted: string[] = []
  if (!isListWhole(folder)) {
    const listed = listedIn(folder, 'skip')
    rewriteSeals(folder, [...listed.values(), gapsLine(folder, listed)])
    accepted.push(
      `${sealsPath(folder)} is rebuilt from the segments that are there; a run in them is not resumed, because what it lost cannot be told`,
    )
  }
  for (const damage of damagesOf(folder, listedIn(folder, 'refuse').values(), 'bytes')) {
    accepted.push(acceptDamage(folder, damage, clock))
  }
  closeSegments(folder, clock, (damage) => {
    // Before they are cut off: stopped between the two, the run would seem whole.
    noteGaps(folder)
    accepted.push(
      `${damage.message}; accepted as lost: what stands behind it, and credits that were charged for it cannot be counted`,
    )
  })
  if (lacksBeginning(folder)) noteGaps(folder)
  // It names what it has read, and what is accepted now may be of that.
  removeCheckpoint(folder)
  return accepted
}

function acceptDamage(folder: string, { sealed, what }: Damage, clock: Clock): string {
  const { segment, held } = sealed
  const path = join(folder, segment)
  const kept = existsSync(path) ? closeSegment(path, clock, () => undefined) : null
  const lost = kept === null ? held : withoutKept(held, kept.held)
  if (lost.length > 0) noteGaps(folder)
  const { bytes, sha256 } = kept ?? { bytes: 0, sha256: null }
  appendSeal(folder, { segment, bytes, sha256, lost, before: null })
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

/** Notes that records may be lost of all runs that are there. */
function noteGaps(folder: string): void {
  appendSeal(folder, gapsLine(folder, listedIn(folder, 'refuse')))
}

function gapsLine(folder: string, listed: ReadonlyMap<string, SealedSegment>): SealLine {
  const upTo = [...listed.keys(), ...listSegments(folder)].toSorted().at(-1) ?? ''
  return { segment: GAPS, upTo }
}

// A segment that went together with its line may have held the beginning of a run that goes on in another one.
function lacksBeginning(folder: string): boolean {
  const listed = listedIn(folder, 'refuse')
  const known = listed.get(GAPS)?.upTo ?? ''
  const begun = new Set(
    [...listed.values()].flatMap(({ held }) => held.map(({ started }) => started?.run_id)),
  )
  return [...listed.values()]
    .filter(({ segment }) => segment > known)
    .some(({ held }) => held.some(({ run_id: runId }) => !begun.has(runId)))
}
