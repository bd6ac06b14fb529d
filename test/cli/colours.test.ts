import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { streamOutput } from '../../src/cli/output.ts'
import { coloured, reportText, table, type Report } from '../../src/cli/report.ts'
import { hasColours } from '../../src/config.ts'
import { createScrubber } from '../../src/support/logger.ts'
import { callCli } from '../helpers/run-cli.ts'

const ESCAPE = '\u001b'
const uncoloured = (text: string) => text.replaceAll(new RegExp(`${ESCAPE}\\[\\d+m`, 'g'), '')

const REPORT: Report = {
  title: 'some',
  sections: [
    table(
      'runs',
      [{ outcome: 'done' }, { outcome: 'killed' }, { outcome: 'running' }],
      [['outcome', 'outcome', 'state']],
    ),
    [
      ['coverage', 'none'],
      ['wait', 'an hour', 'warning'],
    ],
    [['not fresh', '', 'error']],
  ],
  notes: ['plain'],
}

describe('colours', () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ TERM: 'dumb' }, true, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ FORCE_COLOR: 'false' }, true, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
  ])('with %j, a terminal: %s: %s', (environment, isTerminal, expected) => {
    expect(hasColours(environment, isTerminal)).toBe(expected)
  })

  it('have one meaning each, and change no character', () => {
    const text = reportText(REPORT, 80, coloured)
    expect(uncoloured(text)).toBe(reportText(REPORT, 80))
    const colourOf = (word: string) =>
      new RegExp(`${ESCAPE}\\[(\\d+)m${word}${ESCAPE}`).exec(text)?.[1]
    const words = ['done', 'killed', 'running', 'coverage', 'wait', 'not fresh', 'plain']
    expect(words.map(colourOf)).toEqual(['32', '31', undefined, '2', '33', '31', undefined])
  })

  it('appear on a terminal, but not in a pipe, in JSON or with --no-color', async () => {
    const args = ['schema', 'nonsense']
    const colourful = async (
      more: readonly string[],
      env: Record<string, string>,
      isTerminal = true,
    ) => {
      const { stdout, stderr } = await callCli([...args, ...more], { env, isTerminal })
      return [stdout, stderr].map((text) => text.includes(`${ESCAPE}[`))
    }
    expect(await colourful([], {})).toEqual([false, true])
    expect(await colourful([], {}, false)).toEqual([false, false])
    expect(await colourful(['--no-color'], { FORCE_COLOR: '1' })).toEqual([false, false])
    expect(await colourful(['--json'], { FORCE_COLOR: '1' })).toEqual([false, true])
  })
})

it('a redrawn result begins at the first line, and fits a terminal of 5 lines', () => {
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 5 })
  const output = streamOutput(false, createScrubber(), { stdout, stderr: stdout }, {})
  expect(output.canRedraw).toBe(true)
  output.redraw(REPORT)
  const text = String(stdout.read())
  expect(text.startsWith(`${ESCAPE}[H`)).toBe(true)
  expect(text.endsWith(`${ESCAPE}[J`)).toBe(true)
  expect(text.match(/\n/g)).toHaveLength(4)
  for (const environment of [{ CI: 'true' }, { TERM: 'dumb' }]) {
    const streams = { stdout, stderr: stdout }
    expect(streamOutput(false, createScrubber(), streams, environment).canRedraw).toBe(false)
  }
})
