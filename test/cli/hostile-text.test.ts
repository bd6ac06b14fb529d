/**
 * Whatever names, paths, messages and hints contain, the output has no byte that a terminal obeys and no forged line.
 */

import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { streamOutput } from '../../src/cli/output.ts'
import { reportText, table } from '../../src/cli/report.ts'
import { loadText } from '../../src/cli/run-result.ts'
import type { LoadReport } from '../../src/load/load.ts'
import { CheckFailedError } from '../../src/model/check-outcome.ts'
import { ConfigError } from '../../src/support/errors.ts'
import { createJsonLog } from '../../src/support/json-log.ts'
import { createPeopleLog, createScrubber } from '../../src/support/logger.ts'
import { HOSTILE, hostileText, obeyedIn } from '../helpers/hostile-text.ts'
import { rounds } from '../helpers/tier.ts'

const numRuns = rounds('JOBTIDE_TEXTS', 200, 5_000)

/** What an output writes to both streams, with or without a terminal. */
function written(
  isTTY: boolean,
  json: boolean,
  work: (output: ReturnType<typeof streamOutput>) => void,
) {
  let text = ''
  const stream = () => {
    const made = Object.assign(new PassThrough(), { isTTY, columns: 80 })
    made.setEncoding('utf8').on('data', () => undefined)
    made.write = (part: string) => {
      text += part
      return true
    }
    return made
  }
  const streams = { stdout: stream(), stderr: stream() }
  work(streamOutput(json, createScrubber(), streams, { NO_COLOR: '1' }))
  return text
}

const never = new AbortController().signal

describe('output', () => {
  it(`contains nothing that a terminal obeys, and forges no line of a report (${numRuns} random texts)`, () => {
    fc.assert(
      fc.property(hostileText, fc.boolean(), fc.boolean(), (text, isTTY, json) => {
        const rows = [{ name: text }, { name: text }]
        const report = {
          title: text,
          sections: [
            [[text, text] as const],
            table('rows', rows, [[text, 'name']], { shown: 1, more: text }),
          ],
          notes: [text],
          values: { text },
          data: { [text]: text },
        }
        expect(reportText(report, Infinity).split('\n')).toHaveLength(7)
        const failed = [{ name: text, offenders: 1, sample: [{ [text]: text }] }]
        const shown = written(isTTY, json, (output) => {
          output.report(report)
          output.note(text)
          output.problem(new ConfigError(text, { hint: text }))
          output.failure(new CheckFailedError(failed as never))
          output.failure(new Error(text))
          output.failure(text)
          if (isTTY) void output.stream(text, never)
          const write = (line: string) => output.write(line)
          createJsonLog('info', createScrubber(), write).info({ [text]: text }, text)
          createPeopleLog(write).warn({ [text]: text }, text)
        })
        expect(obeyedIn(shown)).toBeNull()
      }),
      { numRuns },
    )
  }, 300_000)

  it('of a problem has one first line and one hint, whatever the message says', () => {
    const shown = written(false, false, (output) => {
      output.problem(new ConfigError(HOSTILE, { hint: HOSTILE }))
      output.problem(new Error(HOSTILE))
    })
    const lines = shown.split('\n').filter((line) => line !== '')
    expect(lines.filter((line) => line.startsWith('jobtide: '))).toHaveLength(2)
    expect(lines.filter((line) => /^ {2}→/.test(line))).toHaveLength(2)
    expect(lines.filter((line) => !/^(?:jobtide: | {2}→ | {4})/.test(line))).toEqual([])
  })
})

describe('a load', () => {
  it('names 10 of 200,000 unknown fields, each in at most 60 characters', () => {
    const newUnknownFields = Array.from({ length: 200_000 }, (_, n) => `${n}${'x'.repeat(1_000)}`)
    const counts = { sightings: 1, inserted: 1, updated: 0, rejected: 0, suppressed: 0, answers: 0 }
    const text = loadText({ ...counts, newUnknownFields } as unknown as LoadReport)
    expect(text).toContain('and 199,990 more (ops.unknown_fields)')
    expect(text.length).toBeLessThan(10 * 62 + 200)
  })
})
