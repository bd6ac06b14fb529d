/** A value that must not be printed: printing it by accident shows `[redacted]`. */

import { inspect } from 'node:util'

/** Only reveal() gives the secret out. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The secret itself. Call it only where the value is sent to its destination. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[redacted]'
  }

  toJSON(): string {
    return '[redacted]'
  }

  [inspect.custom](): string {
    return '[redacted]'
  }
}
