/** The formats that the Delta protocol prescribes, held against bytes and texts of other writers. */

import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { deletionVectorOf } from '../../../src/publish/delta/deletion-vector.ts'
import { encodePositions } from '../../../src/publish/delta/row-positions.ts'
import { schemaString } from '../../../src/publish/delta/schema.ts'
import { fileStats } from '../../../src/publish/delta/stats.ts'
import { encodeZ85 } from '../../../src/publish/delta/z85.ts'

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

describe('deleted rows', () => {
  it('are the bytes that CRoaring writes, for arrays, several buckets and bitmaps', () => {
    // pyroaring 1.0, BitMap64.serialize, behind the magic number.
    expect(encodePositions([3, 4, 7, 11, 18, 29]).toString('hex')).toBe(
      'd1d339640100000000000000000000003a3000000100000000000500100000000300040007000b0012001d00',
    )
    expect(encodePositions([1, 2 ** 32 + 5, 2 ** 33]).toString('hex')).toBe(
      'd1d339640300000000000000000000003a3000000100000000000000100000000100010000003a3000000100000000000000100000000500020000003a3000000100000000000000100000000000',
    )
    const everyThird = encodePositions(numbers(0, 200_000).map((n) => n * 3))
    expect(createHash('sha256').update(everyThird).digest('hex')).toBe(
      'a2df1ed0297c97ff17c26231eb106c2152e0e033fcd09e53e15c5d318f512cfb',
    )
    // At 4,096 and more rows of one block an array is as large as a bitmap.
    for (const count of [4_096, 4_097, 65_536]) {
      expect(encodePositions(numbers(65_536, count)).length).toBe(32 + 8_192)
    }
  })

  it('are refused out of order, twice, negative, broken or beyond 2^53', () => {
    for (const wrong of [[2, 1], [1, 1], [-1], [0.5], [2 ** 53]]) {
      expect(() => encodePositions(wrong)).toThrow(RangeError)
    }
  })

  it('are the text of the RFC in Z85, and the vector that delta-kernel-rs has of 6 rows', () => {
    expect(encodeZ85(Buffer.from('864fd26fb559f75b', 'hex'))).toBe('HelloWorld')
    expect(encodeZ85(Buffer.alloc(5))).toBe('0000000000')
    expect(deletionVectorOf([3, 4, 7, 11, 18, 29])).toEqual({
      storageType: 'i',
      pathOrInlineDv: '^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L',
      sizeInBytes: 44,
      cardinality: 6,
    })
  })
})

const tableOf = (...types: string[]) => ({
  name: 't',
  schema: types.map((type, index) => {
    const comment = index === 0 ? 'What it is.' : null
    return { name: `c${index}`, type, field_id: index + 1, comment }
  }),
})

describe('the schema in a Delta log', () => {
  it('has a word for each of the 11 types, decimals and lists', () => {
    const types = ['BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'FLOAT', 'DOUBLE']
    types.push('VARCHAR', 'BLOB', 'DATE', 'TIMESTAMP WITH TIME ZONE')
    types.push('DECIMAL(38,0)', 'VARCHAR[]')
    const { fields } = JSON.parse(schemaString(tableOf(...types))) as {
      fields: { type: unknown; nullable: boolean; metadata: object }[]
    }
    expect(fields.map(({ type }) => type)).toEqual([
      'boolean',
      'byte',
      'short',
      'integer',
      'long',
      'float',
      'double',
      'string',
      'binary',
      'date',
      'timestamp',
      'decimal(38,0)',
      { type: 'array', elementType: 'string', containsNull: true },
    ])
    expect(fields.every(({ nullable }) => nullable)).toBe(true)
    expect(fields.map(({ metadata }) => metadata).slice(0, 2)).toEqual([
      { comment: 'What it is.' },
      {},
    ])
  })

  it('refuses a type that the protocol does not have, with the name of the column', () => {
    expect(() => schemaString(tableOf('INTEGER', 'UBIGINT'))).toThrow(/t\.c1 is a UBIGINT/)
    for (const type of ['TIME', 'TIMESTAMP']) {
      expect(() => schemaString(tableOf(type))).toThrow(/cannot hold/)
    }
  })
})

interface Stats {
  numRecords: number
  tightBounds?: boolean
  minValues: Record<string, unknown>
  maxValues: Record<string, unknown>
  nullCount: Record<string, number>
}

/** Stats of a file with one column `c` of `type`. */
function statsOf(
  type: string,
  min: string,
  max: string,
  more: { nulls?: Record<string, number>; deletedRows?: number } = {},
): Stats {
  const file = {
    key: 'tables/t/all/x.parquet',
    partition: 'all',
    rows: 100,
    deletes: more.deletedRows ?? 0,
    bytes: 1,
    sha256: 'x',
    min: { c: min },
    max: { c: max },
    nulls: more.nulls === undefined ? {} : more.nulls,
  }
  const columns = ['c', 'young'].map((name, index) => {
    return { name, type: index === 0 ? type : 'VARCHAR', field_id: index + 1, comment: null }
  })
  return JSON.parse(fileStats(file, columns)) as Stats
}

function bounds(type: string, min: string, max: string): [unknown, unknown] {
  const { minValues, maxValues } = statsOf(type, min, max)
  return [minValues['c'], maxValues['c']]
}

describe('statistics of a file', () => {
  it('round the smallest time down and the largest up to the millisecond', () => {
    const [min, max] = ['2024-12-31 23:59:59.123456+00', '2024-12-31 23:59:59.999001+00']
    expect(bounds('TIMESTAMP WITH TIME ZONE', min, max)).toEqual([
      '2024-12-31T23:59:59.123Z',
      '2025-01-01T00:00:00.000Z',
    ])
  })

  it('cut texts at 32 characters, and the largest then stays at least as large', () => {
    const short = 'a'.repeat(32)
    expect(bounds('VARCHAR', short, short)).toEqual([short, short])
    const long = `${'é𝄞'.repeat(16)}tail`
    const cut = 'é𝄞'.repeat(16)
    expect(bounds('VARCHAR', long, long)).toEqual([cut, `${cut}\u{10FFFF}`])
    const last = `${cut}\u{10FFFF}\u{10FFFF}`
    expect(bounds('VARCHAR', last, last)).toEqual([cut, last])
  })

  it('say nothing that JSON or an engine would take for another value', () => {
    expect(bounds('BIGINT', '-9223372036854775808', '9007199254740991')).toEqual([
      undefined,
      9_007_199_254_740_991,
    ])
    expect(bounds('DECIMAL(38,2)', '-12.89', '0.10')).toEqual([undefined, undefined])
    expect(bounds('DOUBLE', '0.5', '1.5')).toEqual([undefined, undefined])
    expect(bounds('BOOLEAN', '0', '1')).toEqual([undefined, undefined])
    expect(bounds('DATE', '0044-03-15 (BC)', '2024-01-01')).toEqual([undefined, '2024-01-01'])
    expect(bounds('TIMESTAMP WITH TIME ZONE', '-infinity', 'infinity')).toEqual([
      undefined,
      undefined,
    ])
  })

  it('count the nulls of columns that the file is known to have, and of no others', () => {
    expect(statsOf('INTEGER', '1', '2').nullCount).toEqual({ c: 0 })
    expect(statsOf('INTEGER', '1', '2', { nulls: { c: 7 } }).nullCount).toEqual({ c: 7 })
  })

  it('count all 100 rows and say that bounds are wide when 3 are deleted', () => {
    expect(statsOf('INTEGER', '1', '2')).not.toHaveProperty('tightBounds')
    expect(statsOf('INTEGER', '1', '2', { deletedRows: 3 })).toMatchObject({
      numRecords: 100,
      tightBounds: false,
    })
  })
})
