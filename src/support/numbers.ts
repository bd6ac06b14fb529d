/** Numbers in words, and lists of them: their sum, and their values in random order. */

export function sum(values: readonly number[]): number {
  let total = 0
  for (const value of values) total += value
  return total
}

/** The same values in random order. @param random returns a number in [0, 1) */
export function shuffled<T>(values: readonly T[], random: () => number): T[] {
  return values
    .map((value) => ({ value, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value)
}

/** `1234567` → `1,234,567`. */
export function numberText(value: number): string {
  return value.toLocaleString('en-US')
}

/** `1` → `1 page`, `1200` → `1,200 pages`; `plural` where it is not the noun and an s. */
export function countText(value: number, noun: string, plural = pluralOf(noun)): string {
  return `${numberText(value)} ${value === 1 ? noun : plural}`
}

function pluralOf(noun: string): string {
  return /(?:ch|s|x)$/.test(noun) ? `${noun}es` : `${noun}s`
}
