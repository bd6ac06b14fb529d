/**
 * Finds the longest known phrase at a place in a list of words.
 *
 * In a phrase `*` stands for one to three words, `*leiter` for every word with that ending, a leading `^` asks that the
 * phrase begins the list, a final `$` that it ends it or that `mayFollow` the next word.
 */

import { remembered } from './memo.ts'
import { foldLetters } from './words.ts'

/** A phrase that was found: what it stands for and how many words it takes. */
export interface FoundPhrase<T> {
  readonly value: T
  readonly length: number
}

interface Entry<T> {
  readonly atStart: boolean
  readonly atEnd: boolean
  readonly value: T
}

interface Node<T> {
  readonly next: Map<string, Node<T>>
  readonly entries: Entry<T>[]
}

/** What finding may ask about the place and the rest of the title. */
export interface Place<T> {
  /** Whether a phrase with `$` may end before this word. */
  readonly endsBefore: (words: readonly string[], at: number) => boolean
  /** Whether `value` counts in this title at all. */
  readonly counts: (value: T) => boolean
}

/** Every place: phrases are found wherever they stand, and all count. */
export const ANYWHERE: Place<unknown> = { endsBefore: () => true, counts: () => true }

const LONGEST_GAP_WORDS = 3
const SHORTEST_ENDING = 2

/** A set of phrases, each with what it stands for. Of two equal phrases the one added first counts. */
export class LevelPhrases<T> {
  readonly #root: Node<T> = { next: new Map(), entries: [] }
  readonly #endings = new Map<string, T>()
  #longestEnding = 0
  readonly #valueByEnding = remembered((word) => this.#longestKnownEnding(word))

  add(phrase: string, value: T): void {
    const text = foldLetters(phrase)
    if (text.startsWith('*') && !text.includes(' ')) {
      const ending = text.slice(1)
      if (!this.#endings.has(ending)) this.#endings.set(ending, value)
      this.#longestEnding = Math.max(this.#longestEnding, ending.length)
      return
    }
    let node = this.#root
    for (const word of text.replace(/^\^|\$$/g, '').split(' ')) {
      const next = node.next.get(word) ?? { next: new Map(), entries: [] }
      node.next.set(word, next)
      node = next
    }
    const entry = { atStart: text.startsWith('^'), atEnd: text.endsWith('$'), value }
    // A phrase that asks for more goes before one that asks for less.
    const at = node.entries.findIndex((other) => asks(other) < asks(entry))
    node.entries.splice(at < 0 ? node.entries.length : at, 0, entry)
  }

  /** The longest phrase that begins at `at`; endings count where no phrase does. */
  find(words: readonly string[], at: number, place: Place<T>): FoundPhrase<T> | null {
    return this.#longest(this.#root, words, at, at, place) ?? this.#byEnding(words[at], place)
  }

  #longest(
    node: Node<T>,
    words: readonly string[],
    from: number,
    at: number,
    place: Place<T>,
  ): FoundPhrase<T> | null {
    const word = words[at]
    const next = word === undefined ? undefined : node.next.get(word)
    const longer = next && this.#longest(next, words, from, at + 1, place)
    if (longer) return longer
    const gap = at > from ? node.next.get('*') : undefined
    if (gap !== undefined) {
      for (let length = 1; length <= LONGEST_GAP_WORDS; length += 1) {
        const after = this.#longest(gap, words, from, at + length, place)
        if (after !== null && at + length < words.length) return after
      }
    }
    if (at === from) return null
    const entry = node.entries.find(
      ({ atStart, atEnd, value }) =>
        (!atStart || from === 0) &&
        (!atEnd || at === words.length || place.endsBefore(words, at)) &&
        place.counts(value),
    )
    return entry === undefined ? null : { value: entry.value, length: at - from }
  }

  #byEnding(word: string | undefined, place: Place<T>): FoundPhrase<T> | null {
    if (word === undefined || this.#longestEnding === 0) return null
    const value = this.#valueByEnding(word)
    return value !== null && place.counts(value) ? { value, length: 1 } : null
  }

  #longestKnownEnding(word: string): T | null {
    const longest = Math.min(this.#longestEnding, word.length)
    for (let length = longest; length >= SHORTEST_ENDING; length -= 1) {
      const value = this.#endings.get(word.slice(-length))
      if (value !== undefined) return value
    }
    return null
  }

  /** Whether any phrase begins with this word or any ending fits it. */
  knows(word: string): boolean {
    return this.#root.next.has(word) || this.#valueByEnding(word) !== null
  }
}

function asks<T>({ atStart, atEnd }: Entry<T>): number {
  return Number(atStart) + Number(atEnd)
}
