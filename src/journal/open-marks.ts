/**
 * Says how much of an unsealed segment is on the disk: a line as in the list of seals, in a file next to the journal's
 * folder, `journal.open.<segment>`. It is overwritten after every fsync of the segment, and removed when the segment is
 * listed. It is not synced, which would cost as much as the page: after a kill it is exact; after a power cut it may be
 * older, or gone, and then claims less, never more than what was true.
 */

import { closeSync, constants, existsSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { readIfThere } from '../support/atomic-file.ts'
import { onDisk } from '../support/errors.ts'
import { lineOf, readLine, type SealLine, type SealedSegment } from './seals.ts'

function pathOf(folder: string, segment: string): string {
  return `${folder}.open.${segment}`
}

/** Notes what of a segment is on the disk. @param line by markLine(), made when that was written */
export function writeDurableOffset(folder: string, segment: string, line: string): void {
  try {
    const file = openSync(pathOf(folder, segment), constants.O_WRONLY | constants.O_CREAT)
    try {
      writeSync(file, Buffer.from(line), 0, null, 0)
    } finally {
      closeSync(file)
    }
  } catch {
    // The record is on the disk anyway, and an older mark is still true.
  }
}

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
    marks.set(said.segment, { bytes: 0, sha256: null, held: [], lost: [], before: null, ...said })
  }
  return marks
}

/** Removes the mark of a segment that is listed, or all marks. @throws StorageError when the disk refuses */
export function removeMarks(folder: string, segment?: string): void {
  for (const path of segment === undefined ? markPaths(folder) : [pathOf(folder, segment)]) {
    onDisk(path, () => rmSync(path, { force: true }))
  }
}

function markPaths(folder: string): string[] {
  const beside = dirname(folder)
  const names = onDisk(beside, () => (existsSync(beside) ? readdirSync(beside) : []))
  const marks = names.filter((name) => name.startsWith(pathOf(basename(folder), '')))
  return marks.map((name) => join(beside, name))
}
