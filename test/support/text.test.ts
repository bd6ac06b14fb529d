import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { csvLine, escapedJson, onOneLine, printable } from '../../src/support/text.ts'
import { hostileText, obeyedIn } from '../helpers/hostile-text.ts'
import { rounds } from '../helpers/tier.ts'

const numRuns = rounds('JOBTIDE_TEXTS', 300, 20_000)

describe('a text from outside on a terminal', () => {
  it('has a dot for control characters, and nothing for invisible ones', () => {
    expect(printable('A\u001b[2J\u009b1m\nB')).toBe('A·[2J·1m·B')
    expect(printable('mp3.\u202Egpj')).toBe('mp3.·gpj')
    expect(printable('a\u200B\u2060\uFEFF\u00AD\u{E0041}b')).toBe('ab')
  })

  it('stays readable in Persian, Hindi, Arabic, Japanese and emoji, without joiners, marks and variants', () => {
    expect(printable('می\u200Cخواهم، क्\u200Dष, \u200Fشركة')).toBe('میخواهم، क्ष, شركة')
    expect(printable('葛\u{E0100}城 👩\u200D💻 ❤\uFE0F')).toBe('葛城 👩💻 ❤')
    expect(printable('Zoë Łukasz Şahin 張偉 Ελένη')).toBe('Zoë Łukasz Şahin 張偉 Ελένη')
  })

  it('is as short as a text on one line', () => {
    expect(onOneLine(' a\r\n\tb\u200B\u202E\u001B[1m c\u2028d ')).toBe('a b [1m c d')
  })
})

describe('JSON', () => {
  it(`is the same value with all control characters escaped (${numRuns} random texts)`, () => {
    fc.assert(
      fc.property(fc.dictionary(hostileText, hostileText), (value) => {
        for (const indent of [0, 2]) {
          const json = escapedJson(JSON.stringify(value, null, indent))
          expect(obeyedIn(json)).toBeNull()
          expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)))
        }
      }),
      { numRuns },
    )
  }, 300_000)
})

describe('CSV for spreadsheets', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['+49 171', "'+49 171"],
    ['-1+cmd|x', "'-1+cmd|x"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t'=1"],
    ['\rx', "'\rx"],
    [' =1', "' =1"],
    ['"=1', `'"=1`],
    ['\uFF1D1+1', "'\uFF1D1+1"],
    // A spreadsheet that splits cells at semicolons begins a cell here, and a line end within a cell does the same.
    ['x;=1', "x;'=1"],
    ['x\n=1', "x\n'=1"],
    ['Head of R&D - EMEA', 'Head of R&D - EMEA'],
    ['a;b=c', 'a;b=c'],
    ['-', "'-"],
  ])('writes the text %j as %j', (text, written) => {
    expect(parse(csvLine([text, 'x'], true))).toEqual([[written, 'x']])
    expect(parse(csvLine([text, 'x']))).toEqual([[text, 'x']])
  })

  it('leaves numbers alone, even as text', () => {
    const numbers = [-5, 1.5, '-12.50', '+3', '-1e-7', '-9007199254740993', null, true]
    expect(csvLine(numbers, true)).toBe(csvLine(numbers))
  })

  it(`has no formula wherever it is cut into cells (${numRuns} random texts)`, () => {
    fc.assert(
      fc.property(fc.array(hostileText), fc.constantFrom(',', ';', '\t'), (texts, delimiter) => {
        const line = csvLine([1, ...texts], true)
        // Our quotes protect commas, but not other delimiters.
        const cells: string[] = delimiter === ',' ? parse(line).flat() : line.split(/[;\t\r\n]/)
        expect(cells.filter((cell) => /^["\s]*[=+@-]/.test(cell))).toEqual([])
      }),
      { numRuns },
    )
  }, 300_000)
})
