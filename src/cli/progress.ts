/**
 * A stage's progress, always on stderr. On a terminal one bar that redraws and stays as the stage's line; elsewhere one
 * plain line when a stage ends, and one now and then while a long one goes on.
 */

import type { RunProgress } from '../run/stages.ts'
import type { Clock } from '../support/clock.ts'
import { SECOND } from '../support/units.ts'
import type { Output } from './output.ts'
import { bytesText, countText, durationText } from './text.ts'

/** Progress of a stage of a run, of reading a list of titles, or of what goes through a snapshot step by step. */
export type CommandProgress =
  | RunProgress
  | { readonly stage: 'titles'; readonly done: number; readonly total: number }
  | {
      readonly stage: 'verify' | 'restore' | 'diff' | 'forget'
      readonly name: string
      readonly done: number
      readonly total: number
    }

/** Shows progress until it is stopped. */
export interface ProgressDisplay {
  show(progress: CommandProgress): void
  /** Ends the bar that is drawn, which stays as it is. Call it before a result is printed. */
  stop(): void
  /** Clears the line of the bar for something else, such as a log line; the bar is drawn again below it. */
  makeRoom(): void
}

// Elsewhere than on a terminal a line every ten seconds tells a log reader enough.
const LINE_EVERY_MS = 10 * SECOND
const STAGE_WIDTH = 8
const BAR_WIDTH = 12
const REDRAW_EVERY_MS = 100
const CLEAR_TO_END = '\u001b[K'

/** Progress for `output`; with `quiet` nothing is shown. */
export function progressDisplay(output: Output, clock: Clock, quiet: boolean): ProgressDisplay {
  if (quiet) return { show: () => undefined, stop: () => undefined, makeRoom: () => undefined }
  return output.isTerminal ? barDisplay(output, clock) : lineDisplay(output, clock)
}

function barDisplay(output: Output, clock: Clock): ProgressDisplay {
  let stage = ''
  let beganAt = 0
  let line = ''
  let drawnAt = Number.NEGATIVE_INFINITY
  const draw = () => {
    drawnAt = clock.monotonic()
    output.progress(`\r${line}${CLEAR_TO_END}`)
  }
  const stop = () => {
    if (line === '') return
    draw()
    output.progress('\n')
    line = ''
    stage = ''
  }
  return {
    show(progress) {
      const now = clock.monotonic()
      if (progress.stage !== stage) {
        stop()
        ;({ stage } = progress)
        beganAt = now
      }
      const step = stepOf(progress)
      // One column stays free: a full line would make some terminals wrap.
      line = barLine(stage, step, now - beganAt).slice(0, output.columns - 1)
      if (step.isEnd || now - drawnAt >= REDRAW_EVERY_MS) draw()
    },
    stop,
    makeRoom() {
      if (line === '') return
      output.progress(`\r${CLEAR_TO_END}`)
      drawnAt = Number.NEGATIVE_INFINITY
    },
  }
}

function barLine(stage: string, step: Step, elapsedMs: number): string {
  const done = Math.floor(BAR_WIDTH * step.fraction)
  const bar = '█'.repeat(done) + '░'.repeat(BAR_WIDTH - done)
  return `${stage.padEnd(STAGE_WIDTH)} ${bar} ${percentText(step)}  ${detailText(step, elapsedMs)}`
}

function lineDisplay(output: Output, clock: Clock): ProgressDisplay {
  let stage = ''
  let hasEnded = false
  let beganAt = 0
  let nextAt = 0
  return {
    show(progress) {
      const now = clock.monotonic()
      if (progress.stage !== stage || hasEnded) {
        ;({ stage } = progress)
        hasEnded = false
        beganAt = now
        nextAt = now + LINE_EVERY_MS
      }
      const step = stepOf(progress)
      if (!step.isEnd && now < nextAt) return
      hasEnded = step.isEnd
      nextAt = now + LINE_EVERY_MS
      const detail = detailText(step, now - beganAt)
      output.note(`${stage.padEnd(STAGE_WIDTH)} ${percentText(step)}  ${detail}`)
    },
    stop: () => undefined,
    makeRoom: () => undefined,
  }
}

interface Step {
  /** Of the whole stage, 0 to 1; never goes back while the work is what it was thought to be. */
  readonly fraction: number
  readonly isEnd: boolean
  readonly detail: string
}

function percentText({ fraction }: Step): string {
  return `${Math.floor(100 * fraction)}%`.padStart(4)
}

function detailText(step: Step, elapsedMs: number): string {
  return step.isEnd ? `${step.detail} in ${durationText(elapsedMs)}` : step.detail
}

/** How far a stage is, in words. */
export function stepOf(progress: CommandProgress): Step {
  switch (progress.stage) {
    case 'extract': {
      const { fraction, batchesDone, batches, pages, events, credits } = progress
      const detail = `${countText(pages, 'page')}, ${countText(events, 'event')}, ${countText(credits, 'credit')}`
      return { fraction, isEnd: batchesDone >= batches, detail }
    }
    case 'load':
      return step(progress.bytesDone, progress.bytes, bytesText(progress.bytesDone))
    case 'titles':
      return step(progress.done, progress.total, countText(progress.done, 'title'))
    case 'verify':
    case 'restore':
    case 'diff': {
      const { done, total, name } = progress
      return step(done, total, done < total ? name : countText(total, 'step'))
    }
    // It goes through several things, each from its beginning to its end: which one says more than how many steps.
    case 'forget':
      return step(progress.done, progress.total, progress.name)
    case 'build': {
      const { done, total, name, rowsChanged } = progress
      const changed = rowsChanged === undefined ? '' : `, ${countText(rowsChanged, 'row')} changed`
      return step(done, total, `${done < total ? name : `${total} models and checks`}${changed}`)
    }
    case 'publish': {
      const { phase, done, total, name } = progress
      const { fraction, isEnd } = step(done, total, '')
      // Every table is written before the first file goes up: each phase is half of the stage.
      if (phase === 'export') return { fraction: fraction / 2, isEnd: false, detail: name }
      const detail = isEnd ? countText(total, 'file') : name.split('/', 2).join('/')
      return { fraction: 0.5 + fraction / 2, isEnd, detail }
    }
  }
}

function step(done: number, total: number, detail: string): Step {
  return { fraction: total === 0 ? 1 : Math.min(1, done / total), isEnd: done >= total, detail }
}
