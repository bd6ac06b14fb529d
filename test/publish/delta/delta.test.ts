/** What a Delta log says of files, columns and values, held against bytes and texts of other writers; and what of it may go. */

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
} from '../../../src/publish/delta/log.ts'
import { planCommit, schemaString, fileStats } from '../../../src/publish/delta/plan.ts'
import { isoInstant } from '../../../src/support/clock.ts'
import { DAY } from '../../../src/support/units.ts'
import { aFile, aManifest, aTable } from '../manifests.ts'

/** A night: the files of the table by number. */
type Night = readonly number[]

const night: fc.Arbitrary<Night> = fc.uniqueArray(fc.nat({ max: 9 }))

const pathOf = (file: number) => `all/${file}.parquet`

/** The actions of the commit that a night makes; null when there is none to make. */
function planOf(state: LogState, sequence: number, files: Night) {
  const table = aTable({
    files: files.map((file) => aFile({ key: `tables/t/${pathOf(file)}`, rows: 100 })),
  })
  const created_at = isoInstant(sequence * DAY)
  const manifest = aManifest({ sequence, created_at, tables: [table] })
  return planCommit({ state, manifest, table })
}

const shownBy = ({ files }: LogState) => [...files.keys()].toSorted()

describe('a commit', () => {
  it('makes the log show whatever files each of up to 8 nights has, and names none twice', () => {
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
          // What goes was there, and does not come back.
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
  it('has a word for each of the 11 types, decimals and lists', () => {
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

/** Stats of a file whose column `c0` is of `type`; a second column is younger than the file. */
function statsOf(type: string, min: string, max: string, more: Parameters<typeof aFile>[0] = {}) {
  const file = aFile({ rows: 100, min: { c0: min }, max: { c0: max }, ...more })
  return JSON.parse(fileStats(file, columnsOf(type, 'VARCHAR'))) as Record<string, unknown>
}

describe('statistics of a file', () => {
  const text = 'é𝄞'.repeat(16)
  it.each([
    // Times are rounded to the millisecond: the smallest down, the largest up.
    [
      'TIMESTAMP WITH TIME ZONE',
      ['2024-12-31 23:59:59.123456+00', '2024-12-31 23:59:59.999001+00'],
      ['2024-12-31T23:59:59.123Z', '2025-01-01T00:00:00.000Z'],
    ],
    // Texts are cut at 32 characters, and the largest then stays at least as large.
    ['VARCHAR', ['a'.repeat(32), 'a'.repeat(32)], ['a'.repeat(32), 'a'.repeat(32)]],
    ['VARCHAR', [`${text}tail`, `${text}tail`], [text, `${text}\u{10FFFF}`]],
    ['VARCHAR', [text, `${text}\u{10FFFF}x`], [text, `${text}\u{10FFFF}x`]],
    // Nothing is said that JSON or an engine would take for another value.
    ['BIGINT', ['-9223372036854775808', '9007199254740991'], [undefined, 9_007_199_254_740_991]],
    ['DECIMAL(38,2)', ['-12.89', '0.10'], []],
    ['DOUBLE', ['0.5', '1.5'], []],
    ['BOOLEAN', ['0', '1'], []],
    ['DATE', ['0044-03-15 (BC)', '2024-01-01'], [undefined, '2024-01-01']],
    ['TIMESTAMP WITH TIME ZONE', ['-infinity', 'infinity'], []],
  ])('bound a %s %j by %j', (type, [min = '', max = ''], [least, most]) => {
    const { minValues, maxValues } = statsOf(type, min, max)
    expect(minValues).toEqual(least === undefined ? {} : { c0: least })
    expect(maxValues).toEqual(most === undefined ? {} : { c0: most })
  })

  it('count the nulls of columns that the file has', () => {
    const counted = { numRecords: 100, nullCount: { c0: 0 } }
    const whole = statsOf('INTEGER', '1', '2')
    expect(whole).toEqual({ ...counted, minValues: { c0: 1 }, maxValues: { c0: 2 } })
    expect(statsOf('INTEGER', '1', '2', { nulls: { c0: 7 } })).toEqual({
      ...whole,
      nullCount: { c0: 7 },
    })
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
    expect(versionsOf(expired)).toEqual({ commits: numbers(0, 20), checkpoints: [10] })
    expect(expired).toHaveLength(21)
  })

  it('do not expire in a log of 30 days, of no checkpoint, or of nothing', () => {
    const commits = dailyLog(300).filter(({ key }) => !key.includes('checkpoint.'))
    for (const log of [dailyLog(30), commits, []]) expect(expiredLogFiles(log, now)).toEqual([])
  })
})
