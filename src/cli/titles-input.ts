/** A list of titles, or of changes of title, as people keep it: one title a line, or CSV with a header. Pure. */

import { parse } from 'csv-parse/sync'
import { ConfigError, messageOf } from '../support/errors.ts'
import { decodeText } from '../support/text.ts'

/** What a file asks about: titles, or pairs of titles of one person, one after the other. */
export type TitlesInput =
  | { readonly kind: 'titles'; readonly titles: readonly string[] }
  | { readonly kind: 'pairs'; readonly pairs: readonly (readonly [string, string])[] }

const DELIMITERS = [',', ';', '\t'] as const
const HEADER_HINT =
  'Write one title a line, or CSV whose first line names a column "title", or "previous" and "current".'

/**
 * Reads a list of titles. A first line that names a column `title`, or `previous` and `current`, makes it CSV, with
 * commas, semicolons or tabs; any other file has a title a line, blank lines aside.
 * @param bytes the file: UTF-8, or UTF-16 with a byte order mark
 * @param file name for messages
 * @throws ConfigError naming file and line when the CSV is broken, or when there is no title
 */
export function parseTitles(bytes: Uint8Array, file: string): TitlesInput {
  const text = decodeText(bytes).replace(/^\s+/, '')
  const header = headerOf(text)
  const input = header === null ? titleLines(text) : csvRows(text, header, file)
  const count = input.kind === 'titles' ? input.titles.length : input.pairs.length
  if (count > 0) return input
  throw new ConfigError(`${file}: there is no title in it`, { hint: HEADER_HINT })
}

function titleLines(text: string): TitlesInput {
  const titles = text.split(/\r\n|\r|\n/).map((line) => line.trim())
  return { kind: 'titles', titles: titles.filter((title) => title !== '') }
}

interface Header {
  readonly columns: readonly string[]
  readonly delimiter: string
}

function headerOf(text: string): Header | null {
  const [line = ''] = text.split(/\r\n|\r|\n/, 1)
  const delimiter = DELIMITERS.find((one) => line.includes(one)) ?? ','
  const columns = line.split(delimiter).map((name) =>
    name
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .toLowerCase(),
  )
  const isHeader =
    columns.includes('title') || (columns.includes('previous') && columns.includes('current'))
  return isHeader ? { columns, delimiter } : null
}

function csvRows(text: string, { columns, delimiter }: Header, file: string): TitlesInput {
  const rows: string[][] = []
  const read = (cells: string[], { lines }: { lines: number }) => {
    if (columns.length === 1) {
      // One column needs no quotes: "Account Executive, EMEA" is one title.
      rows.push([cells.join(delimiter)])
    } else if (cells.length === columns.length) {
      rows.push(cells)
    } else {
      throw new ConfigError(
        `${file}:${lines}: ${cells.length} cells, but the first line names ${columns.length} columns`,
        { hint: 'Put a title with a comma in it into double quotes.' },
      )
    }
    return null
  }
  try {
    parse(text, {
      delimiter,
      bom: true,
      from_line: 2,
      skip_empty_lines: true,
      relax_column_count: true,
      on_record: read,
    })
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${file}: not CSV: ${messageOf(error)}`, {
      hint: 'Close every quote, and write a quote inside a title twice.',
      cause: error,
    })
  }
  const column = (name: string) => {
    const at = columns.indexOf(name)
    return (row: readonly string[]) => row[at] ?? ''
  }
  if (columns.includes('title')) return { kind: 'titles', titles: rows.map(column('title')) }
  const previous = column('previous')
  const current = column('current')
  return { kind: 'pairs', pairs: rows.map((row) => [previous(row), current(row)] as const) }
}
