/**
 * The pace in a file, for all Jobtide processes of one data directory. A lock file beside it is held for the fraction of a
 * millisecond that a change takes; one left by a killed process is taken over. Nothing waits for the disk: after a power
 * cut the pace begins anew, and what the service ordered to wait is in the journal, too.
 */

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Clock } from '../support/clock.ts'
import { StorageError, asStorageError, systemCode } from '../support/errors.ts'
import { LockFile, thisProcess } from '../support/lock-file.ts'
import { SECOND } from '../support/units.ts'
import { FRESH_PACE, readPace, writePace, type PaceState } from './pace-state.ts'
import type { PaceStore } from './pace-store.ts'

// Nobody holds the lock for that long, except a process that was stopped, or was killed in another container.
const ABANDONED_AFTER_MS = 2 * SECOND
const LOCK_TRIES_MAX = 2_500

/** Opens the pace in the file `path`, in a folder that exists; the file may be missing or hold anything. */
export function openPaceFile(path: string, clock: Clock): PaceStore {
  const owner = thisProcess()
  const lock = new LockFile(`${path}.lock`, {
    command: 'pace',
    clock,
    abandonedAfterMs: ABANDONED_AFTER_MS,
  })
  const next = `${path}.next`
  const mine = `${path}.${owner.pid}.tmp`

  function read(): PaceState {
    const text = textOf(path) ?? textOf(next)
    if (text === null) return FRESH_PACE
    return readPace(text, owner.boot_id, clock.monotonic(), clock.now())
  }

  // A rename onto a file makes some file systems write at once, for milliseconds, so the old file goes first. Between the
  // two steps the new one is whole under its other name, where read() finds it. A change that fails must not be found.
  // False when the lock was lost: this process was stopped, or the disk held it up, and others have gone on since. What
  // they wrote stays.
  function write(pace: PaceState): boolean {
    try {
      writeFileSync(mine, writePace(pace, owner.boot_id, clock.monotonic()))
      if (!lock.isMine()) {
        rmSync(mine, { force: true })
        return false
      }
      renameSync(mine, next)
      rmSync(path, { force: true })
      renameSync(next, path)
      return true
    } catch (error) {
      for (const file of [mine, next]) rmSync(file, { force: true })
      throw error
    }
  }

  function tryUpdate<Result extends { readonly pace: PaceState }>(
    change: (pace: PaceState) => Result,
  ): Result | null {
    takeLock(lock)
    try {
      const before = read()
      const result = change(before)
      return result.pace === before || write(result.pace) ? result : null
    } finally {
      lock.release()
    }
  }

  return {
    owner,
    update(change) {
      try {
        for (;;) {
          const result = tryUpdate(change)
          if (result !== null) return result
        }
      } catch (error) {
        throw asStorageError(error, `pace ${path}`)
      }
    },
  }
}

// Waits without letting anything else run: it is shorter than most of what runs, and a pause must hold when it returns.
function takeLock(lock: LockFile): void {
  const nobodyRings = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  for (let tries = 0; tries < LOCK_TRIES_MAX; tries += 1) {
    if (lock.take()) return
    Atomics.wait(nobodyRings, 0, 0, 1)
  }
  throw new StorageError(`${lock.path}: held for too long`, {
    hint: 'If no Jobtide process runs on this data directory, remove the file and run the same command again.',
  })
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}
