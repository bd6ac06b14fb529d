/**
 * A delivery of a signal is kept activity by activity: to read a list the engine holds several times the bytes of up to 2,048
 * documents at once, and a delivery of 1,200 activities has 1.4 MB. Pure.
 */

import { sha256Hex } from '../support/hash.ts'
import { jsonOrNull } from '../support/json.ts'

/** One row of table answers. */
export interface DeliveredRow {
  readonly request_id: string
  readonly body: string
}

/**
 * A row for each of its `changes`, with what stands around them; of a delivery without such a list, one row. The ids follow from
 * what is delivered and not from its place: rows are the same whatever else was erased before or after.
 * @param id the delivery, or a row of it
 */
export function rowsOfDelivery(id: string, body: string): readonly DeliveredRow[] {
  const whole = [{ request_id: id, body }]
  const delivery = jsonOrNull(body)
  if (delivery === null || typeof delivery !== 'object' || !('changes' in delivery)) return whole
  const { changes } = delivery
  // One with both is not the service's.
  if (!Array.isArray(changes) || 'profiles' in delivery) return whole
  const bodyOf = (list: readonly unknown[]) => JSON.stringify({ ...delivery, changes: list })
  try {
    // What stands around them is repeated: where that is longer than the changes, the delivery is not the service's either.
    if (bodyOf([]).length * changes.length > body.length) return whole
    const [ofDelivery] = id.split('-', 1)
    return changes.map((change) => {
      const text = bodyOf([change])
      return { request_id: `${ofDelivery}-${sha256Hex(text).slice(0, 16)}`, body: text }
    })
  } catch (error) {
    // What is nested deeper than the stack can be read, and not written.
    if (error instanceof RangeError) return whole
    throw error
  }
}
