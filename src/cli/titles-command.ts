/** `titles`: how titles, or changes of title, are understood. Needs no warehouse and no key. */

import { readFileSync } from 'node:fs'
import { stdin } from 'node:process'
import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { ConfigError, EXIT, whyUnread, type ExitCode } from '../support/errors.ts'
import { csvLine } from '../support/text.ts'
import { compareTitles } from '../titles/compare.ts'
import { ladders } from '../titles/ladders.ts'
import { understandTitle } from '../titles/understand.ts'
import type { Context } from './context.ts'
import type { TitlesFormat } from './options.ts'
import { parseTitles, type TitlesInput } from './titles-input.ts'

/** Options of `titles`. */
export interface TitlesOptions {
  readonly format: TitlesFormat
  /** The ladder of config/ladders.yaml to read them by; absent: the general one. */
  readonly ladder?: string
}

type Row = Readonly<Record<string, string | number | boolean | null>>

const STANDARD_INPUT = '-'
// Often enough for a bar that moves, seldom enough not to cost anything.
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
  const total = input.kind === 'titles' ? input.titles.length : input.pairs.length
  let done = 0
  for (const row of rowsOf(input, options.ladder)) {
    const text = asJson ? `${done === 0 ? '[' : ',\n'}${JSON.stringify(row)}` : csvRow(row, done)
    if (!(await output.stream(text, stop))) break
    done += 1
    if (done % ROWS_BETWEEN_STEPS !== 0 && (done < total || total < ROWS_BETWEEN_STEPS)) continue
    progress.show({ stage: 'titles', done, total })
    // Lets what was written go out and a Ctrl-C come in.
    await clock.sleep(1)
  }
  stop.throwIfAborted()
  if (asJson) await output.stream(']\n', stop)
  progress.stop()
  return EXIT.done
}

function* rowsOf(input: TitlesInput, ladder: string | undefined): Generator<Row> {
  if (input.kind === 'pairs') {
    for (const [previous, current] of input.pairs) {
      const { label, confidence, rule } = compareTitles(previous, current, ladder)
      yield { previous, current, label, confidence, rule }
    }
    return
  }
  for (const title of input.titles) {
    const read = understandTitle(title, ladder)
    const { level, rank, isManagement: is_management, core, rule, confidence } = read
    yield { title, level, rank, is_management, function: read.function, core, rule, confidence }
  }
}

function csvRow(row: Row, index: number): string {
  return `${index === 0 ? csvLine(Object.keys(row)) : ''}${csvLine(Object.values(row))}`
}

async function readInput(file: string, stop: AbortSignal): Promise<Uint8Array> {
  if (file === STANDARD_INPUT) {
    if (stdin.isTTY) {
      throw new ConfigError('there is no list of titles', {
        hint: 'Name a file, or pipe titles in: echo "Sr. Software Engineer" | jobtide titles',
      })
    }
    return buffer(addAbortSignal(stop, stdin)).catch((error: unknown) => {
      stop.throwIfAborted()
      throw error
    })
  }
  try {
    return readFileSync(file)
  } catch (error) {
    throw new ConfigError(`list of titles ${file}: ${whyUnread(error)}`, {
      hint: 'Name a text or CSV file, or - for standard input.',
      cause: error,
    })
  }
}

function refuseUnknownLadder(ladder: string | undefined): void {
  if (ladder === undefined || ladder === 'standard' || ladders.some(({ name }) => name === ladder))
    return
  const known = ladders.map(({ name }) => name).join(', ')
  throw new ConfigError(`there is no ladder ${ladder}`, {
    hint:
      known === ''
        ? 'config/ladders.yaml defines none; it says how to.'
        : `config/ladders.yaml defines: ${known}`,
  })
}
