/**
 * A disk that fails when it is told to, for tests that mock `node:fs` with faultyFs(): every call goes to the real
 * file system unless a fault is set for it.
 */

import type * as Fs from 'node:fs'
import { promisify } from 'node:util'
import { vi } from 'vitest'

/** What the disk does next; `heal` takes all faults away. */
export const disk = {
  /** Bytes that still fit, over all writes; a write over it is cut short, the next one fails. */
  roomBytes: Number.POSITIVE_INFINITY,
  /** The most bytes one write call takes: short writes are no failure. */
  longestWrite: Number.POSITIVE_INFINITY,
  /** The error code of the next fsyncs and fdatasyncs, or null. */
  syncFails: null as string | null,
  renameFails: null as string | null,
  truncateFails: null as string | null,
  /** Calls since the last heal(). */
  syncs: 0,
  heal(): void {
    Object.assign(disk, {
      roomBytes: Number.POSITIVE_INFINITY,
      longestWrite: Number.POSITIVE_INFINITY,
      syncFails: null,
      renameFails: null,
      truncateFails: null,
      syncs: 0,
    })
  },
}

/** An error as Node's file system throws it. */
export function systemError(code: string, syscall: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: made up, ${syscall}`), { code, syscall })
}

/** `node:fs` with the faults of `disk`. */
export async function faultyFs(): Promise<typeof Fs> {
  const real = await vi.importActual<typeof Fs>('node:fs')

  function writeSync(file: number, bytes: Buffer, offset = 0): number {
    if (disk.roomBytes <= 0) throw systemError('ENOSPC', 'write')
    const length = Math.min(bytes.length - offset, disk.roomBytes, disk.longestWrite)
    disk.roomBytes -= length
    return real.writeSync(file, bytes, offset, length)
  }
  function fsyncSync(file: number): void {
    disk.syncs += 1
    if (disk.syncFails !== null) throw systemError(disk.syncFails, 'fsync')
    real.fsyncSync(file)
  }
  function fdatasync(file: number, done: (error: Error | null) => void): void {
    disk.syncs += 1
    if (disk.syncFails === null) real.fdatasync(file, done)
    else done(systemError(disk.syncFails, 'fdatasync'))
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
  const faulty = {
    ...real,
    writeSync,
    fsyncSync,
    fdatasync: Object.assign(fdatasync, {
      [promisify.custom]: (file: number) =>
        new Promise<void>((resolve, reject) => {
          fdatasync(file, (error) =>
            error === null || error === undefined ? resolve() : reject(error),
          )
        }),
    }),
    renameSync: failing(() => disk.renameFails, 'rename', real.renameSync),
    ftruncateSync: failing(() => disk.truncateFails, 'ftruncate', real.ftruncateSync),
  }
  return { ...faulty, default: faulty } as unknown as typeof Fs
}
