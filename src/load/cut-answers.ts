/**
 * Removes the people named in the answer of an endpoint: from a list the item that names them, such as one of 25 people
 * that a search found; outside a list, the whole answer. Pure.
 */

import type { CutBody } from '../journal/erase-events.ts'
import { jsonOrNull } from '../support/json.ts'

const EMPTIED = '{}'

/** Whether a text, without escapes, names a person who is not kept. @param member whose value it is */
export type IsNamed = (text: string, member?: string) => boolean

interface Cut {
  /** Whether the answer names the person outside its lists. */
  readonly isNamed: boolean
  readonly value: unknown
}

/**
 * Cuts the parts of an answer that name people who are not kept.
 * @param subject the request: where it names them, the whole answer goes
 * @returns null where the answer names none of them
 */
export function cutAnswer(body: Buffer, isNamed: IsNamed, subject = ''): CutBody | null {
  if (subject !== '' && isNamed(subject)) {
    return { body: Buffer.from(EMPTIED), places: [0], events: 1, isAbout: true }
  }
  const { answer, taken } = taking(body, isNamed)
  if (!answer.isNamed && taken.length === 0) return null
  const places = Array.from({ length: answer.isNamed ? 1 : taken.length }, (_, place) => place)
  const text = answer.isNamed ? EMPTIED : JSON.stringify(answer.value)
  return { body: Buffer.from(text), places, events: places.length }
}

/** The parts of an answer that name such a person: items of lists, or the whole answer. */
export function partsNaming(body: Buffer, isNamed: IsNamed, subject: string): readonly unknown[] {
  const { answer, taken } = taking(body, isNamed)
  const isAll = answer.isNamed || (subject !== '' && isNamed(subject))
  return isAll ? [jsonOrNull(body.toString('utf8'))] : taken
}

/** An answer without the items that name such a person, and those items. */
function taking(body: Buffer, isNamed: IsNamed) {
  const taken: unknown[] = []

  function cut(value: unknown, member = ''): Cut {
    if (Array.isArray(value)) {
      const kept = value.flatMap((item: unknown) => {
        const left = cut(item, member)
        if (!left.isNamed) return [left.value]
        taken.push(item)
        return []
      })
      return { isNamed: false, value: kept }
    }
    if (value === null || typeof value !== 'object') {
      return {
        isNamed: value !== null && isNamed(`${value as string | number | boolean}`, member),
        value,
      }
    }
    const members = Object.entries(value).map(([name, inner]) => [name, cut(inner, name)] as const)
    return {
      isNamed: members.some(([name, inner]) => inner.isNamed || isNamed(name)),
      value: Object.fromEntries(members.map(([name, inner]) => [name, inner.value])),
    }
  }

  return { answer: cutOrAll(() => cut(jsonOrNull(body.toString('utf8')))), taken }
}

// An answer nested deeper than the stack cannot be read.
function cutOrAll(cut: () => Cut): Cut {
  try {
    return cut()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { isNamed: true, value: null }
  }
}
