/**
 * Phrases that are looked up word by word: the longest one that begins at a place wins.
 *
 * In a phrase `*` stands for one to three words, `*leiter` for every word with that ending, `farma*` for every word that
 * begins so, a leading `^` asks that the phrase begins the list, a final `$` that it ends it or that `endsBefore` the next word.
 */

import { remembered } from './kept.ts'

/** The meaning of the words from `at` to `end`; null where no phrase begins at `at`. */
export interface Found<T> {
  readonly value: T | null
  readonly at: number
  readonly end: number
}

interface Condition<T> {
  readonly atStart: boolean
  readonly atEnd: boolean
  readonly value: T
}

interface Node<T> {
  readonly next: Map<string, Node<T>>
  readonly entries: Condition<T>[]
}

/** The place and the rest of the title, for a match to examine. */
export interface Place<T> {
  /** Whether a phrase with `$` may end before this word. */
  readonly endsBefore: (words: readonly string[], at: number) => boolean
  /** Whether `value` counts in this title at all. */
  readonly counts: (value: T) => boolean
}

/** Every place: phrases are found anywhere, and all count. */
const ANYWHERE: Place<unknown> = { endsBefore: () => true, counts: () => true }

const LONGEST_GAP_WORDS = 3
const SHORTEST_AFFIX = 2

/**
 * A book as JSON can hold it: the values, and which of them a phrase, by its first word, a beginning or an ending stands for.
 * The phrases of a word are one text of lines, which JSON reads faster than lists.
 */
export interface PackedBook<T> {
  readonly values: readonly T[]
  readonly phrases: Readonly<Record<string, string>>
  readonly beginnings: Readonly<Record<string, number>>
  readonly endings: Readonly<Record<string, number>>
}

/** A phrase, word by word, and its value. */
export type Entry<T> = readonly [words: readonly string[], value: T]

/** Packs phrases and their values; the first value that a phrase is given stays. */
export function packBook<T>(entries: Iterable<Entry<T>>): PackedBook<T> {
  const values = new Map<T, number>()
  const phrases = emptyRecord<string>()
  const beginnings = emptyRecord<number>()
  const endings = emptyRecord<number>()
  for (const [words, value] of entries) {
    const index = values.get(value) ?? values.size
    values.set(value, index)
    const [only = ''] = words.length === 1 ? words : []
    const phrase = words.join(' ')
    if (only.endsWith('*')) beginnings[only.slice(0, -1)] ??= index
    else if (only.startsWith('*')) endings[only.slice(1)] ??= index
    else {
      const first = wordsOf(phrase)[0] ?? ''
      const line = `${index} ${phrase}`
      phrases[first] = phrases[first] === undefined ? line : `${phrases[first]}\n${line}`
    }
  }
  return { values: [...values.keys()], phrases, beginnings, endings }
}

// Without a prototype: "constructor" is a word.
function emptyRecord<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>
}

/** Finds phrases, and what they stand for. */
export class PhraseBook<T> {
  readonly #packed: PackedBook<T>

  constructor(packed: PackedBook<T>) {
    this.#packed = packed
  }

  /** The meaning of the longest phrase that begins at `at`; endings and beginnings count where no phrase does. */
  find(words: readonly string[], at = 0, place: Place<T> = ANYWHERE): T | null {
    return this.longest(words, at, place).value
  }

  longest(words: readonly string[], at: number, place: Place<T> = ANYWHERE): Found<T> {
    const begun = this.#begunBy(words[at] ?? '')
    const found = begun === null ? null : this.#longest(begun, words, at, at + 1, place)
    if (found !== null) return found
    const value = this.#byAffix(words[at] ?? '')
    return { value: value === null || place.counts(value) ? value : null, at, end: at + 1 }
  }

  /** All words, as the longest phrases from left to right. */
  scan(words: readonly string[], place: Place<T> = ANYWHERE): Found<T>[] {
    const found: Found<T>[] = []
    for (let at = 0; at < words.length; at = found.at(-1)?.end ?? words.length) {
      found.push(this.longest(words, at, place))
    }
    return found
  }

  /** Whether any phrase begins with this word or any ending or beginning fits it. */
  knows(word: string): boolean {
    return Object.hasOwn(this.#packed.phrases, word) || this.#byAffix(word) !== null
  }

  /** The phrases that begin with a word, put into a tree when the word is first met. */
  readonly #begunBy = remembered((first: string): Node<T> | null => {
    const { values, phrases } = this.#packed
    const begun = Object.hasOwn(phrases, first) ? phrases[first] : undefined
    if (begun === undefined) return null
    const root: Node<T> = { next: new Map(), entries: [] }
    for (const line of begun.split('\n')) {
      const [index = ''] = line.split(' ', 1)
      insert(root, line.slice(index.length + 1), values[Number(index)] as T)
    }
    return root.next.get(first) ?? null
  })

  #longest(
    node: Node<T>,
    words: readonly string[],
    from: number,
    at: number,
    place: Place<T>,
  ): Found<T> | null {
    const word = words[at]
    const next = word === undefined ? undefined : node.next.get(word)
    const longer = next && this.#longest(next, words, from, at + 1, place)
    if (longer) return longer
    const gap = at > from ? node.next.get('*') : undefined
    if (gap !== undefined) {
      const last = Math.min(at + LONGEST_GAP_WORDS, words.length - 1)
      for (let after = at + 1; after <= last; after += 1) {
        const found = this.#longest(gap, words, from, after, place)
        if (found !== null) return found
      }
    }
    const entry = node.entries.find(
      ({ atStart, atEnd, value }) =>
        (!atStart || from === 0) &&
        (!atEnd || at === words.length || place.endsBefore(words, at)) &&
        place.counts(value),
    )
    return entry === undefined ? null : { value: entry.value, at: from, end: at }
  }

  // The longest affix, a beginning before an ending.
  readonly #byAffix = remembered((word: string): T | null => {
    const lengths = Array.from(
      { length: word.length + 1 - SHORTEST_AFFIX },
      (_, at) => word.length - at,
    )
    const { values, beginnings, endings } = this.#packed
    const beginning = lengths.find((length) => Object.hasOwn(beginnings, word.slice(0, length)))
    if (beginning !== undefined) return values[beginnings[word.slice(0, beginning)] ?? 0] as T
    const ending = lengths.find((length) => Object.hasOwn(endings, word.slice(-length)))
    return ending === undefined ? null : (values[endings[word.slice(-ending)] ?? 0] as T)
  })
}

function wordsOf(phrase: string): string[] {
  return phrase.replace(/^\^|\$$/g, '').split(' ')
}

function insert<T>(root: Node<T>, phrase: string, value: T): void {
  let node = root
  for (const word of wordsOf(phrase)) {
    const next = node.next.get(word) ?? { next: new Map(), entries: [] }
    node.next.set(word, next)
    node = next
  }
  const entry = { atStart: phrase.startsWith('^'), atEnd: phrase.endsWith('$'), value }
  // A phrase with more conditions precedes one with fewer.
  const at = node.entries.findIndex((other) => asks(other) < asks(entry))
  node.entries.splice(at < 0 ? node.entries.length : at, 0, entry)
}

function asks<T>({ atStart, atEnd }: Condition<T>): number {
  return Number(atStart) + Number(atEnd)
}

/** The runs of items between borders; empty ones are left out. */
export function splitAt<T>(items: readonly T[], isBorder: (item: T) => boolean): T[][] {
  const runs: T[][] = [[]]
  for (const item of items) {
    if (isBorder(item)) runs.push([])
    else runs.at(-1)?.push(item)
  }
  return runs.filter((run) => run.length > 0)
}
