/**
 * Paging must end. A page that repeats for ever, or empty pages that promise more, would be bought until the budget is
 * gone; the guard stops within three pages and names the cause.
 */

import { EXIT, JobtideError } from '../support/errors.ts'
import type { BoughtPage } from './page-buyer.ts'

const IN_A_ROW_MAX = 3

/** Watches the pages of one slice. */
export class PagingGuard {
  readonly #sliceId: string
  #empty = 0
  #same = 1
  #lastFingerprint = ''

  constructor(sliceId: string) {
    this.#sliceId = sliceId
  }

  /**
   * Looks at the next page of the slice.
   * @throws JobtideError (exit 5) at the third page in a row that is empty but promises more, or that has the same
   * events as the one before: twice can happen when exactly a page of new events arrives in between, three times not
   */
  look(number: number, page: BoughtPage): void {
    this.#empty = page.events === 0 && page.hasMore ? this.#empty + 1 : 0
    this.#same = page.events > 0 && page.fingerprint === this.#lastFingerprint ? this.#same + 1 : 1
    this.#lastFingerprint = page.fingerprint
    if (this.#empty >= IN_A_ROW_MAX) this.#stop(number, 'empty pages promise more')
    if (this.#same >= IN_A_ROW_MAX) this.#stop(number, 'pages are the same')
  }

  #stop(number: number, what: string): never {
    throw new JobtideError(
      EXIT.unavailable,
      `slice ${this.#sliceId}: ${IN_A_ROW_MAX} ${what} in a row, up to page ${number}`,
      {
        hint: 'The service pages without end: report it to the provider. What was bought is kept.',
      },
    )
  }
}
