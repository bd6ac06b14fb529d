import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonOrNull, stableJson } from '../../src/support/json.ts'

/** The same value with the keys of every object in reverse. */
function reversed(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(reversed)
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, reversed(inner)] as const)
      .toReversed(),
  )
}

describe('stableJson', () => {
  it('sorts keys at every depth and leaves the order of arrays', () => {
    const value = { b: [{ d: 1, c: 2 }, 'x'], a: null }
    expect(stableJson(value)).toBe('{"a":null,"b":[{"c":2,"d":1},"x"]}')
  })

  it('gives the same bytes for any order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(stableJson(reversed(value))).toBe(stableJson(value))
      }),
    )
  })

  it('says the same as JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.stringify(value)
        expect(JSON.parse(stableJson(value))).toEqual(JSON.parse(plain))
      }),
    )
  })

  it('indents when asked', () => {
    expect(stableJson({ a: 1 }, 2)).toBe('{\n  "a": 1\n}')
  })
})

describe('jsonOrNull', () => {
  it('gives the value of a text, and null for what is no JSON', () => {
    expect(jsonOrNull('{"a":[1]}')).toEqual({ a: [1] })
    for (const text of ['', '{', 'null', "{'a': 1}"]) expect(jsonOrNull(text)).toBeNull()
  })
})
