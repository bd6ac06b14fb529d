/**
 * Takes events out of the body of a page and leaves every other byte as it came: written anew as JSON, numbers and texts of
 * other events could change. Pure.
 */

/** A body without some of its events. */
export interface CutBody {
  readonly body: Buffer
  /** Places of the events that were taken out, from 0, rising. */
  readonly places: readonly number[]
  /** Events that there were before. */
  readonly events: number
}

/** Takes the events out that `isCut` says, which gets each as parsed; null when it says none. */
export function cutEvents(body: Buffer, isCut: (event: unknown) => boolean): CutBody | null {
  // One character for each byte: all that structures JSON is ASCII, and no byte of a longer character looks like it.
  const text = body.toString('latin1')
  const lists = dataLists(text, body)
  const places: number[] = []
  const pieces: Buffer[] = []
  let copiedTo = 0
  let events = 0
  for (const spans of lists) {
    const kept = spans.filter(({ from, to }, index) => {
      const cut = isCut(JSON.parse(body.toString('utf8', from, to)))
      if (cut) places.push(events + index)
      return !cut
    })
    events += spans.length
    const first = spans[0]
    const last = spans.at(-1)
    if (first === undefined || last === undefined || kept.length === spans.length) continue
    pieces.push(body.subarray(copiedTo, first.from))
    for (const [index, { from, to }] of kept.entries()) {
      if (index > 0) pieces.push(Buffer.from(','))
      pieces.push(body.subarray(from, to))
    }
    copiedTo = last.to
  }
  if (places.length === 0) return null
  pieces.push(body.subarray(copiedTo))
  return { body: Buffer.concat(pieces), places, events }
}

/** Where a value stands. */
interface Span {
  readonly from: number
  readonly to: number
}

/** The elements of every list called `data` in the outermost object: written twice, the last counts, but all are kept. */
function dataLists(text: string, body: Buffer): Span[][] {
  const lists: Span[][] = []
  let at = text.indexOf('{') + 1
  for (;;) {
    const key = nextValue(text, at)
    if (key === null) return lists
    const value = nextValue(text, key.to)
    if (value === null) return lists
    const isData = JSON.parse(body.toString('utf8', key.from, key.to)) === 'data'
    if (isData && text[value.from] === '[') lists.push(elementsOf(text, value.from + 1))
    at = value.to
  }
}

function elementsOf(text: string, at: number): Span[] {
  const spans: Span[] = []
  for (let next = nextValue(text, at); next !== null; next = nextValue(text, next.to)) {
    spans.push(next)
  }
  return spans
}

const BETWEEN = /[\s,:]*/y
const PLAIN = /[^\s,\]}]+/y

/** The next value or key from `at` on; null where the object or list ends. */
function nextValue(text: string, at: number): Span | null {
  BETWEEN.lastIndex = at
  BETWEEN.exec(text)
  const from = BETWEEN.lastIndex
  const first = text[from]
  if (first === undefined || first === ']' || first === '}') return null
  if (first === '"') return { from, to: endOfText(text, from) }
  if (first === '{' || first === '[') return { from, to: endOfNested(text, from) }
  PLAIN.lastIndex = from
  PLAIN.exec(text)
  return { from, to: PLAIN.lastIndex }
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

const BRACKET_OR_QUOTE = /["[\]{}]/g

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
