/** The result of a Spark job becomes a table of a manifest, or is refused. */

import { describe, expect, it } from 'vitest'
import type { ManifestTable } from '../../src/publish/manifest.ts'
import { readResult, sparkTable, type SparkPartition } from '../../src/publish/spark-result.ts'
import { definitionOf, newStore } from './fixtures.ts'

const ID = '01K0000000000000000000000A'
const NEXT = '01K0000000000000000000000B'
const hash = (letter: string) => letter.repeat(64)
const column = { name: 'id', type: 'VARCHAR', field_id: 1, comment: null }

/** A partition of files of 1,000 bytes with this many rows, as reported by a job. */
const written = (name: string, rows: readonly number[], sum: number): SparkPartition => ({
  name,
  rows: rows.reduce((a, b) => a + b, 0),
  fingerprint: `spark-AB:${sum}`,
  files: rows.map((count, index) => ({
    key: `work/${NEXT}/files/things/${name}/part-${index}.parquet`,
    rows: count,
    bytes: 1_000,
    min: { id: 'a' },
    max: { id: 'z' },
    nulls: {},
    sha256: hash('abcdef'.charAt(sum + index)),
  })),
})

const keyOf = (partition: string, owner: string, letter: string) =>
  `tables/things/${partition}/${owner}/${hash(letter)}.parquet`

const made = (
  found: readonly SparkPartition[],
  before?: ManifestTable,
  { columns = [column], isThere = true } = {},
) =>
  sparkTable(
    {
      definition: definitionOf('things'),
      columns: { columns, lastFieldId: 1 },
      before,
      splitBy: 'joined_at',
    },
    found,
    before === undefined ? NEXT : ID,
    () => isThere,
  )

const YEARS = [written('joined_year=2024', [5, 6], 0), written('joined_year=2025', [7], 2)]
const first = made(YEARS)

describe('the table that a job made', () => {
  it('has several files in a year of 11 rows, under the snapshot’s keys', () => {
    const { table, newFiles } = first
    expect([table.rows, table.bytes, table.partition_by?.column]).toEqual([18, 3_000, 'joined_at'])
    expect(table.partitions).toEqual([
      { name: 'joined_year=2024', rows: 11, fingerprint: 'spark-AB:0' },
      { name: 'joined_year=2025', rows: 7, fingerprint: 'spark-AB:2' },
    ])
    expect(table.files.map(({ key }) => key)).toEqual([
      keyOf('joined_year=2024', NEXT, 'a'),
      keyOf('joined_year=2024', NEXT, 'b'),
      keyOf('joined_year=2025', NEXT, 'c'),
    ])
    const from = YEARS.flatMap(({ files }) => files.map(({ key }) => key))
    expect(newFiles.map((file) => file.from)).toEqual(from)
  })

  it('keeps the files of a year with the same fingerprint, however many files the job wrote now', () => {
    const again = [written('joined_year=2024', [2, 9], 0), written('joined_year=2025', [8], 3)].map(
      (one) => ({
        ...one,
        files: one.files.map((file) => ({ ...file, key: file.key.replace(NEXT, ID) })),
      }),
    )
    const { table, newFiles } = made(again, first.table)
    expect(table.files.slice(0, 2)).toEqual(first.table.files.slice(0, 2))
    expect(newFiles.map(({ key }) => key)).toEqual([keyOf('joined_year=2025', ID, 'd')])
    // Unless a file is lost, or has other columns.
    expect(made(again, first.table, { isThere: false }).newFiles).toHaveLength(3)
    const columns = [column, { ...column, name: 'more', field_id: 2 }]
    expect(made(again, first.table, { columns }).newFiles).toHaveLength(3)
  })

  it('is refused if it names a file that the job did not write, or impossible counts', () => {
    const [year] = YEARS
    if (year === undefined) throw new Error('no year')
    const alien = { ...year, files: year.files.map((file) => ({ ...file, key: 'tables/x' })) }
    expect(() => made([alien])).toThrow('the Spark job says of things that it wrote tables/x')
    expect(() => made([{ ...year, rows: 12 }])).toThrow(/that joined_year=2024 has 12 rows/)
  })
})

describe('the result of a job', () => {
  const result = { format: 2, snapshot_id: ID, spark: '4.0.1', seconds: {}, checks: [], tables: [] }
  const reads = async (text: string | null) => {
    const store = newStore()
    if (text !== null) await store.put(`work/${ID}/result/part-0`, Buffer.from(text))
    return readResult(store, ID)
  }

  it('is read back, and refused if it is missing, of another job or of another format', async () => {
    expect(await reads(JSON.stringify(result))).toEqual(result)
    await expect(reads(null)).rejects.toThrow('the Spark job ended without a result')
    for (const wrong of [
      'not JSON',
      JSON.stringify({ ...result, format: 1 }),
      JSON.stringify({ ...result, snapshot_id: NEXT }),
    ]) {
      await expect(reads(wrong)).rejects.toThrow('the result of the Spark job cannot be read')
    }
  })
})
