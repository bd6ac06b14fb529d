/**
 * Paging must end. A service that sends pages again under other numbers, or pages that are nearly empty and promise more,
 * would be paid until the budget is gone; the guard stops it within three such pages and names the cause. Full pages of
 * new events without end cannot be told from a long list until it is longer than the service counts: whether that list
 * stands still is asked then (expectSameList).
 */

import { UnavailableError } from '../api/errors.ts'
import { decodeMarks } from '../journal/page-keys.ts'
import { PAGE_EVENTS, type BatchHistory, type TakenPage } from '../journal/batch-history.ts'
import { LAST_PAGE } from './request-body.ts'

// The service fills its pages, but one that leaves some events out after it has counted them ends all the same. Below half
// a page is chosen, and three in a row: one that was cut by accident is no reason to stop.
const FILLED_SHARE = 0.5
const UNFILLED_MAX = 3
// A page can come again once when exactly a page of new events arrives above it, but hardly twice.
const COPIES_MAX = 2
const REPEATS_MAX = 3
// Events that come in above push all others down, so that pages come again cut elsewhere: 1,000 at once are so many pages.
const PUSHED_MAX = 20

/** Watches the pages of one batch, for as long as one process reads it: what came in since an earlier day is no fault. */
export class PagingGuard {
  readonly #batchId: string
  /** Page by event, and version, that was on it first. */
  readonly #pageOf = new Map<string, number>()
  /** Pages with the same events, by the first of them. */
  readonly #copies = new Map<number, Set<number>>()
  readonly #repeats = new Set<number>()
  /** Those of the repeats whose events stood in the same order on two pages, one after the other. */
  readonly #pushed = new Set<number>()
  /** The latest pages in a row that promise more although they are not half full, with their events. */
  readonly #unfilled = new Map<number, number>()

  constructor(batchId: string) {
    this.#batchId = batchId
  }

  /** Paging went back: what was on the pages after `page` comes again. */
  forgetAfter(page: number): void {
    for (const [event, of] of this.#pageOf) if (of > page) this.#pageOf.delete(event)
  }

  /**
   * Looks at a page of the batch. The same page asked for again is no repeat.
   * @param limit events in a full page, as the service says; null when it does not
   * @throws JobtideError (exit 5) at the third page in a row that is not half full and promises more, at the third page that is
   * the same as another, at the third that only has events of other pages, and at the 21st where these were only pushed down
   */
  look(page: TakenPage, limit: number | null): void {
    this.#lookForRoom(page, Math.min(limit ?? PAGE_EVENTS, PAGE_EVENTS))
    const others = this.#pagesOfItsEvents(page)
    const [first] = others
    if (first === undefined) return
    this.#repeats.add(page.page)
    if (isPushedDown(others)) this.#pushed.add(page.page)
    else this.#countCopy(first, page)
    const { size } = this.#repeats
    if (size - this.#pushed.size < REPEATS_MAX && size <= PUSHED_MAX) return
    this.#stop(`${size} pages repeat what was on others`, page)
  }

  #lookForRoom(page: TakenPage, fullPage: number): void {
    if (!page.hasMore || page.events >= fullPage * FILLED_SHARE) return this.#unfilled.clear()
    this.#unfilled.set(page.page, page.events)
    const { size } = this.#unfilled
    if (size < UNFILLED_MAX) return
    const isEmpty = [...this.#unfilled.values()].every((events) => events === 0)
    this.#stop(
      `${size} ${isEmpty ? 'empty pages' : 'pages that are not half full'} promise more`,
      page,
    )
  }

  #countCopy(first: number, page: TakenPage): void {
    const copies = this.#copies.get(first) ?? new Set()
    this.#copies.set(first, copies.add(page.page))
    if (copies.size >= COPIES_MAX) this.#stop(`${COPIES_MAX + 1} pages are the same`, page)
  }

  /** The other pages that its events were on first, in their order; none when one of them is new. */
  #pagesOfItsEvents({ page, keys }: TakenPage): number[] {
    const pages = decodeMarks(keys ?? '').map(({ key, detectedAt }) => {
      const event = `${key} ${detectedAt}`
      const known = this.#pageOf.get(event)
      if (known === undefined) this.#pageOf.set(event, page)
      return known
    })
    const others = pages.flatMap((of) => (of === undefined || of === page ? [] : of))
    return others.length === pages.length ? others : []
  }

  #stop(what: string, { page }: TakenPage): never {
    throw pagingWithoutEnd(this.#batchId, `${what}, the last of them page ${page}`)
  }
}

/**
 * Looks at a page that was read before and was asked for again, of a list that is longer than the service counts. It shows
 * an event of the list that was read, also when the list has grown; only where a page of events and more left from above
 * it meanwhile it shows none, or where the service makes its pages up.
 * @throws JobtideError (exit 5) when it shows none
 */
export function expectSameList({ batch, seams }: BatchHistory, again: TakenPage): void {
  if (decodeMarks(again.keys ?? '').some(({ key }) => seams.met.has(key))) return
  throw pagingWithoutEnd(
    batch.batch_id,
    `it has more than ${LAST_PAGE} pages, and page ${again.page}, asked for again, shows only other events`,
  )
}

function pagingWithoutEnd(batchId: string, what: string): UnavailableError {
  return new UnavailableError(`batch ${batchId}: ${what}`, null, {
    hint: 'The service pages without end: report it to the provider. What was bought is kept.',
  })
}

/**
 * Whether its events stood in this order on a page and the next one: so they come again when others came in above. A
 * service that goes round in circles sends the same pages, cut as they were.
 */
function isPushedDown(pages: readonly number[]): boolean {
  const [first = 0] = pages
  return pages.at(-1) === first + 1 && pages.every((page, i) => page >= (pages[i - 1] ?? first))
}
