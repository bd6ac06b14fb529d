/** `titles`: shows how titles, or changes of title, are classified. Needs no warehouse and no key. */

import { stdin } from 'node:process'
import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { parse } from 'csv-parse/sync'
import { readNamedFile } from '../support/atomic-file.ts'
import { ConfigError, EXIT, messageOf, type ExitCode } from '../support/errors.ts'
import { csvLine, decodeText, escapedJson } from '../support/text.ts'
import { compareTitles } from '../titles/compare.ts'
import { ladders } from '../titles/ladders.ts'
import { understandTitle } from '../titles/understand.ts'
import type { Context } from './context.ts'
import type { TitlesFormat } from './options.ts'

export interface TitlesOptions {
  readonly format: TitlesFormat
  /** The ladder of config/ladders.yaml to read them by; absent: the general one. */
  readonly ladder?: string
}

type Row = Readonly<Record<string, string | number | boolean | null>>

const STANDARD_INPUT = '-'
// Often enough to move the bar, seldom enough to be cheap.
const ROWS_BETWEEN_STEPS = 5_000

/** Prints one row for each title or pair, in the order of the file. */
export async function titlesCommand(
  context: Context,
  file: string,
  options: TitlesOptions,
): Promise<ExitCode> {
  const { clock, output, progress, stop } = context
  refuseUnknownLadder(options.ladder)
  const input = parseTitles(
    await readInput(file, stop),
    file === STANDARD_INPUT ? 'standard input' : file,
  )
  const asJson = output.json || options.format === 'json'
  const total = input.length
  let done = 0
  for (const titles of input) {
    const row = rowOf(titles, options.ladder)
    const text = asJson
      ? `${done === 0 ? '[' : ',\n'}${escapedJson(JSON.stringify(row))}`
      : csvRow(row, done, options.format === 'spreadsheet')
    if (!(await output.stream(text, stop))) break
    done += 1
    if (done % ROWS_BETWEEN_STEPS !== 0 && (done < total || total < ROWS_BETWEEN_STEPS)) continue
    progress.show({ stage: 'titles', done, total })
    // Yields, so that output is flushed and a Ctrl-C is noticed.
    await clock.sleep(1)
  }
  stop.throwIfAborted()
  if (asJson) await output.stream(']\n', stop)
  return EXIT.done
}

function rowOf([title = '', current]: readonly string[], ladder: string | undefined): Row {
  if (current !== undefined) {
    const { label, confidence, rule } = compareTitles(title, current, ladder)
    return { previous: title, current, label, confidence, rule }
  }
  const read = understandTitle(title, ladder)
  const { level, rank, isManagement: is_management, core, rule, confidence } = read
  const role = { function: read.function, core, is_side_role: read.isSideRole }
  const { isAdvisory: is_advisory, isEndMarker: is_end_marker } = read
  const more = { is_advisory, is_end_marker }
  return { title, level, rank, is_management, ...role, rule, confidence, ...more }
}

function csvRow(row: Row, index: number, isForSpreadsheet: boolean): string {
  const head = index === 0 ? csvLine(Object.keys(row)) : ''
  return head + csvLine(Object.values(row), isForSpreadsheet)
}

async function readInput(file: string, stop: AbortSignal): Promise<Uint8Array> {
  if (file === STANDARD_INPUT) {
    if (stdin.isTTY) {
      throw new ConfigError('no list of titles was given', {
        hint: 'Name a file, or pipe titles in: echo "Sr. Software Engineer" | jobtide titles',
      })
    }
    return buffer(addAbortSignal(stop, stdin)).catch((error: unknown) => {
      stop.throwIfAborted()
      throw error
    })
  }
  const hint = 'Name a text or CSV file, or - for standard input.'
  return readNamedFile('list of titles', file, hint)
}

function refuseUnknownLadder(ladder: string | undefined): void {
  if (ladder === undefined || ladder === 'standard' || ladders.some(({ name }) => name === ladder))
    return
  const known = ladders.map(({ name }) => name).join(', ')
  throw new ConfigError(`there is no ladder ${ladder}`, {
    hint:
      known === ''
        ? 'config/ladders.yaml defines none; its comments say how.'
        : `config/ladders.yaml defines: ${known}`,
  })
}

/** The rows of a file: one title each, or two consecutive titles of one person. */
export type TitlesInput = readonly (readonly string[])[]

const DELIMITERS = [',', ';', '\t'] as const
const HEADER_HINT =
  'Write one title a line, or CSV whose first line names a column "title", or "previous" and "current".'

/**
 * Reads a list of titles. A first line that names a column `title`, or `previous` and `current`, makes it CSV, with
 * commas, semicolons or tabs; any other file has a title a line, blank lines aside.
 * @throws ConfigError naming file and line when the CSV is broken, or when there is no title
 */
export function parseTitles(bytes: Uint8Array, file: string): TitlesInput {
  const text = decodeText(bytes).replace(/^\s+/, '')
  const header = headerOf(text)
  const input = header === null ? titleLines(text) : csvRows(text, header, file)
  if (input.length > 0) return input
  throw new ConfigError(`${file}: there is no title in it`, { hint: HEADER_HINT })
}

function titleLines(text: string): TitlesInput {
  const titles = text.split(/\r\n|\r|\n/).map((line) => line.trim())
  return titles.filter((title) => title !== '').map((title) => [title])
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
        { hint: 'Put a title that contains a comma into double quotes.' },
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
  const names = columns.includes('title') ? ['title'] : ['previous', 'current']
  return rows.map((row) => names.map((name) => row[columns.indexOf(name)] ?? ''))
}
