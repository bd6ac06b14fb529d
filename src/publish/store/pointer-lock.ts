/** The lock of a folder's pointer, held for the milliseconds in which the pointer is compared and replaced. */

import type { Clock } from '../../support/clock.ts'
import type { FileModes } from '../../support/file-modes.ts'
import { LockFile } from '../../support/lock-file.ts'
import { MINUTE, SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'

const ABANDONED_AFTER_MS = 10 * MINUTE
const WAIT_AT_MOST_MS = 10 * SECOND
const LOOK_AGAIN_MS = 20

/** Proof of holding the lock. */
export interface HeldLock {
  /** Call it right before the write that the lock guards. @throws PublishError when the lock was taken away */
  verify(): void
}

/**
 * Runs `work` while holding the lock file `path`.
 * @throws PublishError when a living owner keeps the lock for 10 seconds
 */
export async function withPointerLock<T>(
  path: string,
  clock: Clock,
  modes: FileModes | null,
  work: (lock: HeldLock) => T,
): Promise<T> {
  const lock = new LockFile(path, {
    command: 'publish',
    clock,
    abandonedAfterMs: ABANDONED_AFTER_MS,
    // Whoever else publishes into the folder has to see who holds it.
    ...(modes === null ? {} : { mode: modes.file }),
  })
  const giveUpAt = clock.monotonic() + WAIT_AT_MOST_MS
  while (!lock.take()) {
    if (clock.monotonic() >= giveUpAt) throw stillLocked(lock)
    await clock.sleep(LOOK_AGAIN_MS)
  }
  try {
    return work({
      verify() {
        if (!lock.isMine()) throw new PublishError(`another publisher took the lock ${path} away`)
      },
    })
  } finally {
    lock.release()
  }
}

function stillLocked(lock: LockFile): PublishError {
  const owner = lock.holder()
  const holder = owner === null ? '' : ` by process ${owner.pid} on ${owner.host}`
  return new PublishError(`the pointer is locked${holder}: ${lock.path}`, {
    hint: 'If that publisher is gone, remove the lock file.',
  })
}
