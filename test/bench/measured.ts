/** How long some work took, and the most memory that the process held meanwhile. */

import { MIB } from '../../src/support/units.ts'

/** The outcome of measured work. */
export interface Measured<T> {
  readonly result: T
  readonly seconds: number
  readonly peakMib: number
}

const LOOK_EVERY_MS = 50

/** Does the work and measures it. */
export async function measured<T>(work: () => Promise<T>): Promise<Measured<T>> {
  let peak = 0
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const timer = setInterval(look, LOOK_EVERY_MS)
  const began = performance.now()
  try {
    const result = await work()
    look()
    return { result, seconds: (performance.now() - began) / 1_000, peakMib: peak / MIB }
  } finally {
    clearInterval(timer)
  }
}
