import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonOrNull, stableJson } from '../../src/support/json.ts'
import { newUlid, ulidTime } from '../../src/support/ulid.ts'

describe('a ULID', () => {
  const times = fc.integer({ min: 0, max: 2 ** 48 - 1 })

  it('follows the specification, and differs 10,000 times of 10,000 within one millisecond', () => {
    const fixed = newUlid(1_469_918_176_385, new Uint8Array(16))
    expect(fixed).toBe('01ARYZ6S410000000000000000')
    const made = Array.from({ length: 10_000 }, () => newUlid(1_700_000_000_000))
    expect(new Set(made).size).toBe(10_000)
  })

  it('has 26 characters, sorts by time as text, and returns its time', () => {
    fc.assert(
      fc.property(times, times, (a, b) => {
        expect(newUlid(a)).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
        expect(ulidTime(newUlid(a))).toBe(a)
        if (a !== b) expect(newUlid(a) < newUlid(b)).toBe(a < b)
      }),
    )
  })

  it.each(['', 'README.md', '01ARYZ6S4', '01ARYZ6S4U', '01aryz6s41'])('is not %j', (text) => {
    expect(ulidTime(text)).toBeNaN()
  })
})

describe('stableJson', () => {
  /** The same value with the keys of every object reversed. */
  function reversed(value: unknown): unknown {
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value)) return value.map(reversed)
    const entries = Object.entries(value).map(([key, inner]) => [key, reversed(inner)] as const)
    return Object.fromEntries(entries.toReversed())
  }

  it('gives the same bytes for any order of keys, and the value that JSON.stringify gives', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(stableJson(reversed(value))).toBe(stableJson(value))
        expect(JSON.parse(stableJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})

describe('jsonOrNull', () => {
  it('returns the value of a text, and null for invalid JSON', () => {
    expect(jsonOrNull('{"a":[1]}')).toEqual({ a: [1] })
    for (const text of ['', '{', 'null', "{'a': 1}"]) expect(jsonOrNull(text)).toBeNull()
  })
})
