import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatActions, parseActions } from '../../../src/publish/delta/actions.ts'
import { planCommit } from '../../../src/publish/delta/commit-plan.ts'
import { deletionVectorOf } from '../../../src/publish/delta/deletion-vector.ts'
import { applyActions, emptyLog, type LogState } from '../../../src/publish/delta/replay.ts'
import type { Manifest, ManifestFile, ManifestTable } from '../../../src/publish/manifest.ts'
import { isoInstant } from '../../../src/support/clock.ts'
import { DAY } from '../../../src/support/units.ts'

const ROWS = 100

/** A night: the files of the table by number, and the rows of each that are deleted. */
type Night = ReadonlyMap<number, readonly number[]>

const night: fc.Arbitrary<Night> = fc
  .uniqueArray(
    fc.tuple(fc.nat({ max: 9 }), fc.uniqueArray(fc.nat({ max: ROWS - 1 }), { maxLength: 5 })),
    { selector: ([file]) => file },
  )
  .map((files) => new Map(files.map(([file, rows]) => [file, rows.toSorted((a, b) => a - b)])))

const pathOf = (file: number) => `all/${file}.parquet`

function fileOf(file: number, deleted: readonly number[]): ManifestFile {
  return {
    key: `tables/t/${pathOf(file)}`,
    partition: 'all',
    rows: ROWS,
    deletes: deleted.length,
    bytes: 1_000 + file,
    sha256: String(file),
    min: {},
    max: {},
    nulls: {},
  }
}

function manifestOf(sequence: number, files: Night): { manifest: Manifest; table: ManifestTable } {
  const table: ManifestTable = {
    name: 't',
    grain: 'One row.',
    key: ['id'],
    partition_by: null,
    schema: [{ name: 'id', type: 'VARCHAR', field_id: 1, comment: null }],
    last_field_id: 1,
    rows: 0,
    bytes: 0,
    partitions: [],
    deletion_vector: null,
    files: [...files].map(([file, deleted]) => fileOf(file, deleted)),
  }
  const manifest = {
    snapshot_id: `snapshot ${sequence}`,
    sequence,
    created_at: isoInstant(sequence * DAY),
    versions: { jobtide: '0', duckdb: '0' },
    tables: [table],
  } as Manifest
  return { manifest, table }
}

/** The actions of the commit that a night makes; null when there is none to make. */
function planOf(state: LogState, sequence: number, files: Night) {
  const vectors = [...files].flatMap(([file, rows]) =>
    rows.length === 0 ? [] : [[fileOf(file, rows).key, deletionVectorOf(rows)] as const],
  )
  return planCommit({ state, ...manifestOf(sequence, files), vectors: new Map(vectors) })
}

const vectorOf = (rows: readonly number[]) => (rows.length === 0 ? null : deletionVectorOf(rows))

/** What a log shows: the deletion vector of each path. */
function shownBy(state: LogState) {
  const shown = [...state.files.values()].map(({ path, deletionVector }) => {
    return [path, deletionVector ?? null] as const
  })
  return new Map(shown)
}

describe('planCommit', () => {
  it('makes the log show whatever files and deleted rows each of up to 8 nights has', () => {
    fc.assert(
      fc.property(fc.array(night, { minLength: 1, maxLength: 8 }), (nights) => {
        let state = emptyLog
        for (const [index, files] of nights.entries()) {
          const actions = planOf(state, index + 1, files) ?? []
          const read = parseActions(formatActions(actions), 'log')
          expect(read).toEqual(actions)
          state = applyActions(state, index, read)
          const wanted = [...files].map(([file, rows]) => [pathOf(file), vectorOf(rows)] as const)
          expect(shownBy(state)).toEqual(new Map(wanted))
          expect(planOf(state, index + 1, files)).toBeNull()
        }
      }),
    )
  })

  it('never names a path twice among what comes or what goes, nor the same file in both', () => {
    fc.assert(
      fc.property(night, night, (before, after) => {
        const state = applyActions(emptyLog, 0, planOf(emptyLog, 1, before) ?? [])
        const actions = planOf(state, 2, after) ?? []
        const added = actions.flatMap(({ add }) => add ?? [])
        const removed = actions.flatMap(({ remove }) => remove ?? [])
        for (const files of [added, removed]) {
          expect(new Set(files.map(({ path }) => path)).size).toBe(files.length)
        }
        const idOf = (file: (typeof added | typeof removed)[number]) =>
          file.path + (file.deletionVector?.pathOrInlineDv ?? '')
        const addedIds = new Set(added.map(idOf))
        expect(removed.filter((file) => addedIds.has(idOf(file)))).toEqual([])
        // A deletion vector goes with the file that it came with.
        const known = new Set([...state.files.values()].map(idOf))
        expect(removed.filter((file) => !known.has(idOf(file)))).toEqual([])
      }),
    )
  })

  it('asks for deletion vectors once, and never takes them back', () => {
    const first = planOf(emptyLog, 1, new Map([[1, []]])) ?? []
    const state = applyActions(emptyLog, 0, first)
    const second = planOf(state, 2, new Map([[1, [3]]])) ?? []
    expect(second.filter(({ protocol }) => protocol)).toHaveLength(1)
    const configuration = second
      .flatMap(({ metaData }) => metaData ?? [])
      .map((data) => data.configuration)
    expect(configuration).toEqual([{ 'delta.enableDeletionVectors': 'true' }])
    const third = planOf(applyActions(state, 1, second), 3, new Map([[2, []]])) ?? []
    expect(third.filter(({ protocol, metaData }) => protocol ?? metaData)).toEqual([])
  })
})
