/**
 * What the Delta log says of the values in a file, so that an engine can pass files over. Pure. A bound that is too wide
 * costs a reader time and one that is too narrow costs it rows, so what cannot be said exactly is left out.
 */

import type { ManifestFile, ManifestTable } from '../manifest.ts'

/** How many characters of a text a bound keeps, as in the protocol's own writers. */
const LONGEST_TEXT = 32
const LAST_CHARACTER = '\u{10FFFF}'

type Side = 'min' | 'max'
type Bound = string | number

export function fileStats(file: ManifestFile, columns: ManifestTable['schema']): string {
  // What is undefined is left out of JSON.
  const byColumn = (valueOf: (name: string, type: string) => Bound | undefined) =>
    Object.fromEntries(columns.map(({ name, type }) => [name, valueOf(name, type)]))
  return JSON.stringify({
    numRecords: file.rows,
    minValues: byColumn((name, type) => boundOf(file.min[name], type, 'min')),
    maxValues: byColumn((name, type) => boundOf(file.max[name], type, 'max')),
    // A column that is younger than the file has neither bounds nor nulls in the manifest, and is null in every row. So
    // nothing is said of a column without either: "no nulls" would make readers pass over rows that have one.
    nullCount: byColumn(
      (name) => file.nulls[name] ?? (file.min[name] === undefined ? undefined : 0),
    ),
  })
}

function boundOf(text: string | undefined, type: string, side: Side): Bound | undefined {
  if (text === undefined) return undefined
  switch (type) {
    case 'VARCHAR':
      return textBound(text, side)
    case 'TINYINT':
    case 'SMALLINT':
    case 'INTEGER':
    case 'BIGINT':
      return Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'DATE':
      return /^\d{4}-\d\d-\d\d$/.test(text) ? text : undefined
    case 'TIMESTAMP WITH TIME ZONE':
      return timeBound(text, side)
    default:
      // Not for floating-point numbers: NaN is larger than all others to some engines and in no bound.
      return undefined
  }
}

function textBound(text: string, side: Side): string | undefined {
  const characters = Array.from(text)
  const kept = characters.slice(0, LONGEST_TEXT).join('')
  if (side === 'min' || characters.length <= LONGEST_TEXT) return kept
  // Larger than everything that begins with what is kept, but for texts that go on with the last character itself.
  return characters[LONGEST_TEXT] === LAST_CHARACTER ? text : kept + LAST_CHARACTER
}

const TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:\+00)?$/

// Readers know times in statistics to the millisecond: down for the smallest, up for the largest.
function timeBound(text: string, side: Side): string | undefined {
  const found = TIME.exec(text)
  if (found === null) return undefined
  const [, day = '', time = '', fraction = ''] = found
  const micros = Number(fraction.padEnd(6, '0'))
  const whole = Date.parse(`${day}T${time}Z`)
  const millis = side === 'min' ? Math.floor(micros / 1_000) : Math.ceil(micros / 1_000)
  return new Date(whole + millis).toISOString()
}
