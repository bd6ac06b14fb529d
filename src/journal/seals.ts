/**
 * The list of sealed segments: a file next to the journal's folder, so that losing segments, even all of them, does not
 * lose the list. It is append-only: a line for each sealed segment, and another one whenever a segment is rewritten
 * (erase-events.ts) or its loss is accepted (recover.ts). A later line overrides earlier ones.
 *
 * A line is `<crc32> <bytes> <JSON>`, after its own line feed. A line that a full disk or a power cut tore is shorter
 * than it says, or is the last one and in part zero; it does not count, and the next recovery lists its segment again.
 * Anything else that does not fit is damage.
 */

import { closeSync, constants, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createFile, namesIn, readIfThere, writeFileAtomic } from '../support/atomic-file.ts'
import {
  ConfigError,
  EXIT,
  JobtideError,
  asStorageError,
  onDisk,
  systemCode,
} from '../support/errors.ts'
import { crc32Hex } from '../support/hash.ts'
import { countText } from '../support/numbers.ts'
import type { JournalRecord, RunStarted } from './records.ts'
import { addCounts, costOf, dayOf, noCounts, type Counts } from './spending.ts'

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

/** What a run wrote into a segment: enough to report a loss of it, and to keep its charges. */
export interface HeldRun {
  readonly run_id: string
  records: number
  started?: RunStarted
  /** Requests and charges, by UTC day. */
  readonly days: Record<string, Counts>
}

/** The content of a segment by run, counted while it is written. */
export class SegmentSummary {
  readonly #runs = new Map<string, HeldRun>()

  add(record: JournalRecord): void {
    // Other records belong to no run, or do not concern what it asked, bought or covered.
    if (!('run_id' in record) || record.run_id === null || record.kind === 'snapshot_published') {
      return
    }
    const { run_id: runId } = record
    const run = this.#runs.get(runId) ?? { run_id: runId, records: 0, days: {} }
    this.#runs.set(runId, run)
    run.records += 1
    if (record.kind === 'run_started') run.started = record
    const cost = costOf(record)
    if (cost !== null) addCounts((run.days[dayOf(cost.sentAt)] ??= noCounts()), cost.counts)
  }

  held(): readonly HeldRun[] {
    return [...this.#runs.values()]
  }
}

/** The part of `whole` that is lost if only its first records, with `kept`, remain. */
export function withoutKept(whole: readonly HeldRun[], kept: readonly HeldRun[]): HeldRun[] {
  return whole.flatMap((run) => {
    const rest = kept.find(({ run_id: id }) => id === run.run_id)
    if (rest === undefined) return run
    if (run.records === rest.records) return []
    const { started, ...lost } = structuredClone(run)
    lost.records -= rest.records
    for (const [day, counts] of Object.entries(rest.days)) {
      addCounts((lost.days[day] ??= noCounts()), counts, -1)
    }
    return started === undefined || rest.started !== undefined ? lost : { ...lost, started }
  })
}

const RUNS_SHOWN = 3

/** The loss, for people: `11 pages with 534 events for 110 credits (run 01J…, 2 more runs)`. */
export function lossText(runs: readonly HeldRun[]): string {
  if (runs.length === 0) return 'nothing that a run has bought'
  const sum = noCounts()
  for (const { days } of runs) for (const counts of Object.values(days)) addCounts(sum, counts)
  const { pages, events, charged, inDoubt } = sum
  const doubt = inDoubt <= 0 ? '' : ` and ${inDoubt} in doubt`
  const more = runs.length > RUNS_SHOWN ? [`${runs.length - RUNS_SHOWN} more runs`] : []
  const ids = [...runs.slice(0, RUNS_SHOWN).map(({ run_id: runId }) => `run ${runId}`), ...more]
  return `${countText(pages, 'page')} with ${countText(events, 'event')} for ${countText(charged, 'credit')}${doubt} (${ids.join(', ')})`
}
