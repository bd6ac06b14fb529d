/**
 * Classifies DuckDB's errors, which are plain Errors whose kind is only in the text. This file alone reads that text,
 * and decides what the operator must do: wait for a reader, free the disk, rebuild the file, or report a defect.
 */

import {
  ConfigError,
  EXIT,
  JobtideError,
  LockedError,
  StorageError,
  asStorageError,
  messageOf,
  storageHint,
} from '../support/errors.ts'

/** The warehouse file cannot be read. It is a projection of the journal, so nothing paid for is lost. */
export class WarehouseDamagedError extends JobtideError {
  constructor(path: string, cause: unknown) {
    super(
      EXIT.storage,
      `the warehouse ${path} cannot be read: ${messageOf(cause).split('\n', 1)[0]}`,
      {
        hint: 'Nothing you paid for is lost: `jobtide replay` rebuilds the warehouse from the journal for 0 credits.',
        cause,
      },
    )
  }
}

/** The engine refused a statement: the SQL is wrong for the data or the schema. */
export class SqlError extends JobtideError {
  constructor(message: string, cause: unknown) {
    super(EXIT.defect, message, { cause })
  }
}

/** There is no statement: nothing, or only comments and semicolons. */
export class NoSqlError extends JobtideError {
  constructor() {
    super(EXIT.usage, 'there is no SQL to run', {
      hint: 'Try: jobtide query "select * from talent_flows limit 5"',
    })
  }
}

/** The statement to show is not a single statement that only reads. */
export class NotOneReadingError extends JobtideError {
  constructor(why: string) {
    super(EXIT.usage, `a query is one statement that reads: ${why}`, {
      hint: 'Give one select, with, from, describe, show, summarize or explain. A `;` may end it. For several, run the command several times.',
    })
  }
}

const LOCKED = /could not set lock on file/i
const HOLDER = /held in (\S+(?: \([^)]*\))?)/i
const DISK =
  /no space left|disk full|read-only file system|permission denied|operation not permitted|input\/output error|file too large|quota exceeded|fsync failed/i
const SYSTEM_WORDS = [
  [/permission denied|operation not permitted/i, 'EACCES'],
  [/read-only file system/i, 'EROFS'],
] as const
const FILES_OPEN = /too many open files( in system)?/i
const NOT_MADE = /cannot open file "[^"]+": no space left/i
const NOT_DONE = /^io error: (?:could not|cannot) /i
const OUT_OF_MEMORY = /^out of memory error/i
// The free space of the disk limits temporary files, so that on a full disk the limit is zero.
const NO_ROOM_TO_SPILL = /failed to offload data block/i
const DAMAGED =
  /not a valid duckdb database|could not read enough bytes|corrupt|checksum|replaying wal|wal file|serializ|failed to load metadata|database has been invalidated/i

// These quote the statement or the data, which can hold any word.
const ABOUT_THE_SQL =
  /^(?:failed to extract statements: )?(?:parser|binder|catalog|conversion|invalid input|out of range|constraint|not implemented) error/i

// A file of a later engine, which writes another format.
const NEWER_FILE =
  /version number (\d+), but we can only read versions? (?:between \d+ and )?(\d+)/i

/** The hint of what a newer Jobtide made. */
export const NEWER_HINT = 'Use that version of Jobtide, or name another folder with --data-dir.'

/** Turns an engine error about the file `path` into the JobtideError that says what to do. */
export function asWarehouseError(error: unknown, path: string): unknown {
  if (error instanceof JobtideError) return error
  const message = messageOf(error)
  const [line = ''] = message.split('\n', 1)
  const refusedByDisk = (what: string, hint: string) =>
    new StorageError(`${what} ${path}: ${line}`, { hint, cause: error })
  if (ABOUT_THE_SQL.test(message)) return new SqlError(message, error)
  const [, format, ours] = NEWER_FILE.exec(line) ?? []
  if (Number(format) > Number(ours)) {
    const what = `its format is ${format}, and this one reads up to ${ours}`
    return new ConfigError(`the warehouse ${path} was made by a newer Jobtide: ${what}`, {
      hint: NEWER_HINT,
      cause: error,
    })
  }
  if (LOCKED.test(message)) {
    const [, holder] = HOLDER.exec(message) ?? []
    const where = holder === undefined ? '' : `, ${holder}`
    return new LockedError(`the warehouse ${path} is open in another program${where}`, {
      hint: 'Close it there and run the command again. Pages already bought are safe in the journal.',
      cause: error,
    })
  }
  const asSystemError = (code: string) =>
    asStorageError(Object.assign(new Error(message, { cause: error }), { code }), path)
  const [filesOpen, inSystem] = FILES_OPEN.exec(message) ?? []
  if (filesOpen !== undefined) return asSystemError(inSystem === undefined ? 'EMFILE' : 'ENFILE')
  // A file that cannot even be opened: of a full disk, or of one without inodes.
  if (NOT_MADE.test(line)) return asSystemError('ENOSPC')
  if (DISK.test(message) || (NOT_DONE.test(message) && !DAMAGED.test(message))) {
    const [, code = ''] = SYSTEM_WORDS.find(([words]) => words.test(message)) ?? []
    return refusedByDisk('the disk refused a write to', storageHint(code))
  }
  if (OUT_OF_MEMORY.test(message)) {
    return refusedByDisk(
      'DuckDB ran out of memory in',
      'Nothing is lost: all bought pages are in the journal. Give it more memory (the container’s limit, JOBTIDE_MEMORY_LIMIT; if the message names the temporary directory, JOBTIDE_TEMP_LIMIT), or free some on this machine, and run the same command again.',
    )
  }
  if (NO_ROOM_TO_SPILL.test(message)) {
    const hint = `${storageHint('ENOSPC')} Where there is room: JOBTIDE_TEMP_LIMIT.`
    return refusedByDisk('the disk has no room next to', hint)
  }
  if (DAMAGED.test(message)) return new WarehouseDamagedError(path, error)
  return new SqlError(message, error)
}

/** Whether no process holds the file, and its file system has no locks. */
export function hasNoLocks(error: LockedError): boolean {
  return /not supported/i.test(String(error.cause))
}
