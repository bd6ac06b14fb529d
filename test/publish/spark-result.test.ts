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

const file = (letter: string, rows: number) => ({
  key: `tables/things/all/${ID}/${hash(letter)}.parquet`,
  partition: 'all',
  rows,
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
  files: [file('a', 100)],
}

const NEXT = '01K0000000000000000000000B'
const told = (letter: string, rows: number, deletes = 0) => ({ ...file(letter, rows), deletes })
const written = (letter: string, rows: number) => ({
  ...told(letter, rows),
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
    const { table, newFiles } = made({ files: [told('a', 100), written('b', 5)], vector: null })
    expect(table.rows).toBe(105)
    expect(table.files.map(({ key }) => key)).toEqual([
      before.files[0]?.key,
      `tables/things/all/${NEXT}/${hash('b')}.parquet`,
    ])
    expect(newFiles.map(({ from }) => from)).toEqual([written('b', 5).key])
    const [partition] = table.partitions
    expect(partition?.fingerprint).toMatch(/^files-/)
  })

  it('that cannot be is refused', () => {
    expect(() => made(null, null)).toThrow(/as before, and it was not there/)
    expect(() => made({ files: [told('d', 5)], vector: null })).toThrow(/that it wrote tables/)
    expect(() => made({ files: [told('a', 100, 3)], vector: null })).toThrow(
      /3 of 100 rows are deleted/,
    )
  })
})

describe('what a job is told', () => {
  it('of an input that changed: files that came and went', () => {
    const now = { ...before, files: [file('a', 100), file('b', 7)] }
    expect(changeOf(before, before, 'inputs/')).toBeNull()
    const change = changeOf(before, now, 'inputs/')
    expect(change?.added.map(({ sha256 }) => sha256)).toEqual([hash('b')])
    expect(change).toMatchObject({ removed: [], kept: [] })
  })

  it('of functions: what stands for Spark beside each macro', () => {
    expect(
      sparkFunctions('-- spark: f(a int) returns int return a\ncreate macro f(a) as a;'),
    ).toEqual(['f(a int) returns int return a'])
  })
})
