import { describe, expect, it } from 'vitest'
import {
  progressDisplay,
  type CommandProgress,
  type Output,
  type ProgressDisplay,
} from '../../src/cli/output.ts'
import type { RunProgress } from '../../src/run/stages.ts'
import { redraws } from '../../src/config.ts'
import { realClock } from '../../src/support/clock.ts'
import { SECOND } from '../../src/support/units.ts'

/** What a display writes, on a terminal of `columns` columns or without one; each step takes a second. */
function written(
  columns: number | null,
  work: (display: ProgressDisplay, write: (text: string) => void) => void,
): string[] {
  let text = ''
  const write = (more: string) => {
    text += more
  }
  const note = (line: string) => write(`${line}\n`)
  const output = { isTerminal: columns !== null, columns, note, write } as unknown as Output
  let nowMs = 0
  const display = progressDisplay(output, { ...realClock, monotonic: () => nowMs }, false)
  const show = display.show.bind(display)
  display.show = (progress) => {
    show(progress)
    nowMs += SECOND
  }
  work(display, write)
  display.stop()
  // Each line as it was last drawn.
  const lines = text
    .split('\n')
    .map((line) => line.split('\r').at(-1)?.replaceAll('\u001b[K', '') ?? '')
  return lines.filter((line) => line !== '')
}

const linesOf = (steps: readonly CommandProgress[]) =>
  written(null, (display) => steps.forEach((progress) => display.show(progress)))
const load = (bytesDone: number, bytes: number): RunProgress => ({
  stage: 'load',
  bytesDone,
  bytes,
})
const publish = (phase: 'export' | 'upload', done: number): RunProgress => ({
  stage: 'publish',
  phase,
  done,
  total: 2,
  name: 'tables/joiners/abc.parquet',
})

describe('progress on a terminal', () => {
  it('is one bar for each stage that stays, and a log line appears above the bar that it interrupts', () => {
    const lines = written(80, (display, write) => {
      display.show(load(500, 1_000))
      display.makeRoom()
      write('a log line\n')
      display.show(load(750, 1_000))
      display.show(load(1_000, 1_000))
      display.show(publish('export', 1))
    })
    expect(lines).toEqual([
      'a log line',
      expect.stringMatching(/^load {5}█{12} 100% {2}1\.0 kB in [\d.]+ s$/),
      'publish  ███░░░░░░░░░  25%  tables/joiners/abc.parquet',
    ])
  })
})

describe('progress of a stage', () => {
  it('on a terminal of 60 columns is cut with an ellipsis, and is never redrawn on a CI server', () => {
    const pages = { pages: 3_006, events: 131_811, credits: 30_060, projection: null } as const
    const all = { stage: 'extract', fraction: 1, batchesDone: 9, batches: 9, ...pages } as const
    expect(written(60, (display) => display.show(all as CommandProgress))).toEqual([
      'extract  ████████████ 100%  3,006 pages, 131,811 events, 3…',
    ])
    expect(['1', 'true', '', 'false', undefined].map((CI) => redraws({ CI }))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ])
    expect(redraws({ TERM: 'dumb' })).toBe(false)
  })

  it('of a publish without a new file ends at 100 %', () => {
    const steps = [publish('export', 2), { ...publish('upload', 0), total: 0 } as RunProgress]
    expect(linesOf(steps)).toEqual(['publish  100%  0 files in 1.0 s'])
  })
})

describe('progress', () => {
  it('of a stage that fails is said without a terminal as well', () => {
    const pages = { pages: 2, events: 100, credits: 20, projection: null } as const
    const some = { stage: 'extract', fraction: 0.4, batchesDone: 0, batches: 1, ...pages } as const
    const steps = (fraction: number) => (display: ProgressDisplay) => {
      display.show({ ...some, fraction } as CommandProgress)
      display.giveUp()
    }
    expect(written(null, steps(0.4))).toEqual(['extract   40%  2 pages, 100 events, 20 credits'])
    // A list of many pages, with some still to be read.
    expect(written(null, steps(0))).toEqual(['extract    0%  2 pages, 100 events, 20 credits'])
  })

  it('of a load of 25 s is a line each 10 s and one at the end', () => {
    const steps = Array.from({ length: 26 }, (_, second) => load(second * 100, 2_500))
    expect(linesOf(steps)).toEqual([
      'load      40%  1.0 kB',
      'load      80%  2.0 kB',
      'load     100%  2.5 kB in 25.0 s',
    ])
  })
})
