/** The type of a fuzzing target, and its result. */

import { JobtideError } from '../../src/support/errors.ts'

/** A reader of foreign input. */
export interface Target {
  readonly name: string
  /** The share of all inputs. */
  readonly share: number
  /** Valid inputs. */
  readonly corpus: readonly Buffer[]
  readonly dictionary: readonly string[]
  /** Reads an input; throws if it is misread. */
  check(input: Buffer): void | Promise<void>
}

/** The result; null if it throws an expected error. */
export function unlessRefused<T>(read: () => T, promised: typeof JobtideError = JobtideError) {
  try {
    return read()
  } catch (error) {
    if (error instanceof promised) return null
    throw error
  }
}

export function claim(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}
