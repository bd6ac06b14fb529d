/**
 * A disk that fails on demand: {@link useFaultyDisk} replaces `node:fs` for one test file. Every call goes to the real
 * file system unless a fault is set for it.
 */

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { afterAll, afterEach, beforeAll } from 'vitest'

const HEALTHY = {
  /** Bytes that still fit, over all writes; a longer write is cut short, and the next one fails. */
  roomBytes: Number.POSITIVE_INFINITY,
  /** The most bytes that one write call accepts: a short write is not a failure. */
  longestWrite: Number.POSITIVE_INFINITY,
  /** The error code of the next fsyncs and fdatasyncs, or null. */
  syncFails: null as string | null,
  /** The error code for folders only. */
  folderSyncFails: null as string | null,
  renameFails: null as string | null,
  linkFails: null as string | null,
  truncateFails: null as string | null,
  /** Calls since the last heal(). */
  syncs: 0,
}

/** What the disk does next; `heal` removes all faults. */
export const disk = { ...HEALTHY, heal: (): void => void Object.assign(disk, HEALTHY) }

/** An error as Node's file system throws it. */
export function systemError(code: string, syscall: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: made up, ${syscall}`), { code, syscall })
}

/** Replaces functions of a built-in module, including its named imports, until the tests of the file have ended. */
export function replaceBuiltins<M extends object>(module: M, replacements: Partial<M>): void {
  const names = Object.keys(replacements) as (keyof M)[]
  const real = Object.fromEntries(names.map((name) => [name, module[name]]))
  const put = (functions: object) => () => {
    Object.assign(module, functions)
    syncBuiltinESMExports()
  }
  beforeAll(put(replacements))
  afterAll(put(real))
}

/** Lets `disk` decide what fails, for the tests of the calling file; each test begins with a healthy disk. */
export function useFaultyDisk(): void {
  const real = { ...fs }

  function writeSync(
    file: number,
    bytes: Buffer,
    offset = 0,
    _length?: number | null,
    position: number | null = null,
  ): number {
    if (disk.roomBytes <= 0) throw systemError('ENOSPC', 'write')
    const length = Math.min(bytes.length - offset, disk.roomBytes, disk.longestWrite)
    disk.roomBytes -= length
    return real.writeSync(file, bytes, offset, length, position)
  }
  function fsyncSync(file: number): void {
    disk.syncs += 1
    if (disk.syncFails !== null) throw systemError(disk.syncFails, 'fsync')
    if (disk.folderSyncFails !== null && real.fstatSync(file).isDirectory())
      throw systemError(disk.folderSyncFails, 'fsync')
    real.fsyncSync(file)
  }
  function fdatasync(file: number, done: fs.NoParamCallback): void {
    disk.syncs += 1
    if (disk.syncFails === null) real.fdatasync(file, done)
    else process.nextTick(done, systemError(disk.syncFails, 'fdatasync'))
  }
  const failing =
    <A extends unknown[]>(
      fault: () => string | null,
      syscall: string,
      call: (...args: A) => void,
    ) =>
    (...args: A): void => {
      const code = fault()
      if (code !== null) throw systemError(code, syscall)
      call(...args)
    }
  replaceBuiltins(fs, {
    writeSync: writeSync as typeof fs.writeSync,
    fsyncSync,
    fdatasync: fdatasync as typeof fs.fdatasync,
    renameSync: failing(() => disk.renameFails, 'rename', real.renameSync),
    linkSync: failing(() => disk.linkFails, 'link', real.linkSync),
    ftruncateSync: failing(() => disk.truncateFails, 'ftruncate', real.ftruncateSync),
  })
  afterEach(() => disk.heal())
}
