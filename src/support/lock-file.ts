/**
 * A lock between processes that share a folder: a file that names its holder, with a nonce that no other lock ever has.
 *
 * The file comes into being whole, by link(), which fails where a lock exists. A lock is abandoned when its process is
 * gone, or is older than the caller allows. Only the process that takes the lock `<lock>.<nonce>.stale`, and then still
 * finds that nonce in the lock, may remove it: so nobody who read an old lock can remove the one that followed it.
 */

import { randomUUID } from 'node:crypto'
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'
import { isoInstant, type Clock } from './clock.ts'
import { systemCode } from './errors.ts'

const holderSchema = z.object({
  nonce: z.uuid(),
  pid: z.int().positive(),
  host: z.string(),
  boot_id: z.string(),
  /** Start time of the process in kernel ticks: a pid can be used again, a pid with its start time cannot. */
  started: z.string(),
  /** What is running, for the message that others see. */
  command: z.string(),
  since: z.iso.datetime(),
})

/** The process that a lock file names. */
export type LockHolder = Readonly<z.infer<typeof holderSchema>>

/** What tells a process from all others, also from a later one with its number. */
export type ProcessIdentity = Pick<LockHolder, 'pid' | 'host' | 'boot_id' | 'started'>

/** How a lock is held. */
export interface LockFileOptions {
  /** What is running, for the message that others see. */
  readonly command: string
  readonly clock: Clock
  /** From this age on (milliseconds) a lock counts as abandoned, whoever holds it; default never. */
  readonly abandonedAfterMs?: number
  /** Permission bits of the file; default: as the process's umask says. */
  readonly mode?: number
}

// Between two tries somebody else can only have taken the lock, or have given it back.
const TRIES = 3

/** One process's claim to a lock file in a folder that exists. Errors of the file system come as they are. */
export class LockFile {
  readonly path: string
  readonly #options: LockFileOptions
  readonly #nonce = randomUUID()

  constructor(path: string, options: LockFileOptions) {
    this.path = path
    this.#options = options
  }

  /** Takes the lock, also one that was abandoned. False when somebody holds it, or is just taking it over. */
  take(): boolean {
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (this.#link()) return true
      if (!this.#clearAway()) return false
    }
    return false
  }

  /** False before take(), and when the lock was taken away. */
  isMine(): boolean {
    return this.holder()?.nonce === this.#nonce
  }

  /** Gives the lock back; one that was taken away stays with its new holder. */
  release(): void {
    if (this.isMine()) rmSync(this.path, { force: true })
  }

  /** Who holds the lock now; null when nobody does, or when the file does not say. */
  holder(): LockHolder | null {
    const found = read(this.path)
    return typeof found === 'object' ? found : null
  }

  #link(): boolean {
    const { command, clock, mode } = this.#options
    const prepared = `${this.path}.${this.#nonce}.tmp`
    const mine: LockHolder = {
      nonce: this.#nonce,
      ...thisProcess(),
      command,
      since: isoInstant(clock.now()),
    }
    try {
      writeFileSync(prepared, JSON.stringify(mine))
      if (mode !== undefined) chmodSync(prepared, mode)
      linkSync(prepared, this.path)
      return true
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return false
      throw error
    } finally {
      removeQuietly(prepared)
    }
  }

  /** True when the name may be free now. */
  #clearAway(): boolean {
    const found = read(this.path)
    if (found === null) return true
    const nonce = this.#abandonedNonce(found)
    if (nonce === null) return false
    // A lock itself, because whoever holds it can be killed, too.
    const { command, clock } = this.#options
    const marker = new LockFile(`${this.path}.${nonce}.stale`, { command, clock })
    if (!marker.take()) return false
    try {
      const now = read(this.path)
      if (now !== null && this.#abandonedNonce(now) === nonce) rmSync(this.path, { force: true })
    } finally {
      marker.release()
    }
    return true
  }

  #abandonedNonce(found: Found): string | null {
    // Only a power cut leaves a lock that is no JSON; locks are linked whole, so no other torn one follows it.
    if (found === 'torn') return 'torn'
    if (found === 'foreign') return null
    const { clock, abandonedAfterMs = Number.POSITIVE_INFINITY } = this.#options
    const isOld = clock.now() - Date.parse(found.since) > abandonedAfterMs
    return isOld || isSurelyGone(found) ? found.nonce : null
  }
}

/** A holder, a file that a power cut left, or one that something else wrote. */
type Found = LockHolder | 'torn' | 'foreign'

function read(path: string): Found | null {
  try {
    return holderSchema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data ?? 'foreign'
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    if (error instanceof SyntaxError) return 'torn'
    throw error
  }
}

// The error before it is the one to report, and nobody else uses these names.
function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    return
  }
}

/** True when the holder runs on this machine; false when it is gone, or elsewhere, where nobody here can tell. */
export function isSurelyAlive(holder: LockHolder): boolean {
  return holder.host === hostname() && !isSurelyGone(holder)
}

/**
 * True when the holder is certainly gone. On another host, or where the system does not say, it counts as alive: taking
 * a live lock loses data, waiting for a dead one only costs a message.
 */
export function isSurelyGone(holder: ProcessIdentity): boolean {
  if (holder.host !== hostname()) return false
  if (holder.boot_id !== bootId()) return true
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return true
  }
  const started = startTicks(holder.pid)
  // Others' processes may be there and still be hidden.
  return started !== UNKNOWN && started !== holder.started
}

const UNKNOWN = 'unknown'

// It stays what it is, and is written with every lock that is taken, several times a second.
let self: ProcessIdentity | null = null

/** Who this process is, for others to see whether it still runs. */
export function thisProcess(): ProcessIdentity {
  const { pid } = process
  self ??= { pid, host: hostname(), boot_id: bootId(), started: startTicks(pid) }
  return self
}

function bootId(): string {
  return readOr('/proc/sys/kernel/random/boot_id', UNKNOWN).trim()
}

// Field 22 of /proc/<pid>/stat, counted after the command name, which may itself contain spaces. Elsewhere unknown.
function startTicks(pid: number): string {
  const stat = readOr(`/proc/${pid}/stat`, '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? UNKNOWN
}

function readOr(path: string, fallback: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return fallback
  }
}
