/**
 * A delivery of a signal is kept activity by activity: to read a list the engine holds several times the bytes of up to 2,048
 * documents at once, and a delivery of 1,200 activities has 1.4 MB. Pure.
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
    // Nothing but a comma is between them.
    const isList = spans.every(({ from }, index) => {
      const before = spans[index - 1]
      return before === undefined || body.slice(before.to, from).trim() === ','
    })
    if (!isList) return whole
    const without =
      first === undefined ? body : body.slice(0, first.from) + body.slice(spans.at(-1)?.to)
    const delivery: unknown = JSON.parse(without)
    if (delivery === null || typeof delivery !== 'object' || !('changes' in delivery)) return whole
    // One with both is not the service's.
    if (!Array.isArray(delivery.changes) || 'profiles' in delivery) return whole
    const bodyOf = (list: readonly unknown[]) => JSON.stringify({ ...delivery, changes: list })
    // The fields around them are repeated in each row: where they are longer than the changes, the delivery is not from
    // the service either.
    if (bodyOf([]).length * spans.length > body.length) return whole
    const [ofDelivery] = id.split('-', 1)
    // One by one: parsed as a whole, a delivery is four times as large.
    return spans.map(({ from, to }) => {
      const text = bodyOf([JSON.parse(body.slice(from, to))])
      return { request_id: `${ofDelivery}-${sha256Hex(text).slice(0, 16)}`, body: text }
    })
  } catch (error) {
    // A value nested deeper than the stack can be read but not written.
    if (error instanceof RangeError || error instanceof SyntaxError) return whole
    throw error
  }
}
