import { describe, expect, it } from 'vitest'
import { describeProblem } from '../../src/cli/output.ts'
import { reportDocument, reportText, table, type Report } from '../../src/cli/report.ts'
import { ConfigError } from '../../src/support/errors.ts'

const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`).join(' ')
const longest = (text: string) => Math.max(...text.split('\n').map((line) => line.length))

describe('a report', () => {
  const rows = [
    {
      id: '01JD0000000000000000000001',
      at: Date.UTC(2026, 10, 20, 2, 15),
      bytes: 1_234_567,
      text: words(20),
    },
    { id: '01JD0000000000000000000002', at: null, bytes: 7, text: 'a\u001b[2Jb' },
    { id: '01JD0000000000000000000003', at: null, bytes: 0, text: '' },
  ]
  const report: Report = {
    title: 'three',
    sections: [
      [['here', ['one', 'two']], false, ['elsewhere', '3']],
      table(
        'rows',
        rows,
        [
          ['id', 'id', 'id'],
          ['at (UTC)', 'at', 'instant'],
          ['size', 'bytes', 'bytes'],
          ['said', 'text'],
        ],
        { shown: 2 },
      ),
    ],
    notes: [`→ ${words(20)}`],
    values: { count: 3 },
  }

  it('has facts, tables and notes for people: no id is cut, and no line of a table or note is wider than 80', () => {
    const text = reportText(report, 80)
    expect(text.split('\n').slice(0, 8)).toEqual([
      'three',
      'here       one',
      '           two',
      'elsewhere  3',
      '',
      'id                          at (UTC)            size  said',
      '01JD0000000000000000000001  2026-11-20 02:15  1.2 MB  word0 word1 word2 word3 w…',
      '01JD0000000000000000000002  -                    7 B  a·[2Jb',
    ])
    expect(text).toContain('\n(the first 2 of 3; all with --all)\n→ word0')
    expect(text.split('\n').at(-1)).toMatch(/^ {2}word/)
    expect(longest(text)).toBeLessThanOrEqual(80)
  })

  it('is its title and 1 table if neither of its 2 facts applies', () => {
    const found = table('found', [{ name: 'Acme' }], [['company', 'name']])
    const text = reportText({ title: '1 result', sections: [found, [false, false]] }, 80)
    expect(text).toBe('1 result\n\ncompany\nAcme')
    expect(reportText({ title: '0 results', sections: [[false], []] }, 80)).toBe('0 results')
  })

  it('contains its values and all rows of its tables as JSON', () => {
    expect(reportDocument(report)).toEqual({ schema_version: 2, count: 3, rows })
  })
})

describe('a problem', () => {
  it('of 200 words is one line and a hint without a terminal, and fits a terminal of 60 columns', () => {
    const error = new ConfigError(words(100), { hint: words(100) })
    const piped = describeProblem(error, 60, false)
    expect(piped).toBe(`jobtide: ${words(100)}\n  → ${words(100)}\n`)
    const shown = describeProblem(error, 60, true)
    expect(longest(shown)).toBeLessThanOrEqual(60)
    expect(shown.split(/\s+/)).toEqual(piped.split(/\s+/))
    const hint = shown.slice(shown.indexOf('  → ')).trimEnd().split('\n').slice(1)
    expect(hint.every((line) => line.startsWith('    word'))).toBe(true)
  })
})
