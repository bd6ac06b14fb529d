/** Shared by the searches of companies and posts: the envelope, and the price of a page. */

import { z } from 'zod'
import { optionalCount, pageOfList, reading, type Endpoint } from './endpoint.ts'

// The price list says 10, the service's example 5. The ledger books what credit_used says.
const PAGE = { least: 5, most: 10 }

/**
 * For a page without results, and an answer that says why it has none: the documentation does not say whether they are
 * charged.
 */
const EMPTY = { least: 0, most: 10 }

const schema = z.looseObject({
  data: z.looseObject({
    items: z.array(z.unknown()),
    total: optionalCount,
    total_pages: optionalCount,
  }),
  credit_used: z.unknown().optional(),
})

export const pricedSearch: Pick<Endpoint, 'price' | 'read'> = {
  price: () => PAGE,
  read: reading(
    { schema, isSearch: true, absent: EMPTY, otherwise: 'it has no items in data' },
    ({ data: { items, total, total_pages: pages } }, asked) => ({
      ...pageOfList(asked, items.length, total, pages),
      price: items.length === 0 ? EMPTY : PAGE,
    }),
  ),
}
