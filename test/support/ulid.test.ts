import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newUlid, ulidTime } from '../../src/support/ulid.ts'

const LAST_TIME = 2 ** 48 - 1
const times = fc.integer({ min: 0, max: LAST_TIME })

describe('newUlid', () => {
  it('makes the time and the random part of the example in the ULID specification readable', () => {
    expect(newUlid(1_469_918_176_385, new Uint8Array(16))).toBe('01ARYZ6S410000000000000000')
  })

  it('has 26 characters of Crockford base 32 at any time', () => {
    fc.assert(
      fc.property(times, (time) => {
        expect(newUlid(time)).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
      }),
    )
  })

  it('sorts as text in the order of time, whatever the random part is', () => {
    fc.assert(
      fc.property(times, times, (a, b) => {
        fc.pre(a !== b)
        expect(newUlid(a) < newUlid(b)).toBe(a < b)
      }),
    )
  })

  it('differs 10,000 times of 10,000 within one millisecond', () => {
    const made = Array.from({ length: 10_000 }, () => newUlid(1_700_000_000_000))
    expect(new Set(made).size).toBe(10_000)
  })

  it('takes 5 bits of each random byte', () => {
    const high = newUlid(0, new Uint8Array(16).fill(0b1110_0001))
    expect(high).toBe(newUlid(0, new Uint8Array(16).fill(1)))
  })
})

describe('ulidTime', () => {
  it('gives the time back that a ULID was made with', () => {
    fc.assert(
      fc.property(times, (time) => {
        expect(ulidTime(newUlid(time))).toBe(time)
      }),
    )
  })

  it.each(['', 'README.md', '01ARYZ6S4', '01ARYZ6S4U', '01aryz6s41'])('is NaN for %j', (text) => {
    expect(ulidTime(text)).toBeNaN()
  })
})
