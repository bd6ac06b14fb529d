/** What a target of fuzzing is, and what its checks say. */

import { JobtideError } from '../../src/support/errors.ts'

/** Something that reads what others wrote. */
export interface Target {
  readonly name: string
  /** Of all inputs. */
  readonly share: number
  /** Inputs that are right. */
  readonly corpus: readonly Buffer[]
  readonly dictionary: readonly string[]
  /** Reads an input; throws where it is not read as it should be. */
  check(input: Buffer): void | Promise<void>
}

/** What it gives; null where it throws an error that was promised. */
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
