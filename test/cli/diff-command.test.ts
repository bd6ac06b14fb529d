import { describe, expect, it } from 'vitest'
import { diffCommand, type DiffOptions } from '../../src/cli/diff-command.ts'
import { EXIT } from '../../src/support/errors.ts'
import { START } from '../load/load-fixture.ts'
import { publishedLake } from '../publish/lake-fixtures.ts'
import { ledgerSite } from './ledger-fixture.ts'

function show(before: string, after: string, options: Partial<DiffOptions> = {}) {
  const asked = { pipeline: 'nightly', limit: 20, ...options }
  return ledgerSite(START).show((context) => diffCommand(context, before, after, asked))
}

/** A lake, and the address of the snapshot before. */
async function aLake() {
  const lake = await publishedLake()
  const { snapshot_id: id, created_at: at, previous } = await lake.manifest()
  return { lake, id, at, before: `${lake.root}/snapshots/${previous?.snapshot_id}` }
}

describe('diff', () => {
  it('counts rows and bytes of each table that changed, in 80 columns', async () => {
    const { lake, id, at, before } = await aLake()
    const { text, document, exitCode } = await show(before, lake.root)
    expect(exitCode).toBe(EXIT.done)
    const [first, second, ...rest] = text.split('\n')
    expect(first).toMatch(/^before {2}[0-9A-Z]{26} of /)
    expect(second).toBe(`after   ${id} of ${at}`)
    expect(rest.map((line) => line.replaceAll(/[0-9.]+ k?B/g, '# B'))).toEqual([
      '',
      expect.stringMatching(/^table {3}added {2}removed {2}changed {2}rows now +new +gone$/),
      expect.stringMatching(/^people {6}5 {8}3 {7}20 {4}15,002 +# B +# B$/),
      expect.stringMatching(/^moves {7}0 {8}0 {7}10 {4}30,000 +# B +# B$/),
    ])
    expect(document).toMatchObject({
      before: { destination: lake.root },
      after: { snapshot_id: id, destination: lake.root },
      tables: [
        { name: 'people', rows_added: 5, rows_removed: 3, rows_changed: 20, bytes_removed: 0 },
        { name: 'moves', rows_added: 0, rows_removed: 0, rows_changed: 10 },
      ],
      rows: null,
    })
  })

  it('shows the rows of one table: old and new value of each column that changed', async () => {
    const { lake, before } = await aLake()
    const { text, document } = await show(before, lake.root, { table: 'people', limit: 2 })
    expect(text.split('\n').slice(-6)).toEqual([
      '',
      '~ person_id "person_000000"',
      '    age: 0 → 1',
      '~ person_id "person_000001"',
      '    age: 1 → 2',
      '… 26 more: --limit',
    ])
    expect(document['rows']).toEqual([
      {
        change: 'changed',
        key: { person_id: 'person_000000' },
        columns: [{ name: 'age', before: 0, after: 1 }],
      },
      {
        change: 'changed',
        key: { person_id: 'person_000001' },
        columns: [{ name: 'age', before: 1, after: 2 }],
      },
    ])
    const all = await show(before, lake.root, { table: 'people', limit: 100 })
    expect(all.text.split('\n').filter((line) => line.startsWith('- '))).toEqual([
      '- person_id "person_014997"',
      '- person_id "person_014998"',
      '- person_id "person_014999"',
    ])
    expect(all.text.split('\n').at(-1)).toBe('+ person_id "person_14"')
  })

  it('says so when nothing changed', async () => {
    const { lake } = await aLake()
    const { text } = await show(lake.root, lake.root)
    expect(text.split('\n').at(-1)).toBe('no difference in 2 tables')
  })
})
