/** A stage's progress: one bar that redraws on a terminal, a plain line now and then elsewhere. Always on stderr. */

import { SingleBar } from 'cli-progress'
import { stderr } from 'node:process'
import type { Clock } from '../support/clock.ts'
import { SECOND } from '../support/units.ts'
import type { RunProgress } from '../run/stages.ts'
import type { Output } from './output.ts'
import { bytesText, countText } from './text.ts'

/** Shows progress until it is stopped. */
export interface ProgressDisplay {
  show(progress: RunProgress): void
  /** Ends the current bar or line; call it before printing anything else. */
  stop(): void
}

interface Step {
  readonly done: number
  readonly total: number
  readonly detail: string
}

// Elsewhere than on a terminal a line every ten seconds tells a log reader enough.
const LINE_EVERY_MS = 10 * SECOND
const BAR_SIZE = 24

/** Progress for `output`; with `quiet` nothing is shown. */
export function progressDisplay(output: Output, clock: Clock, quiet: boolean): ProgressDisplay {
  if (quiet) return { show: () => undefined, stop: () => undefined }
  return output.isTerminal ? barDisplay() : lineDisplay(output, clock)
}

function barDisplay(): ProgressDisplay {
  let stage = ''
  let bar: SingleBar | null = null
  const stop = () => {
    bar?.stop()
    bar = null
    stage = ''
  }
  return {
    show(progress) {
      const { done, total, detail } = stepOf(progress)
      if (progress.stage !== stage) {
        stop()
        ;({ stage } = progress)
        bar = new SingleBar({
          format: `${stage.padEnd(8)} {bar} {percentage}% {detail}`,
          barsize: BAR_SIZE,
          barCompleteChar: '█',
          barIncompleteChar: '░',
          hideCursor: true,
          stream: stderr,
          fps: 10,
        })
        bar.start(Math.max(1, total), done, { detail })
      }
      bar?.setTotal(Math.max(1, total))
      bar?.update(Math.min(done, Math.max(1, total)), { detail })
    },
    stop,
  }
}

function lineDisplay(output: Output, clock: Clock): ProgressDisplay {
  let stage = ''
  let nextAt = 0
  return {
    show(progress) {
      const { done, total, detail } = stepOf(progress)
      const isEnd = total > 0 && done >= total
      const isNew = progress.stage !== stage
      if (!isNew && !isEnd && clock.monotonic() < nextAt) return
      if (isNew && isEnd && total > 1) return
      ;({ stage } = progress)
      nextAt = clock.monotonic() + LINE_EVERY_MS
      if (isEnd) stage = `${progress.stage} ended`
      const percent = total === 0 ? 100 : Math.floor((100 * done) / total)
      output.note(`${progress.stage.padEnd(8)} ${String(percent).padStart(3)}%  ${detail}`)
    },
    stop: () => undefined,
  }
}

function stepOf(progress: RunProgress): Step {
  switch (progress.stage) {
    case 'extract': {
      const { slicesDone, slices, pages, events, credits } = progress
      const detail = `${countText(pages, 'page')}, ${countText(events, 'event')}, ${countText(credits, 'credit')}`
      return { done: slicesDone, total: slices, detail }
    }
    case 'load':
      return {
        done: progress.bytesDone,
        total: progress.bytes,
        detail: bytesText(progress.bytesDone),
      }
    case 'build':
    case 'publish':
      return {
        done: progress.done,
        total: progress.total,
        detail: progress.name.split('/', 2).join('/'),
      }
  }
}
