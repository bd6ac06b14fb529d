/** What a page of a search for companies or posts costs, in credits. */

// The price list says 10, and the service's example 5; the ledger tells which.
const PAGE = { least: 5, most: 10 }

/** Of one without results, and of an answer that says why it has none: whether they are charged is not documented. */
export const EMPTY = { least: 0, most: 10 }

/** Before it is asked for. */
export const priceOfSearch = () => PAGE

/** @param items results in it */
export const priceOfFound = (items: number) => (items === 0 ? EMPTY : PAGE)
