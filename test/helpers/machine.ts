/**
 * A machine whose days pass instantly: its clock runs with this machine's while a process works, and jumps over every
 * sleep. Processes that it starts have its time, uptime and boot id.
 */

import { setImmediate } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import { realClock, type Clock } from '../../src/support/clock.ts'
import { SECOND } from '../../src/support/units.ts'

/** What happens at a time. */
interface Event {
  readonly at: number
  readonly happen: () => Promise<void> | void
}

/** A machine. */
export type Machine = ReturnType<typeof startMachine>

/**
 * Starts a machine.
 * @param nowMs its time, milliseconds since 1970 UTC
 * @param onFailure called when a scheduled event fails, because code that sleeps meanwhile may ignore it
 */
export function startMachine(nowMs: number, onFailure: () => void) {
  let aheadMs = nowMs - realClock.now()
  let agenda: Event[] = []
  const failures: Error[] = []
  let bootedAt = nowMs
  let boot = randomUUID()
  const now = () => realClock.now() + aheadMs

  /** Lets time pass until then; scheduled events happen on time. */
  async function passUntil(until: number, signal?: AbortSignal): Promise<void> {
    for (;;) {
      signal?.throwIfAborted()
      const [next] = agenda
      const to = Math.min(until, next?.at ?? until)
      aheadMs += Math.max(0, to - now())
      await setImmediate()
      if (next === undefined || next.at > until) return
      agenda = agenda.filter((one) => one !== next)
      try {
        await next.happen()
      } catch (error) {
        failures.push(error as Error)
        onFailure()
      }
    }
  }

  const clock: Clock = {
    now,
    monotonic: () => realClock.monotonic() + aheadMs,
    sleep: (ms, signal) => passUntil(now() + ms, signal),
  }
  return {
    clock,
    passUntil,
    /** @throws the error of the first event that failed */
    throwIfFailed() {
      const [failure] = failures
      if (failure !== undefined) throw failure
    },
    /** Schedules an event, which happens while code sleeps. */
    at(at: number, happen: Event['happen']) {
      agenda = [...agenda, { at, happen }].toSorted((a, b) => a.at - b.at)
    },
    /** Sleeps until then like a closed laptop: no process gets a turn. */
    suspend(until: number) {
      aheadMs += Math.max(0, until - now())
    },
    /** Reboots: new uptime and boot id; the caller ends its processes. */
    reboot() {
      bootedAt = now()
      boot = randomUUID()
    },
    /** NODE_OPTIONS for a process that starts on this machine now. */
    nodeOptions: () => `--import=data:text/javascript,${encodeURIComponent(preload())}`,
  }

  // Loaded before any of our code runs.
  function preload(): string {
    const upFor = (now() - bootedAt) / SECOND
    return `
      import fs from 'node:fs'
      import os from 'node:os'
      import { syncBuiltinESMExports } from 'node:module'
      const { now } = Date
      const { readFileSync } = fs
      Date.now = () => now.call(Date) + ${aheadMs}
      os.uptime = () => ${upFor} + process.uptime()
      fs.readFileSync = (path, ...rest) =>
        path === '/proc/sys/kernel/random/boot_id' ? '${boot}' : readFileSync(path, ...rest)
      syncBuiltinESMExports()`
  }
}
