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
import { ulidTime } from '../support/ulid.ts'
import { encodeFrame } from './frame.ts'
import { Holdings, lossText, withoutKept, type HeldRun } from './held.ts'
import { checkSegments, damagesOf, hashFile, heldIn, sizeOf, type Damage } from './loss.ts'
import { refuseUnnamedLoss, removeCheckpoint } from './read-history.ts'
import { listSegments, refuse, validPrefix, type OnDamage } from './reader.ts'
import type { RunStarted } from './records.ts'
import {
  SealListError,
  appendSeal,
  listedIn,
  readSealBytes,
  rewriteSeals,
  sealsPath,
  type SealLine,
  type SealedSegment,
} from './seals.ts'

/** Sorts before every segment: names the runs that records may be lost of which no list tells of. */
const UNKNOWN_SEGMENT = '(unknown)'

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
    return { bytes: sizeOf(path), sha256: hashFile(path), held: holdings.held() }
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

/** Makes the list say what is there, and what of each segment is lost. Stopped at any point, it can be called again. */
function acceptLosses(folder: string, clock: Clock): string[] {
  const accepted: string[] = []
  if (!isListWhole(folder)) {
    rewriteSeals(folder, rebuildList(folder))
    accepted.push(
      `${sealsPath(folder)} is rebuilt from the segments that are there; a run in them is not resumed, because what it lost cannot be told`,
    )
  }
  for (const damage of damagesOf(folder, listedIn(folder, 'refuse').values(), 'bytes')) {
    accepted.push(acceptDamage(folder, damage, clock))
  }
  closeSegments(folder, clock, (damage) => {
    // Before they are cut off: stopped between the two, the run would seem whole.
    nameIncomplete(folder, heldIn(damage.path))
    accepted.push(
      `${damage.message}; accepted as lost: what stands behind it, and credits that were charged for it cannot be counted`,
    )
  })
  nameIncomplete(folder, withoutBeginning(folder))
  // It names what it has read, and what is accepted now may be of that.
  removeCheckpoint(folder)
  return accepted
}

// Of a segment that went together with the list nobody knows what it held: any run may have lost a part of its plan.
function rebuildList(folder: string): SealLine[] {
  const listed = listedIn(folder, 'skip')
  const inSegments = listSegments(folder).flatMap((segment) => heldIn(join(folder, segment)))
  const runs = [...[...listed.values()].flatMap(({ held }) => held), ...inSegments]
  return [...listed.values(), incompleteLine(listed, runs)]
}

function acceptDamage(folder: string, { sealed, what }: Damage, clock: Clock): string {
  const { segment, held } = sealed
  const path = join(folder, segment)
  const kept = existsSync(path) ? closeSegment(path, clock, () => undefined) : null
  const lost = kept === null ? held : withoutKept(held, kept.held)
  appendSeal(folder, {
    segment,
    bytes: kept?.bytes ?? 0,
    sha256: kept?.sha256 ?? null,
    lost,
    before: null,
  })
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

// A segment that went together with its line may have held the beginning of a run that goes on in another one.
function withoutBeginning(folder: string): HeldRun[] {
  const runs = [...listedIn(folder, 'refuse').values()].flatMap(({ held }) => held)
  const begun = new Set(runs.filter((run) => run.started !== undefined).map((run) => run.run_id))
  return runs.filter((run) => !begun.has(run.run_id))
}

/** Notes in the list that records of these runs may be lost; those noted before stay. */
function nameIncomplete(folder: string, runs: readonly HeldRun[]): void {
  const listed = listedIn(folder, 'refuse')
  const line = incompleteLine(listed, runs)
  if (line.lost.length > (listed.get(UNKNOWN_SEGMENT)?.lost.length ?? 0)) appendSeal(folder, line)
}

function incompleteLine(listed: ReadonlyMap<string, SealedSegment>, runs: readonly HeldRun[]) {
  const started = new Map<string, RunStarted | undefined>()
  for (const run of [...(listed.get(UNKNOWN_SEGMENT)?.lost ?? []), ...runs]) {
    started.set(run.run_id, started.get(run.run_id) ?? run.started)
  }
  const lost = [...started].map(([runId, record]) => incompleteRun(runId, record))
  return { segment: UNKNOWN_SEGMENT, lost }
}

function incompleteRun(runId: string, started: RunStarted | undefined): HeldRun {
  const at = ulidTime(runId)
  return {
    run_id: runId,
    records: 1,
    started: started ?? {
      kind: 'run_started',
      run_id: runId,
      at: Number.isNaN(at) ? 0 : at,
      pipeline: 'unknown',
      command: 'run',
      organizations: 0,
      batches: 0,
      credits_limit: null,
      question_sha256: '',
    },
    pages: {},
    days: [],
    open: [],
    answered: [],
  }
}
