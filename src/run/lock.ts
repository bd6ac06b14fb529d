/**
 * One writing process for each data directory. An own lock file, because the engine's lock on the database file is lost
 * as soon as anything in the process reads that file, and because extraction needs no database at all.
 */

import { closeSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isoInstant, type Clock } from '../support/clock.ts'
import { LockedError, asStorageError, systemCode } from '../support/errors.ts'

const LOCK_FILE = 'lock'

interface Holder {
  readonly pid: number
  readonly host: string
  readonly boot_id: string
  /** Start time of the process in kernel ticks: a pid can be used again, a pid with its start time cannot. */
  readonly started: string
  readonly command: string
  readonly since: string
}

/**
 * Takes the lock of `dataDir`; the returned function gives it back. A lock whose process is gone is taken over.
 * @param command what is running, for the message that others see
 * @throws LockedError naming the holder
 */
export function acquireLock(dataDir: string, command: string, clock: Clock): () => void {
  const path = join(dataDir, LOCK_FILE)
  const claim = `${path}.${process.pid}`
  const mine: Holder = { ...thisProcess(), command, since: isoInstant(clock.now()) }
  try {
    mkdirSync(dataDir, { recursive: true })
    writeClaim(claim, JSON.stringify(mine))
    // link() puts a complete file under the name or fails: nobody ever sees a lock without its holder.
    for (let tries = 0; !tryLink(claim, path); tries += 1) {
      const holder = readHolder(path)
      if (holder !== null && (isAlive(holder) || tries > 2)) throw heldBy(holder, dataDir)
      rmSync(path, { force: true })
    }
  } catch (error) {
    throw asStorageError(error, path)
  } finally {
    rmSync(claim, { force: true })
  }
  return () => {
    if (readHolder(path)?.pid === process.pid) rmSync(path, { force: true })
  }
}

function heldBy(holder: Holder, dataDir: string): LockedError {
  return new LockedError(
    `${dataDir} is in use by \`jobtide ${holder.command}\` (process ${holder.pid} on ${holder.host}, since ${holder.since})`,
    {
      hint: 'Wait until it ends, or use another folder with --data-dir.',
      context: { pid: holder.pid, host: holder.host },
    },
  )
}

function writeClaim(path: string, text: string): void {
  const file = openSync(path, 'w')
  try {
    writeSync(file, text)
  } finally {
    closeSync(file)
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}

function readHolder(path: string): Holder | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Holder
  } catch {
    return null
  }
}

// On another host, or where the system does not say, the holder counts as alive: taking a live lock loses data, waiting
// for a dead one only costs a message.
function isAlive(holder: Holder): boolean {
  if (holder.host !== hostname()) return true
  if (holder.boot_id !== bootId()) return false
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return false
  }
  return startTicks(holder.pid) === holder.started
}

function thisProcess(): Pick<Holder, 'pid' | 'host' | 'boot_id' | 'started'> {
  const { pid } = process
  return { pid, host: hostname(), boot_id: bootId(), started: startTicks(pid) }
}

function bootId(): string {
  return readOr('/proc/sys/kernel/random/boot_id', 'unknown').trim()
}

// Field 22 of /proc/<pid>/stat, counted after the command name, which may itself contain spaces. Elsewhere unknown.
function startTicks(pid: number): string {
  const stat = readOr(`/proc/${pid}/stat`, '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? 'unknown'
}

function readOr(path: string, fallback: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return fallback
  }
}
