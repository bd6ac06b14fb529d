import { describe, expect, it } from 'vitest'
import { describeProblem } from '../../src/cli/output.ts'
import { ConfigError } from '../../src/support/errors.ts'

const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`).join(' ')

describe('a problem', () => {
  it('of 200 words is a line and a hint where nobody has a terminal, and fits 60 columns of one', () => {
    const error = new ConfigError(words(100), { hint: words(100) })
    const piped = describeProblem(error, 60, false)
    expect(piped).toBe(`jobtide: ${words(100)}\n  → ${words(100)}\n`)
    const shown = describeProblem(error, 60, true)
    const lines = shown.trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(20)
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60)
    expect(shown.split(/\s+/)).toEqual(piped.split(/\s+/))
    const hint = lines.slice(lines.findIndex((line) => line.startsWith('  → ')) + 1)
    expect(hint.every((line) => line.startsWith('    word'))).toBe(true)
  })

  it('keeps lines that fit as they are, so that a mark below a statement stays in its place', () => {
    const error = new ConfigError('syntax error\n\nLINE 1: selec 1\n        ^')
    const shown = 'jobtide: syntax error\n\nLINE 1: selec 1\n        ^\n'
    expect(describeProblem(error, 80, true)).toBe(shown)
  })
})
