/** Being the only one: no other process writes the warehouse, buys, or begins to, while data is erased. */

import { join } from 'node:path'
import type { Clock } from '../../support/clock.ts'
import { LockedError, asStorageError } from '../../support/errors.ts'
import { LockFile } from '../../support/lock-file.ts'
import { RECOVERY_LOCK, acquireLock, isRunGoingOn, type HeldLock } from '../lock.ts'

const HINT = 'Wait until it ends, then run the same command again.'

/**
 * Takes a data directory for this process alone.
 * @param command what is running, for the message that others see
 * @throws LockedError when another process works in it
 */
export function acquireAlone(dataDir: string, command: string, clock: Clock): HeldLock {
  const lock = acquireLock(dataDir, command, clock)
  const recovery = new LockFile(join(dataDir, RECOVERY_LOCK), { command, clock })
  try {
    if (!recovery.take()) {
      throw new LockedError(`another process is about to run in ${dataDir}`, { hint: HINT })
    }
    // Only now: a run that begins later waits for the lock just taken.
    if (isRunGoingOn(dataDir, clock)) {
      recovery.release()
      throw new LockedError(`a pipeline is running in ${dataDir}`, { hint: HINT })
    }
  } catch (error) {
    lock.release()
    throw asStorageError(error, recovery.path)
  }
  return {
    path: lock.path,
    release() {
      recovery.release()
      lock.release()
    },
  }
}
