/**
 * Takes what names people out of the answer of an endpoint: of a list the item that does, such as one of 25 people that a search
 * found; where a name stands in no list, everything. Pure.
 */

import type { CutBody } from '../journal/erase-events.ts'
import { jsonOrNull } from '../support/json.ts'

const EMPTIED = '{}'

interface Cut {
  /** Whether it is named outside of the lists in it. */
  readonly isNamed: boolean
  readonly value: unknown
}

/**
 * Cuts an answer.
 * @param isNamed whether a text, as it is without escapes, names somebody who is not kept
 * @param subject what was asked for: where that names them all of the answer goes
 * @returns null where nobody is named
 */
export function cutAnswer(
  body: Buffer,
  isNamed: (text: string) => boolean,
  subject = '',
): CutBody | null {
  if (subject !== '' && isNamed(subject)) {
    return { body: Buffer.from(EMPTIED), places: [0], events: 1, isAbout: true }
  }
  let items = 0

  function cut(value: unknown): Cut {
    if (Array.isArray(value)) {
      const kept = value.map(cut).filter((item) => !item.isNamed)
      items += value.length - kept.length
      return { isNamed: false, value: kept.map((item) => item.value) }
    }
    if (value === null || typeof value !== 'object') {
      return { isNamed: value !== null && isNamed(`${value as string | number | boolean}`), value }
    }
    const members = Object.entries(value).map(([name, member]) => [name, cut(member)] as const)
    return {
      isNamed: members.some(([name, member]) => member.isNamed || isNamed(name)),
      value: Object.fromEntries(members.map(([name, member]) => [name, member.value])),
    }
  }

  const answer = cutOrAll(() => cut(jsonOrNull(body.toString('utf8'))))
  if (!answer.isNamed && items === 0) return null
  const places = Array.from({ length: answer.isNamed ? 1 : items }, (_, place) => place)
  const text = answer.isNamed ? EMPTIED : JSON.stringify(answer.value)
  return { body: Buffer.from(text), places, events: places.length }
}

// What is nested deeper than the stack is no answer that anybody reads.
function cutOrAll(cut: () => Cut): Cut {
  try {
    return cut()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { isNamed: true, value: null }
  }
}
