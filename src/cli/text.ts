/** Formats numbers as words, and tables to fit a terminal. Pure. */

import Table from 'cli-table3'
import { numberText } from '../support/numbers.ts'
import { printable } from '../support/text.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../support/units.ts'

/** Credits; an organisation's share can be a fraction: `1234.56` → `1,234.6`. */
export function creditsText(credits: number): string {
  return credits.toLocaleString('en-US', { maximumFractionDigits: 1 })
}

/** An expected number: rounded, but never 0 unless it is 0. */
export function aboutText(value: number): string {
  return value > 0 && value < 1 ? '< 1' : numberText(Math.round(value))
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

/**
 * A short name of a company for narrow columns; of an address only the last part,
 * `https://network.example/company/acme/` → `…/acme`.
 */
export function companyText(askedAs: string): string {
  const last = /^https?:\/\/[^/]+\/(?:[^?#]*\/)?([^/?#]+)\/?(?:[?#].*)?$/.exec(askedAs)?.[1]
  return last === undefined ? askedAs : `…/${last}`
}

/**
 * `text` in lines of at most `width` characters where its words allow. Lines that fit stay as they are; others go on below
 * their first word, or below what follows an arrow or a label.
 */
export function wrapLines(text: string, width: number): string {
  const wrapped = text.split('\n').map((line) => {
    if (line.length <= width) return line
    const [mark = ''] = /^(?:\w+(?: \w+)? {2,}| *(?:→ )?)/.exec(line) ?? []
    const indent = ' '.repeat(mark.length)
    const parts = new RegExp(`(.{1,${Math.max(1, width - mark.length)}}|\\S+)(?:\\s+|$)`, 'g')
    return `${mark}${line.slice(mark.length).replaceAll(parts, `$1\n${indent}`)}`.trimEnd()
  })
  return wrapped.join('\n')
}

const BORDERS =
  'top bottom left right mid top-mid bottom-mid left-mid right-mid mid-mid top-left top-right bottom-left bottom-right'
const NO_LINES = {
  ...Object.fromEntries(BORDERS.split(' ').map((name) => [name, ''])),
  middle: '  ',
}
const GAP = 2
const NARROWEST_COLUMN = 8

interface TableLayout {
  /** Characters in a line; `Infinity` never cuts. */
  readonly width: number
  /** Which columns are right-aligned. */
  readonly numeric?: readonly boolean[]
  /** Which columns are never cut. */
  readonly whole?: readonly boolean[]
  /** Adds zero-width characters to a cell, such as a colour. */
  readonly painted?: (cell: string, column: number) => string
}

/**
 * A plain table without lines, numbers to the right. Where it is wider than `width` characters the widest columns are
 * cut with an ellipsis.
 */
export function tableText(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  options: TableLayout,
): string {
  const widths = fitWidths(head, rows, options)
  const table = new Table({
    head: head.map((cell, column) => cut(cell, widths[column])),
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: head.map((_, column) => (options.numeric?.[column] === true ? 'right' : 'left')),
  })
  const { painted = (cell) => cell } = options
  for (const row of rows)
    table.push(row.map((cell, column) => painted(cut(cell, widths[column]), column)))
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

function fitWidths(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { width, whole = [] }: TableLayout,
): number[] {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  let excess = widths.reduce((sum, one) => sum + one, 0) + GAP * (head.length - 1) - width
  while (excess > 0) {
    const cuttable = widths.map((one, column) => (whole[column] === true ? 0 : one))
    const current = Math.max(...cuttable)
    const widest = cuttable.indexOf(current)
    if (current <= NARROWEST_COLUMN) break
    widths[widest] = current - 1
    excess -= 1
  }
  return widths
}

/** A text from outside in at most `width` characters of one line. */
export function cut(text: string, width = Number.POSITIVE_INFINITY): string {
  const clean = printable(text)
  return clean.length <= width ? clean : `${clean.slice(0, width - 1)}…`
}
