/**
 * Paging must end. A service that sends pages again under other numbers, or empty pages that promise more, would be paid
 * until the budget is gone; the guard stops it within three such pages and names the cause. Pages of new events without
 * end cannot be told from a long list: those end at the page cap.
 */

import { decodeMarks } from '../journal/page-keys.ts'
import type { TakenPage } from '../journal/slice-history.ts'
import { EXIT, JobtideError } from '../support/errors.ts'

const EMPTY_MAX = 3
// A page can come again once when exactly a page of new events arrives above it, but hardly twice.
const COPIES_MAX = 2
const REPEATS_MAX = 3

/** Watches the pages of one slice, for as long as one process reads it: what came in since an earlier day is no fault. */
export class PagingGuard {
  readonly #sliceId: string
  /** Page by event, and version, that was on it first. */
  readonly #pageOf = new Map<string, number>()
  /** Pages with the same events, by the first of them. */
  readonly #copies = new Map<number, Set<number>>()
  readonly #repeats = new Set<number>()
  #empty = 0

  constructor(sliceId: string) {
    this.#sliceId = sliceId
  }

  /** Whether paging looks odd: then only the next page may be asked for. */
  isSuspicious(): boolean {
    return this.#empty > 0 || this.#repeats.size > 0
  }

  /**
   * Looks at a page of the slice. The same page asked for again is no repeat.
   * @throws JobtideError (exit 5) at the third empty page in a row that promises more, at the third page that is the same
   * as another, and at the third that only has events of other pages
   */
  look(page: TakenPage): void {
    this.#empty = page.events === 0 && page.hasMore ? this.#empty + 1 : 0
    if (this.#empty >= EMPTY_MAX) this.#stop(`${EMPTY_MAX} empty pages promise more`, page)
    const first = this.#firstOfItsEvents(page)
    if (first === null || first === page.page) return
    this.#repeats.add(page.page)
    const copies = this.#copies.get(first) ?? new Set()
    this.#copies.set(first, copies.add(page.page))
    if (copies.size >= COPIES_MAX) this.#stop(`${COPIES_MAX + 1} pages are the same`, page)
    if (this.#repeats.size < REPEATS_MAX) return
    this.#stop(`${REPEATS_MAX} pages repeat what was on others`, page)
  }

  /** Another page that has the first event of this one, when all events of this one were on other pages. */
  #firstOfItsEvents({ page, keys }: TakenPage): number | null {
    const pages = decodeMarks(keys ?? '').map(({ key, detectedAt }) => {
      const event = `${key} ${detectedAt}`
      const known = this.#pageOf.get(event)
      if (known === undefined) this.#pageOf.set(event, page)
      return known
    })
    const isRepeat = pages.length > 0 && pages.every((of) => of !== undefined && of !== page)
    return isRepeat ? (pages[0] ?? null) : null
  }

  #stop(what: string, { page }: TakenPage): never {
    throw new JobtideError(
      EXIT.unavailable,
      `slice ${this.#sliceId}: ${what}, the last of them page ${page}`,
      {
        hint: 'The service pages without end: report it to the provider. What was bought is kept.',
      },
    )
  }
}
