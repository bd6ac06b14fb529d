/**
 * Time as an argument: code that needs "now" or a pause receives a Clock, so that tests control the time. Only this
 * file reads the machine's clocks.
 */

import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { untilAborted } from './abort.ts'
import { SECOND } from './units.ts'

export interface Uptime {
  /** Identifies the boot of the machine: times since different boots cannot be compared. */
  readonly boot: string
  readonly ms: number
}

/** The time and the passing of time, as the rest of Jobtide sees them. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970-01-01 UTC. It can jump; use it for stamps, never for durations. */
  now(): number
  /** Milliseconds that never jump, the same for all processes until a restart. Only differences mean something. */
  monotonic(): number
  /** How long this machine has been up, including sleep; null or absent if unknown. */
  uptime?(): Uptime | null
  /** 0 or more milliseconds, no upper limit. @throws the signal's reason, when `signal` aborts first */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

// setTimeout keeps its delay in 32 bits: anything longer fires at once, so long sleeps are taken in steps.
const LONGEST_TIMER_MS = 2 ** 31 - 1

const BOOT = bootName()

// Only Linux names each boot of a machine. No two boots share so much of the name.
function bootName(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8)
  } catch {
    return null
  }
}

export const realClock: Clock = {
  now: () => Date.now(),
  // Not performance.now(), which starts at zero in each process.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  uptime: () => (BOOT === null ? null : { boot: BOOT, ms: Math.round(uptime() * SECOND) }),
  async sleep(ms, signal) {
    signal?.throwIfAborted()
    for (let leftMs = ms; leftMs > 0; leftMs -= LONGEST_TIMER_MS) {
      let timer: NodeJS.Timeout | undefined
      const pause = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, Math.min(leftMs, LONGEST_TIMER_MS))
      })
      await (signal ? untilAborted(pause, signal) : pause).finally(() => clearTimeout(timer))
    }
  },
}

/** `advance` moves its wall time ahead of `base`, so that the demo lets a night pass; its monotonic time stays. */
export function shiftedClock(base: Clock): Clock & { advance(ms: number): void } {
  let offsetMs = 0
  return {
    now: () => base.now() + offsetMs,
    monotonic: () => base.monotonic(),
    sleep: (ms, signal) => base.sleep(ms, signal),
    advance(ms) {
      offsetMs += ms
    },
  }
}

/** An instant as ISO 8601 in UTC with milliseconds: `2026-11-20T02:15:00.000Z`. */
export function isoInstant(epochMs: number): string {
  return new Date(epochMs).toISOString()
}

/**
 * The end of a wait in whole seconds, rounded up: `2026-11-20T02:15:00Z`. Each command derives it from its own clock, with
 * other milliseconds.
 */
export function waitEnd(epochMs: number): string {
  return isoInstant(Math.ceil(epochMs / SECOND) * SECOND).replace('.000Z', 'Z')
}

/** An instant to the minute, in UTC: `2026-11-20 02:15`. */
export function minuteText(epochMs: number): string {
  return isoInstant(epochMs).slice(0, 16).replace('T', ' ')
}
