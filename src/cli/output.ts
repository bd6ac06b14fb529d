/**
 * Writes results to stdout, progress and logs to stderr, and secrets to neither. With `--json` stdout carries exactly one
 * JSON document.
 */

import { once } from 'node:events'
import { hasColours, redraws, type Environment } from '../config.ts'
import { CheckFailedError, type CheckOutcome } from '../model/check-outcome.ts'
import type { Step as SnapshotStep } from '../publish/scratch.ts'
import type { RunProgress } from '../run/stages.ts'
import type { Clock } from '../support/clock.ts'
import { JobtideError, EXIT, errorDocument, type ExitCode } from '../support/errors.ts'
import type { Logger, Scrubber } from '../support/logger.ts'
import { bytesText, countText, durationText, numberText } from '../support/numbers.ts'
import { stackOf } from '../support/stack.ts'
import { escapedJson, printable, printableLines } from '../support/text.ts'
import { SECOND } from '../support/units.ts'
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

/** Progress of a stage, of reading a list of titles, or of steps over a snapshot. */
export type CommandProgress =
  RunProgress | ({ readonly stage: 'report' | 'titles' | 'verify' | 'restore' } & SnapshotStep)

// Without a terminal, one line every ten seconds is enough for a log.
const LINE_EVERY_MS = 10 * SECOND
const STAGE_WIDTH = 8
const BAR_WIDTH = 12
const REDRAW_EVERY_MS = 100
const CLEAR_TO_END = '\u001b[K'

/**
 * Shows a stage's progress on stderr. On a terminal one bar redraws and stays as the stage's line; elsewhere there is one
 * line when a stage ends or is given up, and one now and then during a long stage.
 */
export function progressDisplay(output: Output, clock: Clock, isQuiet: boolean) {
  const { isTerminal, columns } = output
  const every = isTerminal ? REDRAW_EVERY_MS : LINE_EVERY_MS
  let stage = ''
  let hasEnded = false
  let beganAt = 0
  let shownAt = 0
  /** The current bar, not yet ended by a newline. */
  let bar = ''
  /** Without a terminal: how far the stage is, where no line says it yet. */
  let unsaid = ''
  const draw = () => output.write(`\r${bar}${CLEAR_TO_END}`)
  /** Ends the bar that is drawn, which stays as it is. Call it before a result is printed. */
  const stop = () => {
    if (bar === '') return
    draw()
    output.write('\n')
    bar = ''
    stage = ''
  }
  return {
    show(progress: CommandProgress): void {
      if (isQuiet) return
      const now = clock.monotonic()
      if (progress.stage !== stage || (hasEnded && !isTerminal)) {
        stop()
        stage = progress.stage
        beganAt = now
        shownAt = isTerminal ? Number.NEGATIVE_INFINITY : now
      }
      const step = stepOf(progress)
      hasEnded = step.fraction === 1
      // The first of a few long lists can have cost many pages before it is read.
      const hasBegun = progress.stage === 'extract' ? progress.pages > 0 : step.fraction > 0
      const line = printable(lineOf(stage, step, now - beganAt, isTerminal))
      // One column stays free: a full line would make some terminals wrap.
      if (isTerminal) bar = line.length < columns ? line : `${line.slice(0, columns - 2)}…`
      else unsaid = hasBegun ? line : ''
      if (!hasEnded && now - shownAt < every) return
      shownAt = now
      unsaid = ''
      if (isTerminal) draw()
      else output.note(line)
    },
    stop,
    /** Ends the display of a stage that failed: what it had done is said. */
    giveUp(): void {
      if (unsaid !== '') output.note(unsaid)
      stop()
    },
    /** Clears the line of the bar for something else, such as a log line; the bar is drawn again below it. */
    makeRoom(): void {
      if (bar === '') return
      output.write(`\r${CLEAR_TO_END}`)
      shownAt = Number.NEGATIVE_INFINITY
    },
  }
}

export type ProgressDisplay = ReturnType<typeof progressDisplay>

interface Step {
  /** Of the whole stage, 0 to 1; 1 is its end. Never goes back while the work is what it was thought to be. */
  readonly fraction: number
  readonly detail: string
}

function lineOf(stage: string, { fraction, detail }: Step, elapsedMs: number, hasBar: boolean) {
  const done = Math.floor(BAR_WIDTH * fraction)
  const bar = hasBar ? `${'█'.repeat(done)}${'░'.repeat(BAR_WIDTH - done)} ` : ''
  const percent = `${Math.floor(100 * fraction)}%`.padStart(4)
  const took = fraction === 1 ? ` in ${durationText(elapsedMs)}` : ''
  return `${stage.padEnd(STAGE_WIDTH)} ${bar}${percent}  ${detail}${took}`
}

export function stepOf(progress: CommandProgress): Step {
  switch (progress.stage) {
    case 'extract': {
      const { fraction, pages, events, credits, projection } = progress
      const bought = `${countText(pages, 'page')}, ${countText(events, 'event')}, ${countText(credits, 'credit')}`
      const { expected = 0, low = 0, high = 0 } = projection ?? {}
      const ofAll = `; whole run about ${numberText(expected)} (${numberText(low)} to ${numberText(high)})`
      return { fraction, detail: projection === null || fraction === 1 ? bought : bought + ofAll }
    }
    case 'load':
      return step(progress.bytesDone, progress.bytes, bytesText(progress.bytesDone))
    case 'build': {
      const { done, total, name, rowsChanged } = progress
      const changed = rowsChanged === undefined ? '' : `, ${countText(rowsChanged, 'row')} changed`
      return step(done, total, `${done < total ? name : `${total} models and checks`}${changed}`)
    }
    case 'publish': {
      const { phase, done, total, name } = progress
      // Every table is written before the first file goes up: each phase is half of the stage.
      if (phase === 'export') return step(done, 2 * total, name)
      const detail = done >= total ? countText(total, 'file') : name.split('/', 2).join('/')
      return step(total + done, 2 * total, detail)
    }
    case 'forget':
    case 'backup':
    case 'export':
    case 'report':
    case 'titles':
    case 'verify':
    case 'restore':
      return step(progress.done, progress.total, progress.name)
  }
}

function step(done: number, total: number, detail: string): Step {
  return { fraction: total === 0 ? 1 : Math.min(1, done / total), detail }
}
