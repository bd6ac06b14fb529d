/**
 * Removes events from the body of a page and leaves every other byte unchanged: parsing and writing it again could
 * change numbers and texts of other events. Pure.
 */

import type { CutBody } from '../journal/erase-events.ts'

/** Removes the events for which `isCut` returns true, given each as parsed; null if there are none. */
export function cutEvents(body: Buffer, isCut: (event: unknown) => boolean): CutBody | null {
  const places: number[] = []
  const pieces: Buffer[] = []
  let copiedTo = 0
  let events = 0
  // One character for each byte: the structure of JSON is ASCII, and no byte of a longer character looks like ASCII.
  for (const spans of listsNamed('data', body.toString('latin1'))) {
    const kept = spans.filter(({ from, to }, index) => {
      const isErased = isCut(JSON.parse(body.toString('utf8', from, to)))
      if (isErased) places.push(events + index)
      return !isErased
    })
    events += spans.length
    const [first, last] = [spans[0], spans.at(-1)]
    if (first === undefined || last === undefined || kept.length === spans.length) continue
    pieces.push(body.subarray(copiedTo, first.from))
    for (const [index, { from, to }] of kept.entries()) {
      pieces.push(Buffer.from(index > 0 ? ',' : ''), body.subarray(from, to))
    }
    copiedTo = last.to
  }
  if (places.length === 0) return null
  return { body: Buffer.concat([...pieces, body.subarray(copiedTo)]), places, events }
}

/** The place of a value. */
interface Span {
  readonly from: number
  readonly to: number
}

/**
 * The elements of every list with this name in the outermost object of a JSON text. Of repeated names the last counts,
 * but all of them are in the body.
 */
export function listsNamed(name: string, text: string): Span[][] {
  const members = valuesFrom(text, text.indexOf('{') + 1)
  return members.flatMap((value, index) => {
    const named = index % 2 === 0 ? undefined : members[index - 1]
    if (named === undefined || text[value.from] !== '[') return []
    const isIt = JSON.parse(text.slice(named.from, named.to)) === name
    return isIt ? [valuesFrom(text, value.from + 1)] : []
  })
}

const BETWEEN = /[\s,:]*/y
const PLAIN = /[^\s,\]}]+/y
const BRACKET_OR_QUOTE = /["[\]{}]/g

/** The values from `at` to the end of an object or list; for an object, names and values in turn. */
function valuesFrom(text: string, at: number): Span[] {
  const spans: Span[] = []
  for (;;) {
    BETWEEN.lastIndex = spans.at(-1)?.to ?? at
    BETWEEN.exec(text)
    const from = BETWEEN.lastIndex
    const first = text[from]
    if (first === undefined || first === ']' || first === '}') return spans
    spans.push({ from, to: endOfValue(text, from) })
  }
}

function endOfValue(text: string, from: number): number {
  const first = text[from]
  if (first === '"') return endOfText(text, from)
  if (first === '{' || first === '[') return endOfNested(text, from)
  PLAIN.lastIndex = from
  PLAIN.exec(text)
  return PLAIN.lastIndex
}

/** The place after the text in quotes that begins at `from`. */
function endOfText(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return at + 1
  }
  return text.length
}

/** The place after the object or list that begins at `from`. */
function endOfNested(text: string, from: number): number {
  let depth = 0
  BRACKET_OR_QUOTE.lastIndex = from
  for (;;) {
    const match = BRACKET_OR_QUOTE.exec(text)
    if (match === null) return text.length
    if (match[0] === '"') {
      BRACKET_OR_QUOTE.lastIndex = endOfText(text, match.index)
      continue
    }
    depth += match[0] === '{' || match[0] === '[' ? 1 : -1
    if (depth === 0) return match.index + 1
  }
}
