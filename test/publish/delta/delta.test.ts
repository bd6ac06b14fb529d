/** What a Delta log says about files and columns, and which of its files may go. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  formatActions,
  parseActions,
  checkpointKey,
  commitKey,
  expiredLogFiles,
  lastCheckpointKey,
  versionsOf,
  applyActions,
  emptyLog,
  type LogState,
  planCommit,
  schemaString,
} from '../../../src/publish/delta.ts'
import { isoInstant } from '../../../src/support/clock.ts'
import { DAY } from '../../../src/support/units.ts'
import { aFile, aManifest, aTable } from '../manifests.ts'

/** A night: the files of the table by number. */
type Night = readonly number[]

const night: fc.Arbitrary<Night> = fc.uniqueArray(fc.nat({ max: 9 }))

const pathOf = (file: number) => `all/${file}.parquet`

/** The actions of the commit of a night; null if there is none. */
function planOf(state: LogState, sequence: number, files: Night) {
  const table = aTable({
    files: files.map((file) => aFile({ key: `tables/t/${pathOf(file)}`, rows: 100 })),
  })
  const created_at = isoInstant(sequence * DAY)
  const manifest = aManifest({ sequence, created_at, tables: [table] })
  return planCommit(state, manifest, table)
}

const shownBy = ({ files }: LogState) => [...files.keys()].toSorted()

describe('a commit', () => {
  it('makes the log show the files of each of up to 8 nights, each once', () => {
    fc.assert(
      fc.property(fc.array(night, { minLength: 1, maxLength: 8 }), (nights) => {
        let state = emptyLog
        for (const [index, files] of nights.entries()) {
          const actions = planOf(state, index + 1, files) ?? []
          const read = parseActions(formatActions(actions), 'log')
          expect(read).toEqual(actions)
          const added = read.flatMap(({ add }) => add ?? [])
          const removed = read.flatMap(({ remove }) => remove ?? [])
          for (const named of [added, removed]) {
            expect(new Set(named.map(({ path }) => path)).size).toBe(named.length)
          }
          // A removed file was there before, and does not come back.
          const coming = new Set(added.map(({ path }) => path))
          const gone = removed.map(({ path }) => path)
          expect(gone.filter((path) => !state.files.has(path) || coming.has(path))).toEqual([])

          state = applyActions(state, index, read)
          expect(shownBy(state)).toEqual(files.map(pathOf).toSorted())
          expect(planOf(state, index + 1, files)).toBeNull()
        }
      }),
    )
  })
})

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

const columnsOf = (...types: string[]) =>
  types.map((type, index) => {
    const comment = index === 0 ? 'What it is.' : null
    return { name: `c${index}`, type, field_id: index + 1, comment }
  })

describe('the schema in a Delta log', () => {
  it('has a name for each of the 11 types, decimals and lists', () => {
    const words = {
      BOOLEAN: 'boolean',
      TINYINT: 'byte',
      SMALLINT: 'short',
      INTEGER: 'integer',
      BIGINT: 'long',
      FLOAT: 'float',
      DOUBLE: 'double',
      VARCHAR: 'string',
      BLOB: 'binary',
      DATE: 'date',
      'TIMESTAMP WITH TIME ZONE': 'timestamp',
      'DECIMAL(38,0)': 'decimal(38,0)',
      'VARCHAR[]': { type: 'array', elementType: 'string', containsNull: true },
    }
    const schema = columnsOf(...Object.keys(words))
    expect(JSON.parse(schemaString(aTable({ schema })))).toEqual({
      type: 'struct',
      fields: Object.values(words).map((type, index) => {
        const metadata = index === 0 ? { comment: 'What it is.' } : {}
        return { name: `c${index}`, type, nullable: true, metadata }
      }),
    })
  })

  it.each(['UBIGINT', 'TIME', 'TIMESTAMP'])('refuses %s, with the name of the column', (type) => {
    const table = aTable({ schema: columnsOf('INTEGER', type) })
    expect(() => schemaString(table)).toThrow(`t.c1 is a ${type}, which a Delta table cannot hold`)
  })
})

describe('the files of a Delta log', () => {
  const now = Date.UTC(2026, 10, 20, 12)

  /** A log with a commit each day, the newest today, and a checkpoint at every tenth version. */
  function dailyLog(versions: number) {
    const objectOf = (key: string, version: number) => {
      return { key, bytes: 1, modifiedAt: now - (versions - 1 - version) * DAY }
    }
    const commits = numbers(0, versions).map((v) => objectOf(commitKey('t', v), v))
    const tenth = numbers(1, versions - 1).filter((version) => version % 10 === 0)
    const checkpoints = tenth.map((v) => objectOf(checkpointKey('t', v), v)).toReversed()
    return [...commits, ...checkpoints, objectOf(lastCheckpointKey('t'), versions - 1)]
  }

  it('expire 20 versions before the checkpoint that 30 days of a log of 56 need', () => {
    const expired = expiredLogFiles(dailyLog(56), now)
    expect(versionsOf(expired.map(({ key }) => key))).toEqual({
      commits: numbers(0, 20),
      checkpoints: [10],
    })
    expect(expired).toHaveLength(21)
  })

  it('do not expire in a log of 30 days, without a checkpoint, or in an empty one', () => {
    const commits = dailyLog(300).filter(({ key }) => !key.includes('checkpoint.'))
    for (const log of [dailyLog(30), commits, []]) expect(expiredLogFiles(log, now)).toEqual([])
  })
})
