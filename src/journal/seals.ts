/**
 * The list of sealed segments, and the check that every one of them is still there and unchanged. The list is a file
 * next to the journal's folder, so that losing segments, even all of them, does not lose the list. It is append-only: a
 * line for each sealed segment, and another one whenever a segment is rewritten (erase-events.ts) or its loss is accepted
 * (recover.ts). A later line overrides earlier ones.
 *
 * A line is `<crc32> <bytes> <JSON>`, after its own line feed. A line that a full disk or a power cut tore is shorter
 * than it says, or is the last one and in part zero; it does not count, and the next recovery lists its segment again.
 * Anything else that does not fit is damage.
 *
 * The cheap check, at every start that reads the journal, finds a segment that is gone, shorter or longer, or whose
 * last record is not a complete seal. The thorough check hashes every byte: `verify`, `replay` and `--accept-loss`. A
 * change in the middle that was not hashed is found when that record is read, and a segment that went together with its
 * line by the checkpoint of the history. Not found: the loss of all segments, the list and the checkpoint together.
 * Unlisted segments are being written, or the next recovery closes them: their mark says how much of them there is.
 */

import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
  type BigIntStats,
} from 'node:fs'
import { dirname, join } from 'node:path'
import {
  createFile,
  isFile,
  namesIn,
  readIfThere,
  writeFileAtomic,
} from '../support/atomic-file.ts'
import {
  ConfigError,
  EXIT,
  JobtideError,
  asStorageError,
  onDisk,
  systemCode,
} from '../support/errors.ts'
import { crc32Hex } from '../support/hash.ts'
import { sum } from '../support/numbers.ts'
import { endsWithSeal, listSegments, piecesOf, validPrefix } from './reader.ts'
import { lossText, withoutKept, type HeldRun } from './spending.ts'

const VERSION = 1
const HEADER = `jobtide seals ${VERSION}`
const ANY_HEADER = /^jobtide seals (\d+)$/
/** Takes the place of a segment in the lines that say where records may be lost; see SealedSegment. */
export const GAPS = '(gaps)'
const LINE = /^([0-9a-f]{8}) (\d{1,10}) (.*)$/s
/** The possible remains of a line that was not synced before a power cut. */
const ZEROED_END = /\0[^\n]*$/
const TORN_BEFORE_JSON = /^[0-9a-f]{1,8}(?: \d{0,10})?$/

export interface FileState {
  readonly bytes: number
  readonly sha256: string | null
}

export interface SealedSegment extends FileState {
  readonly segment: string
  /** Its content when it was sealed. */
  readonly held: readonly HeldRun[]
  /** The part of it that is lost, and accepted as lost. With 0 bytes the whole segment is gone. */
  readonly lost: readonly HeldRun[]
  /** The segment may also be in this state: it is about to be rewritten. */
  readonly before: FileState | null
  /** Only for GAPS: runs in segments up to this one may have lost records that no line mentions. */
  readonly upTo?: string
}

const NOTHING = { bytes: 0, sha256: null, held: [], lost: [], before: null } as const

/** The fields of a line about a segment; missing fields stay unchanged. */
export type SealLine = Pick<SealedSegment, 'segment'> & Partial<SealedSegment>

export class SealListError extends JobtideError {
  constructor(path: string, what: string) {
    super(
      EXIT.storage,
      `the list of sealed journal segments ${path} ${what}: lost segments cannot be detected`,
      {
        hint: 'Restore it from a backup. Or rebuild it from the segments that are there: --accept-loss on run, backfill, extract or replay. That does not notice a segment that is gone.',
        context: { path },
      },
    )
  }
}

export function sealsPath(folder: string): string {
  return `${folder}.seals`
}

/** The bytes of the list; null when there is none. @throws StorageError when the disk refuses */
export function readSealBytes(folder: string): Buffer | null {
  return readIfThere(sealsPath(folder))
}

/**
 * The segments that a list names, in the order in which they were sealed.
 * @param damaged what to do with a damaged line
 * @throws SealListError at a damaged line, unless they are skipped
 * @throws ConfigError for the list of a newer version
 */
export function parseSeals(folder: string, bytes: Buffer, damaged: 'refuse' | 'skip' = 'refuse') {
  const seals = new Map<string, SealedSegment>()
  const [header, ...lines] = bytes.toString('utf8').replace(ZEROED_END, '').split('\n')
  const format = Number(ANY_HEADER.exec(header ?? '')?.[1] ?? VERSION)
  if (format > VERSION) {
    throw new ConfigError(
      `the list of sealed journal segments ${sealsPath(folder)} was written by a newer Jobtide: its format is ${format}, and this one reads ${VERSION}`,
      { hint: 'Use that version of Jobtide for this data directory. Nothing was changed.' },
    )
  }
  if (header !== HEADER && damaged === 'refuse') throw damagedAt(folder, 1)
  for (const [index, line] of lines.entries()) {
    const said = readLine(line)
    if (said === 'damaged' && damaged === 'refuse') throw damagedAt(folder, index + 2)
    if (typeof said === 'string') continue
    seals.set(said.segment, { ...NOTHING, ...seals.get(said.segment), ...said })
  }
  return seals
}

/**
 * The segments that the list of the journal in `folder` names; none where there is no list.
 * @throws SealListError at a damaged line, unless they are skipped
 */
export function listedIn(folder: string, damaged: 'refuse' | 'skip'): Map<string, SealedSegment> {
  return parseSeals(folder, readSealBytes(folder) ?? Buffer.from(HEADER), damaged)
}

function damagedAt(folder: string, line: number): SealListError {
  return new SealListError(sealsPath(folder), `is damaged at line ${line}`)
}

function readLine(line: string): SealLine | 'torn' | 'damaged' {
  const [, checksum, length, json = ''] = LINE.exec(line) ?? []
  if (checksum === undefined) {
    return line === '' || TORN_BEFORE_JSON.test(line) ? 'torn' : 'damaged'
  }
  if (Buffer.byteLength(json) < Number(length)) return 'torn'
  return checksum === crc32Hex(json) ? (JSON.parse(json) as SealLine) : 'damaged'
}

export function createSeals(folder: string): void {
  createFile(sealsPath(folder), HEADER)
}

/**
 * Writes the list again if a power cut left a partial line, or if `isUncertain`.
 * @throws SealListError when it is damaged
 */
export function renewSeals(folder: string, isUncertain: boolean): void {
  const bytes = readSealBytes(folder)
  if (bytes === null || (!isUncertain && !bytes.includes(0))) return
  rewriteSeals(folder, parseSeals(folder, bytes).values())
}

export function rewriteSeals(folder: string, seals: Iterable<SealLine>): void {
  writeFileAtomic(sealsPath(folder), [HEADER, ...[...seals].map(lineOf)].join(''))
}

/**
 * Appends a line and syncs it. One write in append mode: lines of processes that seal at the same time do not mix, and
 * half a line that a full disk left of one is ended by the line feed of the next. After a failed fsync the list is written
 * again: the system takes the line for written.
 * @throws StorageError when the disk refuses, or there is no list
 */
export function appendSeal(folder: string, line: SealLine): void {
  const path = sealsPath(folder)
  try {
    const file = openSync(path, constants.O_WRONLY | constants.O_APPEND)
    try {
      const bytes = Buffer.from(lineOf(line))
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
      try {
        fsyncSync(file)
      } catch {
        renewSeals(folder, true)
      }
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') throw new SealListError(path, 'is missing')
    throw asStorageError(error, path)
  }
}

function lineOf(line: SealLine): string {
  const json = JSON.stringify(line)
  return `\n${crc32Hex(json)} ${Buffer.byteLength(json)} ${json}`
}

/**
 * Next to the list, `journal.open.<segment>` says how much of an unsealed segment is on the disk: a line as in the list. It
 * is overwritten after every fsync of the segment, and removed when the segment is listed. It is not synced, which would
 * cost as much as the page: after a kill it is exact; after a power cut it may be older, or gone, and then claims less,
 * never more than what was true.
 */
function markPath(folder: string, segment: string): string {
  return `${folder}.open.${segment}`
}

/** Records the durable part of a segment. @param line by markLine(), made when that part was written */
export function writeDurableOffset(folder: string, segment: string, line: string): void {
  try {
    const file = openSync(markPath(folder, segment), constants.O_WRONLY | constants.O_CREAT)
    try {
      writeSync(file, Buffer.from(line), 0, null, 0)
    } finally {
      closeSync(file)
    }
  } catch {
    // The record is on the disk anyway, and an older mark is still true.
  }
}

/** A line for a mark, with the current content of the segment. */
export function markLine(line: SealLine): string {
  // The rest of a longer mark before it is on another line.
  return `${lineOf(line)}\n`
}

/** The bytes that are certainly on the disk, for segments that are unlisted or were listed just now. */
export function readMarks(folder: string): Map<string, SealedSegment> {
  const marks = new Map<string, SealedSegment>()
  for (const path of markPaths(folder)) {
    const said = readLine(readIfThere(path)?.toString('utf8').split('\n')[1] ?? '')
    if (typeof said === 'string') continue
    marks.set(said.segment, { ...NOTHING, ...said })
  }
  return marks
}

/** Removes the mark of a segment that is listed, or all marks. @throws StorageError when the disk refuses */
export function removeMarks(folder: string, segment?: string): void {
  for (const path of segment === undefined ? markPaths(folder) : [markPath(folder, segment)]) {
    onDisk(path, () => rmSync(path, { force: true }))
  }
}

function markPaths(folder: string): string[] {
  const marks = namesIn(dirname(folder), /\.open\./).map((name) => join(dirname(folder), name))
  return marks.filter((path) => path.startsWith(markPath(folder, '')))
}

export type Damage = ReturnType<typeof damagesOf>[number]

export type JournalState = ReturnType<typeof stateOf>

export class JournalLossError extends JobtideError {
  constructor(folder: string, damages: readonly Damage[]) {
    const told = damages.map(({ sealed: { segment, held }, what }) => {
      const path = join(folder, segment)
      // Everything after the first damage.
      const lost = isFile(path) ? withoutKept(held, validPrefix(path).held) : held
      return `journal segment ${path} ${what}; lost with it: ${lossText(lost)}`
    })
    if (told.length > 5)
      told.splice(5, Infinity, `${told.length - 5} more segments are damaged or gone`)
    super(EXIT.storage, told.join('. '), {
      hint: 'Restore the journal from its backup: `jobtide restore-journal`. Or continue without the lost pages and buy them again: --accept-loss on run, backfill, extract or replay. Until then nothing is sent, loaded or published.',
      context: { segments: damages.map(({ sealed }) => sealed.segment) },
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
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (found?.isFile() !== true) return sealed.bytes === 0 ? null : 'is gone'
  if (sealed.bytes === 0) return 'is back after its loss was accepted'
  const size = Number(found.size)
  if (sealed.sha256 === null) return openDamageOf(path, size, sealed.bytes, depth)
  const states = [sealed, sealed.before].filter((state) => state?.bytes === size) as FileState[]
  if (states.length === 0) return `has ${size} bytes, not the ${sealed.bytes} it was sealed with`
  if (!isKnownToEnd(path, found)) return 'does not end with its seal'
  if (depth === 'ends') return null
  const sha256 = hashFile(path)
  return states.some((one) => one.sha256 === sha256)
    ? null
    : 'does not hold the bytes it was sealed with'
}

/** Segments that this process has seen to end with a seal, by path: their file, and when it last changed. */
const knownEnds = new Map<string, string>()

// A night checks the journal a dozen times, and a year of nights leaves 365 segments that no longer change.
function isKnownToEnd(path: string, { dev, ino, size, ctimeNs }: BigIntStats): boolean {
  const state = [dev, ino, size, ctimeNs].join()
  if (knownEnds.get(path) === state) return true
  if (!endsWithSeal(path)) return false
  knownEnds.set(path, state)
  return true
}

// For an unlisted segment: the part that its mark states.
function openDamageOf(path: string, size: number, marked: number, depth: 'ends' | 'bytes') {
  if (size < marked) return `has ${size} bytes, and ${marked} were on the disk`
  if (depth === 'ends') return null
  const { bytes } = validPrefix(path)
  return bytes < marked ? `is damaged at byte ${bytes}, and ${marked} were on the disk` : null
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
