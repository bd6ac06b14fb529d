/** Waiting until something changes, without leaving a listener behind however often it is done. */

import { onAbort } from './abort.ts'

/** Something that tasks wait for and others announce. */
export interface Bell {
  /**
   * Resolves at the next ring.
   * @throws the signal's reason when it aborts first
   */
  wait(signal: AbortSignal): Promise<void>
  /** Wakes everybody who waits now. */
  ring(): void
}

/** A bell for which nobody waits yet. */
export function createBell(): Bell {
  let waiting = new Set<() => void>()
  return {
    wait(signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error)
        const onRing = () => {
          stopListening()
          resolve()
        }
        const stopListening = onAbort(signal, () => {
          waiting.delete(onRing)
          reject(signal.reason as Error)
        })
        waiting.add(onRing)
      })
    },
    ring() {
      const woken = waiting
      waiting = new Set()
      for (const wake of woken) wake()
    },
  }
}
