import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodePositions, encodePositions } from '../../../src/publish/delta/row-positions.ts'

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

// Written by CRoaring (pyroaring 1.0, BitMap64.serialize, the last two after run_optimize), behind the magic number.
const SMALL =
  'd1d339640100000000000000000000003a3000000100000000000500100000000300040007000b0012001d00'
const THREE_BUCKETS =
  'd1d339640300000000000000000000003a3000000100000000000000100000000100010000003a3000000100000000000000100000000500020000003a3000000100000000000000100000000000'
const THREE_RUN_CONTAINERS =
  'd1d339640100000000000000000000003b300200050000eb13010001000200090001006400eb1370117111010000000900'
const FIVE_RUN_CONTAINERS =
  'd1d339640100000000000000000000003b3004001f00002b0101002b0102002b0103002b0104002b012d00000033000000390000003f00000045000000010000002b01010000002b01010000002b01010000002b01010000002b01'
const EVERY_THIRD_SHA256 = 'a2df1ed0297c97ff17c26231eb106c2152e0e033fcd09e53e15c5d318f512cfb'

describe('row positions', () => {
  it('are the bytes that CRoaring writes, for arrays, several buckets and bitmaps', () => {
    expect(encodePositions([3, 4, 7, 11, 18, 29]).toString('hex')).toBe(SMALL)
    expect(encodePositions([1, 2 ** 32 + 5, 2 ** 33]).toString('hex')).toBe(THREE_BUCKETS)
    const everyThird = encodePositions(numbers(0, 200_000).map((n) => n * 3))
    expect(createHash('sha256').update(everyThird).digest('hex')).toBe(EVERY_THIRD_SHA256)
  })

  it('are read from runs, which other writers use, with 3 containers and with 5', () => {
    const three = [...numbers(100, 5_100), 70_000, 70_001, ...numbers(131_072, 10)]
    expect(decodePositions(Buffer.from(THREE_RUN_CONTAINERS, 'hex'))).toEqual(three)
    const five = [0, 1, 2, 3, 4].flatMap((key) => numbers(key * 65_536, 300))
    expect(decodePositions(Buffer.from(FIVE_RUN_CONTAINERS, 'hex'))).toEqual(five)
  })

  it('come back as they were', () => {
    const position = fc.oneof(
      fc.nat({ max: 300_000 }),
      fc.integer({ min: 2 ** 32 - 9, max: 2 ** 32 + 9 }),
    )
    const stretch = fc.tuple(position, fc.nat({ max: 9_000 }))
    fc.assert(
      fc.property(fc.array(position), fc.array(stretch, { maxLength: 3 }), (single, stretches) => {
        const all = [...single, ...stretches.flatMap(([from, count]) => numbers(from, count))]
        const positions = [...new Set(all)].toSorted((a, b) => a - b)
        expect(decodePositions(encodePositions(positions))).toEqual(positions)
      }),
    )
  })

  it('come back at 4,096 and 4,097 rows of one block, where arrays become bitmaps', () => {
    for (const count of [4_096, 4_097, 65_536]) {
      const positions = numbers(65_536, count)
      const bytes = encodePositions(positions)
      expect(bytes.length).toBe(32 + 8_192)
      expect(decodePositions(bytes)).toEqual(positions)
    }
  })

  it('are refused out of order, twice, negative, broken or beyond 2^53', () => {
    for (const wrong of [[2, 1], [1, 1], [-1], [0.5], [2 ** 53]]) {
      expect(() => encodePositions(wrong)).toThrow(RangeError)
    }
  })

  it('are not read from bytes that were cut anywhere, or are something else', () => {
    for (const hex of [SMALL, THREE_BUCKETS, THREE_RUN_CONTAINERS, FIVE_RUN_CONTAINERS]) {
      const bytes = Buffer.from(hex, 'hex')
      for (let length = 0; length < bytes.length; length += 1) {
        expect(() => decodePositions(bytes.subarray(0, length))).toThrow(RangeError)
      }
    }
    expect(() => decodePositions(Buffer.alloc(40))).toThrow(/magic number/)
    const otherCookie = Buffer.from(SMALL.replace('3a30', '3930'), 'hex')
    expect(() => decodePositions(otherCookie)).toThrow(/no cookie/)
  })
})
