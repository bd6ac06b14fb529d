/** What a Spark job answers becomes a table of a manifest, or is refused. */

import { describe, expect, it } from 'vitest'
import { keysOfSnapshot } from '../../src/publish/keys.ts'
import type { ManifestTable } from '../../src/publish/manifest.ts'
import { changeOf, sparkFunctions } from '../../src/publish/spark/spark-job.ts'
import { sparkTable, type SparkResult } from '../../src/publish/spark/spark-result.ts'
import { definitionOf } from './fixtures.ts'

const ID = '01K0000000000000000000000A'
const hash = (letter: string) => letter.repeat(64)
const column = { name: 'id', type: 'VARCHAR', field_id: 1, comment: null }

const file = (letter: string, rows: number, deletes = 0) => ({
  key: `tables/things/all/${ID}/${hash(letter)}.parquet`,
  partition: 'all',
  rows,
  deletes,
  bytes: 1_000,
  sha256: hash(letter),
  min: {},
  max: {},
  nulls: {},
})

const before: ManifestTable = {
  name: 'things',
  grain: 'One row per thing.',
  key: ['id'],
  partition_by: null,
  schema: [column],
  last_field_id: 1,
  rows: 100,
  bytes: 1_000,
  partitions: [{ name: 'all', rows: 100, fingerprint: 'x' }],
  deletion_vector: null,
  files: [file('a', 100)],
}

const NEXT = '01K0000000000000000000000B'
const written = (letter: string, rows: number) => ({
  ...file(letter, rows),
  key: `work/${NEXT}/files/things/part-0.parquet`,
})

type Result = SparkResult['tables'][number]['result']
const made = (result: Result, of: ManifestTable | null = before) =>
  sparkTable(
    {
      definition: definitionOf('things'),
      columns: { columns: [column], lastFieldId: 1 },
      before: of ?? undefined,
      splitBy: null,
      prefix: '',
      ownKey: keysOfSnapshot(of ?? undefined, NEXT),
      snapshotId: NEXT,
    },
    result,
  )

describe('the table that a job made', () => {
  it('is that of the snapshot before where nothing changed', () => {
    expect(made(null)).toEqual({ table: before, newFiles: [] })
  })

  it('has kept files and new ones, which get keys of the snapshot', () => {
    const vector = {
      is_new: true as const,
      key: `work/${NEXT}/files/things.vector/part-0.parquet`,
      rows: 3,
      bytes: 50,
      sha256: hash('c'),
    }
    const { table, newFiles } = made({ files: [file('a', 100, 3), written('b', 5)], vector })
    expect(table.rows).toBe(102)
    expect(table.files.map(({ key }) => key)).toEqual([
      before.files[0]?.key,
      `tables/things/all/${NEXT}/${hash('b')}.parquet`,
    ])
    expect(table.deletion_vector?.key).toBe(
      `tables/things/_deletion_vector/${NEXT}/${hash('c')}.parquet`,
    )
    expect(newFiles.map(({ from }) => from)).toEqual([written('b', 5).key, vector.key])
    const [partition] = table.partitions
    expect(partition?.fingerprint).toMatch(/^files-/)
  })

  it('that cannot be is refused', () => {
    expect(() => made(null, null)).toThrow(/as before, and it was not there/)
    expect(() => made({ files: [file('d', 5)], vector: null })).toThrow(/that it wrote tables/)
    expect(() => made({ files: [file('a', 100, 3)], vector: null })).toThrow(/3 rows are deleted/)
    expect(() => made({ files: [file('a', 100, 101)], vector: null })).toThrow(/101 of 100 rows/)
  })
})

describe('what a job is told', () => {
  it('of an input that changed: files that came and went, and those with more deletes', () => {
    const vector = { key: 'v', rows: 2, bytes: 9, sha256: hash('e') }
    const now = { ...before, deletion_vector: vector, files: [file('a', 100, 2), file('b', 7)] }
    expect(changeOf(before, before, 'inputs/')).toBeNull()
    const change = changeOf(before, now, 'inputs/')
    expect(change?.added.map(({ sha256 }) => sha256)).toEqual([hash('b')])
    expect(change?.kept).toMatchObject([{ sha256: hash('a'), deletes: 2, deletes_before: 0 }])
    expect(change).toMatchObject({ removed: [], vector: 'inputs/v', vector_before: null })
  })

  it('of functions: what stands for Spark beside each macro', () => {
    expect(
      sparkFunctions('-- spark: f(a int) returns int return a\ncreate macro f(a) as a;'),
    ).toEqual(['f(a int) returns int return a'])
  })
})
