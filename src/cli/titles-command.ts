/** `titles`: shows how titles, or changes of title, are classified. Needs no warehouse and no key. */

import { stdin } from 'node:process'
import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { readTable, refuseWorkbook } from '../plan/organizations.ts'
import { readNamedFile } from '../support/atomic-file.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { countText } from '../support/numbers.ts'
import { readOwnLists, useOwnLists } from '../support/own-lists.ts'
import { csvLine, decodeTable, escapedJson } from '../support/text.ts'
import { compareTitles } from '../titles/compare.ts'
import { ladders } from '../titles/ladders.ts'
import { understandTitle } from '../titles/understand.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'

type Row = Readonly<Record<string, string | number | boolean | null>>

const STANDARD_INPUT = '-'
// Often enough to move the bar, seldom enough to be cheap.
const ROWS_BETWEEN_STEPS = 5_000

/** Prints one row for each title or pair, in the order of the file. */
export async function titlesCommand(
  context: Context,
  file: string,
  options: OptionsOf<'titles'>,
): Promise<ExitCode> {
  const { clock, output, progress, stop, ownFolder } = context
  if (ownFolder !== null) useOwnLists(readOwnLists(ownFolder))
  refuseUnknownLadder(options.ladder)
  const named = file === STANDARD_INPUT ? 'standard input' : file
  const input = parseTitles(await readInput(file, stop), named)
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
    progress.show({ stage: 'titles', done, total, name: countText(done, 'title') })
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
  const names = ladders().map(({ name }) => name)
  if (ladder === undefined || ladder === 'standard' || names.includes(ladder)) return
  const known = names.length === 0 ? '' : ` It defines: ${names.join(', ')}.`
  throw new ConfigError(`there is no ladder ${ladder}`, {
    hint: `Define it in config/ladders.yaml of your project: docs/careers.md shows how.${known}`,
  })
}

/** The rows of a file: one title each, or two consecutive titles of one person. */
export type TitlesInput = readonly (readonly string[])[]

const HEADER_HINT =
  'Write one title a line, or CSV whose first line names a column "title", or "previous" and "current".'

/**
 * Reads a list of titles. A first line that names a column `title`, or `previous` and `current`, makes it a table, which is read
 * as all lists are; any other file has a title a line, blank lines aside.
 * @throws ConfigError naming file and line when the table is broken, or when there is no title
 */
export function parseTitles(bytes: Uint8Array, file: string): TitlesInput {
  refuseWorkbook(bytes, file)
  const lines = decodeTable(bytes)
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const columns = (lines[0] ?? '')
    .split(/[,;\t]/)
    .map((head) => unquoted(head.trim()).toLowerCase())
  const wanted = WANTED.find((names) => names.every((name) => columns.includes(name)))
  const input =
    wanted === undefined
      ? lines.map((title) => [title])
      : columns.length > 1
        ? tableRows(bytes, file, columns, wanted)
        : // One column needs no quotes: "Account Executive, EMEA" is one title.
          lines.slice(1).map((line) => [unquoted(line)])
  if (input.length > 0) return input
  throw new ConfigError(`${file}: there is no title in it`, { hint: HEADER_HINT })
}

const WANTED = [['title'], ['previous', 'current']]

function unquoted(text: string): string {
  const [, inside] = /^"(.*)"$/.exec(text) ?? []
  return inside?.replaceAll('""', '"') ?? text
}

function tableRows(
  bytes: Uint8Array,
  file: string,
  columns: readonly string[],
  wanted: readonly string[],
): TitlesInput {
  const hint = 'Put a title that contains a comma into double quotes, and close every quote.'
  const [, ...rows] = readTable(bytes, file, hint)
  const wrong = rows.find(({ cells }) => cells.length !== columns.length)
  if (wrong !== undefined) {
    const { cells, line } = wrong
    throw new ConfigError(
      `${file}:${line}: ${cells.length} cells, but the first line names ${columns.length} columns`,
      { hint },
    )
  }
  return rows.map(({ cells }) => wanted.map((name) => cells[columns.indexOf(name)] ?? ''))
}
