/** The lock of a folder's pointer, held for the milliseconds in which the pointer is compared and replaced. */

import { chmodSync, existsSync } from 'node:fs'
import type { Clock } from '../../support/clock.ts'
import type { FileModes } from '../../support/file-modes.ts'
import { SECOND } from '../../support/units.ts'
import { tryProcessLock, type ProcessLock } from '../../warehouse/process-lock.ts'
import { PublishError } from '../errors.ts'

const WAIT_AT_MOST_MS = 10 * SECOND
const LOOK_AGAIN_MS = 20

/**
 * Runs `work` while this process holds the kernel's lock on the file `path`, which is made where it is missing.
 * @param modes of the file, so that other users can publish there; null: as the process's umask says
 * @throws PublishError when another publisher keeps the lock for 10 seconds
 */
export async function withPointerLock<T>(
  path: string,
  clock: Clock,
  modes: FileModes | null,
  work: () => T,
): Promise<T> {
  const lock = await take(path, clock, modes)
  try {
    return work()
  } finally {
    lock.release()
  }
}

async function take(path: string, clock: Clock, modes: FileModes | null): Promise<ProcessLock> {
  const giveUpAt = clock.monotonic() + WAIT_AT_MOST_MS
  const isNew = !existsSync(path)
  for (;;) {
    const lock = await tryProcessLock(path)
    if (lock !== null) {
      if (isNew && modes !== null) chmodSync(path, modes.file)
      return lock
    }
    if (clock.monotonic() >= giveUpAt) {
      throw new PublishError(`another publisher holds the lock of the pointer: ${path}`, {
        hint: 'Run publish again when it is done.',
      })
    }
    await clock.sleep(LOOK_AGAIN_MS)
  }
}
