import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeZ85, encodeZ85 } from '../../../src/publish/delta/z85.ts'

describe('Z85', () => {
  it('writes the 8 bytes of the RFC as HelloWorld', () => {
    const bytes = Buffer.from('864fd26fb559f75b', 'hex')
    expect(encodeZ85(bytes)).toBe('HelloWorld')
    expect(decodeZ85('HelloWorld', 8)).toEqual(bytes)
  })

  it('gives every sequence of bytes back, whatever its length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const text = encodeZ85(bytes)
        expect(text).toHaveLength(Math.ceil(bytes.length / 4) * 5)
        expect(JSON.stringify(text)).toBe(`"${text}"`)
        expect(decodeZ85(text, bytes.length)).toEqual(Buffer.from(bytes))
      }),
    )
  })

  it('refuses 4 characters, a space, too few bytes and a group over 32 bits', () => {
    expect(() => decodeZ85('Hell', 3)).toThrow(/multiple of 5/)
    expect(() => decodeZ85('Hel o', 4)).toThrow(/" " is no character/)
    expect(() => decodeZ85('Hello', 5)).toThrow(/4 bytes where 5/)
    expect(() => decodeZ85('#####', 4)).toThrow(/over 32 bits/)
  })
})
