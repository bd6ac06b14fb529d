/**
 * Which companies of a refused question are not tracked, found with as few requests as possible. Pure: a search asks and
 * is told the answers; who sends them is not its business.
 *
 * Halving a refused set of m finds its first bad company with at most ⌈log₂ m⌉ tests. All others are then asked for, and
 * only when that is refused, too, the search goes on. What makes a search long is a company that is found while much is
 * still unknown, because the next one may be anywhere in it; so the halves are uneven: the companies that are tested
 * first have shorter ways. Of 50 companies k bad ones are found with at most 6k + 1 requests more than it takes to ask for
 * 50 good ones, that is k·⌈log₂ 50⌉ + 1.
 */

/** A question to the service; the search goes on with whether it was accepted. */
export type Inquiry<T> =
  /** Are all of these tracked? Nothing else is wanted of the answer. */
  | { readonly kind: 'test'; readonly companies: readonly T[] }
  /**
   * What is wanted, without these. When it is accepted the search is over; nothing to ask counts as accepted. `proven`
   * are those that stay out whatever comes.
   */
  | { readonly kind: 'ask'; readonly without: readonly T[]; readonly proven: readonly T[] }

/** How a search ended. */
export interface SearchResult<T> {
  /** Not tracked. */
  readonly untracked: readonly T[]
  /** False when the answers contradict each other, so that there is nothing left to search. */
  readonly consistent: boolean
}

/** A search that goes on with `next(accepted)`. */
export type UntrackedSearch<T> = Generator<Inquiry<T>, SearchResult<T>, boolean>

/** A step of a search that ends with a `Result`. */
type Step<T, Result> = Generator<Inquiry<T>, Result, boolean>

/**
 * Searches, after a question for all of these companies was refused.
 * @param suspects of which nothing is known, at most 50
 * @param trusted accepted at another time: they are looked at only when no suspect is left
 */
export function* findUntracked<T>(
  suspects: readonly T[],
  trusted: readonly T[] = [],
): UntrackedSearch<T> {
  const search = new Search<T>()
  if (suspects.length > 0 && (yield* search.among(suspects))) return search.result(true)
  // All suspects are decided, and what is left was refused all the same.
  yield* search.doubtLast()
  if (trusted.length > 0 && (yield* search.among(trusted))) return search.result(true)
  return search.result(false)
}

// Requests that one untracked company of 50 may cost: ⌈log₂ 50⌉.
const REQUESTS_EACH = 6
// In a refused set of up to 32 the next one is found with 5 tests, so that with the refused question it costs 6.
const FOUND_IN_FIVE = 32
// From how many untracked ones on, and in which share, the others are tested one by one.
const MANY = 3
const DENSE_SHARE = 1 / 3

class Search<T> {
  readonly #untracked: T[] = []
  /** The last one found, while it may still turn out to be good. */
  #unproven: T | null = null
  #good = 0
  /** Those that only bad companies cause; the question that was refused is the first. */
  #requests = 1

  result(consistent: boolean): SearchResult<T> {
    return { untracked: this.#untracked, consistent }
  }

  /** Decides about a refused set. Returns whether all that is left was accepted in the end. */
  *among(suspects: readonly T[]): Step<T, boolean> {
    let refused = suspects
    while (refused.length > 0) {
      const passengers = passengersOf(refused)
      const found = yield* this.#firstBad(refused, passengers)
      if (found.disputed.length > 0) {
        const settled = yield* this.#settle(refused, found, passengers)
        if (settled === 'accepted') return true
        refused = settled
        continue
      }
      this.#blame(found.company, found.proven)
      refused = yield* this.#oneByOne(found.rest)
      if (yield* this.#ask()) return true
    }
    return false
  }

  /** Tests alone who was blamed without a test. */
  *doubtLast(): Step<T, void> {
    if (this.#unproven === null) return
    if (yield* this.#test([this.#unproven])) this.#untracked.pop()
    this.#unproven = null
  }

  /** Halves a refused set until one company is left, that with the first place of all bad ones. */
  *#firstBad(refused: readonly T[], passengers: readonly T[] = []): Step<T, Found<T>> {
    let from = 0
    let to = refused.length
    let rest = refused
    let disputed: readonly T[] = []
    while (to - from > 1) {
      const middle = from + firstPart(to - from)
      const isRide = passengers.length > 0 && middle === rideEnd(refused)
      const part = refused.slice(from, middle)
      if (yield* this.#test(isRide ? [...part, ...passengers] : part)) {
        from = middle
        if (isRide) rest = refused.slice(0, -passengers.length)
      } else {
        disputed = isRide ? refused.slice(middle - 1, to) : []
        to = middle
      }
    }
    const company = refused[from]
    if (company === undefined) throw new RangeError('an empty set cannot have been refused')
    return { company, rest: rest.slice(from + 1), proven: to < refused.length, disputed }
  }

  /**
   * A test with passengers was refused, and of its own companies one is left. Either that one is bad, or a passenger
   * together with one of the disputed others.
   */
  *#settle(
    refused: readonly T[],
    { company, disputed }: Found<T>,
    passengers: readonly T[],
  ): Step<T, 'accepted' | readonly T[]> {
    this.#blame(company, false)
    if (yield* this.#ask()) return 'accepted'
    const others = refused.slice(refused.indexOf(company), -passengers.length)
    this.#unproven = null
    if (yield* this.#test(passengers)) return others.slice(1)
    this.#untracked.pop()
    const passenger = yield* this.#firstBad(passengers)
    this.#blame(passenger.company, true)
    const other = yield* this.#firstBad(disputed)
    this.#blame(other.company, true)
    if (yield* this.#ask()) return 'accepted'
    return [...others.slice(others.indexOf(other.company) + 1), ...passenger.rest]
  }

  // Where every second or third company is bad, a test of one alone tells as much as one of many, and finds at once. It
  // is done as long as the bound holds although it finds nothing.
  *#oneByOne(companies: readonly T[]): Step<T, readonly T[]> {
    let rest = companies
    for (let next = rest[0]; next !== undefined && this.#mayTestAlone(rest); next = rest[0]) {
      if (!(yield* this.#test([next]))) this.#blame(next, true)
      rest = rest.slice(1)
    }
    return rest
  }

  #mayTestAlone({ length }: readonly T[]): boolean {
    const found = this.#untracked.length
    const isDense = found >= MANY && found >= DENSE_SHARE * (found + this.#good)
    const spare = REQUESTS_EACH * found + (length - 1 <= FOUND_IN_FIVE ? 1 : 0) - this.#requests
    return isDense && spare > 0
  }

  #blame(company: T, proven: boolean): void {
    this.#untracked.push(company)
    this.#unproven = proven ? null : company
  }

  *#test(companies: readonly T[]): Step<T, boolean> {
    this.#requests += 1
    const accepted = yield { kind: 'test', companies }
    if (accepted) this.#good += companies.length
    return accepted
  }

  *#ask(): Step<T, boolean> {
    this.#requests += 1
    const proven = this.#untracked.filter((company) => company !== this.#unproven)
    return yield { kind: 'ask', without: [...this.#untracked], proven }
  }
}

/** What halving a refused set has found. */
interface Found<T> {
  readonly company: T
  /** Of which nothing is known yet. Those before the company are good. */
  readonly rest: readonly T[]
  /** False when all others were accepted, but no part with this one was refused. */
  readonly proven: boolean
  /** Where the last refusal may have been that of a passenger: the company and what is refused with it. */
  readonly disputed: readonly T[]
}

/**
 * How many of a refused set are tested together. Of m = 2^h − x companies the first x are found with h − 1 tests, the
 * others with h.
 */
function firstPart(size: number): number {
  const half = 2 ** (Math.ceil(Math.log2(size)) - 1)
  return Math.max(half / 2, size - half)
}

/**
 * Companies from the end that ride along in one test. Of 49 or 50, so few can be found with 5 tests that one is left which
 * takes 6 while more than 32 others are unknown, and the next would take 6 again. It comes after the last that takes 5;
 * if the test of that one is accepted with passengers, 32 unknown ones remain.
 */
function passengersOf<T>(refused: readonly T[]): readonly T[] {
  const count = 2 * refused.length - 3 * FOUND_IN_FIVE
  return count > 0 ? refused.slice(-count) : []
}

/** How many of 49 or 50 are found with 5 tests. */
function rideEnd<T>(refused: readonly T[]): number {
  return 2 * FOUND_IN_FIVE - refused.length
}
