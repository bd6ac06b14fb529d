/**
 * Splits a delivery of a signal into its activities. The engine holds several times the bytes of up to 2,048 documents
 * at once to read a list, and a delivery of 1,200 activities has 1.4 MB. Pure.
 */

import { sha256Hex } from '../support/hash.ts'
import { jsonOrNull } from '../support/json.ts'

/**
 * Makes a row for each of its `changes`, with the fields around them; a delivery without such a list makes one row. An
 * id depends on the content rather than its position, so that rows are the same whatever else was erased.
 * @param id the delivery, or a row of it
 */
export function rowsOfDelivery(id: string, body: string): { request_id: string; body: string }[] {
  const whole = [{ request_id: id, body }]
  const delivery = jsonOrNull(body)
  if (delivery === null || typeof delivery !== 'object' || !('changes' in delivery)) return whole
  const { changes } = delivery
  // A delivery with both is not the service's.
  if (!Array.isArray(changes) || 'profiles' in delivery) return whole
  const bodyOf = (list: readonly unknown[]) => JSON.stringify({ ...delivery, changes: list })
  try {
    // Each row repeats the fields around them. If these are longer than the changes, the delivery is not the service's
    // either.
    if (bodyOf([]).length * changes.length > body.length) return whole
    const [ofDelivery] = id.split('-', 1)
    return changes.map((change: unknown) => {
      const text = bodyOf([change])
      return { request_id: `${ofDelivery}-${sha256Hex(text).slice(0, 16)}`, body: text }
    })
  } catch (error) {
    // A value that is nested deeper than the stack can be read but not written.
    if (error instanceof RangeError) return whole
    throw error
  }
}
