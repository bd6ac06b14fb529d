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

export class ProgressDisplay {
  readonly #output: Output
  readonly #clock: Clock
  readonly #isQuiet: boolean
  #stage = ''
  #hasEnded = false
  #beganAt = 0
  #shownAt = 0
  /** The current bar, not yet ended by a newline. */
  #bar = ''
  /** Without a terminal: how far the stage is, where no line says it yet. */
  #unsaid = ''

  constructor(output: Output, clock: Clock, isQuiet: boolean) {
    this.#output = output
    this.#clock = clock
    this.#isQuiet = isQuiet
  }

  show(progress: CommandProgress): void {
    if (this.#isQuiet) return
    const { isTerminal, columns } = this.#output
    const now = this.#clock.monotonic()
    if (progress.stage !== this.#stage || (this.#hasEnded && !isTerminal)) {
      this.stop()
      this.#stage = progress.stage
      this.#beganAt = now
      this.#shownAt = isTerminal ? Number.NEGATIVE_INFINITY : now
    }
    const step = stepOf(progress)
    this.#hasEnded = step.isEnd
    const line = printable(lineOf(this.#stage, step, now - this.#beganAt, isTerminal))
    // One column stays free: a full line would make some terminals wrap.
    if (isTerminal) this.#bar = line.length < columns ? line : `${line.slice(0, columns - 2)}…`
    else this.#unsaid = step.hasBegun ? line : ''
    const every = isTerminal ? REDRAW_EVERY_MS : LINE_EVERY_MS
    if (!step.isEnd && now - this.#shownAt < every) return
    this.#shownAt = now
    this.#unsaid = ''
    if (isTerminal) this.#draw()
    else this.#output.note(line)
  }

  /** Ends the bar that is drawn, which stays as it is. Call it before a result is printed. */
  stop(): void {
    if (this.#bar === '') return
    this.#draw()
    this.#output.write('\n')
    this.#bar = ''
    this.#stage = ''
  }

  /** Ends the display of a stage that failed: what it had done is said. */
  giveUp(): void {
    if (this.#unsaid !== '') this.#output.note(this.#unsaid)
    this.stop()
  }

  /** Clears the line of the bar for something else, such as a log line; the bar is drawn again below it. */
  makeRoom(): void {
    if (this.#bar === '') return
    this.#output.write(`\r${CLEAR_TO_END}`)
    this.#shownAt = Number.NEGATIVE_INFINITY
  }

  #draw(): void {
    this.#output.write(`\r${this.#bar}${CLEAR_TO_END}`)
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
      const ofAll =
        projection === null || isEnd
          ? ''
          : `; whole run about ${numberText(projection.expected)} (${numberText(projection.low)} to ${numberText(projection.high)})`
      const detail = `${countText(pages, 'page')}, ${countText(events, 'event')}, ${countText(credits, 'credit')}${ofAll}`
      return { fraction, isEnd, hasBegun: pages > 0, detail }
    }
    case 'load':
      return step(progress.bytesDone, progress.bytes, bytesText(progress.bytesDone))
    case 'report':
      return step(progress.done, progress.total, countText(progress.done, 'page'))
    case 'titles':
      return step(progress.done, progress.total, countText(progress.done, 'title'))
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
