/** A clock on which hours pass instantly: sleepers wake in the order of their times, whatever the machine does. */

import { onAbort } from '../../src/support/abort.ts'
import type { Clock } from '../../src/support/clock.ts'

/** A clock that moves only on request. */
export interface VirtualClock extends Clock {
  /** Lets `ms` milliseconds pass: every sleeper due by then wakes at its own time, in order. */
  advance(ms: number): Promise<void>
  /** Lets time pass until there are no more sleepers. */
  runUntilIdle(): Promise<void>
  /**
   * Lets time pass until `work` has settled, and returns its result. Work on real files or sockets is awaited in real
   * time, but only while nothing sleeps: otherwise virtual time may pass first.
   */
  run<T>(work: Promise<T>): Promise<T>
  /** Sets the wall clock forward (or back) without time passing, as an operator or NTP would. */
  jump(ms: number): void
  /** The number of sleepers now. */
  sleepers(): number
}

interface Sleeper {
  readonly at: number
  wake(): void
}

/** A virtual clock. @param startMs its first wall-clock time, milliseconds since 1970 UTC */
export function virtualClock(startMs = Date.UTC(2026, 10, 20, 2, 15)): VirtualClock {
  // The monotonic clock starts at another value, so that code that confuses the two is wrong by decades.
  let monotonicMs = 5_000
  let wallOffsetMs = startMs - monotonicMs
  const sleeping = new Set<Sleeper>()

  function earliest(): Sleeper | undefined {
    let first: Sleeper | undefined
    for (const sleeper of sleeping)
      if (first === undefined || sleeper.at < first.at) first = sleeper
    return first
  }

  async function wakeNext(untilMs: number): Promise<boolean> {
    await settle()
    const next = earliest()
    if (next === undefined || next.at > untilMs) return false
    monotonicMs = Math.max(monotonicMs, next.at)
    next.wake()
    return true
  }

  return {
    now: () => monotonicMs + wallOffsetMs,
    monotonic: () => monotonicMs,
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason as Error)
        const sleeper: Sleeper = {
          at: monotonicMs + Math.max(0, ms),
          wake() {
            sleeping.delete(sleeper)
            stopListening?.()
            resolve()
          },
        }
        sleeping.add(sleeper)
        const stopListening =
          signal &&
          onAbort(signal, () => {
            sleeping.delete(sleeper)
            reject(signal.reason as Error)
          })
      })
    },
    async advance(ms) {
      const untilMs = monotonicMs + ms
      while (await wakeNext(untilMs));
      monotonicMs = untilMs
      await settle()
    },
    async runUntilIdle() {
      while (await wakeNext(Number.POSITIVE_INFINITY));
    },
    async run(work) {
      let settled = false
      const end = () => {
        settled = true
      }
      work.then(end, end)
      for (;;) {
        const woke = await wakeNext(Number.POSITIVE_INFINITY)
        if (settled) return work
        if (!woke) await new Promise((resolve) => setTimeout(resolve, 1))
      }
    },
    jump(ms) {
      wallOffsetMs += ms
    },
    sleepers: () => sleeping.size,
  }
}

/** Lets everything run that can run without time passing. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
