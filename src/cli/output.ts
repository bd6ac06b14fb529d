/**
 * Writes results to stdout, progress and logs to stderr, and secrets to neither. With `--json` stdout carries exactly one
 * JSON document.
 */

import { once } from 'node:events'
import { hasColours, redraws, type Environment } from '../config.ts'
import { CheckFailedError, type CheckOutcome } from '../model/check-outcome.ts'
import { JobtideError, EXIT, errorDocument, type ExitCode } from '../support/errors.ts'
import type { Logger, Scrubber } from '../support/logger.ts'
import { countText } from '../support/numbers.ts'
import { stackOf } from '../support/stack.ts'
import { escapedJson, printable, printableLines } from '../support/text.ts'
import {
  coloured,
  plain,
  reportDocument,
  reportText,
  tableText,
  wrapLines,
  type Paint,
  type Report,
  type Result,
} from './report.ts'

export type Output = ReturnType<typeof streamOutput>

const NARROWEST = 60
const DEFAULT_COLUMNS = 80
const DEFAULT_ROWS = 24
const [CURSOR_HOME, CLEAR_LINE, CLEAR_BELOW] = ['\u001b[H', '\u001b[K', '\u001b[J']

/** The output streams: those of the process, or a test's own. */
export interface Streams {
  readonly stdout: OutputStream
  readonly stderr: OutputStream
}

type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/**
 * @param environment of the process
 * @param log where it is given, what else stands on stderr is lines of it
 */
export function streamOutput(
  json: boolean,
  scrubber: Scrubber,
  streams: Streams,
  environment: Environment,
  log: Logger | null = null,
) {
  const { stdout, stderr } = streams
  const out = (text: string) => stdout.write(scrubber.scrub(text))
  const err = (text: string) => stderr.write(scrubber.scrub(text))
  const width = () => Math.max(NARROWEST, stdout.columns ?? DEFAULT_COLUMNS)
  const columns = width()
  const paintOf = ({ isTTY = false }: OutputStream) =>
    hasColours(environment, isTTY) ? coloured : plain
  const [paint, errPaint] = [paintOf(stdout), paintOf(stderr)]
  const isTerminal = stderr.isTTY === true && redraws(environment)
  const stderrColumns = isTerminal ? Math.max(NARROWEST, stderr.columns ?? 0) : columns
  let isStreamed = false
  let isUnread = false
  stdout.once('error', () => {
    isUnread = true
  })
  /** Reports a problem on stderr for a command that still has a result. */
  const problem = (error: unknown): void => {
    if (log === null) err(describeProblem(error, stderrColumns, isTerminal, errPaint))
    else log.error({ ...errorDocument(error), ...stackOfDefect(error) }, 'failed')
  }
  return {
    json,
    /** True when stderr is a terminal: progress may then redraw a line. */
    isTerminal,
    columns,
    /** The colours for stderr. */
    paint: errPaint,
    /** True when stdout is a terminal on which a result can be drawn again. */
    canRedraw: stdout.isTTY === true && redraws(environment) && !json,
    /** Redraws a result in place of the previous one, cut to the height of the terminal. */
    redraw(report: Report): void {
      const lines = reportText(report, width(), paint).split('\n')
      const room = Math.max(1, (stdout.rows ?? DEFAULT_ROWS) - 1)
      const text = lines.slice(0, room).map((line) => `${line}${CLEAR_LINE}\n`)
      out(`${CURSOR_HOME}${text.join('')}${CLEAR_BELOW}`)
    },
    /** The result of a command: text for people, with `--json` one document for programs. */
    report(report: Report): void {
      out(`${json ? jsonText(reportDocument(report)) : reportText(report, columns, paint)}\n`)
    },
    /**
     * Writes a part of a long result, unchanged unless a terminal shows it. Resolves when there is room for the next
     * part; false when the reader is gone, or `signal` aborts first.
     */
    async stream(text: string, signal: AbortSignal): Promise<boolean> {
      isStreamed = true
      const shown = stdout.isTTY === true ? printableLines(text) : text
      if (!isUnread && !signal.aborted && !out(shown)) await room(stdout, signal)
      return !isUnread && !signal.aborted
    },
    note(text: string): void {
      if (log === null) err(`${printableLines(text)}\n`)
      else log.info({ text }, 'note')
    },
    /** Characters on stderr as they are: a log line with its end, or the line that progress redraws. */
    write: (text: string): void => void err(text),
    problem,
    /** Ends a command without a result: reports the problem, also as JSON if requested. Returns the exit code. */
    failure(error: unknown): ExitCode {
      // A second document after a partial one would help no reader: the cut document shows the failure.
      if (json && !isStreamed)
        out(`${jsonText(reportDocument({ data: { error: errorDocument(error) } }))}\n`)
      problem(error)
      return error instanceof JobtideError ? error.exitCode : EXIT.defect
    },
  }
}

/** Writes the result of a command. Returns the exit code. */
export function conclude(output: Output, result: Result): ExitCode {
  if (typeof result === 'number') return result
  const { problem = null } = result
  output.report(result)
  if (problem !== null) output.problem(problem)
  return result.exitCode ?? problem?.exitCode ?? EXIT.done
}

function stackOfDefect(error: unknown): object {
  return error instanceof Error && !(error instanceof JobtideError) ? { stack: stackOf(error) } : {}
}

function jsonText(value: object): string {
  return escapedJson(JSON.stringify(value))
}

/** Resolves when stdout takes more, fails or ends, or `signal` aborts. */
async function room(stdout: NodeJS.WritableStream, signal: AbortSignal): Promise<void> {
  const isOver = new AbortController()
  const options = { signal: AbortSignal.any([signal, isOver.signal]) }
  const events = ['drain', 'close'].map((event) => once(stdout, event, options))
  await Promise.race(events).catch(() => undefined)
  isOver.abort()
}

/**
 * Formats a problem and its hint for people. On a terminal it is wrapped; elsewhere the sentence and the hint are a
 * line each.
 */
export function describeProblem(
  error: unknown,
  columns: number,
  isTerminal: boolean,
  paint: Paint = plain,
): string {
  const known = error instanceof JobtideError ? error : null
  if (known === null || known.exitCode === EXIT.defect) {
    const stack = error instanceof Error ? stackOf(error) : String(error)
    return `${paint('error', 'jobtide:')} ${oneProblem(stack)}\n  → ${printable(known?.hint ?? DEFECT_HINT)}\n`
  }
  const failed = known instanceof CheckFailedError ? known.failed : []
  const lines = [
    `jobtide: ${oneProblem(known.message)}`,
    ...failed.map((outcome) => outcomeText(outcome, columns)),
    ...(known.hint === undefined ? [] : [`  → ${printable(known.hint)}`]),
  ].join('\n')
  const shown = isTerminal ? wrapLines(lines, columns) : lines
  return `${shown.replace(/^jobtide:/, (name) => paint('error', name))}\n`
}

const DEFECT_HINT =
  'This is a defect in Jobtide. Nothing that was bought is lost. Please report it with this text.'

const INDENT = '    '

// Text from a service or a file is shown, but cannot move the cursor or imitate a line of Jobtide.
function oneProblem(message: string): string {
  return printableLines(message).replaceAll(/\n(?!\n|$| {4}at )/g, `\n${INDENT}`)
}

/** A failed check with its offending rows below it, up to `width` characters wide. */
function outcomeText({ name, offenders, sample }: CheckOutcome, width: number): string {
  const more = offenders > sample.length ? `, the first ${sample.length} of them` : ''
  const heads = Object.keys(sample[0] ?? {})
  const cells = sample.map((row) => heads.map((column) => valueText(row[column])))
  const kinds = heads.map(() => 'text' as const)
  const table = tableText({ heads, kinds, cells }, width - INDENT.length)
  const lines = table.split('\n').map((line) => `${INDENT}${line}`)
  return [`  ${printable(name)}: ${countText(offenders, 'row')}${more}`, ...lines].join('\n')
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
