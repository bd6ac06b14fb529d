/**
 * Shows a stage's progress on stderr. On a terminal one bar redraws and stays as the stage's line; elsewhere there is one
 * line when a stage ends or is given up, and one now and then during a long stage.
 */

import type { Step as SnapshotStep } from '../publish/scratch.ts'
import type { RunProgress } from '../run/stages.ts'
import type { Clock } from '../support/clock.ts'
import { countText, numberText } from '../support/numbers.ts'
import { printable } from '../support/text.ts'
import { SECOND } from '../support/units.ts'
import type { Output } from './output.ts'
import { bytesText, durationText } from './report.ts'

/** Progress of a stage, of reading a list of titles, or of steps over a snapshot. */
export type CommandProgress =
  | RunProgress
  | { readonly stage: 'report' | 'titles'; readonly done: number; readonly total: number }
  | ({ readonly stage: 'verify' | 'restore' } & SnapshotStep)

// Without a terminal, one line every ten seconds is enough for a log.
const LINE_EVERY_MS = 10 * SECOND
const STAGE_WIDTH = 8
const BAR_WIDTH = 12
const REDRAW_EVERY_MS = 100
const CLEAR_TO_END = '\u001b[K'

export type ProgressDisplay = ReturnType<typeof progressDisplay>

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
      hasEnded = step.isEnd
      const line = printable(lineOf(stage, step, now - beganAt, isTerminal))
      // One column stays free: a full line would make some terminals wrap.
      if (isTerminal) bar = line.length < columns ? line : `${line.slice(0, columns - 2)}…`
      else unsaid = step.hasBegun ? line : ''
      if (!step.isEnd && now - shownAt < every) return
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

function lineOf(stage: string, step: Step, elapsedMs: number, hasBar: boolean): string {
  const { fraction, isEnd, detail } = step
  const done = Math.floor(BAR_WIDTH * fraction)
  const bar = hasBar ? `${'█'.repeat(done)}${'░'.repeat(BAR_WIDTH - done)} ` : ''
  const percent = `${Math.floor(100 * fraction)}%`.padStart(4)
  const took = isEnd ? ` in ${durationText(elapsedMs)}` : ''
  return `${stage.padEnd(STAGE_WIDTH)} ${bar}${percent}  ${detail}${took}`
}

interface Step {
  /** Of the whole stage, 0 to 1; never goes back while the work is what it was thought to be. */
  readonly fraction: number
  readonly isEnd: boolean
  /** Whether anything is done. */
  readonly hasBegun: boolean
  readonly detail: string
}

export function stepOf(progress: CommandProgress): Step {
  switch (progress.stage) {
    case 'extract': {
      const { fraction, batchesDone, batches, pages, events, credits, projection } = progress
      const isEnd = batchesDone >= batches
      const bought = `${countText(pages, 'page')}, ${countText(events, 'event')}, ${countText(credits, 'credit')}`
      const { expected = 0, low = 0, high = 0 } = projection ?? {}
      const ofAll = `; whole run about ${numberText(expected)} (${numberText(low)} to ${numberText(high)})`
      const detail = projection === null || isEnd ? bought : `${bought}${ofAll}`
      return { fraction, isEnd, hasBegun: pages > 0, detail }
    }
    case 'load':
      return step(progress.bytesDone, progress.bytes, bytesText(progress.bytesDone))
    case 'report':
    case 'titles': {
      const what = progress.stage === 'report' ? 'page' : 'title'
      return step(progress.done, progress.total, countText(progress.done, what))
    }
    case 'forget':
    case 'backup':
    case 'export':
    case 'verify':
    case 'restore':
      return step(progress.done, progress.total, progress.name)
    case 'build': {
      const { done, total, name, rowsChanged } = progress
      const changed = rowsChanged === undefined ? '' : `, ${countText(rowsChanged, 'row')} changed`
      return step(done, total, `${done < total ? name : `${total} models and checks`}${changed}`)
    }
    case 'publish': {
      const { phase, done, total, name } = progress
      const { fraction, isEnd, hasBegun } = step(done, total, '')
      // Every table is written before the first file goes up: each phase is half of the stage.
      if (phase === 'export')
        return { fraction: fraction / 2, isEnd: false, hasBegun, detail: name }
      const detail = isEnd ? countText(total, 'file') : name.split('/', 2).join('/')
      return { fraction: 0.5 + fraction / 2, isEnd, hasBegun: true, detail }
    }
  }
}

function step(done: number, total: number, detail: string): Step {
  const fraction = total === 0 ? 1 : Math.min(1, done / total)
  return { fraction, isEnd: done >= total, hasBegun: done > 0, detail }
}
