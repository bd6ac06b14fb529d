import { describe, expect, it } from 'vitest'
import { fileStats } from '../../../src/publish/delta/stats.ts'

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
    expect(bounds('TIMESTAMP', '2024-01-01 00:00:00', '2024-01-01 00:00:00.1')).toEqual([
      '2024-01-01T00:00:00.000',
      '2024-01-01T00:00:00.100',
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
    expect(bounds('DECIMAL(38,2)', '-12345678901234567.89', '0.10')).toEqual([undefined, 0.1])
    expect(bounds('DOUBLE', '0.5', '1.5')).toEqual([undefined, undefined])
    expect(bounds('BOOLEAN', '0', '1')).toEqual([undefined, undefined])
    expect(bounds('DATE', '0044-03-15 (BC)', '2024-01-01')).toEqual([undefined, '2024-01-01'])
    expect(bounds('TIMESTAMP', '-infinity', 'infinity')).toEqual([undefined, undefined])
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
