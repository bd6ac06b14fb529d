/** Phrases that are looked up word by word: the longest one that begins at a place wins. */

import { remembered } from './memo.ts'

/** A phrase that was found: what it stands for and how many words it takes. */
export interface Found<T> {
  readonly value: T
  readonly length: number
}

/** A word of phrases: what ends with it, and which words follow it. */
interface Step<T> {
  found: Found<T> | null
  next: Map<string, Step<T>> | null
}

// An ending or a beginning shorter than this would be found in words of another meaning.
const SHORTEST_AFFIX = 3

/**
 * Many phrases, each standing for a value. A phrase of one word may be written `word*` (every word that begins so) or `*word`
 * (every word that ends so); a whole word goes before a beginning, a beginning before an ending, and the longer before the
 * shorter.
 */
export class PhraseBook<T> {
  readonly #first = new Map<string, Step<T>>()
  readonly #beginnings = new Map<string, Found<T>>()
  readonly #endings = new Map<string, Found<T>>()

  /** Adds a phrase; the first value that a phrase is given stays. All are added before any is looked up. */
  add(words: readonly string[], value: T): void {
    const [only = ''] = words
    if (words.length === 1 && only.endsWith('*'))
      addOnce(this.#beginnings, only.slice(0, -1), value)
    else if (words.length === 1 && only.startsWith('*'))
      addOnce(this.#endings, only.slice(1), value)
    else this.#addWhole(words, value)
  }

  #addWhole(words: readonly string[], value: T): void {
    let steps = this.#first
    for (const [index, word] of words.entries()) {
      const step = steps.get(word) ?? { found: null, next: null }
      steps.set(word, step)
      if (index === words.length - 1) step.found ??= { value, length: words.length }
      else steps = step.next ??= new Map()
    }
  }

  /** The longest phrase that begins at `at`. */
  longestAt(words: readonly string[], at: number): Found<T> | null {
    const word = words[at]
    if (word === undefined) return null
    let step = this.#first.get(word)
    let longest: Found<T> | null = null
    for (let next = at + 1; step !== undefined; next += 1) {
      longest = step.found ?? longest
      const following = words[next]
      step = following === undefined ? undefined : step.next?.get(following)
    }
    return longest ?? this.#byAffix(word)
  }

  readonly #byAffix = remembered((word: string): Found<T> | null => {
    if (this.#beginnings.size + this.#endings.size === 0) return null
    for (let length = word.length; length >= SHORTEST_AFFIX; length -= 1) {
      const found = this.#beginnings.get(word.slice(0, length))
      if (found !== undefined) return found
    }
    for (let from = 0; from <= word.length - SHORTEST_AFFIX; from += 1) {
      const found = this.#endings.get(word.slice(from))
      if (found !== undefined) return found
    }
    return null
  })
}

function addOnce<T>(found: Map<string, Found<T>>, key: string, value: T): void {
  if (!found.has(key)) found.set(key, { value, length: 1 })
}
