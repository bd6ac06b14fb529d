/** Finds the longest known phrase at a place in a list of words. */

/** A phrase that was found: what it stands for and how many words it takes. */
export interface FoundPhrase<T> {
  readonly value: T
  readonly length: number
}

interface Phrase<T> {
  readonly words: readonly string[]
  /** Written with a `$`: counts only at the end of its part of the title. */
  readonly atEnd: boolean
  readonly value: T
}

const LONGEST_GAP_WORDS = 3

/**
 * A function that finds the longest of `entries` at one place. In a phrase `*` stands for one to three words, `*leiter` for any
 * word with that ending (or that word itself), and a final `$` asks for the end of the part.
 */
export function phraseMatcher<T>(
  entries: readonly (readonly [phrase: string, value: T])[],
): (words: readonly string[], at: number) => FoundPhrase<T> | null {
  const byFirstWord = new Map<string, Phrase<T>[]>()
  const byEnding = new Map<string, T>()
  for (const [text, value] of entries) {
    if (text.startsWith('*')) {
      byEnding.set(text.slice(1), value)
      continue
    }
    const words = text.replace(/\$$/, '').split(' ')
    const first = words[0] ?? ''
    const phrase = { words, atEnd: text.endsWith('$'), value }
    byFirstWord.set(first, [...(byFirstWord.get(first) ?? []), phrase])
  }
  const endings = [...byEnding].toSorted(([a], [b]) => b.length - a.length)

  return (words, at) => {
    const found = (byFirstWord.get(words[at] ?? '') ?? [])
      .map((phrase) => ({ value: phrase.value, length: matchLength(phrase, words, at) }))
      .filter((match) => match.length > 0)
      .toSorted((a, b) => b.length - a.length)[0]
    if (found !== undefined) return found
    const ending = endings.find(([text]) => words[at]?.endsWith(text) === true)
    return ending === undefined ? null : { value: ending[1], length: 1 }
  }
}

/** How many words `phrase` takes at `at`; 0 when it is not there. */
function matchLength<T>(phrase: Phrase<T>, words: readonly string[], at: number): number {
  let next = at
  for (const [index, word] of phrase.words.entries()) {
    if (word !== '*') {
      if (words[next] !== word) return 0
      next += 1
      continue
    }
    const closing = phrase.words[index + 1]
    const end = words.findIndex((text, place) => place > next && text === closing)
    if (end < 0 || end - next > LONGEST_GAP_WORDS) return 0
    next = end
  }
  return phrase.atEnd && next !== words.length ? 0 : next - at
}
