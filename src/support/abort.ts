/** Listening to an AbortSignal that many workers share for as long as a run lasts. */

import { setMaxListeners } from 'node:events'

/** Calls `listener` when the signal aborts. Returns what takes the listener off again; the caller must call it. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  // Node warns at 11 listeners, which are often a leak. Here they are workers that wait at the same time.
  setMaxListeners(0, signal)
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** Resolves with the result of `work`, or rejects with the signal's reason once it aborts, for work that ignores its signal. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stopListening = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stopListening = onAbort(signal, () => reject(signal.reason as Error))
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    stopListening()
  }
}
