/** Numbers in words, and lists of them: their sum, and their values in random order. */

import { DAY, HOUR, MINUTE, SECOND } from './units.ts'

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

/** A count of things and what is said of them; empty where there are none. */
export function counted(count: number, noun: string, rest: string): string {
  return count > 0 ? `${countText(count, noun)} ${rest}` : ''
}

/** Credits; an organisation's share can be a fraction: `1234.56` → `1,234.6`. */
export function creditsText(credits: number): string {
  return credits.toLocaleString('en-US', { maximumFractionDigits: 1 })
}

/** Bytes with a decimal unit: `1234567` → `1.2 MB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** A duration in milliseconds in words: `0.4 s`, `12.3 s`, `4 min`, `3 h`, `2 days`. */
export function durationText(ms: number): string {
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(1)} s`
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`
  return `${Math.round(ms / DAY)} days`
}

/** How long ago: `just now`, `4 min ago`, `2 days ago`. */
export function agoText(ms: number): string {
  return ms < MINUTE ? 'just now' : `${durationText(ms)} ago`
}

/** The first of some texts, and how many more there are. @param where the others are shown */
export function firstTexts(texts: readonly string[], most: number, where = ''): readonly string[] {
  const more = texts.length - most
  return more > 0 ? [...texts.slice(0, most), `and ${numberText(more)} more${where}`] : texts
}
