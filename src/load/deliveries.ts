/**
 * Splits a delivery of a signal into its activities. The engine holds several times the bytes of up to 2,048 documents
 * at once to read a list, and a delivery of 1,200 activities has 1.4 MB. Pure.
 */

import { sha256Hex } from '../support/hash.ts'
import { listsNamed } from './cut-events.ts'

/**
 * Makes a row for each of its `changes`, with the fields around them; a delivery without such a list makes one row. The
 * ids depend on the delivered content rather than its position, so that rows are the same whatever else was erased
 * before or after.
 * @param id the delivery, or a row of it
 */
export function rowsOfDelivery(id: string, body: string): { request_id: string; body: string }[] {
  const whole = [{ request_id: id, body }]
  try {
    const [spans, another] = listsNamed('changes', body)
    const first = spans?.[0]
    if (spans === undefined || another !== undefined) return whole
    // Only a comma is between them.
    const isList = spans.every(({ from }, index) => {
      const before = spans[index - 1]
      return before === undefined || body.slice(before.to, from).trim() === ','
    })
    if (!isList) return whole
    const without =
      first === undefined ? body : body.slice(0, first.from) + body.slice(spans.at(-1)?.to)
    const delivery: unknown = JSON.parse(without)
    if (delivery === null || typeof delivery !== 'object' || !('changes' in delivery)) return whole
    // A delivery with both is not the service's.
    if (!Array.isArray(delivery.changes) || 'profiles' in delivery) return whole
    const bodyOf = (list: readonly unknown[]) => JSON.stringify({ ...delivery, changes: list })
    // Each row repeats the fields around them. If these are longer than the changes, the delivery is not the service's
    // either.
    if (bodyOf([]).length * spans.length > body.length) return whole
    const [ofDelivery] = id.split('-', 1)
    // Parsed one by one, because a whole parsed delivery is four times as large.
    return spans.map(({ from, to }) => {
      const text = bodyOf([JSON.parse(body.slice(from, to))])
      return { request_id: `${ofDelivery}-${sha256Hex(text).slice(0, 16)}`, body: text }
    })
  } catch (error) {
    // A value that is nested deeper than the stack can be read but not written.
    if (error instanceof RangeError || error instanceof SyntaxError) return whole
    throw error
  }
}
