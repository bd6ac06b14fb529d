import { describe, expect, it } from 'vitest'
import type { Output } from '../../src/cli/output.ts'
import { ProgressDisplay, stepOf, type CommandProgress } from '../../src/cli/progress.ts'
import type { RunProgress } from '../../src/run/stages.ts'
import { realClock } from '../../src/support/clock.ts'
import { SECOND } from '../../src/support/units.ts'

/** Lines that a display on no terminal writes, one progress a second apart. */
function linesOf(steps: readonly CommandProgress[]): string[] {
  const lines: string[] = []
  const output = {
    isTerminal: false,
    note: (text: string) => lines.push(text),
  } as unknown as Output
  let nowMs = 0
  const display = new ProgressDisplay(output, { ...realClock, monotonic: () => nowMs }, false)
  for (const progress of steps) {
    display.show(progress)
    nowMs += SECOND
  }
  display.stop()
  return lines
}

const publish = (phase: 'export' | 'upload', done: number): RunProgress => ({
  stage: 'publish',
  phase,
  done,
  total: 2,
  name: 'tables/joiners/abc.parquet',
})

/** What a terminal of `columns` columns shows at the end: each line as it was last drawn. */
function screenOf(
  columns: number,
  work: (display: ProgressDisplay, log: () => void) => void,
): string[] {
  let written = ''
  const write = (text: string) => {
    written += text
  }
  const output = { isTerminal: true, columns, note: write, write } as unknown as Output
  let nowMs = 0
  const clock = { ...realClock, monotonic: () => (nowMs += SECOND) }
  const display = new ProgressDisplay(output, clock, false)
  work(display, () => {
    display.makeRoom()
    write('a log line\n')
  })
  display.stop()
  return written
    .split('\n')
    .map((line) => line.split('\r').at(-1)?.replaceAll('\u001b[K', '') ?? '')
    .filter((line) => line !== '')
}

describe('progress on a terminal', () => {
  const load = (bytesDone: number): RunProgress => ({ stage: 'load', bytesDone, bytes: 1_000 })

  it('is one bar for each stage, which stays, and a log line stands above the bar it interrupts', () => {
    const lines = screenOf(80, (display, log) => {
      display.show(load(500))
      log()
      display.show(load(750))
      display.show(load(1_000))
      display.show(publish('export', 1))
    })
    expect(lines).toEqual([
      'a log line',
      expect.stringMatching(/^load {5}█{12} 100% {2}1\.0 kB in [\d.]+ s$/),
      'publish  ███░░░░░░░░░  25%  tables/joiners/abc.parquet',
    ])
  })

  it('leaves the last of 60 columns free', () => {
    const extract = {
      stage: 'extract',
      fraction: 0.5,
      batchesDone: 1,
      batches: 2,
      projection: null,
      quarantined: [],
      unexpectedCharges: 0,
      clockTrouble: null,
    } as const
    const [line] = screenOf(60, (display) => {
      display.show({ ...extract, pages: 123_456, events: 6_172_800, credits: 1_234_560 })
    })
    expect(line).toHaveLength(59)
  })
})

describe('progress', () => {
  it('of a publish goes from 25 % to 100 % over its two phases and never back', () => {
    const steps = [
      publish('export', 1),
      publish('export', 2),
      publish('upload', 1),
      publish('upload', 2),
    ]
    expect(steps.map((progress) => stepOf(progress).fraction)).toEqual([0.25, 0.5, 0.75, 1])
    expect(linesOf(steps)).toEqual(['publish  100%  2 files in 3.0 s'])
  })

  it('of a load of 25 s is a line each 10 s and one at the end', () => {
    const load = (bytesDone: number): RunProgress => ({ stage: 'load', bytesDone, bytes: 2_500 })
    const steps = Array.from({ length: 26 }, (_, second) => load(second * 100))
    expect(linesOf(steps)).toEqual([
      'load      40%  1.0 kB',
      'load      80%  2.0 kB',
      'load     100%  2.5 kB in 25.0 s',
    ])
  })

  it('of a build that keeps most says how many rows it changed', () => {
    const build = (done: number): RunProgress => ({
      stage: 'build',
      done,
      total: 2,
      name: 'titles',
      rowsChanged: done * 1_000,
    })
    expect(linesOf([build(1), build(2)])).toEqual([
      'build    100%  2 models and checks, 2,000 rows changed in 1.0 s',
    ])
  })

  it('of a forgetting says which of its parts is done', () => {
    const forget = (name: string, done: number): CommandProgress => ({
      stage: 'forget',
      name,
      done,
      total: 2,
    })
    const steps = [forget('journal', 1), forget('journal', 2), forget('proof', 2)]
    expect(linesOf(steps)).toEqual([
      'forget   100%  journal in 1.0 s',
      'forget   100%  proof in 0.0 s',
    ])
  })
})
