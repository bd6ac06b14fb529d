/** Waiting until something changes, without leaving a listener behind however often it is done. */

import { onAbort } from './abort.ts'

/** Something that tasks wait for and others announce: a condition variable. */
export class Condition {
  #waiting = new Set<() => void>()

  /**
   * Resolves at the next notifyAll().
   * @throws the signal's reason when it aborts first
   */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const wake = () => {
        stopListening()
        resolve()
      }
      const stopListening = onAbort(signal, () => {
        this.#waiting.delete(wake)
        reject(signal.reason as Error)
      })
      this.#waiting.add(wake)
    })
  }

  /** Wakes everybody who waits now. */
  notifyAll(): void {
    const woken = this.#waiting
    this.#waiting = new Set()
    for (const wake of woken) wake()
  }
}
