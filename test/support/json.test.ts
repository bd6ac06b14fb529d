/** JSON as the engine reads it. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withoutLoneSurrogates } from '../../src/support/json.ts'

/** A value with U+FFFD in place of each lone surrogate. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value).toString()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      Buffer.from(name).toString(),
      wellFormed(member),
    ]),
  )
}

describe('JSON without lone surrogates', () => {
  it.each([
    [String.raw`"\ud83d"`, '\ufffd'],
    [String.raw`"\uD83D\uDE00"`, '😀'],
    [String.raw`"\ud83d\ud83d\ude00"`, '\ufffd😀'],
    [String.raw`"\ude00\ud83d"`, '\ufffd\ufffd'],
    [String.raw`"\\ud83d"`, String.raw`\ud83d`],
    [String.raw`"\\\ud83d\\"`, '\\\ufffd\\'],
    [String.raw`"\ud83d\n"`, '\ufffd\n'],
  ])('reads %s as %j', (json, text) => {
    expect(JSON.parse(withoutLoneSurrogates(json))).toBe(text)
  })

  it('gives the same text for any value, with U+FFFD in place of each lone surrogate', () => {
    const unit = fc.constantFrom('a', '\\', '"', 'u', '\ud83d', '\ude00', '\n', 'd83d')
    const text = fc.string({ unit })
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), text, (value, extra) => {
        const mixed = { value, extra, list: [extra] }
        const read: unknown = JSON.parse(withoutLoneSurrogates(JSON.stringify(mixed)))
        expect(read).toEqual(wellFormed(mixed))
      }),
    )
  })
})
