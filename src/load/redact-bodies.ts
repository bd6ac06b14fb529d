/**
 * Removes erased people from received bodies: from a page their events; from a list of an answer the item that names them,
 * such as one of 25 people found by a search; if an answer names them outside a list, all of it. Pure.
 */

import { parseJson } from '../api/schemas.ts'
import type { CutBody } from '../journal/erase-events.ts'
import { jsonOrNull } from '../support/json.ts'

/** The events on a page, each as sent. */
export function eventsOn(body: Buffer): readonly unknown[] {
  return eventsIn(parseJson(body))
}

function eventsIn(page: unknown): readonly unknown[] {
  const { data } = Object(page) as { readonly data?: unknown }
  return Array.isArray(data) ? data : []
}

/** Cuts the events for which `isCut` returns true out of the body of a page; null if there are none. */
export function cutEvents(body: Buffer, isCut: (event: unknown) => boolean): CutBody | null {
  const parsed = parseJson(body)
  const events = eventsIn(parsed)
  if (!events.some(isCut)) return null
  // A value that is nested too deeply can be read but not written, so it goes as well.
  const goes = events.map((event) => isCut(event) || !isWritable(event))
  const page = { ...Object(parsed), data: events.filter((_, at) => goes[at] === false) }
  const members = Object.entries(page).filter(([, value]) => isWritable(value))
  return {
    body: Buffer.from(JSON.stringify(Object.fromEntries(members))),
    places: [...goes.keys()].filter((at) => goes[at]),
    events: events.length,
  }
}

function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value)
    return true
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Whether a text, without escapes, names a person who is not kept. @param member the member with this value */
export type IsNamed = (text: string, member?: string) => boolean

/**
 * Cuts the parts of an answer that name people who are not kept.
 * @param subject the request: if it names them, the whole answer goes
 * @returns null if the answer names none of them
 */
export function cutAnswer(body: Buffer, isNamed: IsNamed, subject = ''): CutBody | null {
  const emptied = { body: Buffer.from('{}'), places: [0], events: 1 }
  if (subject !== '' && isNamed(subject)) return { ...emptied, isAbout: true }
  const { answer, taken } = taking(body, isNamed)
  if (answer.isNamed) return emptied
  if (taken.length === 0) return null
  const text = JSON.stringify(answer.value)
  return { body: Buffer.from(text), places: [...taken.keys()], events: taken.length }
}

/** The parts of an answer that name such a person: items of lists, or all of it. */
export function partsNaming(body: Buffer, isNamed: IsNamed, subject: string): readonly unknown[] {
  const { answer, taken } = taking(body, isNamed)
  const isAll = answer.isNamed || (subject !== '' && isNamed(subject))
  return isAll ? [jsonOrNull(body.toString('utf8'))] : taken
}

/**
 * An answer without the items that name such a person, these items, and whether it names the person outside its lists.
 */
function taking(body: Buffer, isNamed: IsNamed) {
  const taken: unknown[] = []

  function cut(value: unknown, member = ''): { isNamed: boolean; value: unknown } {
    if (Array.isArray(value)) {
      const kept = value.flatMap((item: unknown) => {
        const left = cut(item, member)
        if (!left.isNamed) return [left.value]
        taken.push(item)
        return []
      })
      return { isNamed: false, value: kept }
    }
    if (value === null) return { isNamed: false, value }
    if (typeof value !== 'object') {
      return { isNamed: isNamed(`${value as string | number | boolean}`, member), value }
    }
    const members = Object.entries(value).map(([name, inner]) => [name, cut(inner, name)] as const)
    return {
      isNamed: members.some(([name, inner]) => inner.isNamed || isNamed(name)),
      value: Object.fromEntries(members.map(([name, inner]) => [name, inner.value])),
    }
  }

  try {
    return { answer: cut(jsonOrNull(body.toString('utf8'))), taken }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    // An answer that is nested deeper than the stack cannot be read.
    return { answer: { isNamed: true, value: null }, taken }
  }
}
