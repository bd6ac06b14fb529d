/**
 * A lock between processes that share a folder, held for the milliseconds in which a pointer is compared and replaced.
 *
 * The lock is a file that names its owner: a nonce, the host, the process id and the time. It comes into being whole, by
 * link(), which fails where a lock exists. A lock is stale when its process is gone (same host) or when it is older than
 * 10 minutes. Only the process that makes `<lock>.<nonce>.stale` with O_EXCL, and then still finds that nonce in the
 * lock, may remove it: so nobody who read an old lock can remove the one that followed it.
 */

import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'
import type { Clock } from '../support/clock.ts'
import { systemCode } from '../support/errors.ts'
import { MINUTE, SECOND } from '../support/units.ts'
import { PublishError } from './errors.ts'

const STALE_AFTER_MS = 10 * MINUTE
const WAIT_AT_MOST_MS = 10 * SECOND
const LOOK_AGAIN_MS = 20

const ownerSchema = z.object({
  nonce: z.uuid(),
  host: z.string(),
  pid: z.int().positive(),
  /** Milliseconds since 1970 UTC. */
  takenAt: z.number(),
})
type Owner = z.infer<typeof ownerSchema>

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
  work: (lock: HeldLock) => T,
): Promise<T> {
  const mine = { nonce: randomUUID(), host: hostname(), pid: process.pid, takenAt: clock.now() }
  const giveUpAt = clock.monotonic() + WAIT_AT_MOST_MS
  while (!take(path, { ...mine, takenAt: clock.now() })) {
    removeIfStale(path, clock)
    if (clock.monotonic() >= giveUpAt) throw stillLocked(path)
    await clock.sleep(LOOK_AGAIN_MS)
  }
  const isMine = () => readOwner(path)?.nonce === mine.nonce
  try {
    return work({
      verify() {
        if (!isMine()) throw new PublishError(`another publisher took the lock ${path} away`)
      },
    })
  } finally {
    if (isMine()) rmSync(path, { force: true })
  }
}

function take(path: string, owner: Owner): boolean {
  const prepared = `${path}.${owner.nonce}.tmp`
  writeFileSync(prepared, JSON.stringify(owner))
  try {
    linkSync(prepared, path)
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  } finally {
    rmSync(prepared, { force: true })
  }
}

function removeIfStale(path: string, clock: Clock): void {
  const owner = readOwner(path)
  if (owner === undefined || !isStale(owner, clock)) return
  const marker = `${path}.${owner.nonce}.stale`
  try {
    writeFileSync(marker, '', { flag: 'wx' })
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return
    throw error
  }
  try {
    if (readOwner(path)?.nonce === owner.nonce) rmSync(path, { force: true })
  } finally {
    rmSync(marker, { force: true })
  }
}

function isStale(owner: Owner, clock: Clock): boolean {
  if (clock.now() - owner.takenAt > STALE_AFTER_MS) return true
  return owner.host === hostname() && !isAlive(owner.pid)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) !== 'ESRCH'
  }
}

/** The owner named in a lock file; undefined when there is no lock, or a file that no publisher wrote. */
function readOwner(path: string): Owner | undefined {
  try {
    return ownerSchema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

function stillLocked(path: string): PublishError {
  const owner = readOwner(path)
  const holder = owner === undefined ? '' : ` by process ${owner.pid} on ${owner.host}`
  return new PublishError(`the pointer is locked${holder}: ${path}`, {
    hint: 'If that publisher is gone, remove the lock file.',
  })
}
