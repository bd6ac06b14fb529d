/**
 * The expected errors, with messages and hints for operators and details for programs. Every expected error is a
 * JobtideError; anything else that reaches the command line is a defect (exit 1).
 */

import { constants } from 'node:os'

/** Exit codes of the process; docs/operations.md explains them to operators. */
export const EXIT = {
  done: 0,
  defect: 1,
  usage: 2,
  refused: 3,
  budget: 4,
  unavailable: 5,
  checkFailed: 6,
  publishFailed: 7,
  locked: 8,
  storage: 9,
  stale: 10,
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** By exit code: the signal that stopped the command. */
export const SIGNALS: Readonly<Partial<Record<number, NodeJS.Signals>>> = {
  [EXIT.hungUp]: 'SIGHUP',
  [EXIT.interrupted]: 'SIGINT',
  [EXIT.terminated]: 'SIGTERM',
}

/** Whether a command that ended with `code` was stopped by a signal. */
export function isStop(code: number | undefined): boolean {
  return code !== undefined && code in SIGNALS
}

export interface ErrorDetails {
  /** One sentence: what the operator does next. */
  readonly hint?: string
  /** Facts for machines, printed by `--json`. Never holds a secret. */
  readonly context?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** An expected failure: a clear sentence, an exit code, and what to do next. */
export class JobtideError extends Error {
  readonly exitCode: ExitCode
  readonly hint: string | undefined
  readonly context: Readonly<Record<string, unknown>>

  constructor(exitCode: ExitCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = new.target.name
    this.exitCode = exitCode
    this.hint = details.hint
    this.context = details.context ?? {}
  }
}

/** An error as `--json` prints it. */
export function errorDocument(error: unknown): Record<string, unknown> {
  const known = error instanceof JobtideError ? error : null
  const { exitCode = EXIT.defect, hint = null, context = {} } = known ?? {}
  return { message: messageOf(error), hint, exit_code: exitCode, ...context }
}

/** Wrong usage or configuration; thrown before anything was sent. */
export class ConfigError extends JobtideError {
  constructor(message: string, details?: ErrorDetails) {
    super(EXIT.usage, message, details)
  }
}

/** The disk refused a read or write: full, read-only, or broken. Acknowledged data is safe. */
export class StorageError extends JobtideError {
  constructor(message: string, details?: ErrorDetails) {
    super(EXIT.storage, message, details)
  }
}

/** Another run, or a reader of the database file, holds what this run needs. */
export class LockedError extends JobtideError {
  constructor(message: string, details?: ErrorDetails) {
    super(EXIT.locked, message, details)
  }
}

const STORAGE_CODES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is larger than it may be',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an input/output error',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'a folder is in the place of a file',
  ERR_FS_EISDIR: 'a folder is in the place of a file',
  ENOTDIR: 'a file is in the place of a folder',
  EMFILE: 'this process has too many files open',
  ENFILE: 'this machine has too many files open',
}
// Other errors of a file system, such as one whose server is gone. Unexpected ENOENT, EBADF and EINVAL are defects.
const OTHER_CODES =
  /^(?:UNKNOWN|Unknown system error .*|ELOOP|ENAMETOOLONG|EMLINK|EBUSY|ETXTBSY|ENXIO|ENODEV|ENOTSUP|ENOSYS|EXDEV|EREMOTEIO|ETIMEDOUT)$/

/** The operating system's error code of an unknown value, such as `ENOENT`, or undefined. */
export function systemCode(error: unknown): string | undefined {
  if (error === null || typeof error !== 'object' || !('code' in error)) return undefined
  // Node has no name for it.
  if ('errno' in error && error.errno === -constants.errno.EDQUOT) return 'EDQUOT'
  return typeof error.code === 'string' ? error.code : undefined
}

/** Whether a file-system failure says that nothing has the path. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')
}

/** Makes a file-system failure a StorageError that names `subject`; any other value stays as it is. */
export function asStorageError(error: unknown, subject: string): unknown {
  const code = systemCode(error)
  if (code === undefined) return error
  const meaning = STORAGE_CODES[code] ?? (OTHER_CODES.test(code) ? 'the file system refuses' : null)
  if (meaning === null) return error
  return new StorageError(`${subject}: ${meaning} (${code})`, {
    hint: storageHint(code),
    context: { code },
    cause: error,
  })
}

/** The hint for a file-system error `code`; a general one for other codes. */
export function storageHint(code: string): string {
  return `${HINTS[code] ?? 'Free space, or fix what is named here'}, then run the same command again: it continues where it stopped.`
}

const OWNER =
  'Check the owner (`ls -l`) and whether the file is immutable (`lsattr`). Let the account that runs Jobtide read and write there'
const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: 'Free space, or inodes if `df -i` shows none left',
  EACCES: OWNER,
  EPERM: OWNER,
  EROFS: 'Mount it for writing, or name another folder with --data-dir',
  EMFILE: 'Raise the limit of open files per process (`ulimit -n`, or LimitNOFILE of its service)',
  ENFILE:
    'Raise the machine limit of open files (`sysctl fs.file-max`), or end the process that has so many open',
}

/** Does `work`, and turns file-system failures into StorageErrors like asStorageError. */
export function onDisk<T>(subject: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw asStorageError(error, subject)
  }
}

/** The error, if Jobtide expects it. @throws any other */
export function expectedError(error: unknown): JobtideError {
  if (error instanceof JobtideError && error.exitCode !== EXIT.defect) return error
  throw error
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
