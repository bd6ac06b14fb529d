/** Waiting until something changes, without leaking listeners. */

import { EventEmitter, once, setMaxListeners } from 'node:events'

/** Something that tasks wait for and others announce: a condition variable. */
export class Condition {
  readonly #changes = new EventEmitter().setMaxListeners(0)

  /** Resolves at the next notifyAll(). @throws the signal's reason when it aborts first */
  async wait(signal: AbortSignal): Promise<void> {
    setMaxListeners(0, signal)
    await once(this.#changes, 'change', { signal }).catch(() => signal.throwIfAborted())
  }

  notifyAll(): void {
    this.#changes.emit('change')
  }
}
